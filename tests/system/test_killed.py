#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder killed at random moments, and its helpers: what was recorded is there at the next
start, but for the last second; the rest is a gap with a name."""
import bisect
import os
import random
import signal
import statistics
import threading
import time

import support
from dump import Store

SECOND = 1_000_000_000
KILLS = int(os.environ.get("PERFCAM_KILLS", "50"))
# So many recorders at once, each with a store of its own: most of the time between two kills is waiting.
LANES = 3 if KILLS <= 100 else 6
# Of each CPU, for something to record at any moment; six recorders that start again and again are load enough.
SHARE = 40 if KILLS <= 100 else 10
HOUR = 3600


def waits(pid):
    """{thread: for how long it was ready to run and did not, in ns (schedstat)}"""
    found = {}
    for thread in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as f:
            found[thread] = int(f.read().split()[1])
    return found


class Killed(support.Case):
    def kill_once(self, store, rng):
        """When it was ready, when killed, by when it was dead, what was sealed by then, and for how long its threads had waited
        for a CPU in between."""
        r = self.recorder("-F", "199", "--window", "1s", store=store).ready(4 * support.PATIENCE)
        started, before = time.monotonic_ns(), waits(r.pid)
        time.sleep(rng.uniform(0, 1.6))
        waited = {thread: ns - before.get(thread, 0) for thread, ns in waits(r.pid).items()}
        at = time.monotonic_ns()
        r.p.kill()
        r.p.wait()
        return started, at, time.monotonic_ns(), self.sealed(store), waited

    def sealed(self, store):
        """{name: samples}"""
        return {w["name"]: w["samples"] for w in self.windows(store) if w["sealed"]}

    def kill_often(self, kills):
        """{store: what kill_once() says, of each time}"""
        seed = random.randrange(1 << 32)
        support.note(f"seed {seed}")
        moments, problems = {}, []

        def lane(store, rng, n):
            try:
                moments[store] = [self.kill_once(store, rng) for _ in range(n)]
            except Exception as e:  # of a thread: told by the test
                problems.append(e)

        lanes = [threading.Thread(target=lane, args=(f"{self.store}{i}", random.Random(seed + i),
                                                     (kills + i) // LANES)) for i in range(LANES)]
        for t in lanes:
            t.start()
        for t in lanes:
            t.join()
        self.assertEqual(problems, [])
        self.assertEqual(sum(map(len, moments.values())), kills)
        return moments

    def check_kills(self, kills):
        self.began = time.time_ns()
        for cpu in (0, 1):
            self.load("slots", 4 * HOUR, cpu, share=SHARE)
        moments = self.kill_often(kills)
        recorders = [self.recorder("-F", "199", "--window", "2s", store=store).ready() for store in moments]
        for r in recorders:
            self.assertTrue(support.wait_until(lambda: r.status()["windows_waiting"] == 0), r.said())
        time.sleep(0.5)
        for r in recorders:
            self.assertEqual(r.stop(), 0, r.said())
        tails = sorted(((tail, *moment) for store in moments for tail, moment in self.check_store(store, moments[store])),
                       key=lambda t: -t[0])
        support.note(f"{kills} kills: lost at the end: median {statistics.median(t[0] for t in tails):.3f} s, most {tails[0][0]:.3f} s, "
                     f"a second or more {sum(t[0] >= 1 for t in tails)} times")
        for tail, started, at, _, _, waited in tails[:5]:
            support.note(f"lost {tail:.3f} s, killed {(at - started) / SECOND:.3f} s after its start, in which its threads waited for a CPU: "
                         + ", ".join(f"{ns / SECOND:.3f}" for ns in waited.values()) + " s")
        # Who gets no CPU writes nothing: that time is the machine's.
        self.assertLess(max(tail - max(waited.values()) / SECOND for tail, *_, waited in tails), 1)

    def check_store(self, store, moments):
        """[(what it cost, in seconds; the moment)] of each kill"""
        self.verify(store)
        dump = Store(store)
        times = sorted(s.time for s in dump.samples)
        tails = []
        for moment in moments:
            started, at, dead = moment[:3]
            n = bisect.bisect_right(times, at)
            before = times[n - 1] if n else 0
            lost = at - max(before, started)
            if before:  # else it was killed before there was a first window to be followed by a gap
                # The time that was not recorded has a name, between two windows.
                gap = [g for g in dump.gaps if g["from"] <= dead < g["to"]]
                self.assertEqual([g["cause"] for g in gap], ["recorder_dead"], (at, dead, dump.gaps))
                lost = max(lost, at - max(gap[0]["from"], started))
            tails.append((lost / SECOND, moment))
        # What was sealed once is there, with every sample.
        now = self.sealed(store)
        for _, _, _, before, _ in moments:
            self.assertEqual(before, {name: now.get(name) for name in before})
        self.assertTrue(moments[-1][3])
        for a, b in zip(dump.windows, dump.windows[1:]):
            self.assertLessEqual(a["end"], b["start"], (a, b, moments))
        # Each window can be found by the time it was recorded at.
        now = time.time_ns()
        self.assertTrue(all(self.began <= w["realtime"] < now for w in dump.windows))
        self.assertTrue(all(w["sealed"] for w in dump.windows))
        # Whatever touches such a gap says that it is incomplete, also if it begins in it; what lies
        # between two of them does not.
        self.check_views(store, 3)
        wall = {w["start"]: w["realtime"] for w in dump.windows}[dump.gaps[-1]["to"]]
        self.check_views(store, 3, "--from", f"@{wall / 1e9 - 0.001:.6f}", "--to", f"@{wall / 1e9 + 0.1:.6f}")
        self.check_views(store, 0, "--from", f"@{wall / 1e9 + 0.001:.6f}", "--to", f"@{wall / 1e9 + 0.1:.6f}")
        return tails

    def check_views(self, store, status, *times):
        for verb in (("flame", "-o", self.dir + "/x.svg"), ("export", "folded"),
                     ("export", "perf-script")):
            shown = support.perfcam(*verb, "--store", store, *times)
            self.assertEqual(shown.returncode, status, (verb, times, shown.stderr))
            if status:
                self.assertIn("the recorder was not running for", shown.stderr)

    def test_a_killed_recorder_loses_less_than_a_second(self):
        self.check_kills(KILLS)

    def named_share(self):
        """Of the samples of spin31, how many have the right name, and how many there are."""
        mine = {s: n for s, n in self.folded().items() if s[0].startswith("workload_spin31"[:15])}
        return sum(n for s, n in mine.items() if s[-1] in ("one", "three")), sum(mine.values())

    def test_names_of_a_killed_recorder_are_kept(self):
        """Names come a second or so after their samples (on a busy machine as late as the helpers get a CPU); those that were there when it was
        killed are there afterwards."""
        self.load("spin31", share=80)
        r = self.recorder("--window", "1m").ready()

        def mostly_named():
            named, samples = self.named_share()
            return samples > 50 and named > 0.9 * samples

        self.assertTrue(support.wait_until(mostly_named), self.named_share())
        before = self.named_share()[0]
        r.p.kill()
        r.p.wait()
        r = self.recorder("--window", "1m").ready()
        self.assertEqual(r.stop(), 0, r.said())
        self.assertGreaterEqual(self.named_share()[0], before)

    def kill_helpers(self, r, seconds):
        """Kills each child of the recorder soon after it is seen; how many."""
        rng = random.Random(7)
        deaths, doomed = 0, {}
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            with open(f"/proc/{r.pid}/task/{r.pid}/children") as f:
                children = [int(c) for c in f.read().split()]
            for pid in children:
                # A sealing takes some milliseconds; the others live long.
                doomed.setdefault(pid, time.monotonic() + rng.choice((0, 0.001, 0.01, 0.3)))
                if doomed[pid] and time.monotonic() >= doomed[pid]:
                    os.kill(pid, signal.SIGKILL)
                    doomed[pid] = 0
                    deaths += 1
            time.sleep(0.0005)
        return deaths

    def test_helpers_may_die_at_any_time(self):
        """Opener, symboliser, sealer: no sample is lost, and names come back."""
        r = self.recorder("-F", "499", "--window", "1s", "--max-cpu", "none").ready()
        work = self.load("slots", share=80)
        deaths = self.kill_helpers(r, 6)
        support.note(f"{deaths} times a helper was killed")
        self.assertGreater(deaths, 5)
        work.kill()
        # A program that is new only now, when helpers live again: back off, then its names.
        time.sleep(6)
        self.start(support.workload("spin31"), "3").wait(60)
        self.assertEqual(r.stop(), 0, r.said())
        r = self.recorder().ready()  # seals what was left
        self.assertTrue(support.wait_until(lambda: r.status()["windows_waiting"] == 0), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        dump = Store(self.store)
        self.assertTrue(all(w["sealed"] for w in dump.windows))
        self.assertEqual(dump.losses(), {})
        named = sum(s.names[-1:] in (("one",), ("three",)) for s in dump.samples)
        self.assertGreater(named, 400)
        due = [c["busy"] + sum(c["causes"].values()) for c in dump.cells]
        self.assertGreater(sum(due), 499 * 14)


support.main()
