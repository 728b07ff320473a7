#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`export folded` prints what stackcollapse-perf.pl prints: for texts written by hand
(tests/golden/folded) and for recorded ones (tests/data), from the text and through a store."""
import gzip
import os
import re
import subprocess
import tempfile
import unittest

import tap

GOLDEN = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "golden", "folded")
# The ending of a golden file: our options; the peer's are in tests/golden/regenerate.py.
SETS = {
    "plain": [],
    "all": ["--annotate"],
    "kernel": ["--annotate=kernel"],
    "jit": ["--annotate=jit"],
    "pid": ["--with-pid"],
    "tid": ["--with-tid"],
    "addrs": ["--addrs"],
    "all-pid": ["--annotate", "--with-pid"],
    "all-tid-addrs": ["--annotate", "--with-tid", "--addrs"],
}
RECORDED = ["nginx-997", "gcc-compile", "java", "redis-pid", "tmpl", "pg-sched"]
PERIOD = 1003009  # of every sample of the recorded cpu-clock texts


def read(path):
    with (gzip.open if path.endswith(".gz") else open)(path, "rb") as f:
        return f.read()


def data(name):
    return os.path.join(tap.DATA, name)


def oracle(name):
    return read(data(f"oracle/{name}.gz"))


class Folded(unittest.TestCase):
    maxDiff = 2000

    def folded(self, *args, stdin=None, status=0):
        r = tap.perfcam("export", "folded", *args, stdin=stdin)
        self.assertEqual(r.returncode, status, r.stderr)
        return r.stdout

    def same(self, got, expected):
        if got != expected:
            self.assertEqual(got.decode(errors="replace").split("\n"),
                             expected.decode(errors="replace").split("\n"))
            self.assertEqual(got, expected)

    def golden(self, name):
        text = os.path.join(GOLDEN, name + ".txt")
        for label, options in SETS.items():
            self.same(self.folded("-i", text, *options), read(os.path.join(GOLDEN, f"{name}.{label}")))

    def recorded(self, name):
        text = data(name + ".stacks.gz")
        self.same(self.folded("-i", text), oracle(name + ".folded"))
        self.same(self.folded("-i", text, "--annotate", "--with-pid"), oracle(name + ".folded-all-pid"))

    def test_input_may_be_plain_compressed_or_a_pipe(self):
        packed = read_raw(data("tmpl.stacks.gz"))
        plain = gzip.decompress(packed)
        expected = oracle("tmpl.folded")
        self.same(self.folded("-i", "-", stdin=packed), expected)
        self.same(self.folded("-i", "-", stdin=plain), expected)

    def test_output_may_be_a_file_and_compressed(self):
        with tempfile.TemporaryDirectory() as d:
            for name, unpack in (("x", ["cat"]), ("x.gz", ["gzip", "-dc"]), ("x.zst", ["zstd", "-dc"])):
                out = os.path.join(d, name)
                self.same(self.folded("-i", data("tmpl.stacks.gz"), "-o", out), b"")
                self.same(subprocess.run([*unpack, out], stdout=subprocess.PIPE, check=True).stdout,
                          oracle("tmpl.folded"))

    def test_samples_may_be_counted_instead_of_periods(self):
        counted = re.sub(rb" (\d+)$", lambda m: b" %d" % (int(m[1]) // PERIOD), oracle("nginx-997.folded"),
                         flags=re.M)
        self.same(self.folded("-i", data("nginx-997.stacks.gz"), "--weight", "samples"), counted)

    def test_a_store_gives_the_same_lines(self):
        with tempfile.TemporaryDirectory() as d:
            for name in ("nginx-997", "pg-sched"):
                store = os.path.join(d, name)
                r = tap.perfcam("import", "--store", store, data(name + ".stacks.gz"))
                self.assertEqual(r.returncode, 0, r.stderr)
                self.same(self.folded("--store", store, "--weight", "period"), oracle(name + ".folded"))
                self.same(self.folded("--store", store, "--weight", "period", "--annotate", "--with-pid"),
                          oracle(name + ".folded-all-pid"))
            counted = re.sub(rb" (\d+)$", lambda m: b" %d" % (int(m[1]) // PERIOD),
                             oracle("nginx-997.folded"), flags=re.M)
            self.same(self.folded("--store", os.path.join(d, "nginx-997")), counted)

    def test_addresses_survive_the_store(self):
        text = data("redis-pid.stacks.gz")
        with tempfile.TemporaryDirectory() as d:
            r = tap.perfcam("import", "--store", d, text)
            self.assertEqual(r.returncode, 0, r.stderr)
            direct = self.folded("-i", text, "--addrs", "--with-tid")
            self.assertIn(b"[redis-check-rdb <13bfa0>]", direct)
            self.same(self.folded("--store", d, "--weight", "period", "--addrs", "--with-tid"), direct)

    def test_other_events_are_named_and_can_be_chosen(self):
        text = os.path.join(GOLDEN, "events.txt")
        r = tap.perfcam("export", "folded", "-i", text)
        self.assertEqual(r.returncode, 0)
        self.assertIn(b"instructions", r.stderr)
        self.assertIn(b"cycles", r.stderr)
        r = tap.perfcam("export", "folded", "-i", text, "--event-type", "cycles")
        self.assertEqual(r.returncode, 0)
        self.same(r.stdout, b"noploop;main 250000\nnoploop;main;spin 250001\n")
        self.assertEqual(r.stderr, b"")
        r = tap.perfcam("export", "folded", "-i", text, "--event-type", "cycle")
        self.assertEqual((r.returncode, r.stdout), (0, b""))
        self.assertIn(b"instructions", r.stderr)

    def test_side_band_records_may_come_first(self):
        mapped = b"swapper     0 [000]     0.000000: PERF_RECORD_MMAP2 1/1: [0x5581(0x1000) @ 0 08:01 1 2]: r-xp /bin/x\n"
        text = mapped * 2000 + read(os.path.join(GOLDEN, "recursion.txt"))
        self.same(self.folded("-i", "-", stdin=text), read(os.path.join(GOLDEN, "recursion.plain")))

    def test_frames_left_out_are_counted(self):
        r = tap.perfcam("export", "folded", "-i", os.path.join(GOLDEN, "cxx.txt"))
        self.assertEqual(r.returncode, 0)
        self.assertIn(b"1 frames left out", r.stderr)

    def test_inlined_frames_are_marked_when_asked(self):
        out = self.folded("-i", os.path.join(GOLDEN, "inlined.txt"), "--annotate=inline")
        self.assertIn(b"app;main;outer;middle_[i];inner_[i] 250000\n", out)

    def test_folded_lines_come_back_as_they_were(self):
        for name in ("nginx-997.folded", "java.folded-all-pid", "tmpl.folded"):
            self.same(self.folded("-i", data(f"oracle/{name}.gz")), oracle(name))

    def test_two_inputs_of_the_same_lines_are_merged_and_sorted(self):
        self.same(self.folded("-i", "-", stdin=b"b;x 1\na;y (z) 2\nb;x 3\na 1\n;e 5\n"),
                  b";e 5\na 1\na;y (z) 2\nb;x 4\n")


def read_raw(path):
    with open(path, "rb") as f:
        return f.read()


def add_cases():
    for name in sorted(n[:-4] for n in os.listdir(GOLDEN) if n.endswith(".txt")):
        setattr(Folded, "test_golden_" + name, lambda self, name=name: self.golden(name))
    for name in RECORDED:
        label = "test_recorded_" + name.replace("-", "_")
        setattr(Folded, label, lambda self, name=name: self.recorded(name))


add_cases()
tap.main()
