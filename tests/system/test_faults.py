#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that answers EIO, once and for seconds; and stacks that never repeat, in a control group of the memory that the
recorder says it takes at most. It goes on, what it sealed is whole, and what is missing is accounted for."""
import os
import subprocess
import tempfile
import time

import support
from dump import Store

SECOND = 1_000_000_000
MEMORY = "/sys/fs/cgroup/memory"


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
        return self.recorder("-F", "499", "--window", "1s", "--max-cpu", "none", env={
            "LD_PRELOAD": built("PERFCAM_FAIL_IO", "fail_io.so"), "FAIL_IO": self.orders}).ready()

    def finish(self, r):
        self.assertIsNone(r.p.poll(), r.said())
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        return Store(self.store)

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
        lost = {cause: n for cause, n in dump.losses().items() if cause != "disk_full"}
        self.assertEqual(lost, {})

    def test_a_disk_whose_syncs_fail_for_seconds(self):
        """Writes that fail are test_disk.py's; here all is written, and nothing is durable."""
        r = self.begin()
        time.sleep(1.5)
        from_ns = time.monotonic_ns()
        self.order("s")
        self.assertTrue(support.wait_until(lambda: "Input/output error" in r.said()), r.said())
        self.order("0")
        to_ns = time.monotonic_ns()
        self.assertTrue(support.wait_until(lambda: "writing again" in r.said(), 15), r.said())
        time.sleep(1.5)
        dump = self.finish(r)
        self.assertGreater(sum(s.time < from_ns for s in dump.samples), 100)
        self.assertGreater(sum(s.time > to_ns for s in dump.samples), 50)


class Cardinality(support.Case):
    def test_stacks_that_never_repeat_stay_within_the_stated_budgets(self):
        group = tempfile.mkdtemp(prefix="perfcam-test-", dir=MEMORY)
        try:
            self.load("manystacks")
            r = self.recorder("-F", "1999", "--window", "3s", "--max-cpu", "none", wrap=(
                "sh", "-c", f"echo $$ >{group}/cgroup.procs && exec \"$@\"", "sh")).ready()
            budgets = {b["name"]: b["limit"] for b in support.wait_until(r.status)["budgets"]}
            limit = budgets["resident"] + budgets["symboliser"] + budgets["tables in the kernel"] + budgets["rings"]
            with open(os.path.join(group, "memory.limit_in_bytes"), "w", encoding="ascii") as f:
                f.write(str(limit))
            time.sleep(6)
            with open(os.path.join(group, "memory.oom_control"), encoding="ascii") as f:
                self.assertIn("oom_kill 0", f.read().splitlines())
            with open(os.path.join(group, "memory.max_usage_in_bytes"), encoding="ascii") as f:
                support.note(f"at most {int(f.read()) >> 20} MiB of {limit >> 20}; recorder "
                             f"{support.peak_bytes(r.pid) >> 20} MiB")
            self.assertLess(support.peak_bytes(r.pid), budgets["resident"])
            self.assertIsNone(r.p.poll(), r.said())
            self.assertEqual(r.stop(), 0, r.said())
            self.verify()
            mine = [s for s in Store(self.store).samples if s.comm.startswith("workload_manyst")]
            support.note(f"{len(mine)} samples, {len({tuple(f.name for f in s.frames) for s in mine})} stacks")
            self.assertGreater(len(mine), 1000)
        finally:
            for p in self.running:
                if p.poll() is None:
                    p.kill()
                p.wait()
            support.wait_until(lambda: not open(group + "/cgroup.procs", encoding="ascii").read(), 10)
            os.rmdir(group)


support.main()
