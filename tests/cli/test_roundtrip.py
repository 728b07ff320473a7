#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What goes in comes out: by a store, by a window's own file, as folded stacks, compressed."""
import gzip
import os
import random

import support
import synth
import tap
from support import Case

ODD = (
    b"a b;c d 3\n"
    b"comm with spaces;main;f(int, char const*) 12\n"
    b"java;Ljava/lang/String:.hashCode_[j];call_stub 7\n"
    b'quotes;"double";\'single\';back\\slash 1\n'
    b"percent%s%n;<script>alert(1)</script>;&amp; 2\n"
    b"swapper;entry_[k];idle_[k] 100000000000\n"
    b"tab\there;x 1\n" + "unicode;naïve;日本;🔥 5\n".encode()
    + b"x 1\n"
    + b"x;+0x12;[unknown];[libc.so.6];-;-- 9\n"
    + b"x;1;2;3 4\n"
    + b"zsh-12/34;main 18446744073709551615\n"
)


def sort(data):
    return b"".join(sorted(data.splitlines(keepends=True)))


class RoundTrip(Case):
    def test_window_file_reads_like_its_store(self):
        for name in ("nginx-997", "pg-sched"):
            with self.subTest(name):
                store, path = self.path(name), support.fixture_path(name)
                self.good("import", "--store", store, path)
                window = os.path.join(store, self.windows(store)[0])
                want = self.good("export", "folded", "-i", path, "--weight", "samples")
                self.assertEqual(self.good("export", "folded", "--store", store), want)
                self.assertEqual(self.good("export", "folded", "-i", window), want)
                for options in (
                    ("--annotate",), ("--with-pid",), ("--with-tid",), ("--addrs",),
                    ("--annotate=kernel", "--with-pid"), ("--annotate=jit",),
                ):
                    of_file = self.good(
                        "export", "folded", "-i", path, "--weight", "samples", *options
                    )
                    of_window = self.good("export", "folded", "-i", window, *options)
                    self.assertEqual(of_file, of_window, options)
                self.assertEqual(self.ls("-i", window)[0]["samples"], self.samples("-i", path))

    def test_window_renamed_and_alone(self):
        """A window is self-contained: any name, any place, also compressed or through a pipe."""
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        want = self.good("export", "folded", "--store", self.store)
        with open(os.path.join(self.store, self.windows()[0]), "rb") as f:
            data = f.read()
        alone = self.path("whatever.bin", data)
        self.assertEqual(self.good("export", "folded", "-i", alone), want)

    def test_import_of_a_window(self):
        """A window that was copied from another host joins a store, by import or by cp."""
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        want = self.good("export", "folded", "--store", self.store)
        other = self.path("other")
        os.mkdir(other)
        name = self.windows()[0]
        with open(os.path.join(self.store, name), "rb") as f:
            self.path(os.path.join("other", name), f.read())
        self.assertEqual(self.good("export", "folded", "--store", other), want)
        self.verify(other)

    def test_same_input_gives_the_same_bytes(self):
        """Sealing is a pure function."""
        data = []
        for store in (self.path("a"), self.path("b")):
            self.good("import", "--store", store, support.fixture_path("gcc-compile"))
            with open(os.path.join(store, self.windows(store)[0]), "rb") as f:
                data.append(f.read())
        self.assertEqual(self.windows(self.path("a")), self.windows(self.path("b")))
        self.assertTrue(data[0] == data[1], "two imports of one file differ")


class Folded(Case):
    def test_folded_identity_of_recorded_stacks(self):
        for name in ("java", "tmpl", "nginx-997"):
            path = os.path.join(support.DATA, "oracle", name + ".folded.gz")
            with gzip.open(path) as f:
                want = sort(f.read())
            self.assertEqual(self.good("export", "folded", "-i", path), want)
            self.assertEqual(self.good("export", "folded", "-i", "-", stdin=want), want)

    def test_folded_identity_of_odd_names(self):
        self.assertEqual(self.good("export", "folded", "-i", "-", stdin=ODD), sort(ODD))

    def test_folded_identity_of_random_names(self):
        rng = random.Random(7)
        letters = [c for c in range(0x21, 0x7F) if c not in b"#; "]
        lines = {}
        for _ in range(3000):
            frames = []
            for _ in range(rng.randint(1, 30)):
                n = rng.choice((1, 2, 5, 20, 300))
                frames.append(bytes(rng.choice(letters) for _ in range(n)))
            lines[b";".join(frames)] = rng.choice((1, 2, 99, 2**40))
        text = b"".join(b"%s %d\n" % item for item in lines.items())
        self.assertEqual(self.export("-i", "-", stdin=text), lines)

    def test_folded_lines_of_one_stack_add_up(self):
        lines = self.export("-i", "-", stdin=b"a;b 2\na 1\na;b 40\n")
        self.assertEqual(lines, {b"a;b": 42, b"a": 1})

    def test_folded_by_a_store(self):
        self.good("import", "--store", self.store, self.path("odd.folded", ODD))
        out = self.good("export", "folded", "--store", self.store, "--weight", "period")
        self.assertEqual(out, sort(ODD))
        self.verify()

    def test_folded_out_and_in_again(self):
        """perf script → folded → folded is the same text, and draws the same functions."""
        first = self.good("export", "folded", "-i", support.fixture_path("gcc-compile"))
        path = self.path("x.folded", first)
        self.assertEqual(self.good("export", "folded", "-i", path), first)
        text = support.texts_of(self.svg("-i", path))
        self.assertIn("cc1", text)

    def test_counts_with_a_fraction_are_what_they_were(self):
        text = b"a 0.001\na;b 2.5\na;c 12\na;d 1000000.25\n"
        self.assertEqual(self.good("export", "folded", "-i", "-", stdin=text), text)
        self.good("import", "--store", self.store, self.path("x.folded", text))
        self.assertEqual(self.good("export", "folded", "--store", self.store), text)
        self.assertIn("1\u202f000\u202f015 samples".encode(), self.good("flame", "--store", self.store, "--text"))
        both = self.path("x.folded"), self.path("y.folded", b"a;b 3\na;c 1\na;e 7\n")
        self.assertEqual(self.good("diff", "--folded", *both),
                         b"a 0.001 0\na;b 2.5 3\na;c 12 1\na;d 1000000.25 0\na;e 0 7\n")
        self.assertEqual(self.good("diff", "--folded", "-n", both[1], self.path("z.folded", b"a;b 5.5\na;c 17\n")),
                         b"a;b 6 5.5\na;c 2 17\na;e 14 0\n")

    def test_two_columns_are_a_differential(self):
        text = b"a;b;fast 100 10\na;b;slow 10 200\na;b;same 50 50\na;gone 5 0\n"
        shown = support.texts_of(self.svg("-i", "-", stdin=text))
        self.assertRegex(shown.lower(), "differential")
        for name in ("fast", "slow", "same"):
            self.assertIn(name, shown)
        one = support.texts_of(self.svg("-i", "-", stdin=b"a;b;fast 10\na;b;slow 200\n"))
        self.assertNotRegex(one.lower(), "differential")

    def test_differential_survives_a_store(self):
        text = b"a;b;fast 100 10\na;b;slow 10 200\n"
        self.good("import", "--store", self.store, self.path("diff.folded", text))
        shown = support.texts_of(self.svg("--store", self.store, "--weight", "period"))
        self.assertRegex(shown.lower(), "differential")

    def test_two_columns_come_out_as_two(self):
        text = b"a;b;fast 100 10\na;b;gone 5 0\na;b;new 0 7\na;b;slow 10 200\n"
        self.assertEqual(self.good("export", "folded", "-i", "-", stdin=text), text)
        self.good("import", "--store", self.store, self.path("diff.folded", text))
        self.assertEqual(self.good("export", "folded", "--store", self.store), text)
        one = self.good("export", "folded", "--event-type", "after", "--store", self.store)
        self.assertEqual(one, b"a;b;fast 10\na;b;new 7\na;b;slow 200\n")


class Compressed(Case):
    def test_output_is_compressed_by_its_name(self):
        path = support.fixture_path("redis-pid")
        want = self.good("export", "folded", "-i", path)
        gz, zst, plain = (self.path("out" + end) for end in (".gz", ".zst", ".txt"))
        for out in (gz, zst, plain):
            self.assertEqual(self.good("export", "folded", "-i", path, "-o", out), b"")
        with gzip.open(gz) as f:
            self.assertEqual(f.read(), want)
        with open(zst, "rb") as f:
            data = f.read()
        self.assertEqual(data[:4], b"\x28\xb5\x2f\xfd")
        self.assertEqual(support.unzstd(data), want)
        with open(plain, "rb") as f:
            self.assertEqual(f.read(), want)
        self.assertLess(os.path.getsize(gz), len(want) / 2)
        self.assertLess(os.path.getsize(zst), len(want) / 2)
        for out in (gz, zst):
            self.assertEqual(self.good("export", "folded", "-i", out), want)

    def test_picture_is_compressed_by_its_name(self):
        path = support.fixture_path("tmpl")
        self.good("flame", "-i", path, "-o", self.path("x.svg"))
        self.good("flame", "-i", path, "-o", self.path("x.svg.gz"))
        self.good("flame", "-i", path, "-o", self.path("x.svg.zst"))
        with open(self.path("x.svg"), "rb") as f:
            want = f.read()
        with gzip.open(self.path("x.svg.gz")) as f:
            self.assertEqual(f.read(), want)
        with open(self.path("x.svg.zst"), "rb") as f:
            self.assertEqual(support.unzstd(f.read()), want)

    def test_output_replaces_a_file_whole(self):
        out = self.path("out.folded", b"old" * 100000)
        os.chmod(out, 0o640)
        self.good("export", "folded", "-i", support.fixture_path("tmpl"), "-o", out)
        with open(out, "rb") as f:
            self.assertEqual(support.folded(f.read()), support.oracle("tmpl"))
        self.assertEqual(sorted(os.listdir(self.dir)), ["out.folded"])

    def test_repeated_calls_print_the_same(self):
        samples = synth.recording(3, 20, 50)
        text = self.path("text", synth.text_of(samples))
        first = self.good("export", "folded", "-i", text)
        self.good("flame", "-i", text, "-o", self.path("1.svg"))
        self.good("flame", "-i", text, "-o", self.path("2.svg"))
        self.assertEqual(self.good("export", "folded", "-i", text), first)
        with open(self.path("1.svg"), "rb") as a, open(self.path("2.svg"), "rb") as b:
            self.assertEqual(a.read(), b.read())


tap.main()
