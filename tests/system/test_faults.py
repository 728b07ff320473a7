#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that answers EIO, once and for seconds, or turns read-only; and stacks that never repeat, in a control group of the memory that the
recorder says it takes at most. It goes on, what it sealed is whole, and what is missing is accounted for."""
import os
import time

import support
from dump import Store

SECOND = 1_000_000_000
HZ = 499


def built(variable, name):
    return os.environ.get(variable) or os.path.join(os.path.dirname(support.WORKLOADS), "system", name)


class Errors(support.Case):
    def setUp(self):
        super().setUp()
        self.orders = os.path.join(self.dir, "orders")
        self.order("0")

    def order(self, what):
        with open(self.orders, "r+b" if os.path.exists(self.orders) else "wb") as f:
            f.write(what.encode().ljust(4096, b"\n"))

    def pending(self):
        with open(self.orders, "rb") as f:
            return f.read(1) != b"0"

    def begin(self):
        self.load("spin31")
        return self.recorder("-F", str(HZ), "--window", "1s", "--max-cpu", "none", env={
            "LD_PRELOAD": built("PERFCAM_FAIL_IO", "fail_io.so"), "FAIL_IO": self.orders}).ready()

    def finish(self, r):
        self.assertIsNone(r.p.poll(), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        dump = Store(self.store)
        self.check_accounts(dump, HZ)
        return dump

    def fail_for_seconds(self, order, words):
        """Fails until the recorder says so, and for a while; what is in the store afterwards, and when it failed."""
        r = self.begin()
        time.sleep(1.2)
        from_ns = time.monotonic_ns()
        self.order(order)
        self.assertTrue(support.wait_until(lambda: words in r.said()), r.said())
        time.sleep(1.5)
        self.order("0")
        self.assertTrue(support.wait_until(lambda: "writing again" in r.said(), 20), r.said())
        back_ns = time.monotonic_ns()
        time.sleep(1.5)
        dump = self.finish(r)
        self.assertGreater(sum(s.time < from_ns for s in dump.samples), 100)
        self.assertGreater(sum(s.time > back_ns for s in dump.samples), 50)
        self.check_cost(dump, from_ns, back_ns)

    def check_cost(self, dump, from_ns, to_ns):
        """Nothing is lost but by the disk; that is told of the time of the errors, and no more than was due in it. Each
        second then has samples, or a row that says why not."""
        losses = dump.losses()
        support.note(f"{losses} in {(to_ns - from_ns) / SECOND:.1f} s, {len(dump.samples)} samples")
        self.assertLessEqual(set(losses), {"disk_full"})
        rows = [row for row in dump.ledger if row["cause"] == "disk_full" and row["samples"]]
        # A block is of a second, and is written a second and a half after its first sample.
        from_ns, to_ns = from_ns - 3 * SECOND, to_ns + SECOND
        for row in rows:
            self.assertTrue(from_ns < row["from"] and row["to"] < to_ns, (from_ns, to_ns, row))
        cpus = len({c["cpu"] for c in dump.cells})
        self.assertLessEqual(losses.get("disk_full", 0), HZ * cpus * (to_ns - from_ns) / SECOND)
        seen = {s.time // SECOND for s in dump.samples}
        for second in range(dump.windows[0]["start"] // SECOND + 1, dump.windows[-1]["end"] // SECOND):
            self.assertTrue(second in seen or [row for row in rows if row["from"] // SECOND <= second <= row["to"] // SECOND],
                            (second, rows))

    def test_an_error_now_and_then_costs_nothing(self):
        """Ten, at moments nobody chose: a failed sync is not tried again, the window is written anew."""
        r = self.begin()
        for _ in range(10):
            self.order("1")
            self.assertTrue(support.wait_until(lambda: not self.pending(), 5), "nothing was written")
            time.sleep(.13)
        # A store that failed is tried again after a while.
        time.sleep(2)
        dump = self.finish(r)
        self.assertGreater(len(dump.samples), 500)
        self.assertEqual(dump.losses(), {})

    def test_a_disk_whose_syncs_fail_for_seconds(self):
        """All is written, and nothing is durable."""
        self.fail_for_seconds("s", "Input/output error")

    def test_a_window_that_its_sealer_cannot_sync_is_sealed_again(self):
        """The recorder would have to wait for that sync: so the sealer makes it, and its error counts."""
        r = self.begin()
        self.order("h")
        time.sleep(5)
        self.assertFalse([w for w in self.windows() if w["sealed"]])
        self.order("0")
        ended = {w["start_ns"] for w in self.windows()[:-3]}
        self.assertTrue(support.wait_until(lambda: ended <= {w["start_ns"] for w in self.windows() if w["sealed"]}), r.said())
        self.assertEqual(self.finish(r).losses(), {})

    def test_a_disk_whose_writes_fail_for_seconds(self):
        self.fail_for_seconds("w", "Input/output error")

    def test_a_disk_that_fails_altogether_for_seconds(self):
        self.fail_for_seconds("a", "Input/output error")

    def test_a_store_that_turns_read_only(self):
        """As the kernel does it to a file system with errors: no remount can, while a journal is open."""
        self.fail_for_seconds("r", "Read-only file system")


class Cardinality(support.Case):
    def test_stacks_that_never_repeat_stay_within_the_stated_budgets(self):
        with support.MemoryGroup(self) as group:
            self.load("manystacks")
            r = self.recorder("-F", "1999", "--window", "3s", "--max-cpu", "none", wrap=group.wrap).ready()
            budgets = group.limit_to_budgets(r)
            time.sleep(6)
            group.check()
            self.assertLess(support.peak_bytes(r.pid), budgets["resident"])
            self.assertIsNone(r.p.poll(), r.said())
            self.assertEqual(r.stop(), 0, r.said())
            self.verify()
            mine = [s for s in Store(self.store).samples if s.comm.startswith("workload_manyst")]
            support.note(f"{len(mine)} samples, {len({tuple(f.name for f in s.frames) for s in mine})} stacks")
            self.assertGreater(len(mine), 1000)


support.main()
