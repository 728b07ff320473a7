#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs whose profile is known, recorded by both sources at once: every sample must be what they did.

All of them run while one recorder of each source watches; then each test looks at its own. Samples are
known by a function in their stack (red_work, …) or by the pid; who they are said to belong to must match
without an exception: one sample under a wrong name is a failure, whatever the rate. perf records at the same time: where
it has the right file its answer is asked for, else ours is to be the better one.
"""
import os
import shutil
import subprocess
import time

import dump
import support
import theirs

# The three programs of twin.c have the same addresses: a wrong file gives wrong names.
COLOURS = ("red", "green", "blue")
DEPTH = 60
SHORT = 150
CHILDREN = 2500
NOBODY = 65534
CXX = "shop::Till<int>::ring"
# Not whatever ends in _work: the kernel's process_one_work() does, under names of kworkers that /proc tells otherwise than the task.
WORK = {c + "_work" for c in (*COLOURS, "spawn", "zero", "even", "odd", "before", "after")} | {"bottom", CXX}
VDSO = "__vdso_clock_gettime"


def other(colour):
    return [c + "_work" for c in COLOURS if c != colour]


class Known(support.Both):
    """What ran, and the stores: made once, looked at by each test."""
    made = None

    def setUp(self):
        super().setUp()
        if Known.made is None:
            Known.made = False
            Known.made = self.made_once(Scene)
        self.assertTrue(Known.made, "the recording failed")
        self.scene = Known.made

    def each(self):
        return self.scene.stores.items()

    def assert_all(self, samples, at_least, what, why):
        """Every one is so; and there are enough to say that."""
        self.assertGreaterEqual(len(samples), at_least, why)
        wrong = [s for s in samples if not what(s)]
        self.assertEqual(wrong, [], f"{why}: {len(wrong)} of {len(samples)}")

    def assert_own_names(self, samples, colour, why, at_least=100):
        """Of one program of twin.c: in its own function, nearly always; never in another's."""
        self.assertGreaterEqual(len(samples), at_least, why)
        wrong = [s for s in samples for name in other(colour) if s.has(name)]
        self.assertEqual(wrong, [], why)
        named = sum(s.has(colour + "_work") for s in samples)
        self.assertGreater(named, 0.9 * len(samples), f"{why}: {samples[:5]}")

    def test_recursion_has_its_depth(self):
        for source, store in self.each():
            mine = [s for s in store.with_frame("bottom") if s.comm == "workload_recurs"]
            self.assertGreater(len(mine), 200, source)
            # Between a call and the frame's set-up the caller cannot be seen; the kernel's own stack
            # may be on top.
            exact = [s for s in mine if s.names.count("recurse") == DEPTH and
                     s.names[s.names.index("recurse") - 1] == "main"]
            self.assertGreater(len(exact), 0.98 * len(mine), source)
            self.assertLessEqual(max(s.names.count("recurse") for s in mine), DEPTH, source)

    def test_children_of_a_fork_storm_have_their_own_names(self):
        exe = support.workload("forks")
        for source, store in self.each():
            for name in ("even", "odd"):
                self.assert_all(
                    store.with_frame(name + "_work"), 200,
                    lambda s, n=name: s.comm == n and s.exe == exe and
                    s.pid != self.scene.forks_pid and s.start > 0, f"{source} {name}")
            # Thousands of processes, each with its own pid and start.
            children = {(s.pid, s.start) for s in store.with_frame("even_work")}
            self.assertGreater(len(children), 100, source)

    def test_a_chain_of_programs_is_told_apart(self):
        for source, store in self.each():
            mine = store.of_pid(self.scene.chain_pid)
            for colour in COLOURS:
                exe = os.path.join(self.scene.dir, colour)
                self.assert_all([s for s in mine if s.has(colour + "_work")], 50,
                                lambda s, c=colour, e=exe: s.comm == c and s.exe == e,
                                f"{source} {colour}")
                # And the other way round: what is under its name is its own.
                self.assert_own_names([s for s in mine if s.comm == colour and s.names and
                                       s.frames[-1].kind == "user"], colour, source, 50)

    def test_threads_have_their_own_names(self):
        tids = self.scene.thread_names
        for source, store in self.each():
            for work, comm in (("red", "red"), ("blue", "blue"), ("before", "turning"),
                               ("after", "turned")):
                mine = [s for s in store.with_frame(work + "_work") if s.tid in tids.values()]
                self.assert_all(mine, 100, lambda s, c=comm: s.comm == c and s.tid == tids[c] and
                                s.pid == self.scene.threads_pid, f"{source} {comm}")

    def test_a_program_in_another_root(self):
        for source, store in self.each():
            self.assert_own_names(store.of_pid(self.scene.chroot_pid), "red", source)
            self.assert_own_names(store.of_pid(self.scene.outside_pid), "blue", source)

    def test_a_program_in_another_mount_namespace(self):
        for source, store in self.each():
            mine = [s for s in store.of_pid(self.scene.mounted_pid) if s.comm == "place"]
            self.assert_own_names(mine, "green", source)

    def test_a_program_replaced_while_it_runs(self):
        for source, store in self.each():
            self.assert_own_names(store.of_pid(self.scene.replaced_pid), "red", source)

    def test_a_program_replaced_before_the_start(self):
        for source, store in self.each():
            self.assert_own_names(store.of_pid(self.scene.elder_pid), "green", source)
            # What came before /proc had answered may be unknown; assert_own_names() has limited that.
            self.assert_all([s for s in store.of_pid(self.scene.elder_pid) if s.exe], 100,
                            lambda s: s.comm == "elder" and s.exe.startswith(
                                os.path.join(self.scene.dir, "elder")) and s.uid == 0, source)

    def test_a_deleted_program(self):
        for source, store in self.each():
            self.assert_own_names(store.of_pid(self.scene.deleted_pid), "blue", source)

    def test_a_process_of_a_few_milliseconds(self):
        exe = os.path.join(self.scene.dir, "red")
        for source, store in self.each():
            mine = store.of_pid(*self.scene.short_pids)
            # From exec on; before that it is its parent's image, which is right, too.
            own = [s for s in mine if s.has("red_work")]
            self.assertGreater(len({s.pid for s in own}), SHORT / 2, source)
            self.assert_all(own, SHORT, lambda s: s.comm == "red" and s.exe == exe and
                            s.cgroup == self.scene.cgroup and s.uid == 0, source)
            # While a program is being replaced it has neither the old nor the new image, and none after
            # its end. What calls a function of ld.so or libc is found by frame pointers that these do not keep, so of
            # plain rings only where it stood is asked: a register may hold any address of a file.
            unnamed = [s for s in mine if s.comm == "red" and not s.has("__x64_sys_execve") and
                       not s.has("do_exit") and
                       any(not f.name for f in [f for f in s.frames if f.kind == "user"][0 if source == "bpf" else -1:])]
            self.assertEqual(unnamed, [], source)
            # Each one sampled at all is there under its own pid with its own start.
            starts = {}
            for s in mine:
                starts.setdefault(s.pid, set()).add(s.start)
            self.assertEqual([p for p, t in starts.items() if len(t) != 1 or 0 in t], [], source)

    def test_users_are_told_apart(self):
        for source, store in self.each():
            users = [s.uid for s in sorted(store.of_pid(self.scene.nobody_pid), key=lambda s: s.time)
                     if s.comm == "workload_green"]
            self.assertGreater(len(users), 100, source)
            # BPF tells the user of each sample; of plain rings nobody does, so a process that changes
            # its user has its parent's until it has been looked at.
            self.assertEqual(set(users) - {0, NOBODY}, set(), source)
            self.assertEqual(users[-1], NOBODY, source)
            if source == "bpf":
                self.assertEqual(set(users), {NOBODY})

    def test_cpp_names_are_demangled(self):
        oracle = subprocess.run(["c++filt", "-p", "_ZNK4shop4TillIiE4ringERKSt4pairIiPKcE"],
                                stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
        self.assertEqual(oracle, CXX)
        for source, store in self.each():
            self.assert_all([s for s in store.samples if s.comm == "workload_mangle" and
                             "main" in s.names and "clock_gettime" not in s.names and
                             not any("strtod" in name for name in s.names)],  # its argument
                            100, lambda s: s.has(CXX), source)

    def judge(self, label, source, perfs, ours):
        """Shares of the samples that are what they should be."""
        n, m = len(perfs), len(ours)
        self.assertGreater(min(n, m), 80, label)
        p, q, s = sum(perfs) / n, sum(ours) / m, (sum(perfs) + sum(ours)) / (n + m)
        support.note(f"{label}: perf {p:.1%} of {n}, {source} {q:.1%} of {m}")
        if p > 0.5:
            self.assertLess(abs(p - q), 5 * (s * (1 - s) * (1 / n + 1 / m)) ** 0.5 + 0.03, (label, source))
        else:
            self.assertGreater(q, 0.9, (label, source))

    def test_perfs_answer(self):
        """Of each the share of samples in the function that burns; of vdso and the stripped one in that file."""
        scene = self.scene
        by_function = {
            "exited": (lambda s: s.pid == scene.nobody_pid and s.comm == "workload_green", "green_work"),
            "beside a chroot": (lambda s: s.pid == scene.outside_pid, "blue_work"),
            "in a chroot": (lambda s: s.pid == scene.chroot_pid and s.comm == "app", "red_work"),
            "in a mount namespace": (lambda s: s.pid == scene.mounted_pid and s.comm == "place", "green_work"),
            "in a pid namespace": (lambda s: s.comm == "inside", "red_work"),
            "renamed over": (lambda s: s.pid == scene.replaced_pid, "red_work"),
            "deleted": (lambda s: s.pid == scene.deleted_pid, "blue_work"),
            "C++ template": (lambda s: s.comm == "workload_mangle", CXX),
            "vdso by name": (lambda s: s.comm == "workload_ticks", VDSO),
        }
        # Frame pointers, perf's and those of our other source, do not lead out of the vdso.
        ticks = [s for s in self.scene.stores["bpf"].samples if s.comm == "workload_ticks"]
        self.assertGreater(sum(s.has("tick") for s in ticks), 0.9 * len(ticks))
        for source, store in self.each():
            for label, (which, name) in by_function.items():
                with self.subTest(label, source=source):
                    self.judge(label, source, [s.has(name) for s in scene.theirs if which(s)],
                               [s.has(name) for s in store.samples if which(s)])
            for label, which, file in (("vdso", "workload_ticks", "[vdso]"), ("stripped", "stripped", "/stripped")):
                with self.subTest(label, source=source):
                    self.judge(label, source, *([bool(s.frames) and (s.frames[-1].module or "").endswith(file)
                                                 for s in samples if s.comm == which] for samples in (scene.theirs, store.samples)))

    def test_kernel_functions_are_named(self):
        known = set()
        with open("/proc/kallsyms", encoding="ascii", errors="replace") as f:
            for line in f:
                known.add(line.split()[2])
        for source, store in self.each():
            # Whole stacks also show where it asks for the time; that is another way.
            mine = [s for s in store.with_frame("zero_work") if not s.has("clock_gettime")]
            kernel = [s for s in mine if s.frames[-1].kind == "kernel"]
            self.assertGreater(len(kernel), 0.8 * len(mine), source)
            # The way into read_zero() is the kernel's own; interrupts may be on top of it.
            way = sum(s.has("read_zero") and s.has("vfs_read") for s in kernel)
            self.assertGreater(way, 0.9 * len(kernel), source)
            strange = {f.name for s in store.samples for f in s.frames
                       if f.kind == "kernel" and f.name and f.name not in known and
                       not f.name.startswith("bpf_prog_")}  # the recorder's own are gone
            self.assertEqual(strange, set(), source)
            # Nearly all have names: a BPF program that somebody loads meanwhile costs the names that
            # were under way; elsewhere there is code without any (filters of seccomp).
            unnamed = [s for s in mine for f in s.frames if f.kind == "kernel" and not f.name]
            self.assertLess(len(unnamed), 0.02 * len(mine), source)

    def test_nothing_was_lost(self):
        """Of its own doing. Where other tests load BPF programs at the same time, the kernel passes over ours meanwhile: that is named."""
        for source, store in self.each():
            losses = store.losses()
            blocked = losses.pop("blocked", 0)
            if blocked:
                support.note(f"{source}: {blocked} samples blocked by other BPF code")
            self.assertLess(blocked, 0.02 * len(store.samples), source)
            self.assertEqual(losses, {}, source)
            self.assertEqual(sum(w["lost"] for w in store.windows), blocked, source)

    def test_both_sources_tell_the_same(self):
        if len(self.scene.stores) < 2:
            self.fail("only one source can be recorded here")
        bpf, perf = (self.scene.stores[s] for s in ("bpf", "perf"))
        a, b = self.profile(bpf), self.profile(perf)
        n, m = sum(a.values()), sum(b.values())
        self.assertGreater(min(n, m), 3000)
        # The same time, each a sample of it: two shares differ by less than five standard deviations
        # (and half a percent, for what the one costs the other).
        for key in set(a) | set(b):
            p, q = a.get(key, 0) / n, b.get(key, 0) / m
            pooled = (a.get(key, 0) + b.get(key, 0)) / (n + m)
            bound = 5 * (pooled * (1 - pooled) * (1 / n + 1 / m)) ** 0.5 + 0.005
            self.assertLess(abs(p - q), bound, f"{key}: {p:.4f} of {n}, {q:.4f} of {m}")

    def profile(self, store):
        """{(comm, function in which the work is): samples} while both recorded: other tests may run these programs, too, and on
        while one of the recorders stops."""
        found = {}
        for s in store.samples:
            if not self.scene.begun <= s.time < self.scene.ended:
                continue
            for name in s.names:
                if name in WORK:
                    found[(s.comm, name)] = found.get((s.comm, name), 0) + 1
                    break
        return found


class Scene:
    """Records all of them, by both sources at once."""

    def __init__(self, case):
        self.case, self.dir = case, support.keep_directory()
        self.programs = []
        for colour in COLOURS:
            self.copy(colour, colour)
        self.make_group()
        try:
            self.record()
        finally:
            os.rmdir(self.group)

    def make_group(self):
        self.cgroup, self.group = support.make_cgroup()

    def copy(self, colour, *place):
        path = os.path.join(self.dir, *place)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        shutil.copy(support.workload(colour), path + ".new")
        os.rename(path + ".new", path)
        return path

    def start(self, *command, **options):
        p = subprocess.Popen(command, stdin=options.pop("stdin", subprocess.DEVNULL), **options)
        self.programs.append(p)
        self.case.running.append(p)
        return p

    def finish(self):
        for p in self.programs:
            # Some are killed on purpose: they were to run until they had been seen.
            if p.wait(support.PATIENCE * 2) != 0:
                raise AssertionError(f"{p.args}: {p.returncode}")
        self.programs = []

    def record(self):
        # One source begins to sample sooner than the other: it must still run when both do.
        elder = self.start(self.copy("green", "elder"), "3")
        self.elder_pid = elder.pid
        self.copy("blue", "elder")
        recorders = self.case.both("-F", "997", "--max-cpu", "none")
        self.begun = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        data = [os.path.join(self.dir, f"perf.{i}") for i in range(2)]
        for scenes, path in zip((self.run_first, self.run_second), data):
            perf = theirs.start(self.case, path)
            scenes()
            self.finish()
            perf.terminate()
            perf.wait(support.PATIENCE)
        self.run_third()
        self.finish()
        self.ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.stores = {}
        for source, r in recorders.items():
            if r.stop() != 0:
                raise AssertionError(r.said())
            self.stores[source] = dump.Store(r.store)
        self.theirs = [s for path in data for s in theirs.read(path)]

    def run_first(self):
        """Files that are not what their path says."""
        place = self.copy("blue", "root", "app")
        self.outside_pid = self.start(place, "0.5").pid
        root = os.path.join(self.dir, "jail")
        os.makedirs(root + os.path.dirname(place))
        shutil.copy(support.workload("red"), root + place)
        self.chroot_pid = self.start("chroot", root, place, "0.5").pid
        place = self.copy("blue", "mounted", "place")
        self.copy("green", "under", "place")
        self.mounted_pid = self.start(
            "unshare", "-m", "sh", "-c",
            f"mount --bind {self.dir}/under {self.dir}/mounted && exec {place} 0.5").pid
        self.replaced_pid = self.start(self.copy("red", "replaced"), "0.5").pid
        self.copy("blue", "replaced")
        deleted = self.start(self.copy("blue", "deleted"), "0.5")
        self.deleted_pid = deleted.pid
        os.unlink(os.path.join(self.dir, "deleted"))
        self.nobody_pid = self.start("setpriv", "--reuid", str(NOBODY), "--clear-groups",
                                     support.workload("green"), "0.9").pid

    def run_second(self):
        self.spawner = self.start(
            "sh", "-c", f"echo $$ >{self.group}/cgroup.procs && exec \"$@\"", "sh",
            support.workload("spawn"), "0.5", str(SHORT), os.path.join(self.dir, "red"), "0.005",
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.programs.remove(self.spawner)
        self.start(support.workload("recurse"), "0.7", str(DEPTH))
        self.start(support.workload("mangled"), "0.5")
        self.start(support.workload("ticks"), "0.5")
        stripped = shutil.copy(support.workload("spin31"), os.path.join(self.dir, "stripped"))
        subprocess.run(["strip", stripped], check=True)
        self.start(stripped, "0.5")
        self.start("unshare", "-pf", "--kill-child", self.copy("red", "inside"), "0.5")
        self.start(support.workload("kernel"), "0.7")
        steps = []
        for i in range(60):
            steps += [os.path.join(self.dir, COLOURS[i % 3]), "0.012"]
        self.chain_pid = self.start(*steps).pid
        threads = self.start(support.workload("threads"), "0.5", stdout=subprocess.PIPE, text=True)
        self.threads_pid = threads.pid
        self.thread_names = {}
        for line in threads.stdout:
            name, tid = line.split()
            self.thread_names[name] = int(tid)

    def run_third(self):
        self.forks_pid = self.start(support.workload("forks"), str(CHILDREN), "0.001").pid
        # It has been seen where it is; its children are gone before anybody can look.
        self.short_pids = [int(n) for n in self.spawner.communicate("\n")[0].split()]


support.main()
