#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Names that come late: a stripped program is recorded, its debug file is put in place afterwards. What
resymbolise then says is what addr2line says; nothing else changes, whoever writes the store meanwhile."""
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import time

import support
from support import perfcam

SOURCE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "workloads", "spin31.c")
SERVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "unit", "debuginfod_server.py")
KILLS = 12


def run(*command):
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout


class Resymbolise(support.Case):
    def build(self, name, *more):
        """A program whose addresses are not its offsets, stripped; its debug file beside it."""
        path = os.path.join(self.dir, name)
        run("gcc", "-O2", "-g", "-fuse-ld=lld", "-Wl,--build-id=sha1", *more, "-o", path, SOURCE)
        run("objcopy", "--only-keep-debug", path, path + ".debug")
        run("strip", path)
        return path

    def place(self, program, debug):
        """Where build-ids lead to, below a directory for --symfs."""
        build_id = re.search(r"Build ID: (\w+)", run("readelf", "-nW", program)).group(1)
        symfs = os.path.join(self.dir, "symfs")
        shutil.rmtree(symfs, ignore_errors=True)
        where = os.path.join(symfs, ".build-id", build_id[:2])
        os.makedirs(where)
        shutil.copy(debug, os.path.join(where, build_id[2:] + ".debug"))
        return symfs

    def address_of(self, program, offset):
        for line in run("readelf", "-lW", program).splitlines():
            f = line.split()
            if f and f[0] == "LOAD" and int(f[1], 16) <= offset < int(f[1], 16) + int(f[4], 16):
                return int(f[2], 16) + offset - int(f[1], 16)
        raise AssertionError(f"{offset:x} is in no segment")

    def names(self, program, debug, labels):
        """What addr2line says about [spin+0x123] and so on."""
        offsets = [int(re.fullmatch(r"\[\w+\+0x([0-9a-f]+)\]", x).group(1), 16) for x in labels]
        said = run("addr2line", "-f", "-e", debug,
                   *(hex(self.address_of(program, o)) for o in offsets)).splitlines()[::2]
        return dict(zip(labels, said))

    def resymbolise(self, *args, store=None, code=0):
        store = store or self.store
        r = perfcam("resymbolise", "--json", "--store", store, "--control", self.store + ".control", *args)
        self.assertEqual(r.returncode, code, r.stdout + r.stderr)
        return json.loads(r.stdout)

    def of_program(self, store=None):
        return self.folded("--comm", "spin", store=store)

    def samples(self, store=None):
        return [(w["name"], w["samples"], w["lost"]) for w in self.windows(store)]

    def test_late_names(self):
        program = self.build("spin")
        recording = self.recorder("--window", "3s").ready()
        spin = self.start(program, "60")
        time.sleep(4)
        spin.send_signal(signal.SIGSTOP)
        time.sleep(3)
        self.assertEqual(perfcam("snapshot", "--store", self.store, "--control",
                                 self.store + ".control").returncode, 0)
        unnamed = sorted({f for s in self.of_program() for f in s if f.startswith("[spin+")})
        self.assertGreaterEqual(len(unnamed), 3)
        self.a_wrong_debug_file_names_nothing(program, unnamed)
        before = self.of_program()
        symfs = self.place(program, program + ".debug")
        copy = os.path.join(self.dir, "copy")
        shutil.copytree(self.store, copy, ignore=shutil.ignore_patterns("*.pcj", ".*", "lock"))
        want = self.names(program, program + ".debug", unnamed)
        with self.subTest("while a recorder writes"):
            self.while_a_recorder_writes(symfs, before, want, recording)
        self.assertEqual(recording.stop(), 0, recording.said())
        with self.subTest("by a debuginfod"):
            self.by_a_debuginfod(copy, program, before, want)
        with self.subTest("with the lock, killed at any time"):
            self.killed_at_any_time(copy, symfs, before, want)

    def a_wrong_debug_file_names_nothing(self, program, unnamed):
        other = self.build("other", "-DOTHER=1", "-O1")
        symfs = self.place(program, other + ".debug")
        self.resymbolise("--symfs", symfs)
        still = {f for s in self.of_program() for f in s}
        self.assertEqual([f for f in unnamed if f not in still], [])

    def expect(self, before, want):
        named = {}
        for stack, n in before.items():
            stack = tuple(want.get(f, f) for f in stack)
            named[stack] = named.get(stack, 0) + n
        return named

    def only(self, stacks, names):
        """What is our program's of each stack: libc may get names, too."""
        found = {}
        for stack, n in stacks.items():
            stack = tuple(f for f in stack if f in names)
            found[stack] = found.get(stack, 0) + n
        return found

    def while_a_recorder_writes(self, symfs, before, want, recording):
        whole = {w["name"]: w["samples"] for w in self.windows() if w.get("sealed", True)}
        first = self.resymbolise("--symfs", symfs, "--dry-run")
        self.assertGreaterEqual(first["named_functions"], len(want))
        self.assertEqual(self.of_program(), before)
        done = self.resymbolise("--symfs", symfs)
        self.assertGreaterEqual(done["named_by"]["symfs"], len(want))
        self.assertGreaterEqual(done["rewritten"], 1)
        names = set(want.values())
        self.assertGreaterEqual(len(names), 3)
        self.assertEqual(self.only(self.of_program(), names),
                         self.only(self.expect(before, want), names))
        now = {w["name"]: w["samples"] for w in self.windows()}
        self.assertEqual({n: now.get(n) for n in whole}, whole)
        self.verify()
        again = self.resymbolise("--symfs", symfs)
        self.assertEqual(again["named_by"]["symfs"], 0)
        # The recorder knows what it has: it goes on, and counts no failure.
        self.assertIsNotNone(recording.status())
        self.assertEqual([n for n in os.listdir(self.store) if n.endswith(".tmp")], [])

    def by_a_debuginfod(self, copy, program, before, want):
        """The program has gone, too: both files come from a server, and are kept."""
        store = shutil.copytree(copy, copy + "-2")
        build_id = re.search(r"Build ID: (\w+)", run("readelf", "-nW", program)).group(1)
        served = os.path.join(self.dir, "served")
        os.makedirs(os.path.join(served, build_id))
        shutil.copy(program + ".debug", os.path.join(served, build_id, "debuginfo"))
        shutil.move(program, os.path.join(served, build_id, "executable"))
        server = self.start(sys.executable, SERVER, served, stdin=subprocess.PIPE,
                            stdout=subprocess.PIPE, text=True)
        url = f"http://127.0.0.1:{int(server.stdout.readline())}/good"
        env = {**os.environ, "HOME": self.dir, "DEBUGINFOD_URLS": url}
        env.pop("XDG_CACHE_HOME", None)
        r = perfcam("resymbolise", "--json", "--debuginfod", "--store", store, env=env)
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertGreaterEqual(json.loads(r.stdout)["named_by"]["debuginfod"], len(want))
        names = set(want.values())
        self.assertEqual(self.only(self.of_program(store), names),
                         self.only(self.expect(before, want), names))
        with self.subTest("by verbs that record, when they have ended"):
            self.recorded(os.path.join(served, build_id, "executable"), url, names, env)
        shutil.move(os.path.join(served, build_id, "executable"), program)
        server.stdin.close()
        server.stdout.close()
        server.wait()

    def recorded(self, program, url, names, env):
        """run goes into a store, record -o into a file of its own: it is stripped while they record."""
        store, file = os.path.join(self.dir, "run"), os.path.join(self.dir, "own.pcw")
        spin = self.start(program, "60")
        running = [self.start(support.BIN, *verb, "-d", "3s", "--debuginfod=" + url, env=env,
                              stdout=subprocess.DEVNULL)
                   for verb in (("run", "--store", store, "--listen", "127.0.0.1:0"), ("record", "-o", file))]
        for p in running:
            self.assertEqual(p.wait(support.PATIENCE), 0)
        spin.kill()
        for where in (("--store", store), ("-i", file)):
            r = perfcam("export", "folded", "--comm", "executable", *where)
            self.assertEqual(r.returncode, 0, r.stderr)
            found = {f for line in r.stdout.splitlines() for f in line.rpartition(" ")[0].split(";")}
            self.assertLessEqual(names, found, where)
            # A sample waits 400 ms for its file. What the opener has not taken hold of by then is known by its mapping alone, and no
            # later name is proven to be its own: that may be so while the recorder starts, and then no more.
            times = {True: [], False: []}
            r = perfcam("export", "csv", "--comm", "executable", *where)
            for line in r.stdout.splitlines()[1:]:
                times["[executable+" in line].append(int(line.split(",")[1]))
            support.note(f"{where}: unnamed in {len(times[True])} samples, named in {len(times[False])}")
            self.assertLess(max(times[True], default=0), min(times[False] + times[True]) + 1_500_000_000, where)

    def killed_at_any_time(self, copy, symfs, before, want):
        counts = self.samples(copy)
        for _ in range(KILLS):
            p = self.start(support.BIN, "resymbolise", "--store", copy, "--symfs", symfs,
                           stdout=subprocess.DEVNULL)
            time.sleep(random.random() * 0.2)
            p.kill()
            p.wait()
            self.verify(copy)
            self.assertEqual(self.samples(copy), counts)
        self.resymbolise("--symfs", symfs, store=copy)
        names = set(want.values())
        self.assertEqual(self.samples(copy), counts)
        self.assertEqual(self.only(self.of_program(copy), names),
                         self.only(self.expect(before, want), names))


if __name__ == "__main__":
    support.main()
