#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Windows of two seconds at a high rate, beside work that knows its own numbers: nothing is missing
where one window ends and the next begins, and the accounts of each CPU and second come out."""
import bisect
import os
import signal
import subprocess
import time

import support
from dump import Store

HZ = 997
SLOT_NS = 20_000_000
SECOND = 1_000_000_000


class Boundary(support.Both):
    def record(self):
        """Of each source: (the work's pid, what it says of its slots, what the store holds). Both look at the
        same work, at the same time; in its middle each is asked to cut, in the middle of a second."""
        global _recorded
        if not _recorded:
            recorders = self.both("-F", str(HZ), "--window", "2s", "--max-cpu", "none")
            work = self.start(support.workload("slots"), "7", stdout=subprocess.PIPE, text=True)
            time.sleep(4.6)
            for r in recorders.values():
                r.p.send_signal(signal.SIGUSR1)
            told = work.communicate(timeout=60)[0]
            slots = dict(map(int, line.split()) for line in told.splitlines())
            for source, r in recorders.items():
                self.assertEqual(r.stop(), 0, r.said())
                self.verify(r.store)
                _recorded[source] = work.pid, slots, Store(r.store)
        return _recorded

    def check_windows(self, dump):
        self.assertGreaterEqual(len(dump.windows), 3)
        for a, b in zip(dump.windows, dump.windows[1:]):
            self.assertEqual(a["end"], b["start"])
        self.assertEqual(dump.gaps, [])
        self.assertTrue(all(w["sealed"] and w["clean_end"] for w in dump.windows), dump.windows)
        self.assertEqual(dump.losses(), {})
        for w in dump.windows:
            inside = [s for s in dump.samples if w["start"] <= s.time < w["end"]]
            self.assertEqual(len(inside), w["samples"])

    def check_slots(self, pid, slots, dump):
        """Each slot's function was seen in its slot, as often as its CPU time says."""
        seen, wrong, missing, known = {}, 0, [], sorted(slots)
        mine = dump.of_pid(pid)
        for s in mine:
            slot = s.time // SLOT_NS
            names = [f for f in s.names if f.startswith("slot_")]
            # A call may cross the end of its slot, also when the work is preempted in it; the last
            # slot is not among those that it tells of.
            before = known[max(bisect.bisect_left(known, slot) - 1, 0)]
            allowed = {f"slot_{10 + n % 50}" for n in range(before, slot + 1)}
            wrong += bool(names) and names[0] not in allowed
            seen[slot] = seen.get(slot, 0) + 1
        ends = {w["end"] // SLOT_NS for w in dump.windows}
        for slot, cpu_ns in slots.items():
            if cpu_ns > SLOT_NS * 3 // 4 and not seen.get(slot):
                missing.append((slot, slot in ends))
        self.assertEqual(missing, [])
        self.assertEqual(wrong, 0)
        due = sum(slots.values()) * HZ / SECOND
        support.note(f"{len(mine)} samples of {due:.0f} due by the work's own CPU time")
        self.assertGreater(len(mine), 0.85 * due)
        self.assertLess(len(mine), 1.02 * due + 50)
        # A window that is cut on demand is sealed at once, with the names that are there.
        cut = self.cut_of(dump)
        waited = [s for s in mine if not cut - 2 * SECOND < s.time < cut]
        named = sum(any(f.startswith("slot_") for f in s.names) for s in waited)
        self.assertGreater(named, 0.9 * len(waited))

    def cut_of(self, dump):
        """Where the window ends that was cut on demand: in the middle of a second."""
        ends = [w["end"] for w in dump.windows[:-1] if w["end"] % SECOND]
        self.assertEqual(len(ends), 1)
        return ends[0]

    def check_accounts(self, dump):
        """busy + causes == due, for each whole second of each CPU."""
        cells = {}
        for c in dump.cells:
            key = (c["second"], c["cpu"])
            cells[key] = cells.get(key, 0) + c["busy"] + sum(c["causes"].values())
        first = dump.windows[0]["start"] // SECOND + 1
        last = dump.windows[-1]["end"] // SECOND
        whole = {k: n for k, n in cells.items() if first <= k[0] < last}
        self.assertGreaterEqual(len(whole), 10)
        cpus = {k[1] for k in whole}
        cut = self.cut_of(dump) // SECOND
        for second in range(first, last):
            for cpu in cpus:
                # A tick may fall on the other side of a full second: then the next is due one less.
                # What was settled at the cut gets what came later as an even share of its stretch.
                most = 2 * HZ // 100 + 1 if cut - 1 <= second <= cut else 2
                self.assertLessEqual(abs(whole.get((second, cpu), 0) - HZ), most, (second, cpu))
        # From the first moment to the last: begun seconds too. CPUs are opened one after the other.
        due = HZ * (dump.windows[-1]["end"] - dump.windows[0]["start"]) / SECOND
        for cpu in cpus:
            total = sum(n for k, n in cells.items() if k[1] == cpu)
            support.note(f"CPU {cpu}: {due:.1f} due, {total} accounted for")
            self.assertLessEqual(total, due + 4)
            self.assertGreaterEqual(total, due - HZ / 20)
        busy = {}
        for s in dump.samples:
            busy[s.time // SECOND, s.cpu] = busy.get((s.time // SECOND, s.cpu), 0) + 1
        told = {}
        for c in dump.cells:
            told[c["second"], c["cpu"]] = told.get((c["second"], c["cpu"]), 0) + c["busy"]
        self.assertEqual({k: n for k, n in told.items() if n}, busy)

    def check(self, source):
        pid, slots, dump = self.record()[source]
        self.check_windows(dump)
        self.check_slots(pid, slots, dump)
        self.check_accounts(dump)

    def test_no_sample_is_missed_through_bpf(self):
        self.check("bpf")

    def test_no_sample_is_missed_through_plain_rings(self):
        self.check("perf")


_recorded = {}
for what in ("CPUs that go and come", "suspend", "clock steps", "power cuts"):
    support.not_run(what, "needs a machine of its own: make test-kernels")
if not os.path.exists("/sys/bus/event_source/devices/cpu"):
    support.not_run("event cycles", "there is no PMU")
support.main()
