#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Flame graphs from outside: where frames lie, which are there, and every option of flamegraph.pl."""
import base64
import fcntl
import gzip
import hashlib
import html
import json
import os
import pty
import random
import re
import struct
import termios
from xml.etree import ElementTree

import flame_model as model
import support
import synth
import tap

SVG = "{http://www.w3.org/2000/svg}"
SMALL = b"""web;main;serve;read_[k] 300
web;main;serve;parse;parse;parse 200
web;main 40
web;main;idle_work 100
web;start 50
db;main;query;scan_[j];inner_[i] 250
db;main;query;write_[k];copy_[i] 100
"""


def random_folded(seed, lines=200):
    rng = random.Random(seed)
    names = ["main", "main.cold", "run", "run::fast", "read", "read_[k]", "copy_[k]", "jit_[j]", "in_[i]", "x"]
    seen = {}
    for _ in range(lines):
        stack = [rng.choice(["web", "db", "web-2"])] + [rng.choice(names) for _ in range(rng.randint(0, 8))]
        seen[";".join(stack)] = rng.randint(1, 40)
    return "".join(f"{s} {n}\n" for s, n in seen.items()).encode()


class Case(support.Case):
    def root(self, data, *options):
        return self.svg("-i", self.path("in.folded", data), *options)

    def drawn(self, root):
        """(depth, name, start, width) of each frame, in the unit of the flame."""
        frames = root.find(f"{SVG}g[@class='f']")
        scale = int(frames.get("data-scale"))
        return [(int(g.get("data-d")), g.find(f"{SVG}title").text.split("\n")[0],
                 int(g.get("data-x")) * scale, int(g.get("data-v")) * scale)
                for g in frames.findall(f"{SVG}g")]

    def check(self, data, want, *options):
        self.assertEqual(sorted(self.drawn(self.root(data, "--minwidth", "0", *options))), sorted(want))

    def titles(self, root):
        """{name: lines of the tooltip}, of the widest frame of a name."""
        frames = sorted(root.iter(f"{SVG}g"), key=lambda g: int(g.get("data-v", 0)))
        texts = (g.find(f"{SVG}title") for g in frames if g.get("data-d"))
        return {lines[0]: lines for lines in (t.text.split("\n") for t in texts)}


class Geometry(Case):
    def inputs(self):
        yield SMALL
        for seed in range(6):
            yield random_folded(seed)
        with gzip.open(os.path.join(support.DATA, "oracle", "gcc-compile.folded.gz")) as f:
            yield f.read()

    def test_frames_lie_where_they_should(self):
        for data in self.inputs():
            self.check(data, model.merged(model.parse(data)))

    def test_from_the_leaf(self):
        for data in self.inputs():
            self.check(data, model.merged(model.reverse(model.parse(data))), "--reverse")

    def test_in_the_order_of_the_lines(self):
        for data in self.inputs():
            self.check(data, model.in_order(model.parse(data)), "--flamechart")
            self.check(data, model.in_order(model.reverse(model.parse(data))), "--flamechart", "--reverse")

    def test_pixels_follow_from_the_numbers(self):
        root = self.root(SMALL, "--width", "700", "--height", "20", "--inverted")
        for g in root.find(f"{SVG}g[@class='f']").findall(f"{SVG}g"):
            rect, depth = g.find(f"{SVG}rect"), int(g.get("data-d"))
            part = int(g.get("data-v")) / (1040 / 10) # scale: all counts are tens
            self.assertAlmostEqual(float(rect.get("x")), 16 + int(g.get("data-x")) / 104 * 668, delta=0.01)
            self.assertAlmostEqual(float(rect.get("width")), part * 668 - 1, delta=0.01)
            self.assertEqual((float(rect.get("y")), rect.get("height")), (76 + 20 * depth, "19"))

    def test_narrow_frames_go(self):
        whole = model.merged(model.parse(SMALL))
        total = whole[0][3]
        for option, least in (("60", 60 / 1168), ("9.7%", 0.097), ("0.05%", 0.0005)):
            want = [f for f in whole if f[3] >= least * total]
            self.assertEqual(sorted(self.drawn(self.root(SMALL, "--minwidth", option))), sorted(want), option)

    def test_total_and_factor(self):
        root = self.root(SMALL, "--total", "2080", "--factor", "2.5", "--countname", "bytes")
        self.assertEqual(self.drawn(root)[0], (0, "all", 0, 2080))
        self.assertRegex(self.titles(root)["web"][2], r"^1\u202f725 bytes, 33\.2")
        r = support.run("flame", "-i", self.path("in.folded", SMALL), "-o", self.path("x.svg"), "--total", "10")
        self.assertEqual(r.code, 0)
        self.assertIn(b"--total 10 is less", r.err)

    def test_counts_with_a_fraction(self):
        root = self.root(b"a;x 2.5\na;y 1.5\n")
        self.assertEqual(self.titles(root)["all"][2][:9], "4 samples")
        self.assertEqual([(n, w) for _, n, _, w in self.drawn(root) if n in "xy"], [("x", 2500), ("y", 1500)])

    def test_few_samples_are_said_by_their_counts(self):
        for data, words in ((b"a;x 2.5\na;y 16.5\n", b"only 19 samples"), (b"a;x 200.5\n", b""), (b"a;x 200\n", b"")):
            r = support.run("flame", "-i", self.path("in.folded", data), "-o", self.path("x.svg"))
            self.assertEqual((r.code, b"rough" in r.err, words in r.err), (0, bool(words), True), r.err)


class Frames(Case):
    def test_filters_are_what_the_model_does(self):
        for seed in range(4):
            data = random_folded(100 + seed)
            stacks = model.parse(data)
            total = sum(n for _, n in stacks)
            for options, want in (
                (("--hide", "^run"), model.hide(stacks, "^run")),
                (("--hide", "^web", "--hide", "cold"), model.hide(stacks, "^web|cold")),
                (("--focus", "^read$"), model.focus(stacks, "^read$")),
                (("--focus", "^db", "--focus", "^run"), model.focus(stacks, "^db|^run")),
                (("--frames", "user"), model.only(stacks, False)),
                (("--frames", "kernel"), model.only(stacks, True)),
                (("--collapse-recursion",), model.without_recursion(stacks)),
                (("--hide", "main", "--collapse-recursion"), model.without_recursion(model.hide(stacks, "main"))),
                (("--hide", "x", "--reverse"), model.reverse(model.hide(stacks, "x"))),
            ):
                self.check(data, model.merged(want), *options)
                self.check(data, model.in_order(want), *options, "--flamechart")
                if "--focus" not in options:
                    self.assertEqual(sum(n for _, n in want), total)

    def test_asking_twice_is_asking_once(self):
        data = random_folded(7)
        for option in ("--hide", "--focus"):
            once = self.drawn(self.root(data, option, "run"))
            self.assertEqual(self.drawn(self.root(data, option, "run", option, "run")), once)
        path = self.path("again.folded", data)
        for options in (("--collapse-recursion",), ("--frames", "user"), ("--hide", "main")):
            tree = self.good("flame", "-i", path, "--json", *options)
            lines = []
            self.folded_of(json.loads(tree)["root"], [], lines)
            again = self.good("flame", "-i", self.path("2.folded", "".join(lines).encode()), "--json", *options)
            self.assertEqual(json.loads(again)["root"], json.loads(tree)["root"])

    def folded_of(self, node, path, lines):
        mark = {"kernel": "_[k]", "jit": "_[j]", "inlined": "_[i]"}.get(node["kind"], "")
        path = path + [node["name"] + mark] if node["kind"] != "root" else []
        if node["self"]:
            lines.append(f"{';'.join(path)} {node['self']}\n")
        for child in node["children"]:
            self.folded_of(child, path, lines)

    def test_json_tree_is_the_same_stacks(self):
        data = random_folded(9)
        lines = []
        found = json.loads(self.good("flame", "-i", self.path("x.folded", data), "--json"))
        self.folded_of(found["root"], [], lines)
        self.assertEqual(support.folded("".join(lines).encode()), support.folded(data))
        self.assertEqual(found["root"]["value"], sum(support.folded(data).values()))
        path = self.path("tree.json")
        self.good("flame", "-i", self.path("x.folded"), "-o", path)
        with open(path, encoding="utf-8") as f:
            self.assertEqual(json.load(f), found)

    def test_groups(self):
        data = (b"java;Interpreter_[j];java/util/HashMap::get_[j];java/util/HashMap::hash_[i];read_[k] 5\n"
                b"java;java/util/HashMap::put_[j];java/util/Map::put_[j];org/x/Y::run_[j] 3\n"
                b"node;f /srv/node_modules/express/lib/a.js:1_[j];g /srv/node_modules/express/b.js:9_[j] 2\n")
        tree = json.loads(self.good("flame", "-i", self.path("x.folded", data), "--json", "--group", "package"))
        lines = []
        self.folded_of(tree["root"], [], lines)
        self.assertEqual(support.folded("".join(lines).encode()), {
            b"java;[unknown]_[j];java/util_[j];java/util;[kernel]_[k]": 5,
            b"java;java/util_[j];org/x_[j]": 3, b"node;express_[j]": 2})
        tree = json.loads(self.good("flame", "-i", self.path("x.folded"), "--json", "--group", "leaf-package"))
        lines = []
        self.folded_of(tree["root"], [], lines)
        self.assertEqual(support.folded("".join(lines).encode()), {
            b"[kernel]_[k];read_[k]": 5, b"org_[j];x_[j];Y_[j];run_[j]": 3,
            b"g /srv/node_modules/express/b.js:9_[j]": 2})
        modules = json.loads(self.good("flame", "-i", support.fixture_path("nginx-997"), "--json", "--group", "module",
                                       "--weight", "samples"))
        names = {f["name"] for f in modules["functions"]}
        self.assertTrue(any(re.match(r"libc[.-]", n) for n in names), names)

    def test_java_types_are_tidied(self):
        sample = synth.Sample(b"java", 7, 0, 1000000, [b"Ljava/util/HashMap;::get", b"Interpreter"])
        names = self.titles(self.svg("-i", self.path("x.txt", synth.text_of([sample]))))
        self.assertIn("java/util/HashMap::get", names)

    def test_names_of_inlined_code_are_taken_apart(self):
        """How an agent of the JVM names compiled code with what was inlined into it; not operators of C++."""
        text = (b"java  100 [000]  10.000000:    1000 cpu-clock: \n"
                b"\t          401000 LA/b;::outer->Lx/Y;::mid->leaf+0x10 (/tmp/perf-100.map)\n"
                b"\t          401010 ptr::operator->+0x1 (/usr/bin/x)\n\n")
        tree = json.loads(self.good("flame", "-i", self.path("x.txt", text), "--json"))["root"]
        path = []
        while tree["children"]:
            tree = tree["children"][0]
            path.append((tree["name"], tree["kind"]))
        self.assertEqual(path, [("java", "process"), ("ptr::operator->", "user"), ("A/b::outer", "jit"),
                                ("x/Y::mid", "inlined"), ("leaf", "inlined")])


class Groups(Case):
    def setUp(self):
        super().setUp()
        self.samples = synth.recording(5, seconds=4, hz=100)
        for i, s in enumerate(self.samples):
            s.pid += i % 3
        self.good("import", "--store", self.store, self.path("x.txt", synth.text_of(self.samples)))

    def first_level(self, *options):
        tree = json.loads(self.good("flame", "--store", self.store, "--json", *options))["root"]
        return {c["name"]: c["value"] for c in tree["children"]}

    def count(self, key):
        found = {}
        for s in self.samples:
            found[key(s)] = found.get(key(s), 0) + 1
        return found

    def test_by(self):
        comm = lambda s: s.comm.decode()
        self.assertEqual(self.first_level(), self.count(comm))
        self.assertEqual(self.first_level("--by", "comm"), self.count(comm))
        numbered = self.count(lambda s: f"{comm(s)} ({s.pid})")
        self.assertEqual(self.first_level("--by", "thread"), numbered)
        self.assertEqual(self.first_level("--per-thread"), numbered)
        self.assertEqual(self.first_level("--by", "process"), numbered)
        self.assertEqual(self.first_level("--by", "cpu"), self.count(lambda s: f"CPU {s.cpu:02}"))
        self.assertEqual(self.first_level("--by", "exe"), self.count(comm)) # this text knows no program
        self.assertEqual(self.first_level("--by", "cgroup"), {"[unknown]": len(self.samples)})
        tree = json.loads(self.good("flame", "--store", self.store, "--json", "--by", "cpu"))["root"]
        for c in tree["children"]:
            self.assertEqual({k["name"] for k in c["children"]}, {"nginx", "redis-server", "worker-7"})

    def test_chart_is_in_order_of_time(self):
        stacks = [([f.decode() for f in s.stack().split(b";")], 1) for s in sorted(self.samples, key=lambda s: s.time_us)]
        root = self.svg("--store", self.store, "--flamechart", "--minwidth", "0")
        self.assertEqual(sorted(self.drawn(root)), sorted(model.in_order(stacks)))
        by_cpu = [([f"CPU {s.cpu:02}"] + [f.decode() for f in s.stack().split(b";")], 1)
                  for s in sorted(self.samples, key=lambda s: (s.cpu, s.time_us))]
        root = self.svg("--store", self.store, "--flamechart", "--by", "cpu", "--minwidth", "0")
        self.assertEqual(sorted(self.drawn(root)), sorted(model.in_order(by_cpu)))

    def test_series(self):
        out = self.good("flame", "--store", self.store, "--every", "1s", "-o", self.path("s.svg.gz")).decode().split()
        self.assertEqual(sum(self.total(p) for p in out), len(self.samples))
        self.assertIn(len(out), (4, 5))
        for p in out:
            self.assertRegex(os.path.basename(p), r"^s-\d{8}-\d{6}\.svg\.gz$")
        self.assertEqual(sorted(out), out)
        half = self.good("flame", "--store", self.store, "--every", "500ms", "-o", self.path("h.svg")).decode().split()
        self.assertRegex(os.path.basename(half[0]), r"^h-\d{8}-\d{6}\.(000|500)\.svg$")
        self.assertEqual(sum(self.total(p) for p in half), len(self.samples))
        text = self.good("flame", "--store", self.store, "--every", "1s", "--text").decode()
        self.assertEqual(text.count("|all 100.0"), len(out))
        for words, code, names in ((("soon",), 2, "soon"), (("0s",), 2, "0s"), (("1us",), 2, "at most 10000")):
            self.bad("flame", "--store", self.store, "--every", *words, "-o", self.path("x.svg"), code=code, names=names)
        self.bad("flame", "--store", self.store, "--every", "1s", "-o", "-", code=2, names="-o X.svg")
        self.bad("flame", "-i", self.path("f.folded", SMALL), "--every", "1s", "-o", self.path("x.svg"),
                 names="no times")

    def total(self, path):
        opened = gzip.open(path) if path.endswith(".gz") else open(path, "rb")
        with opened as f:
            root = ElementTree.parse(f).getroot()
        return self.drawn(root)[0][3]


class Look(Case):
    def test_words_and_sizes(self):
        path = self.path("x.svg")
        self.good("flame", "-i", self.path("in.folded", SMALL), "-o", path, "--title", "A & B", "--subtitle", "<sub>",
                  "--notes", "made for -- you", "--countname", "bytes", "--nametype", "Page:", "--fonttype",
                  "Courier New, monospace", "--fontsize", "14.5", "--height", "22", "--width", "900",
                  "--fontwidth", "0.7", "--inverted")
        with open(path, encoding="utf-8") as f:
            text = f.read()
        root = ElementTree.fromstring(text)
        self.assertEqual(root.get("width"), "900")
        self.assertEqual(root.find(f"{SVG}title").text, "A & B")
        self.assertIn("<sub>", support.texts_of(root))
        self.assertIn("<!-- NOTES: made for - - you -->", text)
        frames = root.find(f"{SVG}g[@class='f']")
        self.assertEqual((frames.get("data-row"), frames.get("data-font"), frames.get("data-what")),
                         ("22", "14.5", "Page:"))
        self.assertEqual(frames.find(f"{SVG}desc").text, "bytes")
        style = root.find(f"{SVG}style").text
        self.assertIn("font-family: Courier New, monospace;", style)
        self.assertIn("font-size: 14.50px", style)
        heights = {g.find(f"{SVG}rect").get("height") for g in frames.findall(f"{SVG}g")}
        self.assertEqual(heights, {"21"})

    def test_encoding(self):
        data = "web;größe;日本 5\nweb;x 3\n".encode()
        for name in ("ISO-8859-1", "UTF-8", "us-ascii"):
            path = self.path("x.svg")
            self.good("flame", "-i", self.path("in.folded", data), "-o", path, "--encoding", name)
            with open(path, "rb") as f:
                content = f.read()
            self.assertTrue(content.startswith(f'<?xml version="1.0" encoding="{name}"'.encode()))
            self.assertTrue(content.isascii())
            self.assertIn("größe", self.titles(ElementTree.fromstring(content)))
            self.assertIn("日本", self.titles(ElementTree.fromstring(content)))

    def fills(self, root):
        return {g.find(f"{SVG}title").text.split("\n")[0]: g.find(f"{SVG}rect").get("fill")
                for g in root.iter(f"{SVG}g") if g.get("data-d")}

    def test_palettes(self):
        # By --hash "a" is 0.6111 of the way: tests/unit/test_render_palette.c has the arithmetic.
        for colors, want in (("hot", "rgb(235,140,33)"), ("red", "rgb(233,98,98)"), ("blue", "rgb(116,116,235)"),
                             ("orange", "rgb(229,129,0)"), ("mem", "rgb(0,220,128)")):
            self.assertEqual(self.fills(self.root(b"a;b 5\n", "--colors", colors, "--hash"))["a"], want)
        self.assertEqual(self.fills(self.root(b"a;b 5\n", "--hash"))["a"], "rgb(235,140,33)") # hot is the default
        # As flamegraph.pl takes it.
        self.assertEqual(self.fills(self.root(b"a;b 5\n", "--color=blue", "--hash"))["a"], "rgb(116,116,235)")
        one, two = (self.fills(self.root(SMALL, "--random")) for _ in range(2))
        self.assertNotEqual(one, two)
        self.assertEqual(*(self.fills(self.root(SMALL, "--colors", "java")) for _ in range(2)))

    def test_backgrounds(self):
        for options, top, bottom in ((("--bgcolors", "#123456"), "#123456", "#123456"),
                                     (("--bgcolors", "grey"), "#f8f8f8", "#e8e8e8"),
                                     (("--colors", "mem"), "#eef2ee", "#e0ffe0"),
                                     (("--colors", "io"), "#eeeeee", "#e0e0ff"),
                                     (("--colors", "java"), "#eeeeee", "#eeeeb0"),
                                     (("--colors", "red", "--bgcolors", "blue"), "#eeeeee", "#e0e0ff")):
            root = self.root(SMALL, *options)
            stops = [s.get("stop-color") for s in root.iter(f"{SVG}stop")]
            self.assertEqual(stops, [top, bottom], options)
            self.assertNotIn("prefers-color-scheme", root.find(f"{SVG}style").text)
        self.assertEqual(list(self.root(SMALL).iter(f"{SVG}stop")), [])

    def test_palette_map(self):
        picture = ("flame", "-i", self.path("in.folded", b"a;b 5\na;c_[k] 3\n"), "-o", self.path("x.svg"), "--cp")
        self.path("palette.map", b"b->rgb(1,2,3)\nother->rgb(9,9,9)\nnot a line\n")
        r = support.run(*picture, "--random", cwd=self.dir)
        self.assertEqual(r.code, 0, r.err)
        self.assertIn(b"palette.map: 1 lines", r.err)
        first = self.fills(ElementTree.parse(self.path("x.svg")).getroot())
        self.assertEqual(first["b"], "rgb(1,2,3)")
        with open(self.path("palette.map"), encoding="utf-8") as f:
            lines = f.read().splitlines()
        self.assertEqual(lines, sorted(lines))
        self.assertEqual(dict(line.split("->") for line in lines),
                         {"a": first["a"], "b": "rgb(1,2,3)", "c_[k]": first["c"], "other": "rgb(9,9,9)"})
        self.good(*picture, "--random", cwd=self.dir)
        second = self.fills(ElementTree.parse(self.path("x.svg")).getroot())
        first.pop("all"), second.pop("all") # it has no name to be kept by
        self.assertEqual(first, second)

    def test_attributes_of_names(self):
        attributes = self.path("attr", b"main\thref=https://x.example/?q=\"<&\ttitle=see <here>\nread_[k]\tid=r1\tclass=big one\n"
                                       b"parse\thref=javascript:alert(1)\tg_extra=onclick=\"alert(1)\"\n")
        r = support.run("flame", "-i", self.path("in.folded", SMALL), "-o", self.path("x.svg"), "--nameattr", attributes)
        self.assertEqual(r.code, 0, r.err)
        self.assertIn(b"2 values left out", r.err)
        root = ElementTree.parse(self.path("x.svg")).getroot()
        links = list(root.iter(f"{SVG}a"))
        self.assertEqual({(a.get("href"), a.get("target")) for a in links}, {("https://x.example/?q=\"<&", "_top")})
        self.assertEqual(len(links), 2) # main of web, and of db
        self.assertEqual(self.titles(root)["main"], ["main", "see <here>"])
        big = [g for g in root.iter(f"{SVG}g") if g.get("id") == "r1"]
        self.assertTrue(big[0].get("class").endswith(" big one"))
        with open(self.path("x.svg"), encoding="utf-8") as f:
            self.assertNotIn("alert", f.read())
        self.bad("flame", "-i", self.path("in.folded"), "-o", self.path("y.svg"), "--nameattr",
                 self.path("bad", b"main\tid=x\nmain only\n"), names=("line 2", "tab"))

    def test_differential(self):
        data = b"x;grew 1 9\nx;shrank 9 1\nx;same 5 5\nx;gone 3 0\nx;new;- 0 4\n"
        classes = lambda *options: {g.find(f"{SVG}title").text.split("\n")[0]: g.get("class")
                                    for g in self.root(data, *options).iter(f"{SVG}g") if g.get("data-d")}
        plain, turned, whole = classes(), classes("--negate"), classes("--change", "total")
        self.assertEqual((plain["grew"], plain["shrank"], plain["same"], plain["x"]), ("r5", "b5", "g0", "g0"))
        self.assertEqual((turned["grew"], turned["shrank"], turned["same"]), ("b5", "r5", "g0"))
        self.assertEqual(plain["-"], "s1")
        self.assertEqual((whole["new"][0], plain["new"]), ("r", "g0"))
        self.assertNotIn("gone", plain)
        titles = self.titles(self.root(data))
        self.assertIn("self: +42.1", titles["grew"][4]) # 8 of 19
        self.assertIn("self: −42.1", self.titles(self.root(data, "--negate"))["grew"][4])

    def test_separators_are_grey(self):
        classes = {g.find(f"{SVG}title").text.split("\n")[0]: g.get("class")
                   for g in self.root(b"a;--;b 3\na;-;c 4\n").iter(f"{SVG}g") if g.get("data-d")}
        self.assertEqual((classes["--"], classes["-"]), ("s2", "s1"))
        # In a chain what is above the separator waked what is below.
        fills = self.fills(self.root(b"a;off;--;waker 3\n", "--colors", "chain"))
        r, g, b = (int(v) for v in re.findall(r"\d+", fills["waker"]))
        self.assertTrue(g == b and g > r)
        r, g, b = (int(v) for v in re.findall(r"\d+", fills["off"]))
        self.assertTrue(r == g and b > r)

    def test_what_cannot_be(self):
        flame = ("flame", "-i", self.path("in.folded", SMALL), "-o", self.path("x.svg"))
        for option, value in (("--colors", "pink"), ("--bgcolors", "#12345"), ("--minwidth", "wide"), ("--minwidth", "-1"),
                              ("--width", "10"), ("--height", "0x9"), ("--height", "1000"), ("--fontsize", "0.2"),
                              ("--fontsize", "-3"), ("--fontwidth", "9"), ("--factor", "x"), ("--fonttype", "a;b"),
                              ("--fonttype", "</style>"), ("--encoding", "utf-16"), ("--encoding", "a b"),
                              ("--notes", "a<b"), ("--change", "all"), ("--by", "magic"), ("--frames", "both"),
                              ("--group", "age"), ("--hide", "("), ("--focus", "[a"), ("--color", "yes"),
                              ("--total", "nan")):
            self.bad(*flame, option, value, code=2, names=(option, value))
        self.bad(*flame, "--nameattr", self.path("nowhere"), names="nowhere")
        self.bad(*flame, "--by", "cpu", "--per-thread", code=2, names="--per-thread")
        self.bad(*flame, "--focus", "nothing_is_called_this", names="--focus")
        self.assertFalse(os.path.exists(self.path("x.svg")))

    def test_nothing_to_show_in_a_pipe(self):
        """A picture that says so, for whoever is behind the pipe, and a failure."""
        r = support.run("flame", "-i", self.path("in.folded", SMALL), "--match", "nowhere", "-o", "-")
        self.assertEqual(r.code, 1)
        self.assertIn(b"no samples", r.err)
        self.assertIn("No sample matches", "".join(ElementTree.fromstring(r.out).itertext()))


class Forms(Case):
    def test_page_runs_its_own_script_alone(self):
        path = self.path("x.html")
        self.good("flame", "-i", self.path("in.folded", b"a;<script>alert(1)</script>;\" onload=\"x 5\n"), "-o", path)
        with open(path, encoding="utf-8") as f:
            text = f.read()
        script = re.search(r"<script><!\[CDATA\[(.*?)\]\]></script>", text, re.S).group(1)
        digest = base64.b64encode(hashlib.sha256(script.encode()).digest()).decode()
        policy = html.unescape(re.search(r'Content-Security-Policy" content="([^"]*)"', text).group(1))
        self.assertIn(f"script-src 'sha256-{digest}'", policy)
        self.assertIn("default-src 'none'", policy)
        self.assertEqual(text.count("<script"), 1)
        self.assertEqual(re.findall(r"\son\w+=", re.sub(r"<title>.*?</title>|<text.*?</text>", "",
                                                       text.replace(script, ""), flags=re.S)), [])
        self.assertTrue(text.startswith("<!DOCTYPE html>"))

    def test_form_by_name(self):
        source = self.path("in.folded", SMALL)
        for name, start in (("x.svg", b"<svg"), ("x.htm", b"<!DOCTYPE"), ("x.json", b"{"), ("x.txt", b"|all"), ("x", b"<svg")):
            out = self.good("flame", "-i", source, "-o", self.path(name))
            self.assertEqual(out.decode().strip(), self.path(name))
            with open(self.path(name), "rb") as f:
                self.assertTrue(f.read().startswith(start), name)
        self.good("flame", "-i", source, "-o", self.path("x.html.gz"))
        with gzip.open(self.path("x.html.gz")) as f:
            self.assertTrue(f.read().startswith(b"<!DOCTYPE"))

    def terminal(self, *args, columns=100, rows=30, **env):
        """What it prints on a terminal of that size."""
        pid, fd = pty.fork()
        if pid == 0:
            for name in ("NO_COLOR", "COLORTERM", "TERM", "COLUMNS", "LINES"):
                os.environ.pop(name, None)
            os.environ.update(env)
            # The size must be there before the program asks.
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
            os.execv(support.BIN, [support.BIN, *args])
        data = b""
        while True:
            try:
                part = os.read(fd, 65536)
            except OSError:
                break
            if not part:
                break
            data += part
        os.close(fd)
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), 0, data[-300:])
        return data.decode().replace("\r\n", "\n")

    def test_terminal(self):
        source = ("flame", "-i", support.fixture_path("nginx-997"))
        true = self.terminal(*source, TERM="xterm-256color", COLORTERM="truecolor")
        self.assertIn("\x1b[48;2;", true)
        some = self.terminal(*source, TERM="xterm-256color")
        self.assertIn("\x1b[48;5;", some)
        self.assertNotIn(";2;", some)
        for env in ({"TERM": "dumb"}, {"TERM": "xterm", "NO_COLOR": "1"}, {}):
            none = self.terminal(*source, **env)
            self.assertNotIn("\x1b", none)
            self.assertIn("|all", none)
        self.assertIn("\x1b[48;5;", self.terminal(*source, "--color", "always", TERM="dumb"))
        self.assertNotIn("\x1b", self.terminal(*source, "--color", "never", TERM="xterm"))
        for rows, columns in ((24, 80), (50, 132), (10, 40)):
            text = self.terminal(*source, TERM="xterm", rows=rows, columns=columns)
            lines = re.sub(r"\x1b\[[0-9;]*m", "", text).rstrip("\n").split("\n")
            # With its wrapped lines and the prompt it fits; at the least five levels are drawn.
            high = sum(-(-max(len(line), 1) // columns) for line in lines) + 1
            self.assertLessEqual(high, rows if rows > 20 else 16, lines)
            self.assertTrue(all(len(line) == columns for line in lines[:5]), lines[:5])
            self.assertIn("100.0", lines[0])

    def test_text_elsewhere(self):
        text = self.good("flame", "-i", self.path("in.folded", SMALL), "--text", "--top", "2").decode()
        self.assertTrue(text.isprintable() or "\x1b" not in text)
        self.assertIn("|serve", text)
        self.assertIn("2 of", text)
        wide = self.good("flame", "-i", self.path("in.folded"), "--text", env={**os.environ, "COLUMNS": "60"}).decode()
        self.assertEqual(len(wide.split("\n")[0]), 60)


if __name__ == "__main__":
    tap.main()
