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


class Killed(support.Case):
    def kill_once(self, store, rng):
        """When it was ready, when killed, and what was sealed by then."""
        r = self.recorder("-F", "199", "--window", "1s", store=store).ready(4 * support.PATIENCE)
        started = time.monotonic_ns()
        time.sleep(rng.uniform(0, 1.6))
        at = time.monotonic_ns()
        r.p.kill()
        r.p.wait()
        return started, at, self.sealed(store)

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
        for cpu in (0, 1):
            self.load("slots", 3600, cpu)
        moments = self.kill_often(kills)
        recorders = [self.recorder("-F", "199", "--window", "2s", store=store).ready() for store in moments]
        for r in recorders:
            self.assertTrue(support.wait_until(lambda: r.status()["windows_waiting"] == 0), r.said())
        time.sleep(0.5)
        for r in recorders:
            self.assertEqual(r.stop(), 0, r.said())
        tails = [tail for store in moments for tail in self.check_store(store, moments[store])]
        support.note(f"{kills} kills: lost at the end: median {statistics.median(tails):.3f} s, "
                     f"most {max(tails):.3f} s")
        self.assertLess(max(tails), 1)

    def check_store(self, store, moments):
        """What each kill cost, in seconds."""
        self.verify(store)
        dump = Store(store)
        times = sorted(s.time for s in dump.samples)
        tails = []
        for started, at, _ in moments:
            n = bisect.bisect_right(times, at)
            before = times[n - 1] if n else 0
            tails.append((at - max(before, started)) / SECOND)
            if not before:
                continue  # killed before there was a first window to be followed by a gap
            # The time that was not recorded has a name, between two windows.
            gap = [g for g in dump.gaps if g["from"] <= at < g["to"]]
            self.assertEqual([g["cause"] for g in gap], ["recorder_dead"], (at, dump.gaps))
            self.assertLess(at - max(gap[0]["from"], started), SECOND)
        # What was sealed once is there, with every sample.
        now = self.sealed(store)
        for _, _, before in moments:
            self.assertEqual(before, {name: now.get(name) for name in before})
        self.assertTrue(moments[-1][2])
        for a, b in zip(dump.windows, dump.windows[1:]):
            self.assertLessEqual(a["end"], b["start"], (a, b, moments))
        # Each window can be found by the hour it was recorded in.
        now = time.time_ns()
        self.assertTrue(all(now - 3600 * SECOND < w["realtime"] < now for w in dump.windows))
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

    def test_names_of_a_killed_recorder_are_kept(self):
        self.load("spin31", share=80)
        r = self.recorder("--window", "1m").ready()
        time.sleep(4)
        r.p.kill()
        r.p.wait()
        r = self.recorder("--window", "1m").ready()
        self.assertEqual(r.stop(), 0, r.said())
        mine = {s: n for s, n in self.folded().items() if s[0].startswith("workload_spin31"[:15])}
        named = sum(n for s, n in mine.items() if s[-1] in ("one", "three"))
        self.assertGreater(named, 0.9 * sum(mine.values()), mine)

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
