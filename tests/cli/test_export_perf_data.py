#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export perf-data: perf reads it, and prints the samples that it prints of the file they came from."""
import json
import os
import re
import subprocess

import support
import tap
from support import Case


def perf(*args):
    r = subprocess.run(["perf", *args], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                       env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC"}, timeout=60)
    if r.returncode:
        raise AssertionError(f"perf {args}: {r.stderr.decode()}")
    return r.stdout


def records(text):
    return [r for r in text.split(b"\n\n") if r.strip()]


class RoundTrip(Case):
    def given(self, name):
        path = os.path.join(support.DATA, name + ".perf.data.zst")
        with open(path, "rb") as f:
            return self.path(name + ".data", support.unzstd(f.read()))

    def test_perf_prints_the_same_samples(self):
        for name in ("nginx-997", "gcc-compile", "java", "redis-pid", "tmpl"):
            given = self.given(name)
            made = self.path("made.data")
            self.good("export", "perf-data", "-i", given, "-o", made)
            want, got = records(perf("script", "-i", given)), records(perf("script", "-i", made))
            with self.subTest(name):
                self.assertGreater(len(want), 500)
                self.assertEqual(len(want), len(got))
                for a, b in zip(want, got):
                    self.assertEqual(a, b)

    def test_samples_without_chains(self):
        """Their addresses are the process's own: of a program that lies where it likes, and of one with a fixed place."""
        source = self.path("spin.c", b"volatile unsigned long n;\n__attribute__((noinline)) void spin(void)\n{\n\tfor (int i = 0; i < 1000; i++)\n"
                           b"\t\tn += i;\n}\nint main(void)\n{\n\tfor (int i = 0; i < 100000; i++)\n\t\tspin();\n}\n")
        for kind in ("-pie", "-no-pie"):
            program, given, made = (self.path("flat" + kind + end) for end in ("", ".data", ".made"))
            subprocess.run(["cc", "-O1", "-fPIE" if kind == "-pie" else "-fno-pie", kind, "-o", program, source], check=True)
            perf("record", "-q", "-e", "cpu-clock:u", "-F", "1999", "-o", given, "--", program)
            self.good("export", "perf-data", "-i", given, "-o", made)
            want, got = (perf("script", "-i", f).splitlines() for f in (given, made))
            self.assertGreater(sum(b" spin+0x" in line for line in want), 20, kind)
            # perf also names what lies behind the end of a symbol.
            for a, b in zip(want, got, strict=True):
                if b != re.sub(rb" [^ ]+\+0x[0-9a-f]+ \(", b" [unknown] (", a):
                    self.assertEqual(a, b)
            self.assertEqual([line for line in want if b" spin+0x" in line], [line for line in got if b" spin+0x" in line])

    def test_from_a_store_and_a_part_of_it(self):
        given = self.given("nginx-997")
        self.good("import", "--store", self.store, given)
        made = self.path("made.data")
        self.good("export", "perf-data", "--store", self.store, "-o", made)
        told = [[line for line in perf("script", "--header-only", "-i", f).splitlines() if line.startswith((b"# hostname", b"# os release", b"# arch", b"# cpudesc", b"# nrcpus"))]
                for f in (given, made)]
        self.assertEqual(len(told[0]), 6)
        self.assertEqual(told[0], told[1])
        self.good("export", "perf-data", "--store", self.store, "--comm", "redis-*", "-o", made)
        heads = [r.strip(b"\n").split(b"\n")[0] for r in records(perf("script", "-i", given))]
        want = [h for h in heads if h.startswith(b"redis-")]
        got = [r.strip(b"\n").split(b"\n")[0] for r in records(perf("script", "-i", made))]
        self.assertGreater(len(want), 100)
        self.assertEqual(sorted(got), sorted(want))

    def test_a_tracepoint_keeps_its_name_and_time(self):
        made = self.path("made.data")
        self.good("export", "perf-data", "-i", self.given("pg-sched"), "-o", made)
        head = re.compile(rb"(.*?) +(\d+) \[(\d+)\] +([\d.]+): .*sched:sched_switch:")
        want = [head.match(h).groups() for h in support.heads(support.fixture("pg-sched"))]
        got = [head.match(r.strip(b"\n")).groups() for r in records(perf("script", "-i", made))]
        self.assertEqual(sorted(got), sorted(want))

    def test_report_counts_what_was_sampled(self):
        given, made = self.given("nginx-997"), self.path("made.data")
        self.good("export", "perf-data", "-i", given, "-o", made)
        tables = []
        for path in (given, made):
            out = perf("report", "--stdio", "-i", path, "-g", "none", "-n", "-s", "comm,dso",
                       "--no-children")
            tables.append(sorted(line.split(b"%", 1)[1].split() for line in out.split(b"\n")
                                 if b"%" in line and not line.startswith(b"#")))
        self.assertGreater(len(tables[0]), 20)
        self.assertEqual(tables[0], tables[1])

    def test_times_of_the_day(self):
        """Windows of perfcam's own have the kernel's monotonic clock, and what the wall clock showed."""
        window = os.path.join(support.DATA, "window-1.pcw")
        info = self.ls("-i", window)[0]
        made = self.path("made.data")
        self.good("export", "perf-data", "-i", window, "-o", made)
        out = perf("script", "-i", made)
        self.assertEqual(len(records(out)), info["samples"])

    def test_our_own_reader_reads_it(self):
        given, made = self.given("tmpl"), self.path("made.data")
        self.good("export", "perf-data", "-i", given, "-o", made)
        self.assertEqual(self.good("script", "-i", made), self.good("script", "-i", given))

    def named(self, text):
        """[(who and when, its frames as (name, file))] of a text of perf script's; what has no name has none."""
        found = []
        for record in records(text):
            head, *frames = record.strip(b"\n").split(b"\n")
            pairs = [re.fullmatch(rb"\s+[0-9a-f]+ (.*) \((.*?)\)", line).groups() for line in frames]
            # perf has "(inlined)" where the file stands, or behind our name of it.
            pairs = [(name[:-10], b"inlined") if name.endswith(b" (inlined)") else (name, file) for name, file in pairs]
            found.append((head.split(), [(b"" if re.fullmatch(rb"\[[^]]*\]|\(unknown\)", name) else name,
                                          b"" if file == b"inlined" else file) for name, file in pairs]))
        return found

    def compare_names(self, source, made, symbols):
        fields = ("-F", "comm,tid,time,ip,sym,dso")
        want = self.named(self.good("script", *fields, "-i", source))
        got = self.named(perf("--buildid-dir", symbols, "script", *fields, "-i", made))
        self.assertEqual([w[0] for w in want], [g[0] for g in got])
        frames = 0
        for (_, w), (_, g) in zip(want, got):
            # What has no name is compared elsewhere; marks such as [truncated] are no frames of perf's.
            self.assertEqual([name for name, _ in g if name], [name for name, _ in w if name])
            frames += sum(name != b"" for name, _ in w)
        return frames

    def test_perf_prints_our_names(self):
        """Of windows without addresses, as perfcam records them: the names lie beside the file, for perf."""
        symbols = self.path("symbols")
        for name, least in (("gcc-compile", 4000), ("java", 3000), ("nginx-997", 3000)):
            # Without their addresses, as a recorder's windows are; the last one with them.
            text = support.fixture(name)
            if name != "nginx-997":
                text = re.sub(rb"(?m)^(\s+)[0-9a-f]+ (.*?)(\+0x[0-9a-f]+)?( \(.*\))$", rb"\1\2\4", text)
            source, made = self.path(name + ".txt", text), self.path(name + ".made")
            if name == "gcc-compile":
                r = support.run("export", "perf-data", "-i", source, "-o", made)
                self.assertIn(b"--symbols DIR writes them", r.err)
                self.assertNotIn(b"main", perf("script", "-F", "sym", "-i", made))
            # All into one directory: no file takes another's names.
            r = support.run("export", "perf-data", "-i", source, "-o", made, "--symbols", symbols)
            self.assertEqual(r.code, 0, r.err)
            self.assertIn(f"perf --buildid-dir {symbols} report -i {made}".encode(), r.err)
        for name, least in (("gcc-compile", 4000), ("java", 3000), ("nginx-997", 3000)):
            with self.subTest(name):
                self.assertGreater(self.compare_names(self.path(name + ".txt"), self.path(name + ".made"), symbols), least)
        out = perf("--buildid-dir", symbols, "report", "-i", self.path("gcc-compile.made"), "--stdio", "--no-children",
                   "-g", "none", "-s", "symbol")
        named = [m.decode() for m in re.findall(rb"%\s+\[(?:\.|k)\] ([a-z_]\w+)", out)]
        rows = json.loads(self.good("top", "-i", self.path("gcc-compile.txt"), "--idle", "--sort", "symbol", "--json"))["rows"]
        self.assertEqual(named[0], next(row["symbol"] for row in rows if row["symbol"][0] != "["))
        self.bad("export", "folded", "-i", self.path("java.txt"), "--symbols", symbols, code=2, names="perf-data")
        self.bad("export", "perf-data", "-i", self.path("java.txt"), "-o", self.path("x"), "--symbols",
                 self.path("java.txt"), names="Not a directory")

    def test_counts_have_no_samples(self):
        self.bad("export", "perf-data", "-i", "-", stdin=b"a;b 2\n", names="folded")

    def test_names_cannot_break_records(self):
        comm, name = b"c\\x0a\\x00d" + b"x" * 40, b"n" * 9000
        text = (comm + b"  12/13 [001]   100.000001:       1000 cpu-clock: \n"
                b"\t              10 f+0x2 (/lib/" + name + b")\n\n")
        made = self.path("made.data")
        self.good("export", "perf-data", "-i", "-", "-o", made, stdin=text)
        self.assertEqual(perf("script", "-F", "tid,time", "-i", made).split(), [b"13", b"100.000001:"])


tap.main()
