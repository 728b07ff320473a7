# SPDX-License-Identifier: Apache-2.0
"""A suspend: the time is in the ledger as suspended, and all CPUs are sampled again after it.

The kernel goes all the way (devices, CPUs, clocks) and comes back by itself instead of asking the firmware to
sleep: /sys/power/pm_test. The shared directory does not survive that, so it is taken away meanwhile.
"""
import os
import time
import unittest

import machine

HZ = 97
SECOND = 10**9
SCRIPT = """
cat >/tmp/suspend.sh <<'END'
sleep 1
umount /share && rmmod 9p && rmmod 9pnet_virtio
echo core >/sys/power/pm_test
clocks now 1
echo mem >/sys/power/state
clocks now 2
echo none >/sys/power/pm_test
taskset 2 /work/spin31 3
insmod /modules/9pnet_virtio.ko
insmod /modules/9p.ko
mount -t 9p -o trans=virtio,version=9p2000.L,cache=none share /share
cp /tmp/suspend.said /share/suspended
END
cd /
setsid sh /tmp/suspend.sh >/tmp/suspend.said 2>&1 </dev/null &
"""


class Suspend(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = vm = machine.get().shared()
        cls.made = machine.Recorders(vm, "suspend")
        vm.must("sleep 2")
        vm.must("rm -f /share/suspended\n" + SCRIPT)
        until, told = time.monotonic() + 90 * vm.slowness, os.path.join(vm.share, "suspended")
        while not os.path.exists(told) and time.monotonic() < until:
            time.sleep(0.2)
        said = vm.must("sleep 3; cat /tmp/suspend.said").split()
        cls.ended = cls.made.stop()
        # now 1 FROM TO WALL WALL WALL now 2 FROM TO WALL WALL WALL
        cls.went, cls.came = int(said[3]), int(said[10])
        # The clock of the samples stands still in a suspend, the wall clock does not.
        cls.asleep = (int(said[11]) - int(said[4])) - (cls.came - cls.went)
        cls.stores = {s: cls.made.store(s) for s in machine.SOURCES}

    def test_suspend_the_ledger_says_so(self):
        self.assertGreater(self.asleep, 2 * SECOND)
        for source, store in self.stores.items():
            for cpu in (0, 1):
                rows = [r for r in store.ledger if r["cause"] == "suspended" and r["cpu"] == cpu]
                told = sum(r["samples"] for r in rows)
                self.assertAlmostEqual(told, self.asleep * HZ / SECOND, delta=10, msg=f"{source} {cpu}")

    def test_suspend_all_cpus_are_sampled_again(self):
        self.assertEqual(self.ended, {s: 0 for s in machine.SOURCES})
        for source, store in self.stores.items():
            after = [s.time for s in store.samples if s.cpu == 1 and s.time > self.came]
            self.assertGreater(len(after), 50, source)
            print(f"# {source}: CPU 1 sampled again {(min(after) - self.came) / SECOND:.2f} s after the "
                  f"suspend of {self.asleep / SECOND:.1f} s", flush=True)
            self.assertLess(min(after) - self.came, 4 * SECOND, source)
