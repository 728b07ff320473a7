# SPDX-License-Identifier: Apache-2.0
"""A CPU that goes offline and comes back: sampled again within a second, its absence in the ledger."""
import unittest

import machine

HZ = 97
CPU = 1
SECOND = 10**9
SCRIPT = f"""
taskset 2 /work/spin31 1
echo {machine.NOW}
echo 0 >/sys/devices/system/cpu/cpu{CPU}/online
echo {machine.NOW}
sleep 4
echo {machine.NOW}
echo 1 >/sys/devices/system/cpu/cpu{CPU}/online
echo {machine.NOW}
taskset 2 /work/spin31 3
echo {machine.NOW}
echo 0 >/sys/devices/system/cpu/cpu{CPU}/online
echo 1 >/sys/devices/system/cpu/cpu{CPU}/online
echo {machine.NOW}
taskset 2 /work/spin31 2
"""


class Hotplug(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.vm = machine.get().shared()
        cls.made = machine.Recorders(cls.vm, "hotplug")
        stamps = cls.vm.must("sleep 2\n" + SCRIPT + "sleep 2")
        cls.ended = cls.made.stop()
        # No suspend so far: boot time and the samples' clock are the same.
        cls.leaving, cls.left, cls.coming, cls.back, cls.end, cls.blinked = (
            int(float(t) * SECOND) for t in stamps.split())
        cls.stores = {s: cls.made.store(s) for s in machine.SOURCES}

    def test_hotplug_the_cpu_is_sampled_again(self):
        for source, store in self.stores.items():
            times = [s.time for s in store.samples if s.cpu == CPU]
            self.assertGreater(sum(t < self.leaving for t in times), 50, source)
            self.assertEqual([t for t in times if self.left + SECOND // 100 < t < self.coming], [],
                             source)
            after = [t for t in times if t >= self.coming]
            self.assertGreater(len(after), 100, source)
            print(f"# {source}: CPU {CPU} sampled again after "
                  f"{(min(after) - self.back) / SECOND:.2f} s", flush=True)
            self.assertLess(min(after) - self.back, SECOND, source)

    def test_hotplug_a_blink_is_noticed(self):
        """Away for less than it takes to look: only its silence says so."""
        for source, store in self.stores.items():
            after = [s.time for s in store.samples if s.cpu == CPU and s.time >= self.blinked]
            self.assertGreater(len(after), 40, source)
            print(f"# {source}: CPU {CPU} sampled again {(min(after) - self.blinked) / SECOND:.2f} s "
                  "after a blink", flush=True)
            self.assertLess(min(after) - self.blinked, SECOND, source)

    def rows(self, store, cause, start, end):
        return [r for r in store.ledger if r["cpu"] == CPU and r["cause"] == cause and
                r["from"] < end and r["to"] > start]

    def test_hotplug_the_ledger_says_offline_and_not_idle(self):
        for source, store in self.stores.items():
            due = (self.coming - self.left) * HZ / SECOND
            away = sum(r["samples"] for r in self.rows(store, "offline", 0, self.end))
            # It is found to be gone, and to be back, within a second each.
            self.assertTrue(0.8 * due < away < due + 2.2 * HZ, f"{source}: {away}, {due:.0f} due")
            between = (self.left // SECOND + 2) * SECOND, self.coming // SECOND * SECOND
            for cause in ("idle", "unexplained"):
                said = self.rows(store, cause, *between)
                self.assertEqual([r for r in said if r["from"] >= between[0]], [], source)

    def test_hotplug_the_ledger_adds_up(self):
        for source, store in self.stores.items():
            start, end = store.windows[0]["start"], store.windows[-1]["end"]
            for cpu in (0, CPU):
                stored = sum(s.weight for s in store.samples if s.cpu == cpu)
                said = sum(r["samples"] for r in store.ledger if r["cpu"] == cpu)
                due = (end - start) * HZ / SECOND
                self.assertLess(abs(stored + said - due), 0.03 * due,
                                f"{source} CPU {cpu}: {stored} and {said} of {due:.0f}")

    def test_hotplug_the_recorders_go_on(self):
        self.assertEqual(self.ended, {s: 0 for s in machine.SOURCES})
        for source in machine.SOURCES:
            self.assertNotRegex(self.made.said(source), "(?i)error|failed|cannot (?!unwind)")
