# SPDX-License-Identifier: Apache-2.0
"""What recording costs a CPU that has nothing to do: timer interrupts, at most as many as samples are due."""
import re
import unittest

import machine

HZ = 97
CONTROL_HZ = 11  # the plain event beside the BPF program
SECONDS = 8


class Idle(unittest.TestCase):
    def interrupts(self, vm):
        """A second, of the CPU that nobody uses."""
        row = "grep LOC: /proc/interrupts; cut -d' ' -f1 /proc/uptime"
        said = vm.must(f"{row}; sleep {SECONDS}; {row}")
        found = re.findall(r"LOC:\s+\d+\s+(\d+).*\n([\d.]+)", said)
        (n, t), (m, u) = ((int(n), float(t)) for n, t in found)
        return (m - n) / (u - t)

    def test_an_idle_cpu_wakes_up_at_most_at_the_rate(self):
        vm = machine.get().shared()
        before = self.interrupts(vm)
        for source, most in (("perf", HZ), ("bpf", HZ + CONTROL_HZ)):
            store = f"/tmp/idle-{source}"
            vm.must(machine.SHELL + f"""
[ ! -e {store}.pid ] || {{ kill $(cat {store}.pid); sleep 3; rm -rf {store}*; }}
(taskset 1 perfcam record --source {source} --store {store} --control {store}.control >{store}.said 2>&1 &
echo $! >{store}.pid; wait $!; echo $? >{store}.status) >/dev/null 2>&1 &
""" + machine.answers(f"--store {store} --control {store}.control", store + ".said"))
            vm.must("sleep 6")  # what is met at the start is asked about and named
            beside = self.interrupts(vm)
            self.assertEqual(vm.must(machine.SHELL + f"kill $(cat {store}.pid); await {store}.status; "
                                     f"cat {store}.status").strip(), "0")
            print(f"# {source}: {before:.0f} a second without, {beside:.0f} with", flush=True)
            self.assertLess(beside - before, 1.05 * most + 5, source)
