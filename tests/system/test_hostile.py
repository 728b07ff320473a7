#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Files that somebody has made to harm: on a FUSE mount whose server stops answering, written over while
they are used, another's build-id with other contents. What it costs is their own names, never another's, and
never a sample. One recording of each source, looked at by each test; and files whose descriptions are damaged."""
import collections
import os
import random
import re
import select
import shutil
import struct
import subprocess
import sys
import time

import dump
import support
import theirs

DEPTH = 60
HZ = 499
SECOND = 10**9


class Scene:
    """Records all of it, by both sources at once."""

    def __init__(self, case):
        self.case, self.dir = case, support.keep_directory()
        # Before the recorders: nobody could start from that mount afterwards.
        fuse = case.start("unshare", "-m", os.path.join(os.path.dirname(__file__), "fuse.py"),
                          support.workload("red"), "600", support.workload("jit"), "600",
                          stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.fuse_pids = [int(pid) for pid in fuse.stdout.readline().split()]
        case.assertEqual(len(self.fuse_pids), 2)
        case.assertTrue(support.wait_until(lambda: all(map(is_under_way, self.fuse_pids))))
        fuse.stdin.write("\n")
        fuse.stdin.flush()
        recorders = case.both("-F", str(HZ), "--max-cpu", "none")
        self.began = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        used = [cpu_seconds(pid) for pid in self.fuse_pids]
        self.write_over()
        self.forge()
        time.sleep(2)  # within which there are names
        self.asked = {}
        for source, r in recorders.items():
            started = time.monotonic()
            case.assertTrue(r.status(), source)
            self.asked[source] = time.monotonic() - started
        self.ended = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.used = [cpu_seconds(pid) - before for pid, before in zip(self.fuse_pids, used)]
        self.stopped = {}
        for source, r in recorders.items():
            started = time.monotonic()
            case.assertEqual(r.stop(), 0, r.said())
            self.stopped[source] = time.monotonic() - started
        fuse.stdin.close()  # and with it the programs, before all is read
        fuse.wait(support.PATIENCE)
        for r in recorders.values():
            case.verify(r.store)
        self.stores = {source: dump.Store(r.store) for source, r in recorders.items()}
        # By the files that are there, not by copies that perf made some other day.
        self.theirs = theirs.read(self.perf_data, "--buildid-dir", os.path.join(self.dir, "none"))

    def copy(self, name, path):
        return shutil.copy(support.workload(name), os.path.join(self.dir, path))

    def write_over(self):
        """A program between two of its runs, and a library while it is mapped (the kernel lets nobody write to a
        program that runs). perf records the same, and does not look for build-ids at its end: it would wait for the mount."""
        self.perf_data = os.path.join(self.dir, "perf.data")
        perf = theirs.start(self.case, self.perf_data, "--no-buildid", hz=HZ)
        library = shutil.copy(os.path.join(support.WORKLOADS, "workload_late_library.so"), self.dir)
        late = self.case.start(support.workload("late"), "1.5", library, stdout=subprocess.PIPE)
        late.stdout.readline()
        place = self.copy("red", "place")
        inode = os.stat(place).st_ino
        first = self.case.start(place, "0.8")
        self.case.assertEqual(first.wait(60), 0)
        self.replaced = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        overwrite(place, lambda data: read(support.workload("blue")))
        self.case.assertEqual(os.stat(place).st_ino, inode)
        second = self.case.start(place, "0.5")
        self.first_pid, self.second_pid, self.late_pid = first.pid, second.pid, late.pid
        # Now it says of the same code that it has another name.
        overwrite(library, lambda data: data.replace(b"late_work", b"fake_work"))
        self.overwritten = time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        for p in (second, late):
            self.case.assertEqual(p.wait(60), 0)
        perf.terminate()
        perf.wait(support.PATIENCE)

    def forge(self):
        """The same program with its rules wiped out, beside the true one; the build-id is the same. And one with
        another's build-id (perf gives both the names of the one it saw first)."""
        forged, green = self.copy("red", "forged"), self.copy("green", "green")
        overwrite(forged, lambda data: data.replace(build_id(forged), build_id(green)))
        self.case.assertEqual(build_id(forged), build_id(green))
        true, crooked = self.copy("unframed", "true"), self.copy("unframed", "crooked")
        at, size = rules_of(crooked)
        overwrite(crooked, lambda data: data[:at] + bytes(size) + data[at + size:])
        pids = []
        for command in ((crooked, "1.8", str(DEPTH)), (true, "1.8", str(DEPTH)), (forged, "0.4"),
                        (green, "0.4")):
            pids.append(self.case.start(*command))
            time.sleep(0.2)
        self.crooked_pid, self.true_pid, self.forged_pid, self.green_pid = (p.pid for p in pids)
        for p in pids:
            self.case.assertEqual(p.wait(60), 0)


def read(path):
    with open(path, "rb") as f:
        return f.read()


def overwrite(path, change):
    """In place."""
    data = change(read(path))
    with open(path, "r+b") as f:
        f.write(data)
        f.truncate()


def in_file(samples, pid, file):
    """Those of a process whose leaf lies in a file."""
    return [s for s in samples if s.pid == pid and s.frames and (s.frames[-1].module or "").endswith(file)]


def build_id(path):
    text = subprocess.run(["readelf", "-n", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    return bytes.fromhex(re.search(r"Build ID: ([0-9a-f]+)", text)[1])


def rules_of(path):
    """Where .eh_frame is, and its bytes; of zeros it is an empty list."""
    text = subprocess.run(["readelf", "-SW", path], stdout=subprocess.PIPE, text=True, check=True).stdout
    for line in text.splitlines():
        fields = line.replace("[ ", "[").split()
        if len(fields) > 5 and fields[1] == ".eh_frame":
            return int(fields[4], 16), int(fields[5], 16)
    raise AssertionError("no .eh_frame")


def name_and_fields(pid):
    with open(f"/proc/{pid}/stat") as f:
        comm, _, rest = f.read().partition("(")[2].rpartition(")")
    return comm, rest.split()


def cpu_seconds(pid):
    return sum(map(int, name_and_fields(pid)[1][11:13])) / os.sysconf("SC_CLK_TCK")


def is_under_way(pid):
    """Has it used CPU as the program that it is to become?"""
    comm, fields = name_and_fields(pid)
    return not comm.startswith("python") and int(fields[11]) >= 5


class Hostile(support.Both):
    made = None

    def setUp(self):
        super().setUp()
        if Hostile.made is None:
            Hostile.made = False
            Hostile.made = self.made_once(Scene)
        self.assertTrue(Hostile.made, "the recording failed")
        self.scene = Hostile.made

    def each(self):
        return self.scene.stores.items()

    def assert_named(self, samples, name, never, at_least, why):
        self.assertGreater(len(samples), at_least, why)
        self.assertEqual([s for s in samples if any(s.has(n) for n in never)], [], why)
        named = sum(s.has(name) for s in samples)
        self.assertGreater(named, 0.9 * len(samples), f"{why}: {named} of {len(samples)}")

    def test_a_program_written_over_between_two_runs(self):
        for source, store in self.each():
            # What had not been read from the rings when the file changed has no names any more: the last quarter of a second.
            first = store.of_pid(self.scene.first_pid)
            self.assertEqual([s for s in first if s.has("blue_work")], [], source)
            self.assert_named([s for s in first if s.time < self.scene.replaced - SECOND * 3 // 10], "red_work", ["blue_work"],
                              100, source)
            self.assert_named([s for s in store.of_pid(self.scene.second_pid) if s.comm == "place"],
                              "blue_work", ["red_work"], 100, source)

    def test_perf_saw_what_was_written_over_and_named_it_by_the_new_contents(self):
        """The same samples, of the same process in the same file; names apart: perf reads the file afterwards, when it
        says something else (perf 6.1: the new name, under another version perhaps none), we while it was that program's."""
        scene = self.scene
        for pid, file, true, false in ((scene.first_pid, "/place", "red_work", "blue_work"),
                                       (scene.second_pid, "/place", "blue_work", "red_work"),
                                       (scene.late_pid, "/workload_late_library.so", "late_work", "fake_work")):
            perfs = in_file(scene.theirs, pid, file)
            self.assertGreater(len(perfs), 100, file)
            stale = pid != scene.second_pid
            self.assertEqual([s.has(true) for s in perfs].count(True) == 0, stale, (file, true))
            for source, store in self.each():
                ours = in_file(store.samples, pid, file)
                named = [sum(s.has(name) for s in samples) for samples in (perfs, ours) for name in (true, false)]
                support.note(f"{file[1:]}: perf {len(perfs)}, {true} {named[0]}, {false} {named[1]}; "
                             f"{source} {len(ours)}, {true} {named[2]}, {false} {named[3]}")
                self.assertLess(abs(len(ours) - len(perfs)), 5 * (len(ours) + len(perfs)) ** 0.5 + 0.05 * len(perfs),
                                (source, file))
                self.assertGreater(named[2], 0, (source, file))
                self.assertEqual(named[3], 0, (source, file))

    def test_a_library_written_over_while_it_is_mapped(self):
        for source, store in self.each():
            mine = store.of_pid(self.scene.late_pid)
            self.assertEqual([s for s in mine if s.has("fake_work")], [], source)
            before = [s for s in mine if s.time < self.scene.overwritten and not s.has("early_work") and
                      s.has("main")]
            self.assert_named([s for s in before if s.frames[-1].kind == "user"][20:], "late_work",
                              ["fake_work"], 50, source)

    def test_the_same_build_id_gives_nobody_anothers_names(self):
        for source, store in self.each():
            for pid, name, other in ((self.scene.forged_pid, "red_work", "green_work"),
                                     (self.scene.green_pid, "green_work", "red_work")):
                mine = [s for s in store.of_pid(pid) if s.comm in ("forged", "green")]
                self.assert_named(mine, name, [other], 100, source)

    def test_other_rules_under_the_same_build_id_spoil_no_stack(self):
        store = self.scene.stores.get("bpf")
        self.assertIsNotNone(store, "the source bpf is not to be had here")
        # Within a second of the first one there is a table.
        mine = store.of_pid(self.scene.true_pid)
        judged = [s for s in mine if s.has("bottom") and s.time > mine[0].time + SECOND]
        complete = [s for s in judged if s.names.count("recurse") == DEPTH and "main" in s.names]
        self.assertGreater(len(judged), 100)
        self.assertGreater(len(complete), 0.9 * len(judged))
        # The other one has no rules, and says so; it has got none of the true one's.
        crooked = [s for s in store.of_pid(self.scene.crooked_pid) if s.has("bottom")]
        self.assertGreater(len(crooked), 200)
        self.assertEqual([s for s in crooked if s.names.count("recurse") == DEPTH], [])

    def test_a_mount_that_hangs_costs_its_own_names_alone(self):
        program, jit = self.scene.fuse_pids
        for source, store in self.each():
            seconds, jit_seconds = self.scene.used
            # It was sampled all the while, up to the end, though nobody could open its file.
            mine = [s for s in store.of_pid(program) if self.scene.began < s.time < self.scene.ended]
            support.note(f"{source}: {len(mine)} samples of {seconds:.1f} s of CPU")
            self.assertGreater(len(mine), 0.8 * HZ * seconds, source)
            self.assertGreater(max(s.time for s in mine), self.scene.ended - SECOND, source)
            self.assertEqual([s for s in mine if s.has("red_work") or s.has("blue_work")], [], source)
            theirs = store.of_pid(jit)
            self.assertGreater(len(theirs), 0.8 * HZ * jit_seconds, source)
            # (Held has it of the same map, while the server answers.)
            self.assertEqual([s for s in theirs if s.has("from_the_map")], [], source)
            self.assertEqual(sum(w["lost"] for w in store.windows), 0, f"{source} {store.losses()}")

    def test_the_recorder_answers_and_stops_while_it_hangs(self):
        for source in self.scene.stores:
            support.note(f"{source}: answered after {self.scene.asked[source]:.2f} s, stopped after "
                         f"{self.scene.stopped[source]:.2f} s")
            self.assertLess(self.scene.asked[source], 2, source)
            self.assertLess(self.scene.stopped[source], 5, source)


class Held(support.Case):
    def hold(self, r, *flags):
        """The mount's server, once its program's file is held and known for longer than it may be."""
        fuse = self.start("unshare", "-m", os.path.join(os.path.dirname(__file__), "fuse.py"), support.workload("red"), "600",
                          support.workload("jit"), "600", *flags, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        said, out = bytearray(), fuse.stdout.fileno()

        def is_held():
            return "/tmp/prog" in [os.readlink(e.path) for e in os.scandir(f"/proc/{r.pid}/fd") if os.path.islink(e.path)]

        def is_read():
            if select.select([out], [], [], 0)[0]:
                said.extend(os.read(out, 100))
            return b"read" in said

        self.assertTrue(support.wait_until(is_held))
        self.assertTrue(support.wait_until(is_read), said)
        self.jit_pid = int(said.split()[1])
        time.sleep(2.5)  # within which there are names
        return fuse

    def test_a_mount_that_hangs_once_its_file_is_held(self):
        """Each file is looked at again every two seconds: that must not ask a server that is gone."""
        r = self.recorder().ready()
        fuse = self.hold(r)
        try:
            fuse.stdin.write("\n")
            fuse.stdin.flush()
            time.sleep(4)
            self.assertTrue(r.status(), "it answers")
            started = time.monotonic()
            self.assertEqual(r.stop(), 0, r.said())
            self.assertLess(time.monotonic() - started, 5)
        finally:
            fuse.stdin.close()
            fuse.wait(support.PATIENCE)
        self.verify()
        # What was read while the server answered names code to the end.
        code = [s for s in dump.Store(r.store).of_pid(self.jit_pid) if s.frames and s.frames[-1].kind == "jit"]
        support.note(f"{sum(s.has('from_the_map') for s in code)} of {len(code)} have the map's name")
        self.assertGreater(len(code), 20)
        self.assertGreater(sum(s.has("from_the_map") for s in code), 0)

    def test_a_server_that_hears_of_each_close_and_hangs(self):
        """A helper that is started then must not wait for it, nor whoever starts it: windows are sealed, nothing is lost."""
        r = self.recorder("--window", "1s").ready()
        fuse = self.hold(r, "flush")
        try:
            fuse.stdin.write("\n")
            fuse.stdin.flush()
            time.sleep(0.5)
            before = r.status()["windows_sealed"]
            self.assertTrue(support.wait_until(lambda: r.status()["windows_sealed"] >= before + 4), r.status())
        finally:
            fuse.stdin.close()
            fuse.wait(support.PATIENCE)
        self.assertEqual(r.stop(), 0, r.said())
        self.assertEqual(dump.Store(self.store).losses(), {})
        self.verify()


RUNNER = """
import ctypes, sys
for path in sys.argv[1:]:
    ctypes.CDLL(path).late_work(ctypes.c_uint64(40_000_000))
sys.stdin.read()
"""
# What the dynamic loader does not look at: the rest has to run.
UNUSED = re.compile(r"\]\s+\.(?:symtab|strtab|shstrtab|eh_frame|eh_frame_hdr|note\S*|comment|debug_\w+)\s+\S+\s+\S+\s+(\S+)\s+(\S+)")


class Damaged(support.Case):
    def damage(self, data, sections, seed):
        """The same code, and bytes of what describes it changed: of all sections and their headers, of one, of the headers."""
        chance, data = random.Random(seed), bytearray(data)
        headers = struct.unpack_from("<Q", data, 40)[0]
        places = sections + [(headers, len(data) - headers)]
        for at, size in (places, [chance.choice(places)], places[-1:])[seed % 3]:
            for _ in range(max(1, size // chance.choice((8, 64, 512)))):
                data[at + chance.randrange(size)] = chance.choice((0, 1, 0x7f, 0x80, 0xff, chance.randrange(256)))
        return data

    def test_files_that_no_compiler_made_cost_their_own_names(self):
        """The parsers themselves are fuzzed; here the process that they are in, and the recorder, hear of such files."""
        good = os.path.join(self.dir, "good.so")
        source = os.path.join(os.path.dirname(__file__), "..", "workloads", "late_library.c")
        subprocess.run(["gcc", "-g", "-O2", "-w", "-shared", "-fPIC", "-o", good, source], check=True, timeout=60)
        text = subprocess.run(["readelf", "-SW", good], check=True, stdout=subprocess.PIPE, text=True, timeout=60).stdout
        sections = [(int(at, 16), int(size, 16)) for at, size in UNUSED.findall(text)]
        self.assertGreater(len(sections), 8)
        bad = []
        for seed in range(30):
            bad.append(os.path.join(self.dir, f"bad_{seed}.so"))
            with open(bad[-1], "wb") as f:
                f.write(self.damage(read(good), sections, seed))
        r = self.recorder("-F", "997", "--max-cpu", "none").ready()
        p = self.start(sys.executable, "-c", RUNNER, *bad, good, stdin=subprocess.PIPE)

        def is_named():
            """The last one of all has its names: nobody was in its way."""
            return any(s.has("late_work") and s.has("burn_for") for s in dump.Store(r.store).of_pid(p.pid)
                       if s.frames and s.frames[-1].module == good)

        self.assertTrue(support.wait_until(is_named))
        p.stdin.close()
        self.assertEqual(p.wait(support.PATIENCE), 0)
        status = r.status()
        self.assertEqual(r.stop(), 0, r.said())
        self.verify()
        store = dump.Store(r.store)
        mine = [s for s in store.of_pid(p.pid) if s.frames]
        where = collections.Counter(s.frames[-1].module for s in mine)
        support.note(f"{sum(where[path] for path in bad)} samples in {len(bad)} damaged files; names: {status['names']}")
        self.assertEqual([path for path in bad if not where[path]], [])
        self.assertEqual({cause for cause in store.losses() if cause != "blocked"}, set())


support.main()
