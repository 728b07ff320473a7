# SPDX-License-Identifier: Apache-2.0
"""What is not allowed is said with its remedy, and what is still possible is done. Debian's kernel knows one more
level of perf_event_paranoid (3: nothing without CAP_PERFMON) and has it by default."""
import unittest

import machine

ROOT_OR = "Run as root, or with CAP_PERFMON, or set kernel.perf_event_paranoid to "
NOTHING = ("CAP_PERFMON is missing and kernel.perf_event_paranoid is {}. Nothing can be sampled. " + ROOT_OR +
           "2.")
OWN = ("CAP_PERFMON is missing and kernel.perf_event_paranoid is {}. Only your own processes can be "
       "sampled (-p PID, -- CMD), {}" + ROOT_OR + "0 or less.")
POINTERS = ("kernel.kptr_restrict is 2: kernel addresses are shown to nobody. Functions of the kernel have no "
            "names. Set kernel.kptr_restrict to 1.")


class Refused(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = machine.get().shared()
        cls.was = cls.vm.must("cd /proc/sys/kernel; cat perf_event_paranoid kptr_restrict").split()

    def tearDown(self):
        self.set("perf_event_paranoid", self.was[0])
        self.set("kptr_restrict", self.was[1])

    def set(self, name, value):
        self.vm.must(f"echo {value} >/proc/sys/kernel/{name}")

    def alice(self, command, place):
        """A command of a user without any capability; in a directory of her own."""
        self.vm.must(f"mkdir -p /tmp/{place}; chown alice /tmp/{place}")
        return self.vm.run(f"su alice -c 'HOME=/tmp/{place} {command}'")

    def test_refused_debian_s_default_forbids_all(self):
        self.assertEqual(self.was[0], "3")
        for level in ("3", "4"):
            self.set("perf_event_paranoid", level)
            status, said = self.alice("perfcam record -d 1s", "r" + level)
            self.assertEqual(status, 1, said)
            self.assertIn("perfcam: " + NOTHING.format(level) + "\n", said)
            self.assertTrue(said.endswith("perfcam: cannot sample: Permission denied\n"), said)

    def test_refused_doctor_says_the_same(self):
        status, said = self.alice("perfcam doctor", "d")
        self.assertEqual(status, 0, said)
        missing, cost, remedy = NOTHING.format(3).partition(" Nothing can be sampled. ")
        self.assertIn(f"{missing}\n  cost   {cost.rstrip()}\n  remedy  {remedy}\n", said)

    def test_refused_a_user_records_a_command_of_hers(self):
        for level, cut in (("2", "without kernel stacks. "), ("1", "")):
            self.set("perf_event_paranoid", level)
            status, said = self.alice("perfcam record -- /work/spin31 2", "c" + level)
            line = OWN.format(level, cut) if cut else OWN.format(level, "").replace(", Run", ". Run")
            self.assertEqual(status, 0, said)
            self.assertIn("perfcam: " + line + "\n", said)
            # Who reads need not be privileged either.
            status, stacks = self.alice("perfcam export folded", "c" + level)
            rows = [row for row in stacks.splitlines() if row.startswith("spin31;")]
            self.assertGreater(sum(int(r.rsplit(" ", 1)[1]) for r in rows), 50, stacks[-500:])
            self.assertTrue(any(";three " in r or ";three;" in r for r in rows), stacks[-500:])

    def test_refused_the_whole_host_is_her_processes(self):
        self.set("perf_event_paranoid", 2)
        status, said = self.alice("perfcam record -d 2s", "h")
        self.assertEqual(status, 0, said)
        self.assertIn(OWN.format(2, "without kernel stacks. "), said)
        self.assertIn("perfcam: source perf (only threads may be watched), event cpu-clock", said)

    def test_refused_hidden_pointers(self):
        self.set("kptr_restrict", 2)
        _, said = self.vm.run("perfcam record --source perf -d 5s --store /tmp/kptr --max-cpu none & "
                                   "sleep 1; /work/kernel 2; wait")
        self.assertIn("perfcam: " + POINTERS + "\n", said)
        _, stacks = self.vm.run("perfcam export folded --store /tmp/kptr")
        self.assertNotIn("read_zero", stacks)
        self.assertTrue(any(row.startswith("kernel;") and "[kernel" in row
                            for row in stacks.splitlines()), stacks[-500:])
