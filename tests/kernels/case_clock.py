# SPDX-License-Identifier: Apache-2.0
"""Clocks that step and run fast: a line of the kernel's log is found between the samples it lies between,
and wall times are those the machine showed."""
import bisect
import collections
import json
import os
import re
import subprocess
import unittest

import machine

SECOND = 10**9
MS = 10**6
# The lines before, at and after each change, and the seconds the wall clock is ahead then.
AHEAD = {"first": 0, "stepped": 3600, "later": 3600, "slewed": 3600, "back": 0, "last": 0}
SCRIPT = """
sleep 2
clocks line first
clocks step 3600
clocks line stepped
sleep 2
clocks line later
clocks slew 500
sleep 3
clocks line slewed
clocks slew 0
clocks step -3600
clocks line back
sleep 2
clocks line last
sleep 2
"""


# When it was written: since the boot, and the wall clock; and when it burnt.
Line = collections.namedtuple("Line", "start end wall burns_from burns_to")


def place(anchors, sched):
    """A stamp of the kernel's log on the samples' clock: between the anchors around it."""
    pairs = sorted({(a["sched"], a["time"]) for a in anchors if a["sched"] is not None})
    i = min(max(bisect.bisect([p[0] for p in pairs], sched), 1), len(pairs) - 1)
    (s0, t0), (s1, t1) = pairs[i - 1], pairs[i]
    return t0 + (sched - s0) * (t1 - t0) // (s1 - s0)


class Clock(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = machine.get().shared()
        cls.made = machine.Recorders(cls.vm, "clock", "--window", "10s")
        # The file is known by the time it counts: a process that ends before it is opened has no names.
        cls.vm.must("clocks line known")
        cls.made.await_names("after_line")
        said = cls.vm.must(SCRIPT, patience=120)
        cls.log = cls.vm.must("dmesg")
        cls.made.await_names("after_line")
        cls.lines = {}
        for line in said.splitlines():
            verb, what, *times = line.split()
            if verb == "line":
                cls.lines[what] = Line(*map(int, times))
        # From before the clock was set back, however long the names took.
        now = int(cls.vm.must("clocks now it").split()[2])
        ago = (now - cls.lines["back"].start) // SECOND + 30
        cls.last_seconds = {
            s: cls.vm.run(f"perfcam export folded --last {ago}s --store /tmp/clock/{s}")[1]
            for s in machine.SOURCES}
        cls.made.stop()
        cls.stores = {s: cls.made.store(s) for s in machine.SOURCES}

    def stamp(self, name):
        """What the kernel's log says of the line: the end of the microsecond it shows is as likely."""
        found = re.findall(rf"\[ *(\d+)\.(\d+)\] {name}\n", self.log)
        self.assertTrue(found, f"no {name} in {self.log[-600:]}")
        seconds, micro = found[-1]
        return int(seconds) * SECOND + int(micro) * 1000

    def test_clock_a_line_of_the_log_lies_between_its_samples(self):
        for source, store in self.stores.items():
            worst = 0
            for name, line in self.lines.items():
                at = place(store.anchors, self.stamp(name))
                off = max(line.start - at, at - line.end, 0)
                worst = max(worst, off)
                before = [s.time for s in store.with_frame("before_line") if s.comm == name]
                after = [s.time for s in store.with_frame("after_line") if s.comm == name]
                self.assertGreater(min(len(before), len(after)), 3, f"{source} {name}")
                self.assertLess(max(before), at, f"{source} {name}")
                self.assertGreater(min(after), at, f"{source} {name}")
                self.assertLess(off, MS, f"{source} {name}: {off / MS:.3f} ms off")
            print(f"# {source}: {len(self.lines)} lines, at most {worst / 1000:.0f} us off", flush=True)

    def folded(self, source, *args):
        r = subprocess.run([os.environ["PERFCAM_BIN"], "export", "folded", "--store",
                            self.made.path(source), *args], stdout=subprocess.PIPE, text=True,
                           stderr=subprocess.PIPE, check=False)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        return {line.split(";")[0] for line in r.stdout.splitlines()} & set(AHEAD)

    def test_clock_ranges_are_of_the_wall_clock_then(self):
        for source in machine.SOURCES:
            for name, line in self.lines.items():
                there = self.folded(source, "--from", f"@{line.burns_from / SECOND:.3f}",
                                    "--to", f"@{line.burns_to / SECOND:.3f}")
                self.assertEqual(there, {name}, source)

    def test_clock_the_wall_clock_was_as_far_ahead_as_set(self):
        first = self.lines["first"]
        for name, line in self.lines.items():
            ahead = ((line.wall - line.end) - (first.wall - first.end)) / SECOND
            self.assertAlmostEqual(ahead, AHEAD[name], delta=3, msg=name)

    def test_clock_the_last_minute_is_found_at_once(self):
        for source, text in self.last_seconds.items():
            found = {line.split(";")[0] for line in text.splitlines()}
            self.assertLessEqual({"back", "last"}, found, source)

    def test_clock_windows_stay_in_order(self):
        for source in machine.SOURCES:
            r = subprocess.run([os.environ["PERFCAM_BIN"], "ls", "--json", "--store",
                                self.made.path(source)], stdout=subprocess.PIPE, check=False)
            found = json.loads(r.stdout)
            windows = found if isinstance(found, list) else found["windows"]
            self.assertGreater(len(windows), 1, source)
            starts = [w["start_ns"] for w in windows]
            self.assertEqual(starts, sorted(starts), source)
            ends = [w["end_ns"] for w in windows]
            self.assertEqual(starts[1:], ends[:-1], f"{source}: a gap or an overlap")
            self.assertEqual(self.folded(source), set(self.lines), source)

    def test_clock_steps_have_an_anchor_on_each_side(self):
        for source, store in self.stores.items():
            shifts = [(a["time"], round((a["realtime"] - a["time"]) / SECOND))
                      for a in sorted(store.anchors, key=lambda a: a["time"])]
            steps = [(t1 - t0, s1 - s0) for (t0, s0), (t1, s1) in zip(shifts, shifts[1:])
                     if abs(s1 - s0) > 60]
            self.assertEqual([s for _, s in steps], [3600, -3600], source)
            self.assertEqual([t for t, _ in steps], [0, 0], source)
