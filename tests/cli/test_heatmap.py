#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfcam heatmap: the same counts as FlameScope, and pictures that say them."""
import gzip
import json
import os
import re
import shutil
import struct
import subprocess
import tempfile
import xml.etree.ElementTree as ElementTree
import zlib

import support
import synth
import tap

SVG = "{http://www.w3.org/2000/svg}"


def flamescope(name):
    with gzip.open(os.path.join(support.DATA, "oracle", name + ".flamescope-heatmap.json.gz")) as f:
        return json.load(f)


def pixels(data):
    """Width, height and rows of (r, g, b) of a PNG; every checksum is looked at."""
    assert data[:8] == b"\x89PNG\r\n\x1a\n"
    at, chunks = 8, []
    while at < len(data):
        length, kind = struct.unpack(">I4s", data[at : at + 8])
        body = data[at + 8 : at + 8 + length]
        (crc,) = struct.unpack(">I", data[at + 8 + length : at + 12 + length])
        assert crc == zlib.crc32(kind + body)
        chunks.append((kind, body))
        at += 12 + length
    assert [k for k, _ in chunks] == [b"IHDR", b"IDAT", b"IEND"]
    width, height, depth, colour, *rest = struct.unpack(">IIBBBBB", chunks[0][1])
    assert (depth, colour, rest) == (8, 2, [0, 0, 0])
    raw, line, rows = zlib.decompress(chunks[1][1]), width * 3 + 1, []
    assert len(raw) == line * height
    above = bytes(width * 3)
    for y in range(height):
        kind, now = raw[y * line], raw[y * line + 1 : (y + 1) * line]
        assert kind in (0, 2)
        if kind == 2:
            now = bytes((a + b) & 255 for a, b in zip(now, above))
        rows.append([tuple(now[i : i + 3]) for i in range(0, len(now), 3)])
        above = now
    return width, height, rows


class Heatmap(support.Case):
    def heatmap(self, *args, code=0, **options):
        return json.loads(self.good("heatmap", "--json", *args, code=code, **options))

    def test_counts_are_those_of_flamescope(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                theirs = flamescope(name)
                ours = self.heatmap("-i", support.fixture_path(name))
                self.assertEqual([c[::-1] for c in ours["samples"]], theirs["values"])
                self.assertEqual(ours["max_samples"], theirs["maxvalue"])
                self.assertEqual([float(r) for r in ours["row_starts_ms"][::-1]], theirs["rows"])

    def test_any_number_of_rows(self):
        """Twenty rows are sums of hundreds; what FlameScope would have counted."""
        path = support.fixture_path("gcc-compile")
        fine = self.heatmap("-i", path, "--rows", "100")["samples"]
        for rows in (10, 20, 25, 50):
            coarse = self.heatmap("-i", path, "--rows", str(rows))["samples"]
            n = 100 // rows
            sums = [[sum(c[i : i + n]) for i in range(0, 100, n)] for c in fine]
            self.assertEqual(coarse, sums)

    def test_cores_by_the_text_itself(self):
        heads = re.findall(rb"(?m)^\S.*\[(\d+)\] +(\d+)\.(\d{6}):", support.fixture("nginx-997"))
        want = {}
        for cpu, second, micro in heads:
            at = (int(second) * 1000000 + int(micro)) // 20000
            want[int(cpu), at] = want.get((int(cpu), at), 0) + 1
        got = self.heatmap("-i", support.fixture_path("nginx-997"), "--mode", "cores", "--step", "20ms")
        first = got["from_ns"] // 20000000
        found = {
            (cpu, first + column): n
            for column, cells in enumerate(got["samples"])
            for cpu, n in zip(got["cpus"], cells)
            if n
        }
        self.assertEqual(found, want)

    def test_paint_and_filters(self):
        path = support.fixture_path("nginx-997")
        folded = support.oracle("nginx-997")
        matching = self.heatmap("-i", path, "--match", "^redis-server$")
        painted = self.heatmap("-i", path, "--paint", "^redis-server$")
        self.assertGreater(matching["total"], 0)
        self.assertEqual(painted["painted_total"], matching["total"])
        self.assertEqual(painted["painted"], matching["samples"])
        self.assertGreater(painted["total"], painted["painted_total"])
        self.assertTrue(any(b"redis-server" in s for s in folded))

    def test_idle_samples_are_not_busy(self):
        idle = [synth.Sample(b"swapper", 0, 0, 10_000_000 + i * 1000, [b"pv_native_safe_halt",
                b"default_idle", b"do_idle", b"secondary_startup"]) for i in range(50)]
        busy = [synth.Sample(b"nginx", 7, 0, 10_100_000 + i * 1000, [b"main"]) for i in range(20)]
        text = synth.text_of(idle + busy).replace(b"(/usr/bin/synth)", b"([kernel.kallsyms])")
        for args, total in (((), 20), (("--idle",), 70)):
            for mode in ("subsecond", "cores"):
                got = self.heatmap("-i", "-", "--mode", mode, *args, stdin=text)
                self.assertEqual(got["total"], total)
                self.assertEqual(sum(map(sum, got["samples"])), total)
                self.assertEqual(got["idle"], 70 - total)

    def picture(self, name, *args):
        path = self.path(name)
        self.assertEqual(self.good("heatmap", *args, "-o", path).decode().strip(), path)
        with open(path, "rb") as f:
            return f.read()

    def test_svg_says_every_count(self):
        svg = ElementTree.fromstring(self.picture("h.svg", "-i", support.fixture_path("gcc-compile")))
        self.assertIsNone(svg.find(f".//{SVG}script"))
        cells = svg.find(f"{SVG}g[@class='cells']")
        titles = [support.ungroup(r.find(f"{SVG}title").text) for r in cells.findall(f"{SVG}rect")]
        counts = [int(m[1]) for t in titles if (m := re.search(r"(?m)^(\d+) samples?", t))]
        theirs = flamescope("gcc-compile")["values"]
        self.assertEqual(sum(counts), sum(map(sum, theirs)))
        self.assertEqual(max(counts), flamescope("gcc-compile")["maxvalue"])
        self.assertTrue(any("not observed" in t for t in titles))
        self.assertRegex(titles[0], r"^\d\d:\d\d:\d\d\.\d{3} – \d\d:\d\d:\d\d\.\d{3}\n")

    def test_svg_strength_follows_the_count(self):
        svg = ElementTree.fromstring(self.picture("h.svg", "-i", support.fixture_path("gcc-compile")))
        by_count = {}
        for rect in svg.find(f"{SVG}g[@class='cells']").findall(f"{SVG}rect"):
            count = re.search(r"(?m)^(\d+) samples?", rect.find(f"{SVG}title").text)
            strength = re.fullmatch(r"c(\d+)h0", rect.get("class") or "")
            if count and strength:
                by_count.setdefault(int(count[1]), set()).add(int(strength[1]))
        self.assertTrue(all(len(s) == 1 for s in by_count.values()), by_count)
        strengths = [min(by_count[n]) for n in sorted(by_count)]
        self.assertEqual(strengths, sorted(strengths))
        self.assertGreaterEqual(len(set(strengths)), 10)

    def test_png(self):
        args = ("-i", support.fixture_path("gcc-compile"))
        width, height, rows = pixels(self.picture("h.png", *args))
        self.assertEqual((width, len(rows)), (1200, height))
        light = {p for row in rows for p in row}
        dark = {p for row in pixels(self.picture("d.png", *args, "--theme", "dark"))[2] for p in row}
        # As many strengths as the counts have; white or near black around them.
        self.assertGreater(len(light), 10)
        self.assertGreater(sum(rows[0][0]), 700)
        self.assertGreater(len(dark), 10)
        self.assertEqual(len(light), len(dark))
        self.assertEqual(pixels(self.picture("w.png", *args, "--width", "900"))[0], 900)

    def test_terminal_without_colours(self):
        out = self.good("heatmap", "-i", support.fixture_path("nginx-997"), env={"COLUMNS": "80"})
        self.check_terminal(out)
        lines = out.decode().splitlines()
        rows = [line for line in lines if re.match(r"^( *\d+ ms| {7}) [ .:\-=+*#%@?]+$", line)]
        self.assertEqual(len(rows), 25, out.decode())
        self.assertIn("?", rows[0])
        self.assertNotIn(" ", rows[3][8:].strip())
        self.assertTrue(all(len(line) <= 80 for line in lines))
        self.assertRegex(out.decode(), r"02:45:1\d")

    def test_terminal_with_colours(self):
        for env, form in (({"COLORTERM": "truecolor"}, r"\x1b\[[34]8;2;\d+;\d+;\d+m"),
                          ({"COLORTERM": "", "TERM": "xterm-256color"}, r"\x1b\[[34]8;5;\d+m")):
            out = self.good("heatmap", "-i", support.fixture_path("nginx-997"), "--color", "always",
                            env=env).decode()
            self.assertRegex(out, form)
            self.assertIn("▀", out)
            rest = re.sub(form + r"|\x1b\[0m", "", out)
            self.assertNotIn("\x1b", rest)
            for line in out.splitlines():
                self.assertTrue(line.endswith("\x1b[0m") or "\x1b" not in line.rsplit("\x1b[0m", 1)[-1])

    def test_hostile_names_stay_text(self):
        name = "</title><script>alert(1)</script>\x1b[31m"
        path = support.fixture_path("tmpl")
        svg = self.picture("h.svg", "-i", path, "--title", name, "--paint", "x|</text><b>")
        self.assertNotIn(b"<script", svg)
        self.assertNotIn(b"\x1b", svg)
        ElementTree.fromstring(svg)
        self.check_terminal(self.good("heatmap", "-i", path, "--title", name))
        pixels(self.picture("h.png", "-i", path, "--title", name))

    def test_a_store(self):
        """Windows of 2 s of the same file: the same cells as of the file."""
        path = support.fixture_path("gcc-compile")
        self.good("import", "--store", self.store, path)
        of_file, of_store = (self.heatmap(*args) for args in (("-i", path), ("--store", self.store)))
        self.assertEqual(of_file["samples"], of_store["samples"])

    def test_an_import_without_a_wall_time_is_no_hindrance(self):
        """Asked for by the time of day: what was recorded beside it."""
        golden = os.path.join(os.path.dirname(support.DATA), "golden", "store-1")
        with tempfile.TemporaryDirectory() as place:
            store = shutil.copytree(golden, os.path.join(place, "store"))
            for mode in ("subsecond", "cores"):
                told = self.heatmap("--store", store, "--mode", mode, "--from", "@1794813687.3", "--to", "@1794813696")
                self.assertEqual(told["total"], 41 + 44 + 12)

    def test_perf_data_with_and_without_names(self):
        """Of perf's own file: the cells do not depend on whether user code got its names."""
        data = self.path("perf.data")
        subprocess.run(["perf", "record", "-q", "-F", "997", "-a", "-g", "-o", data, "--", "sleep", "0.5"],
                       check=True, stderr=subprocess.DEVNULL)
        without, named = self.heatmap("-i", data), self.heatmap("-i", data, "--paint", "^nobody$")
        self.assertGreater(without["total"] + without["idle"], 100)
        for key in ("samples", "total", "idle"):
            self.assertEqual(without[key], named[key])

    def test_a_range_is_the_axis(self):
        """Three of 19 seconds: three columns, or four where they begin within one."""
        path = support.fixture_path("gcc-compile")
        whole = self.heatmap("-i", path)
        at = whole["realtime_from_ns"] + 5 * 10**9
        times = [f"@{t // 10**9}.{t % 10**9:09d}" for t in (at, at + 3 * 10**9)]
        part = self.heatmap("-i", path, "--from", times[0], "--to", times[1])
        self.assertEqual(part["from_ns"], whole["from_ns"] + 5 * 10**9)
        self.assertEqual(part["samples"], whole["samples"][5:8])
        self.assertEqual(self.heatmap("-i", path, "--last", "4s")["total"],
                         len(self.good("script", "-i", path, "--last", "4s").split(b"\n\n")) - 1)

    def test_form_by_name(self):
        path = support.fixture_path("tmpl")
        want = self.heatmap("-i", path)
        self.good("heatmap", "-i", path, "-o", self.path("x.json"))
        with open(self.path("x.json"), encoding="utf-8") as f:
            self.assertEqual(json.load(f), want)
        self.good("heatmap", "-i", path, "-o", self.path("x.txt"))
        with open(self.path("x.txt"), encoding="utf-8") as f:
            self.assertIn("800 ms", f.read())

    def test_what_it_refuses(self):
        path = support.fixture_path("tmpl")
        for args in (
            ("--rows", "9"), ("--rows", "101"), ("--mode", "core"), ("--scale", "big"),
            ("--step", "1s"), ("--mode", "cores", "--step", "0.5ms"), ("--mode", "cores", "--rows", "50"),
            ("--paint", "("), ("--width", "10"), ("--theme", "blue"), ("--color", "red"), ("x",),
        ):
            self.bad("heatmap", "-i", path, *args, code=2)
        self.bad("heatmap", "-i", "-", names="no times", stdin=b"a;b 3\na;c 4\n")
        self.bad("heatmap", "-i", path, "--mode", "cores", "--step", "1ms", names="--step")
        self.bad("heatmap", "-i", path, "--from", "2020-01-01T00:00", "--to", "2020-01-02T00:00", names="nothing was recorded")
        self.bad("heatmap", "-i", path, "-o", self.path("x.svg"), "--json", code=2)


tap.main()
