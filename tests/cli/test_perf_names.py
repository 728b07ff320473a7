#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Recordings of perf's, made here and now: samples, mappings and names beside perf script's own."""
import os
import re
import shutil
import subprocess
import time

import perf_text
import support
import tap
from support import Case

FIELDS = "comm,pid,tid,cpu,time,event,ip,sym,symoff,dso"
WORK = "for i in 1 2 3 4; do ls -R /usr/include | sort | md5sum; done; exec ls -lR /usr/share/doc"


def perf(*args, **options):
    if not shutil.which("perf"):
        raise AssertionError("perf is not installed (tools/setup)")
    return subprocess.run(["perf", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          timeout=60, **options)


def plain(line):
    """
    (address, name, module); without the version of a symbol, which perfcam leaves out, and what perf says
    of the PLT, which is often an empty name, or another's.
    """
    address, name, module = perf_text.named(line)
    if "@plt" in name:
        return address, "[unknown]", module
    return address, re.sub(r"@@?[A-Za-z][\w.]*", "", name), module


def place(line):
    """(address, nothing, module): for recordings without build-ids, whose debug files nobody finds."""
    address, _, module = perf_text.named(line)
    return address, "", module


def who(sample):
    """In an order that does not look at the CPU, which may be missing."""
    head = sample[0]
    return head[4], head[:3], head[5]


class Beside(Case):
    def record(self, name, *options, work=WORK):
        path = self.path(name)
        r = perf("record", "-q", "-o", path, *options, "--", "sh", "-c", work)
        self.assertEqual(r.returncode, 0, r.stderr)
        return path

    def script(self, path, frames=plain):
        for fields in (FIELDS, FIELDS.replace("cpu,", "")):
            r = perf("script", "--ns", "-F", fields, "-i", path)
            if r.returncode == 0:
                return perf_text.samples(r.stdout, frames=frames)
        raise AssertionError(r.stderr)

    def layout(self, text):
        """All bytes but what plain() says of names."""
        text = re.sub(rb" \S*@plt\+0x[0-9a-f]+", b" [unknown]", text)
        return re.sub(rb"@@?[A-Za-z][\w.]*(\+0x)", rb"\1", text).splitlines()

    def test_without_chains_an_address_stands_behind_its_head(self):
        for options in (["-F", "997", "-e", "cpu-clock"],
                        ["-F", "997", "-d", "-e", "cpu-clock", "-e", "task-clock"],
                        ["-F", "997", "-e", "{cpu-clock,page-faults}:S"],
                        ["-e", "sched:sched_process_exec", "-e", "sched:sched_process_exit"]):
            with self.subTest(options):
                path = self.record("flat.data", *options)
                want = self.layout(perf("script", "-i", path).stdout)
                self.assertGreater(len(want), 5)
                self.assertEqual(self.layout(self.good("script", "-i", path)), want)
                store = self.path("flat" + re.sub(r"\W", "-", options[-1]))
                self.good("import", "--store", store, path)
                self.assertEqual(self.layout(self.good("script", "--store", store)), want)

    def test_names_are_aligned_to_events_without_samples(self):
        for options in (["-F", "997", "-g", "-e", "cpu-clock", "-e", "alignment-faults"],
                        ["-e", "sched:sched_process_exec,syscalls:sys_enter_sched_rr_get_interval"]):
            path = self.record("wide.data", *options)
            want = [line for line in self.layout(perf("script", "-i", path).stdout) if line[:1] not in b"\t"]
            self.assertRegex(want[0], rb" {4,}(cpu-clock|sched:sched_process_exec):")
            self.good("import", "--store", self.path("wide-" + options[0][1]), path)
            for given in ("-i", path), ("--store", self.path("wide-" + options[0][1])):
                got = [line for line in self.layout(self.good("script", *given)) if line[:1] not in b"\t"]
                self.assertEqual(got, want)
            self.assertNotIn(b"longest", self.good("script", "--header", "-i", path))

    def test_without_chains_a_report_is_its_entries(self):
        path = self.record("table.data", "-F", "997", "-e", "cpu-clock")
        rows = re.compile(rb"^ +([\d.]+)%  (\S.*?) +\[([.k])\] (\S.*?) *$", re.M)
        want = {row for row in rows.findall(perf("report", "--stdio", "-i", path).stdout)
                if not row[3].startswith(b"0x") and b"@" not in row[3]}
        out = self.good("report", "-i", path)
        self.assertGreater(len(want), 3)
        self.assertEqual(want - set(rows.findall(out)), set())
        self.assertIn(b"# Overhead  Command", out)
        self.assertNotIn(b"---", out)
        self.assertIn(b"# Children      Self", self.good("report", "--children", "-i", path))

    def test_without_chains_out_and_in_again(self):
        path, again = self.record("one.data", "-F", "997", "-e", "cpu-clock"), self.path("again.data")
        self.good("export", "perf-data", "-i", path, "-o", again)
        fields = ("-F", "comm,tid,time,period,event,ip")
        want = perf("script", *fields, "-i", path).stdout
        self.assertGreater(want.count(b"\n"), 5)
        self.assertEqual(perf("script", *fields, "-i", again).stdout, want)

    def same(self, path, *options, frames=plain):
        """
        Names differ in few frames: perf names code past the end of a symbol, or of one without a size,
        and perfcam does not; perfcam names the stubs of the PLT, and perf not always.
        """
        want = self.script(path, frames)
        self.assertGreater(len(want), 20)
        out = self.good("export", "perf-script", "-i", path, *options)
        got = perf_text.samples(out, frames=frames)
        unnamed = total = 0
        for a, b in zip(sorted(want, key=who), sorted(got, key=who)):
            for i, frame in enumerate(b[1] if len(a[1]) == len(b[1]) else []):
                total += 1
                names = {frame[1], a[1][i][1]}
                if len(names) == 2 and "[unknown]" in names and frame[::2] == a[1][i][::2]:
                    a[1][i] = frame
                    unnamed += 1
        perf_text.compare(self, want, got, path)
        self.assertLessEqual(unnamed, max(3, total // 50))
        return want

    def test_one_command_by_frame_pointers(self):
        want = self.same(self.record("a", "-F", "1999", "-g"))
        named = [f for s in want for f in s[1] if f[1] != "[unknown]"]
        self.assertGreater(len(named), 100)
        self.assertTrue({"ls", "sort"} & {s[0][0] for s in want})

    def test_several_events(self):
        want = self.same(self.record("a", "-e", "cpu-clock,page-faults,context-switches", "-g"))
        self.assertGreater(len({s[0][5] for s in want}), 1)

    def test_build_ids_in_the_mappings(self):
        self.same(self.record("a", "--buildid-mmap", "-F", "1999", "-g"))

    def test_compressed_by_perf(self):
        self.same(self.record("a", "-z", "-F", "1999", "-g", "-a"), frames=place)

    def test_through_a_pipe(self):
        """The other form of the file, read from a file and from standard input."""
        r = perf("record", "-q", "-o", "-", "-F", "1999", "-g", "-e", "cpu-clock", "-e",
                 "sched:sched_process_exec", "--", "sh", "-c", WORK + " >/dev/null")
        self.assertEqual(r.returncode, 0, r.stderr)
        path = self.path("a", r.stdout)
        want = self.same(path, frames=place)
        got = self.good("export", "perf-script", "-i", "-", stdin=r.stdout)
        perf_text.compare(self, want, perf_text.samples(got, frames=place), "stdin")
        self.assertIn(b"sched:sched_process_exec: filename=/", got)

    def test_copies_of_stacks(self):
        """
        --call-graph dwarf. perf's stacks may end early (its unwinder gives up), with an address that is none;
        up to there they are the same.
        """
        path = self.record("a", "--call-graph", "dwarf", "-F", "1999")
        r = perf("script", "--ns", "--no-inline", "-F", FIELDS.replace("cpu,", ""), "-i", path)
        want = perf_text.samples(r.stdout)
        got = perf_text.samples(self.good("export", "perf-script", "-i", path))
        self.assertEqual(sorted(map(who, want)), sorted(map(who, got)))
        same = deep = 0
        for a, b in zip(sorted(want, key=who), sorted(got, key=who)):
            frames = [f for f in a[1] if f != "f" * 16]
            same += frames == b[1][:len(frames)]
            deep += len(b[1]) >= len(frames)
        self.assertGreater(len(want), 20)
        self.assertGreaterEqual(same, len(want) * 3 // 4)
        self.assertGreaterEqual(deep, len(want) * 9 // 10)

    def test_cgroups_and_namespaces(self):
        self.same(self.record("a", "--all-cgroups", "--namespaces", "-F", "1999", "-g"))

    def test_files_that_moved(self):
        """
        perf's own cache has a copy; without that, --symfs DIR: below it lies what was recorded; a file with another
        build-id does not count.
        """
        program = self.path("program")
        shutil.copy(support.BIN, program)
        work = f"{program} export folded -i {support.fixture_path('nginx-997')}"
        path = self.record("a", "-F", "1999", "-g", work=work)
        below = self.path("root") + program
        os.makedirs(os.path.dirname(below))
        os.rename(program, below)

        def named(*options, **more):
            stacks = self.export("-i", path, *options, **more)
            return any(f.startswith(b"cam_") for s in stacks for f in s.split(b";"))

        elsewhere = {"env": {"HOME": self.dir}}
        self.assertTrue(named())
        self.assertFalse(named(**elsewhere))
        self.assertTrue(named("--symfs", self.path("root"), **elsewhere))
        os.unlink(below)  # perf's cache is a link to the same file, and is to stay as it is
        shutil.copy("/bin/ls", below)
        self.assertFalse(named("--symfs", self.path("root"), **elsewhere))

    def test_a_link_is_no_change(self):
        """Without build-ids the very file counts, also when perf's cache has made a link to it; not when it was written to."""
        program = self.path("program")
        shutil.copy(support.BIN, program)
        work = f"{program} export folded -i {support.fixture_path('nginx-997')}"
        path = self.record("a", "-z", "-F", "1999", "-g", work=work)
        time.sleep(0.05)

        def named():
            stacks = self.export("-i", path, env={"HOME": self.dir})
            return any(f.startswith(b"cam_") for s in stacks for f in s.split(b";"))

        self.assertTrue(named())
        os.link(program, self.path("another"))
        self.assertTrue(named())
        with open(program, "r+b") as f:
            f.write(b"\x7f")
        self.assertFalse(named())

    def test_the_vdso_without_a_build_id(self):
        """It is that of this kernel where the recording was made on it; of another kernel's nothing is known."""
        work = "python3 -c 'import time; e = time.time() + 0.5\nwhile time.time() < e: time.monotonic()'"
        path = self.record("a", "-z", "-F", "1999", "-g", work=work)
        want = {f for s in self.script(path) for f in s[1] if f[2] == "[vdso]"}
        self.assertTrue(any("vdso" in name for _, name, _ in want), want)
        out = self.good("script", "-F", "+symoff", "-i", path)
        got = {f for s in perf_text.samples(out, frames=plain) for f in s[1] if f[2] == "[vdso]"}
        self.assertEqual(got, want)
        with open(path, "rb") as f:
            data = f.read()
        release = os.uname().release.encode()
        self.assertIn(release, data)
        other = self.path("other", data.replace(release, release[:-1] + b"~"))
        self.assertNotIn(b"__vdso", self.good("script", "-i", other))

    def test_folded_stacks_are_those_of_the_text(self):
        """perf.data directly, and through perf script: the same lines, but for the names above."""
        path = self.record("a", "-F", "1999", "-g")
        text = perf("script", "-i", path).stdout
        want = {}
        for stack, n in self.export("-i", "-", stdin=text).items():
            stack = re.sub(rb"@@?[A-Za-z][\w.]*", b"", stack)
            want[stack] = want.get(stack, 0) + n
        got = self.export("-i", path)
        self.assertEqual(sum(want.values()), sum(got.values()))
        same = sum(min(n, got.get(stack, 0)) for stack, n in want.items())
        self.assertGreater(same, sum(want.values()) * 0.9)

    def test_a_file_a_thread(self):
        """perf record --threads: a directory."""
        path = self.record("a", "--threads=cpu", "-F", "1999", "-g", "-a")
        self.assertTrue(os.path.isdir(path))
        self.same(path, frames=place)

    def test_a_series_of_files(self):
        """As perf record --switch-output names them: by the time of their end, with hundredths."""
        folder = self.path("series")
        os.mkdir(folder)
        before = time.time()
        for n in range(2):
            path = self.record("a", "-F", "1999", "-g", work="ls -R /usr/include")
            name = "perf.data." + time.strftime("%Y%m%d%H%M%S", time.gmtime()) + f"{n:02}"
            os.rename(path, os.path.join(folder, name))
            os.utime(os.path.join(folder, name), (1, 1))
        self.good("import", "--store", self.store, folder)
        windows = self.ls("--store", self.store)
        self.assertEqual(len(windows), 2)
        for w in windows:
            self.assertGreater(w["realtime_ns"] / 1e9, before - 2)
            self.assertLess(w["realtime_ns"] / 1e9, time.time())

    def test_a_clock_that_has_wall_time(self):
        before = time.time()
        path = self.record("a", "-k", "CLOCK_MONOTONIC", "-F", "1999", "-g")
        after = time.time()
        os.utime(path, (1, 1))
        self.good("import", "--store", self.store, path)
        window = self.ls("--store", self.store)[0]
        begin = window["realtime_ns"] / 1e9
        self.assertGreater(begin, before - 0.01)
        self.assertLess(begin, after)

    def test_fields_of_tracepoints(self):
        """Flags, symbols, strings, addresses of functions: what perf prints of them."""
        events = ("sched:sched_switch", "sched:sched_process_exec", "sched:sched_process_fork", "irq:*",
                  "kmem:mm_page_alloc", "raw_syscalls:*", "timer:hrtimer_start", "workqueue:*",
                  "signal:*", "filemap:*", "syscalls:sys_enter_openat", "exceptions:*", "task:*")
        path = self.record("a", *[w for e in events for w in ("-e", e)],
                           work="ls -R /usr/include/linux | head -500 | sort")
        r = perf("script", "--ns", "-F", "comm,pid,tid,cpu,time,event,trace", "-i", path)
        out = self.good("export", "perf-script", "-i", path)

        def lines(text):
            return sorted(b" ".join(l.split()) for l in text.split(b"\n") if l and l[:1] not in b"\t#")

        want, got = lines(r.stdout), lines(out)
        self.assertGreater(len({l.split(b": ")[1] for l in want}), 10)
        self.assertEqual(len(want), len(got))
        for a, b in zip(want, got):
            self.assertEqual(a, b)

    def chains(self, text):
        """Frames of each sample, innermost first, as far as they are the program's own: (name, whether inlined)."""
        found = []
        for record in re.split(rb"\n\s*\n", text.strip()):
            head, *frames = record.split(b"\n")
            pairs = [re.match(rb"\s+[0-9a-f]+ (\S+)( \(inlined\))?", line).groups() for line in frames]
            names = [name for name, _ in pairs]
            end = names.index(b"main") + 1 if b"main" in names else 0
            found.append((head.split(), [(name, bool(inlined)) for name, inlined in pairs[:end]]))
        return found

    def test_inlined_functions_and_lines(self):
        """Of stacks that were copied (--call-graph dwarf): frames, inlined ones and lines are perf's."""
        program, path = self.path("inlines"), self.path("inlined.data")
        source = os.path.join(support.SOURCE, "tests", "workloads", "inlines.c")
        subprocess.run(["gcc", "-g", "-O2", source, "-o", program], check=True)
        r = perf("record", "-q", "-e", "cpu-clock:u", "-F", "999", "--call-graph", "dwarf,4096", "-o", path, program, "1")
        self.assertEqual(r.returncode, 0, r.stderr)
        fields = ("-F", "comm,time,ip,sym", "-i", path)
        want = self.chains(perf("script", *fields).stdout)
        got = self.chains(self.good("script", "--inline", *fields))
        self.assertEqual([g[0] for g in got], [w[0] for w in want])
        # Of the C library perf calls a function inlined that has two names.
        with open(source, "rb") as f:
            own = set(re.findall(rb"\b([a-z]\w*)\(", f.read()))
        whole = [(g[1], w[1]) for g, w in zip(got, want) if w[1] and {name for name, _ in w[1]} <= own]
        self.assertGreater(len(whole), 50)
        self.assertEqual([g for g, _ in whole], [w for _, w in whole])
        self.assertGreater(sum(inlined for _, w in whole for _, inlined in w), 30)
        # Without the option there is none of it.
        self.assertNotIn(b"(inlined)", self.good("script", *fields))
        # Source lines: the table that perf makes of the same samples.
        options = ("-i", path, "--no-children", "-g", "none", "-s", "srcline")
        outs = perf("report", "--stdio", *options).stdout, self.good("report", *options)
        tables = [dict(reversed(pair) for pair in re.findall(rb"(?m)^ +([\d.]+)% +(inlines\.c:\d+)", out)) for out in outs]
        self.assertGreater(len(tables[0]), 2)
        self.assertEqual(tables[1], tables[0])
        # Whoever asks for lines gets them.
        for words in (("top", "-s", "srcline"), ("script", "-F", "+srcline")):
            self.assertRegex(self.good(*words, "-i", path), rb"inlines\.c:\d+")


if __name__ == "__main__":
    tap.main()
