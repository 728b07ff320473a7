#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bytes in names are data: in every format that goes out they stay in their field, and where it comes in
again they are what they were."""
import csv
import io
import itertools
import json
import re

import pprof
import support
import tap
from support import Case

NAMES = [
    b"plain", b"new\nline", b"two\n\nlines\r\n", b"semi;colon", b"tab\tinside", b"nul\x00byte",
    b"bell\x07 esc\x1b[31m del\x7f", b"bad\xff\xfeutf8", b"cut\xe2\x82", b"c1\xc2\x9bcontrol",
    "naïve 日本 🔥".encode(), b'quote"comma,', b"back\\slash \\n \\x41 \\x0a \\x5cx0a", b"<script>&amp;",
    b"percent%s%n", b"=cmd()", b"@SUM(A1)", b"+1", b"-2+3|'/c calc'!A0", b"\\x3dliteral", b"a=b", b"comment", b"a" * 3000, b"f(int, char*)", b"{\"json\":[1]}",
]


def escape(name, controls=True):
    """By the rule of base/escape.h, written down once more: control characters as perf's text has them."""
    out, i = b"", 0
    while i < len(name):
        rest = name[i:]
        looks = re.match(rb"\\(x5c)*x([0-9a-f]{2})", rest)
        c = name[i]
        if controls and ((c < 32 and c != 9) or c == 127):
            out += b"\\x%02x" % c
        elif looks and (int(looks.group(2), 16) < 32 and looks.group(2) != b"09"
                        or looks.group(2) == b"7f"):
            out += b"\\x5c"
        else:
            out += name[i:i + 1]
        i += 1
    return out


def unescape(text, ours):
    """The other way, for the formats: which bytes are escaped there."""
    def is_escape(s):
        m = re.match(rb"\\(?:x5c)*x([0-9a-f]{2})", s)
        while m and m.group(1) == b"5c":
            m = re.match(rb"\\((?!))", s)
        return m and ours(int(m.group(1), 16))

    out, i = b"", 0
    while i < len(text):
        if text[i:i + 1] == b"\\" and is_escape(text[i:]):
            out += bytes([int(text[i + 2:i + 4], 16)])
            i += 4
        else:
            out += text[i:i + 1]
            i += 1
    return out


def in_json(b):
    return b >= 0x80


def in_csv(b):
    return b < 0x20 or b == 0x7f or b >= 0x80


def in_stack(b):
    return in_csv(b) or b == ord(";")


def unescape_field(text, ours):
    """Where a field, or a frame, begins, what begins a formula is escaped as well."""
    first = re.match(rb"\\(?:x5c)*x(3d|2b|2d|40)", text)
    if not first:
        return unescape(text, ours)
    return bytes([int(text[2:4], 16)]) + unescape(text[4:], ours)


class Names(Case):
    def setUp(self):
        super().setUp()
        self.text = b"".join(
            b"c%d  7/%d [001]   100.%06d:       1000 cpu-clock: \n"
            b"\t              %x %s+0x2 (/bin/%d)\n\t             900 main+0x1 (/bin/x)\n\n"
            % (i, 10 + i, i, 256 + i, escape(name), i) for i, name in enumerate(NAMES))
        self.good("import", "--store", self.store, self.path("t.txt", self.text))

    def leaves(self, *source, **options):
        """What json says they are, in order of time."""
        out = self.good("export", "json", *source, **options)
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(rows), len(NAMES))
        return [unescape(r["stack"][0]["name"].encode(), in_json) for r in rows]

    def test_json(self):
        self.assertEqual(self.leaves("--store", self.store), NAMES)

    def test_script_and_back(self):
        for verb in (("script",), ("export", "perf-script")):
            out = self.good(*verb, "--store", self.store)
            records = [r for r in out.split(b"\n\n") if not r.startswith(b"#") and r.strip()]
            self.assertGreaterEqual(len(records), len(NAMES) - 1)
            self.assertEqual(self.leaves("-i", "-", stdin=out), NAMES)

    def test_speedscope_and_back(self):
        out = self.good("export", "speedscope", "--store", self.store)
        self.assertEqual(self.leaves("-i", "-", stdin=out), NAMES)
        names = [unescape(f["name"].encode(), in_json) for f in json.loads(out)["shared"]["frames"]]
        self.assertTrue(set(NAMES) <= set(names))

    def test_pprof_and_back(self):
        out = self.good("export", "pprof", "--store", self.store)
        strings = {unescape(s.encode(), in_csv) for s in pprof.read(out)["strings"]}
        self.assertTrue(set(NAMES) <= strings)
        self.assertEqual(sorted(self.leaves("-i", "-", stdin=out)), sorted(NAMES))

    def test_firefox(self):
        f = json.loads(self.good("export", "firefox", "--store", self.store))
        strings = {unescape(s.encode(), in_json) for t in f["threads"] for s in t["stringArray"]}
        self.assertTrue(set(NAMES) <= strings)

    def test_csv(self):
        out = self.good("export", "csv", "--store", self.store)
        self.check_terminal(out)
        rows = list(csv.DictReader(io.StringIO(out.decode(), newline="")))
        self.assertEqual(len(rows), len(NAMES))
        got = [unescape_field(r["stack"].split(";")[1].encode(), in_stack) for r in rows]
        self.assertEqual(got, NAMES)
        for row in rows:
            for cell in (*row.values(), *row["stack"].split(";")):
                self.assertNotIn(cell[:1], ("=", "+", "-", "@"), row)
        self.assertEqual([r["comm"] for r in rows], [f"c{i}" for i in range(len(NAMES))])

    def test_folded_is_one_line_a_stack(self):
        """stackcollapse's own rules change names (; is :, arguments are cut); none may add a line."""
        out = self.good("export", "folded", "--store", self.store)
        self.assertEqual(len(out.splitlines()), len(NAMES))
        for line in out.splitlines():
            self.assertRegex(line, rb"^c\d+;main;[^;]* 1$")
        again = self.good("export", "folded", "-i", "-", stdin=out)
        self.assertEqual(again, out)

    def test_perf_data(self):
        out = self.path("x.data")
        self.good("export", "perf-data", "--store", self.store, "-o", out)
        self.assertEqual(self.good("script", "-F", "comm,tid,time,ip", "-i", out),
                         self.good("script", "-F", "comm,tid,time,ip", "--store", self.store))

    def test_comms_and_modules(self):
        """The same bytes as the name of a thread and of a file."""
        for evil, name in itertools.product((b"a\nb\xff;\"c\\x0a,", b"=1+\x0a1", b"\\x3d1"), ("csv", "json", "speedscope", "pprof")):
            folded = escape(evil).replace(b";", b":") + b";f 3\n"
            out = self.good("export", name, "-i", "-", stdin=folded)
            want = evil.replace(b";", b":")
            if name == "csv":
                row, = csv.DictReader(io.StringIO(out.decode(), newline=""))
                self.assertNotEqual(row["comm"][0], "=")
                got = unescape_field(row["comm"].encode(), in_csv)
            elif name == "json":
                got = unescape(json.loads(out)["comm"].encode(), in_json)
            elif name == "speedscope":
                got = unescape(json.loads(out)["profiles"][0]["perfcam"]["comm"].encode(), in_json)
            else:
                (_, _, labels), = pprof.read(out)["samples"]
                got = unescape(labels["comm"].encode(), in_csv)
            self.assertEqual(got, want, name)


tap.main()
