#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Somebody updates BPF maps on one CPU: the kernel silently skips the recorder's program there. The control event shows it,
the ledger has as many samples as are missing, and doctor says who is in the way; plain rings beside it miss none."""
import json
import time

import support
from dump import Store

HZ = 97
CPU, OTHER = 1, 0
ENOUGH = 100
SAYS = "Other BPF programs keep perfcam's from running."


def finding(recorder):
    """What doctor says of it, or None."""
    r = support.perfcam("doctor", "--json", "--store", recorder.store, "--control", recorder.store + ".control")
    return next((f for f in json.loads(r.stdout)["findings"] if f["finding"] == SAYS), None)


class Blocked(support.Both):
    def test_doctor_says_that_other_bpf_code_is_in_the_way(self):
        if "bpf" not in support.sources():
            return
        recorders = self.both("-F", str(HZ), "--window", "10m", "--max-cpu", "none")
        self.assertIsNone(finding(recorders["bpf"]))
        hog = self.start(support.workload("mapping"), "600", str(CPU), stdout=-3)
        until = time.monotonic() + 150
        while time.monotonic() < until and recorders["bpf"].status()["by_cause"].get("blocked", 0) < ENOUGH:
            time.sleep(1)
        self.assertIsNone(hog.poll(), "the load has ended")
        found = finding(recorders["bpf"])
        self.assertTrue(found, recorders["bpf"].said())
        self.assertGreaterEqual(found["samples"], ENOUGH)
        self.assertIn("--source perf", found["remedy"])
        self.assertIsNone(finding(recorders["perf"]))
        for r in recorders.values():
            self.assertEqual(r.stop(), 0, r.said())
        hog.kill()
        self.check(hog.pid, *(Store(recorders[source].store) for source in ("bpf", "perf")))

    def check(self, hog, ours, plain):
        """The ledger against what plain rings saw of the same CPU in the same time."""
        rows = [row for row in ours.ledger if row["cause"] == "blocked"]
        missing = {cpu: sum(row["samples"] for row in rows if row["cpu"] == cpu) for cpu in (CPU, OTHER)}
        since = min(row["from"] for row in rows if row["cpu"] == CPU)
        until = max(row["to"] for row in rows if row["cpu"] == CPU)
        seen = {name: sum(since <= s.time < until for s in store.samples if s.cpu == CPU)
                for name, store in (("ours", ours), ("plain", plain))}
        support.note(f"CPU {CPU}: {seen['ours']} samples by bpf, {seen['plain']} by plain rings, {missing[CPU]} said to be blocked; "
                     f"CPU {OTHER}: {missing[OTHER]}")
        self.assertGreater(missing[CPU], 10 * missing[OTHER])
        # The control is 11 Hz: its own error over these seconds, four times.
        error = 4 * (HZ / 11 * seen["plain"]) ** 0.5
        self.assertLess(abs(seen["plain"] - seen["ours"] - missing[CPU]), error)
        self.assertGreater(len(plain.of_pid(hog)), len(ours.of_pid(hog)))


support.main()
