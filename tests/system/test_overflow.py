#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A recorder that is stopped for five seconds at a high rate: its rings overflow, and every sample
that did not fit is in the accounts, at its time and CPU."""
import signal
import time

import support
from dump import Store

HZ = 4999
SECOND = 1_000_000_000


class Overflow(support.Both):
    def record(self):
        """Both sources, beside each other: when they were stopped, when they went on, and of each its
        store and what it said."""
        global _recorded
        if _recorded:
            return _recorded
        work = [self.start(support.workload("slots"), "40", cpu, stdout=-3) for cpu in ("0", "1")]
        recorders = self.both("-F", str(HZ), "--window", "1m", "--max-cpu", "none")
        time.sleep(1.5)
        stopped = time.monotonic_ns()
        for r in recorders.values():
            r.p.send_signal(signal.SIGSTOP)
        time.sleep(5)
        for r in recorders.values():
            r.p.send_signal(signal.SIGCONT)
        went_on = time.monotonic_ns()
        time.sleep(2.5)
        said = {source: r.status() for source, r in recorders.items()}
        for p in work:
            p.kill()
        found = {}
        for source, r in recorders.items():
            self.assertEqual(r.stop(), 0, r.said())
            self.verify(r.store)
            shown = support.perfcam("flame", "--store", r.store, "-o", self.dir + "/x.svg")
            found[source] = said[source], Store(r.store), self.windows(r.store), shown
        _recorded = stopped, went_on, found
        return _recorded

    def check(self, source):
        stopped, went_on, found = self.record()
        said, dump, windows, shown = found[source]
        lost = [row for row in dump.ledger if row["cause"] in ("lost_ring", "lost_queue")]
        total = sum(row["samples"] for row in lost)
        support.note(f"{source}: {total} samples lost of {2 * 5 * HZ} in the time it stood still")
        # What the rings hold is less than what five seconds bring.
        self.assertGreater(total, HZ)
        self.assertLess(total, 2 * 6 * HZ)
        for row in lost:
            self.assertGreater(row["to"], stopped - SECOND)
            self.assertLess(row["from"], went_on + SECOND)
        for cpu in {row["cpu"] for row in lost}:
            rows = [row for row in lost if row["cpu"] == cpu]
            covered = max(row["to"] for row in rows) - min(row["from"] for row in rows)
            self.assertGreater(covered, 2 * SECOND)
        before = sum(s.time < stopped for s in dump.samples)
        after = sum(s.time > went_on + SECOND for s in dump.samples)
        self.assertGreater(before, 0)
        self.assertGreater(after, 0)
        self.assertEqual(windows[0]["lost"], sum(
            row["samples"] for row in dump.ledger
            if row["cause"] not in ("idle", "stolen", "unexplained", "filtered")))
        self.assertEqual(said["by_cause"]["lost_ring"] + said["by_cause"]["lost_queue"], total)
        self.check_accounts(dump, HZ)
        self.assertEqual(shown.returncode, 3, shown.stderr)

    def test_what_a_full_ring_lost_is_accounted_through_bpf(self):
        self.check("bpf")

    def test_what_a_full_ring_lost_is_accounted_through_plain_rings(self):
        self.check("perf")


_recorded = None
support.main()
