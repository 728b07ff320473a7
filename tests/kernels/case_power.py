# SPDX-License-Identifier: Apache-2.0
"""The power fails while a recorder writes to a disk; the machine comes up again, and is another boot."""
import os
import subprocess
import tempfile
import time
import unittest

import dump
import machine

SECOND = 10**9
MOUNT = "mount -t ext4 /dev/vda /disk"
RECORD = """
perfcam record --store /disk/store --max-cpu none >/tmp/said 2>&1 </dev/null &
echo $! >/tmp/pid
""" + machine.answers("--store /disk/store", "/tmp/said")


class Power(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        place = tempfile.mkdtemp(prefix="perfcam-guest-")
        cls.addClassCleanup(subprocess.run, ["rm", "-rf", place], check=True)
        disk = os.path.join(place, "disk")
        with open(disk, "wb") as f:
            f.truncate(256 << 20)
        subprocess.run(["mke2fs", "-q", "-F", "-t", "ext4", disk], check=True)
        cls.first_life(disk)
        cls.second_life(disk, place)

    @classmethod
    def first_life(cls, disk):
        vm = machine.get().boot(disk=disk, arguments="tsc=reliable")
        cls.addClassCleanup(vm.close)
        vm.must(MOUNT)
        vm.must(RECORD)
        # Names in the journal, then more time, of which the last 5 s may be lost.
        vm.must("/work/kernel 3")
        vm.must("""
n=0
until perfcam export folded --store /disk/store 2>/dev/null | grep -q 'zero_work;.*read_zero'; do
	n=$((n + 1))
	[ $n -lt 60 ] || { perfcam ls --store /disk/store; exit 1; }
	sleep 0.5
done
""", patience=120)
        vm.start("while true; do echo $(cut -d' ' -f1 /proc/uptime) >/share/alive; usleep 100000; done")
        time.sleep(8)
        vm.cut()
        with open(os.path.join(vm.share, "alive"), encoding="utf-8") as f:
            cls.cut_at = int(float(f.read()) * SECOND)

    @classmethod
    def second_life(cls, disk, place):
        vm = machine.get().boot(disk=disk, arguments="tsc=reliable")
        cls.addClassCleanup(vm.close)
        vm.must(MOUNT)
        cls.kallsyms = {line.split()[2] for line in vm.must("cat /proc/kallsyms").splitlines()}
        vm.must(RECORD)
        vm.must("sleep 3; kill $(cat /tmp/pid); n=0; while perfcam status --store /disk/store >/dev/null "
                "2>&1 && [ $n -lt 50 ]; do sleep 0.2; n=$((n + 1)); done; sleep 1")
        cls.said = vm.must("cat /tmp/said")
        cls.listed = vm.run("perfcam ls --store /disk/store")[1]
        cls.verified = vm.run("perfcam verify --store /disk/store")
        subprocess.run(["cp", "-r", vm.fetch("/disk/store", "store"), place + "/store"], check=True)
        cls.store = dump.Store(place + "/store")

    def test_power_at_most_five_seconds_are_lost(self):
        lost = (self.cut_at - self.store.windows[0]["end"]) / SECOND
        print(f"# {lost:.1f} s lost in the power cut", flush=True)
        self.assertLess(lost, 5)
        self.assertGreater(lost, -1)

    def test_power_the_store_is_sound(self):
        self.assertEqual(self.verified[0], 0, self.verified[1])
        self.assertGreater(len(self.store.windows), 1, self.listed)
        self.assertFalse(self.store.windows[0]["clean_end"])

    def test_power_the_old_boot_keeps_its_names(self):
        mine = self.store.with_frame("zero_work")
        self.assertGreater(len(mine), 50, self.listed)
        self.assertGreater(sum(s.has("read_zero") for s in mine), 0.5 * len(mine))
        named = {f.name for s in mine for f in s.frames if f.kind == "kernel" and f.name}
        self.assertEqual(named - self.kallsyms, set())
