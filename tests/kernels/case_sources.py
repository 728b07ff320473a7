# SPDX-License-Identifier: Apache-2.0
"""Both sources on this kernel: known programs have their names and shares, kernel functions are the
kernel's own, also those of a module that comes later."""
import unittest

import machine

# All that dd does there goes through the module.
MODULE = """
cd /tmp
umount merged; rmmod overlay
mkdir -p lower upper work merged && dd if=/dev/zero of=lower/file bs=1M count=32 || exit 1
insmod /modules/overlay.ko && mount -t overlay overlay -o lowerdir=lower,upperdir=upper,workdir=work merged || exit 1
end=$(($(date +%s) + 5))
while [ $(date +%s) -lt $end ]; do
	dd if=merged/file of=/dev/null bs=64k
done
umount merged && rm -r lower upper work merged
"""


class Sources(unittest.TestCase):
    """One recording of each source, side by side; each test looks at it."""

    @classmethod
    def setUpClass(cls):
        cls.vm = machine.get().shared()
        cls.made = machine.Recorders(cls.vm, "sources")
        cls.vm.must("taskset 2 /work/spin31 5 & taskset 1 /work/kernel 3; wait")
        cls.made.await_names("zero_work", "three", "read_zero")
        cls.vm.must(MODULE)
        cls.made.await_names("ovl_read_iter")
        cls.ended = cls.made.stop()
        cls.stores = {s: cls.made.store(s) for s in machine.SOURCES}
        cls.kallsyms = {line.split()[2] for line in cls.vm.must("cat /proc/kallsyms").splitlines()}

    def test_they_start_and_stop(self):
        self.assertEqual(self.ended, {s: 0 for s in machine.SOURCES})
        for source in machine.SOURCES:
            said = self.made.said(source)
            self.assertIn(f"perfcam: source {source} (as asked for), event cpu-clock\n", said)
            self.assertIn("perfcam: 97 Hz × 2 CPUs = 194 samples/s", said)

    def test_a_known_program_has_its_shares(self):
        for source, store in self.stores.items():
            mine = [s for s in store.samples if s.comm == "spin31"]
            self.assertGreater(len(mine), 150, source)
            self.assertEqual({s.cpu for s in mine}, {1}, source)
            three, one = (sum(s.has(n) for s in mine) for n in ("three", "one"))
            self.assertEqual({s.exe for s in mine if s.has("main")}, {"/work/spin31"}, source)
            self.assertGreater(three + one, 0.9 * len(mine), source)
            self.assertTrue(0.67 < three / (three + one) < 0.83, f"{source}: {three} and {one}")

    def test_kernel_functions_are_this_kernels(self):
        for source, store in self.stores.items():
            mine = store.with_frame("zero_work")
            self.assertGreater(len(mine), 50, source)
            self.assertGreater(sum(s.has("read_zero") for s in mine), 0.5 * len(mine), source)
            named = {f.name for s in store.samples for f in s.frames
                     if f.module.startswith("[kernel") and f.name}
            self.assertGreater(len(named), 20, source)
            self.assertEqual(named - self.kallsyms, set(), source)

    def test_a_module_that_came_while_it_recorded_has_its_names(self):
        for source, store in self.stores.items():
            mine = [s for s in store.samples if s.comm == "dd" and s.has("vfs_read")]
            named = [s for s in mine if s.has("ovl_read_iter")]
            print(f"# {source}: {len(named)} of {len(mine)} samples have the module's names", flush=True)
            self.assertGreater(len(named), 0.1 * len(mine), source)
            self.assertEqual({f.module for s in named for f in s.frames if f.name == "ovl_read_iter"},
                             {"[overlay]"}, source)

    def test_both_give_the_same_profile(self):
        share = {}
        for source, store in self.stores.items():
            spin, kernel = (sum(s.comm == n for s in store.samples) for n in ("spin31", "kernel"))
            share[source] = spin / (spin + kernel)
        self.assertLess(abs(share["bpf"] - share["perf"]), 0.1, share)

    def test_every_sample_has_a_process(self):
        # But one that lived before the recording and was gone before anybody could ask.
        for source, store in self.stores.items():
            early = store.windows[0]["start"] + 3 * 10**9
            late = [s for s in store.samples if s.time > early]
            nameless = [s for s in late if not s.comm]
            self.assertLess(len(nameless), 0.03 * len(late), f"{source}: {nameless[:3]}")

    def test_doctor_finds_nothing_in_the_way_of_root(self):
        """Nothing but what is true of every guest of TCG: it has no PMU."""
        status, text = self.vm.run("perfcam doctor")
        self.assertEqual(status, 0)
        host, *found = text.split("\n\n")
        self.assertRegex(host, r"\n  PMU +none: cpu-clock")
        self.assertEqual(len(found), 1, text)
        finding, *detail, last = found[0].splitlines()
        self.assertEqual(finding, "This machine has no PMU, as most virtual ones.", text)
        self.assertEqual([line.split()[0] for line in detail], ["cost", "remedy"], text)
        self.assertEqual(last, "No recorder runs on this store.", text)
