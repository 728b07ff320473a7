#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""As nobody, with six capabilities, with five of them, with none: what is lost is said once at the
start, and the rest works. And in a time or pid namespace of its own."""
import os
import shutil
import subprocess
import time

import support
from dump import Store

ALL = ("perfmon", "bpf", "sys_ptrace", "checkpoint_restore", "syslog", "dac_read_search")
SECOND = 1_000_000_000


def nobody(capabilities):
    wanted = ",".join("+" + c for c in capabilities) or "-all"
    return ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups", "--inh-caps",
            "-all" + ("," + wanted if capabilities else ""), "--ambient-caps", wanted,
            "--bounding-set", "-all" + ("," + wanted if capabilities else ""), "--"]


def thread_of(pid, name):
    for tid in os.listdir(f"/proc/{pid}/task"):
        with open(f"/proc/{pid}/task/{tid}/comm", encoding="ascii") as f:
            if f.read().strip() == name:
                return int(tid)
    raise AssertionError(f"{pid} has no thread {name}")


class Capabilities(support.Case):
    def setUp(self):
        super().setUp()
        os.chmod(self.dir, 0o755)
        self.place = os.path.join(self.dir, "nobody")
        os.mkdir(self.place, 0o750)
        os.chown(self.place, 65534, 65534)
        self.store = os.path.join(self.place, "store")

    def record(self, capabilities, *args, seconds=2.5):
        """(what it said, its samples) of some seconds beside a spinning process of root's."""
        self.load("spin31", share=60)
        r = self.recorder("-F", "199", "--window", "1m", *args, wrap=nobody(capabilities)).ready()
        time.sleep(seconds)
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        return r.said(), Store(self.store).samples

    def named(self, samples):
        return sum(s.names[-1:] in (("one",), ("three",)) for s in samples)

    def test_all_six_are_all_it_needs(self):
        said, samples = self.record(ALL)
        self.assertIn("source bpf", said)
        self.assertNotIn("CAP_", said)
        self.assertNotIn("without kernel stacks", said)
        self.assertGreater(self.named(samples), 50)
        # The kernel's functions too: whoever enters it comes through one of these.
        self.assertTrue(any(f.startswith(("asm_", "do_syscall_64", "entry_SYSCALL", "x64_sys_"))
                            for s in samples for f in s.names))
        exe = {s.exe for s in samples if s.comm == "workload_spin31"[:15]}
        self.assertEqual(exe, {os.path.realpath(support.workload("spin31"))})

    def test_how_urgent_it_is_where_it_may_choose_and_where_not(self):
        """By the kernel's own word: of root, and of who may not go below 0."""
        for nice, wrap in ((-10, []), (0, ["prlimit", "--nice=0:0", *nobody(ALL)])):
            with self.subTest(nice=nice):
                r = self.recorder(store=os.path.join(self.place, f"nice{nice}"), wrap=wrap).ready()
                self.assertEqual(os.getpriority(os.PRIO_PROCESS, r.pid), nice)
                self.assertEqual(os.getpriority(os.PRIO_PROCESS, thread_of(r.pid, "perfcam-drain")), nice)
                self.assertEqual(r.stop(), 0, r.said())

    def test_each_that_is_missing_is_said_and_the_rest_works(self):
        """Six recorders at once, each without one of them, beside a program and one whose file is gone."""
        self.load("spin31", share=80)
        copy = shutil.copy(support.workload("spin31"), os.path.join(self.dir, "gone"))
        gone = self.start(copy, "60")
        support.wait_until(lambda: os.readlink(f"/proc/{gone.pid}/exe") == os.path.realpath(copy))
        os.unlink(copy)
        recorders = {missing: self.recorder("-F", "199", "--window", "1m", store=os.path.join(self.place, missing),
                                            wrap=nobody([c for c in ALL if c != missing])) for missing in ALL}
        for r in recorders.values():
            r.ready()
        time.sleep(2)
        for missing, r in recorders.items():
            with self.subTest(missing=missing):
                self.assertEqual(r.stop(), 0, r.said())
                self.verify(r.store)
                said, samples = r.said(), Store(r.store).samples
                support.note(f"without {missing}: " + next(
                    (line for line in said.splitlines() if "CAP_" in line), "nothing said"))
                self.assertEqual(said.count(f"CAP_{missing.upper()} is missing"), 1, said)
                self.assertEqual(said.count(" is missing"), 1, said)
                there = [s for s in samples if s.pid != gone.pid]
                if missing not in ("perfmon", "sys_ptrace"):
                    self.assertGreater(self.named(there), 20, said)
                # Where the names of what is gone are missing that was said, and nowhere else are they.
                if "deleted or replaced" in said:
                    self.assertIn(missing, ("checkpoint_restore", "dac_read_search"))
                    self.assertEqual(self.named([s for s in samples if s.pid == gone.pid]), 0, said)
                elif missing in ("bpf", "syslog"):
                    self.assertGreater(self.named([s for s in samples if s.pid == gone.pid]), 5, said)
                if missing == "bpf":
                    self.assertIn("source perf", said)

    def test_what_java_maps_needs_beyond_them_is_said(self):
        said, _ = self.record(ALL, "--java-maps", seconds=0.2)
        self.assertRegex(said, "--java-maps: CAP_SYS_ADMIN is missing. JVMs are not asked")

    def test_a_source_that_is_forced_and_refused_is_not_replaced(self):
        for wrap, why in (
                (nobody([c for c in ALL if c != "bpf"]), "a BPF ring buffer: not allowed (EPERM)"),
                (["unshare", "-p", "-f", "--mount-proc", "--"], "pid namespace")):
            r = self.recorder("--source", "bpf", "-d", "300ms", wrap=wrap)
            self.assertEqual(r.p.wait(support.PATIENCE), 1, r.said())
            last = r.said().splitlines()[-1]
            self.assertIn("cannot sample with --source bpf: ", last)
            self.assertIn(why, last)
            self.assertIn("--source perf needs less", last)

    def test_with_none_of_them_it_records_its_own_command(self):
        r = subprocess.run(
            [*nobody(()), support.BIN, "record", "-F", "199", "-o", self.place + "/x.pcw", "--",
             support.workload("spin31"), "2"], stdout=-1, stderr=-1, text=True, timeout=60)
        self.assertEqual(r.returncode, 0, r.stderr)
        r = support.perfcam("export", "folded", "-i", self.place + "/x.pcw")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        lines = r.stdout.splitlines()
        named = sum(int(line.rpartition(" ")[2]) for line in lines
                    if line.rpartition(" ")[0].endswith((";one", ";three")))
        self.assertGreater(named, 100, r.stdout)

    def test_with_none_of_them_it_records_a_process_of_its_own_user(self):
        spin = self.start(*nobody(()), support.workload("spin31"), "60")
        r = self.recorder("-F", "199", "-p", str(spin.pid), wrap=nobody(())).ready()
        time.sleep(2)
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        samples = Store(self.store).samples
        self.assertEqual({s.pid for s in samples}, {spin.pid})
        self.assertGreater(self.named(samples), 50, r.said())

    def test_with_none_of_them_a_tree_has_the_children_that_were_there(self):
        """Events are of single threads then: who was forked before inherits none. And each is counted once."""
        family = self.start(*nobody(()), support.workload("family"), "1", stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
        family.stdout.readline()
        r = self.recorder("-F", "199", "-p", f"{family.pid},{family.pid}", "--tree", wrap=nobody(())).ready()
        family.stdin.write("\n")
        family.stdin.flush()
        family.wait(support.PATIENCE)
        self.assertEqual(r.stop(), 0, r.said())
        store = Store(self.store)
        for name in ("parent_work", "elder_work", "younger_work", "grand_work"):
            self.assertGreater(len(store.with_frame(name)), 20, f"{name} {r.said()}")
            # A second of CPU time each.
            self.assertLess(len(store.with_frame(name)), 199 * 1.2, name)

    def test_in_a_pid_namespace_nobody_outside_is_idle(self):
        """A load outside keeps a CPU busy: by its samples, which have no pid here, it was not idle."""
        self.start("taskset", "-c", "0", support.workload("spin31"), "60")
        r = self.recorder("-F", "199", "-C", "0", "-d", "2s", wrap=["unshare", "-p", "-f", "--mount-proc", "--"])
        self.assertEqual(r.p.wait(support.PATIENCE), 0, r.said())
        self.assertIn("no pid here: their samples are counted as filtered", r.said())
        ledger = {}
        for w in self.windows():
            for cause, n in w["ledger"].items():
                ledger[cause] = ledger.get(cause, 0) + n
        support.note(f"in a pid namespace, beside a load outside: {ledger}")
        self.assertGreater(ledger.get("filtered", 0), 50, ledger)
        self.assertLess(ledger.get("idle", 0), ledger["filtered"] / 2, ledger)

    def test_in_a_time_namespace(self):
        self.load("spin31", share=60)
        before = time.monotonic_ns()
        r = self.recorder("-F", "199", "--window", "1m",
                          wrap=["unshare", "-T", "--monotonic", "100000", "--boottime", "300000", "--"]).ready()
        time.sleep(3)
        self.assertEqual(r.stop(), 0, r.said())
        after = time.monotonic_ns()
        self.verify()
        dump = Store(self.store)
        # Also when the process started is told by that namespace's clock.
        mine = [s for s in dump.samples if s.comm == "workload_spin31"]
        self.assertGreater(self.named(mine), 20)
        self.assertGreater(self.named(mine), 0.7 * len(mine))
        for s in dump.samples:
            self.assertTrue(before <= s.time <= after, (before, s.time, after))
        for w in dump.windows:
            self.assertLess(abs(w["realtime"] - time.time_ns()), 20 * SECOND)
        self.assertEqual(sum(w["lost"] for w in dump.windows), 0)


support.main()
