#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export perf-data: perf reads it, and prints the samples that it prints of the file they came from."""
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
                # Where the kernel gave no call chain perf prints no frame; the window has its address.
                bare = 0
                for a, b in zip(want, got):
                    if b"\n" not in a.strip(b"\n"):
                        bare += 1
                        self.assertEqual(a.strip(b"\n"), b.strip(b"\n").split(b"\n")[0])
                    else:
                        self.assertEqual(a, b)
                self.assertLess(bare, len(want) / 100)

    def test_from_a_store_and_a_part_of_it(self):
        given = self.given("nginx-997")
        self.good("import", "--store", self.store, given)
        made = self.path("made.data")
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
