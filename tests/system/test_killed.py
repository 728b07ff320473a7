#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The recorder killed at random moments, and its helpers: what was recorded is there at the next
start, but for the last second; the rest is a gap with a name."""
import bisect
import os
import random
import signal
import statistics
import time

import support
from dump import Store

SECOND = 1_000_000_000
KILLS = int(os.environ.get("PERFCAM_KILLS", "20"))


class Killed(support.Case):
    def kill_once(self, rng):
        """When it was ready, and when killed."""
        r = self.recorder("-F", "499", "--window", "1s").ready()
        started = time.monotonic_ns()
        time.sleep(rng.uniform(0, 1.6))
        at = time.monotonic_ns()
        r.p.kill()
        r.p.wait()
        return started, at

    def check_kills(self, kills):
        seed = random.randrange(1 << 32)
        support.note(f"seed {seed}")
        rng = random.Random(seed)
        for cpu in ("0", "1"):
            self.start(support.workload("slots"), str(60 + 5 * kills), cpu, stdout=-3)
        moments = [self.kill_once(rng) for _ in range(kills)]
        r = self.recorder("-F", "499", "--window", "2s").ready()
        self.assertTrue(support.wait_until(lambda: r.status()["windows_waiting"] == 0), r.said())
        time.sleep(0.5)
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        dump = Store(self.store)
        times = sorted(s.time for s in dump.samples)
        tails = []
        for started, at in moments:
            n = bisect.bisect_right(times, at)
            before = times[n - 1] if n else 0
            tails.append((at - max(before, started)) / SECOND)
            if not before:
                continue  # killed before there was a first window to be followed by a gap
            # The time that was not recorded has a name, between two windows.
            gap = [g for g in dump.gaps if g["from"] <= at < g["to"]]
            self.assertEqual([g["cause"] for g in gap], ["recorder_dead"], (at, dump.gaps))
            self.assertLess(at - max(gap[0]["from"], started), SECOND)
        support.note(f"{kills} kills: lost at the end: median {statistics.median(tails):.3f} s, "
                     f"most {max(tails):.3f} s")
        self.assertLess(max(tails), 1)
        for a, b in zip(dump.windows, dump.windows[1:]):
            self.assertLessEqual(a["end"], b["start"], (a, b, moments))
        # Each window can be found by the hour it was recorded in.
        now = time.time_ns()
        self.assertTrue(all(now - 3600 * SECOND < w["realtime"] < now for w in dump.windows))
        self.assertTrue(all(w["sealed"] for w in dump.windows))
        # Whatever touches such a gap says that it is incomplete, also if it begins in it; what lies
        # between two of them does not.
        self.check_views(3)
        wall = {w["start"]: w["realtime"] for w in dump.windows}[dump.gaps[-1]["to"]]
        self.check_views(3, "--from", f"@{wall / 1e9 - 0.001:.6f}", "--to", f"@{wall / 1e9 + 0.1:.6f}")
        self.check_views(0, "--from", f"@{wall / 1e9 + 0.001:.6f}", "--to", f"@{wall / 1e9 + 0.1:.6f}")

    def check_views(self, status, *times):
        for verb in (("flame", "-o", self.dir + "/x.svg"), ("export", "folded"),
                     ("export", "perf-script")):
            shown = support.perfcam(*verb, "--store", self.store, *times)
            self.assertEqual(shown.returncode, status, (verb, times, shown.stderr))
            if status:
                self.assertIn("the recorder was not running for", shown.stderr)

    def test_a_killed_recorder_loses_less_than_a_second(self):
        self.check_kills(KILLS)

    def test_names_of_a_killed_recorder_are_kept(self):
        self.start(support.workload("spin31"), "20")
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
        work = self.start(support.workload("slots"), "60", stdout=-3)
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
