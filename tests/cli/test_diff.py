#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perfcam diff: what changed between two, and what may be chance."""
import json
import os
import re
import shutil
import subprocess

import support
import synth
import tap


def at(ns):
    return f"@{ns // 10**9}.{ns % 10**9:09d}"


def difffolded(before, after, normalise=False, strip=False):
    """The same two columns, worked out here: what difffolded.pl is documented to do."""
    counts = [{}, {}]
    for side, text in enumerate((before, after)):
        for line in text.splitlines():
            stack, _, count = line.rpartition(b" ")
            if strip:
                stack = re.sub(rb"0x[0-9a-fA-F]+", b"0x...", stack)
            counts[side][stack] = counts[side].get(stack, 0) + int(count)
    total = [sum(c.values()) for c in counts]
    lines = []
    for stack in counts[0].keys() | counts[1].keys():
        old = counts[0].get(stack, 0)
        if normalise and total[0] != total[1]:
            old = int(old * total[1] / total[0])
        lines.append(b"%s %d %d" % (stack, old, counts[1].get(stack, 0)))
    return sorted(lines)


class Diff(support.Case):
    def diff(self, *args, code=0, **options):
        return json.loads(self.good("diff", "--json", *args, code=code, **options))

    def halves(self, name):
        """The two halves of a recording, as selections of a store."""
        store = self.path("store-" + name)
        self.good("import", "--store", store, support.fixture_path(name))
        (w,) = self.ls("--store", store)
        first, length = w["realtime_ns"], w["end_ns"] - w["start_ns"]
        middle = first + length // 2
        return store, [f"--from {at(first)} --to {at(middle)}", f"from={at(middle)} to={at(first + length)}"]

    def test_halves_of_a_recording_do_not_differ(self):
        """Real programs, all steady but the compiler: at most 1 of 20 functions tested may be found."""
        tested = significant = 0
        for name in ("nginx-997", "redis-pid", "tmpl", "java", "gcc-compile"):
            store, halves = self.halves(name)
            d = self.diff("--store", store, *halves)
            self.assertEqual(d["a"]["samples"] + d["b"]["samples"], len(support.heads(support.fixture(name))))
            for side in (d["a"], d["b"]):
                self.assertEqual(side["stretches"], min(24, side["observed_ns"] // 100_000_000))
            tested += d["tested"]
            significant += d["significant"]
        self.assertGreater(tested, 200)
        self.assertLessEqual(significant, tested * 0.05)

    def test_a_growth_put_into_a_recording_is_found(self):
        """Every sample of libz in the second half of a real recording is there twice."""
        text = support.fixture("nginx-997")
        comments = re.match(rb"(?:#.*\n|\n)*", text).group()
        blocks = [b for b in text[len(comments):].split(b"\n\n") if b.strip()]
        times = [float(re.search(rb"\s(\d+\.\d{6}):", b)[1]) for b in blocks]
        middle = (times[0] + times[-1]) / 2
        files, added = [], 0
        for side in range(2):
            kept = []
            for block, time in zip(blocks, times):
                if (time >= middle) != bool(side):
                    continue
                kept.append(block)
                leaf = block.split(b"\n")[1] if b"\n" in block else b""
                if side and b"libz" in leaf:
                    kept.append(block)
                    added += 1
            files.append(self.path(f"side{side}.txt"))
            with open(files[-1], "wb") as f:
                f.write(comments + b"\n\n".join(kept) + b"\n\n")
        self.assertGreater(added, 100)
        d = self.diff(*files)
        found = {f["name"]: f for f in d["functions"]}
        self.assertEqual(list(found), ["[libz.so.1.2.13]"])
        row = found["[libz.so.1.2.13]"]
        self.assertLess(row["amount"]["low"], row["amount"]["change"])
        self.assertGreater(row["amount"]["low"], 0)
        # The truth: what was added, at 997 Hz; the two halves differ a little by themselves.
        self.assertTrue(row["amount"]["low"] <= added / 997 <= row["amount"]["high"], row)
        # Growth of 5 % of everything is what it is; of 50 % it is not.
        self.bad_status(1, "diff", *files, "--fail-above", "5%", names="libz")
        self.bad_status(0, "diff", *files, "--fail-above", "50%")
        self.bad_status(0, "diff", *files[::-1], "--fail-above", "5%")

    def bad_status(self, code, *args, names=""):
        r = support.run(*args)
        self.assertEqual(r.code, code, r.err)
        self.assertIn(names.encode(), r.err)

    def test_scales(self):
        """Twice as long and otherwise the same: by time nothing changed, as it is everything has."""
        for side, seconds in enumerate((4, 8)):
            with open(self.path(f"{side}.txt"), "wb") as f:
                f.write(synth.text_of(synth.recording(3 + side, seconds, 500)))
        files = [self.path("0.txt"), self.path("1.txt")]
        d = self.diff(*files)
        self.assertAlmostEqual(d["factor"], 2, delta=0.01)
        self.assertEqual((d["unit"], d["normalise"], d["significant"]), ("CPU-seconds", "time", 0))
        self.assertFalse(d["all"]["significant"])
        self.assertAlmostEqual(d["all"]["amount"]["before"], d["all"]["amount"]["after"], delta=0.05)
        as_it_is = self.diff(*files, "--normalise", "none")
        self.assertEqual(as_it_is["factor"], 1)
        self.assertTrue(as_it_is["all"]["significant"])
        self.assertAlmostEqual(as_it_is["all"]["amount"]["change"], 2000 * 1003009e-9, delta=1e-6)
        by_total = self.diff(*files, "--normalise", "total", "--by", "total", "--all")
        self.assertAlmostEqual(by_total["all"]["amount"]["change"], 0, delta=1e-6)
        start = [f for f in by_total["functions"] if f["name"] == "_start"][0]
        self.assertEqual((start["samples_before"], start["samples_after"]), (2000, 4000))
        self.assertEqual(start["share"]["after"], 1)

    def test_other_events_and_rates_are_said(self):
        slow = [synth.Sample(b"a", 1, 0, 10**9 + i * 10000, [b"main"], period=10_000_000) for i in range(400)]
        fast = [synth.Sample(b"a", 1, 0, 10**9 + i * 1000, [b"main"], period=1_000_000) for i in range(4000)]
        other = [synth.Sample(b"a", 1, 0, 10**9 + i * 1000, [b"main"], event="cycles") for i in range(4000)]
        for name, samples in (("slow", slow), ("fast", fast), ("other", other)):
            with open(self.path(name), "wb") as f:
                f.write(synth.text_of(samples))
        r = support.run("diff", self.path("slow"), self.path("fast"), "--json")
        self.assertIn(b"100 Hz, B at 1000 Hz", r.err)
        d = json.loads(r.out)
        self.assertTrue(d["other_rate"])
        # Four seconds of one CPU are four CPU-seconds at either rate.
        self.assertAlmostEqual(d["all"]["amount"]["before"], d["all"]["amount"]["after"], delta=0.05)
        r = support.run("diff", self.path("slow"), self.path("other"), "--json")
        self.assertIn(b"different things", r.err)
        self.assertTrue(json.loads(r.out)["other_event"])
        self.assertEqual(support.run("diff", self.path("slow"), self.path("slow")).err, b"")

    def test_folded_is_difffolded(self):
        texts = [b"a;b 3\na;b;0x7f12 4\na;0xabc 5\n", b"a;b 6\na;b;0x99 2\nc 11\n"]
        files = []
        for i, text in enumerate(texts):
            files.append(self.path(f"{i}.folded"))
            with open(files[-1], "wb") as f:
                f.write(text)
        for normalise in (False, True):
            for strip in (False, True):
                options = ["-n"] * normalise + ["-s"] * strip
                out = self.good("diff", "--folded", *options, *files)
                self.assertEqual(out.splitlines(), difffolded(*texts, normalise, strip))
        both = [support.fixture_path(n) for n in ("nginx-997", "gcc-compile")]
        folded = [self.good("export", "folded", "-i", p) for p in both]
        self.assertEqual(self.good("diff", "--folded", "-n", *both).splitlines(), difffolded(*folded, True))

    def test_folded_against_the_real_one(self):
        """Where PEERS names a directory with difffolded.pl, as for make bench; else the rule above is it."""
        script = os.path.join(os.environ.get("PEERS", ""), "difffolded.pl")
        both = [support.fixture_path(n) for n in ("java", "tmpl")]
        files = []
        for i, path in enumerate(both):
            files.append(self.path(f"{i}.folded"))
            self.good("export", "folded", "-i", path, "-o", files[-1])
        texts = [open(f, "rb").read() for f in files]
        for options in ([], ["-n"], ["-s"], ["-n", "-s"]):
            want = difffolded(*texts, "-n" in options, "-s" in options)
            if os.environ.get("PEERS") and shutil.which("perl") and os.path.exists(script):
                out = subprocess.run(["perl", script, *options, *files], stdout=subprocess.PIPE, check=True)
                self.assertEqual(sorted(out.stdout.splitlines()), want)
            self.assertEqual(self.good("diff", "--folded", *options, *files).splitlines(), want)

    def test_folded_files_have_no_intervals(self):
        for i, text in enumerate((b"a;b 30\na;c 40\n", b"a;b 60\na;d 1\n")):
            with open(self.path(f"{i}.folded"), "wb") as f:
                f.write(text)
        files = [self.path("0.folded"), self.path("1.folded")]
        d = self.diff(*files, "--normalise", "none")
        rows = {f["name"]: f for f in d["functions"]}
        self.assertEqual(rows["b"]["amount"]["change"], 30)
        self.assertEqual(rows["c"]["amount"]["change"], -40)
        self.assertEqual([rows["b"]["amount"][k] for k in ("low", "high")], [None, None])
        self.assertEqual(d["significant"], 0)
        self.assertIn("no intervals", self.good("diff", *files).decode())

    def test_a_limit_holds_without_times_too(self):
        """What even samples that know nothing of each other would not do by chance; else a test would never fail."""
        text = b"a;b 100\na;c 50\n", b"a;b 200\na;c 50\n", b"a;b 112\na;c 45\n", b"a;b 1\n", b"a;b 3\n", b"a;b 1000\na;c 50\n"
        one, grown, noise, few, three, many = (self.path(f"{i}.folded", t) for i, t in enumerate(text))
        self.bad_status(1, "diff", one, grown, "--fail-above", "5%", names="2 grew by more than 5% of A's total")
        self.bad_status(0, "diff", one, grown, "--fail-above", "5%", "--normalise", "total")
        self.bad_status(1, "diff", one, many, "--fail-above", "5%", "--normalise", "total", names="most of all b: +28.6 %")
        self.bad_status(0, "diff", one, grown, "--fail-above", "70%")
        self.bad_status(0, "diff", grown, one, "--fail-above", "5%")
        self.bad_status(0, "diff", one, noise, "--fail-above", "5%")
        self.bad_status(0, "diff", few, three, "--fail-above", "5%")

    def test_pictures(self):
        both = [support.fixture_path(n) for n in ("redis-pid", "nginx-997")]
        counts = [len(support.heads(support.fixture(n))) for n in ("redis-pid", "nginx-997")]
        for args, total in (((), counts[1]), (("--flip",), counts[0])):
            path = self.path("d.svg")
            self.good("diff", *both, *args, "-o", path)
            with open(path, encoding="utf-8") as f:
                svg = f.read()
            self.assertIn(f"all · {total}", support.ungroup(svg))
            self.assertIn("before", svg)
        # What only one side has: stacks that the other's folded lines do not begin with.
        folded = [support.oracle(n) for n in ("redis-pid", "nginx-997")]
        prefixes = set()
        for stack in folded[1]:
            frames = stack.split(b";")
            prefixes.update(b";".join(frames[: i + 1]) for i in range(len(frames)))
        only = sum(n for s, n in folded[0].items() if s not in prefixes)
        self.good("diff", *both, "--elided", "-o", self.path("e.json"))
        with open(self.path("e.json"), encoding="utf-8") as f:
            elided = json.load(f)
        # Samples, where the oracle has periods of 1003009 ns; and frames of one name that are kernel code in
        # one and user code in the other are two here.
        self.assertGreaterEqual(elided["total"], only // 1003009)
        self.assertLess(elided["total"], only / 1003009 * 1.05)
        self.good("diff", *both, "-o", self.path("d.html"))

    def table(self, *args):
        """Every row: samples before and after."""
        found = self.diff("--all", "--normalise", "none", *args)
        rows = {f["name"]: (f["amount"]["before"], f["amount"]["after"]) for f in found["functions"]}
        return rows, (found["a"]["samples"], found["b"]["samples"])

    def test_frames_of_the_table(self):
        """What is hidden is its caller's; only a focus changes the total; groups are files and packages."""
        one = self.path("1.folded", b"x;run;keep 4\nx;run;gone;deep 6\nx;other 2\nx;a/b/C:::m 1\n")
        two = self.path("2.folded", b"x;run;keep 5\nx;run;gone;deep 1\nx;other 2\nx;a/b/C:::n 1\n")
        both, plain = (one, two), {"a/b/C:::m": (1, 0), "a/b/C:::n": (0, 1), "keep": (4, 5), "other": (2, 2)}
        self.assertEqual(self.table(*both), ({**plain, "deep": (6, 1)}, (13, 9)))
        self.assertEqual(self.table(*both, "--hide", "gone|deep"), ({**plain, "run": (6, 1)}, (13, 9)))
        self.assertEqual(self.table(*both, "--hide", "run|keep|gone|deep"),
                         ({**{k: v for k, v in plain.items() if k != "keep"}, "x": (10, 6)}, (13, 9)))
        self.assertEqual(self.table(*both, "--focus", "gone", "--by", "total"), ({"gone": (6, 1), "deep": (6, 1)}, (6, 1)))
        self.assertEqual(self.table(*both, "--focus", "gone", "--hide", "deep|gone"), ({"[hidden]": (6, 1)}, (6, 1)))
        # New, or gone: one side has none of what is in focus.
        self.assertEqual(self.table(*both, "--focus", "C:::m"), ({"a/b/C:::m": (1, 0)}, (1, 0)))
        self.assertEqual(self.table(*both, "--focus", "C:::n"), ({"a/b/C:::n": (0, 1)}, (0, 1)))
        self.assertIn(b"C:::n", self.good("diff", *both, "--focus", "C:::n", "--normalise", "total", "--all"))
        self.assertEqual(self.table(*both, "--group", "package")[0]["a/b"], (1, 1))
        self.assertEqual(self.table(*both, "--frames", "kernel")[0], {"x": (13, 9)})
        self.bad("diff", *both, "--focus", "nowhere", names="no samples")
        self.bad("diff", *both, "--reverse", code=2, names="-o X.svg")
        self.bad("diff", *both, "--group", "leaf-package", code=2, names="-o X.svg")
        self.bad("diff", *both, "--folded", "--hide", "run", code=2, names="--folded")

    def test_frames_of_the_picture(self):
        """Hidden in both sides, so their callers are compared."""
        one = self.path("1.folded", b"x;run;keep 4\nx;run;gone;deep 6\n")
        two = self.path("2.folded", b"x;run;keep 5\nx;run;gone;deep 1\n")
        path = self.path("d.svg")
        self.good("diff", one, two, "-o", path, "--normalise", "none", "--hide", "gone|deep")
        with open(path, encoding="utf-8") as f:
            svg = f.read()
        self.assertNotIn("<title>gone", svg)
        self.assertRegex(svg, r"<title>run\nuser\n6 samples.*\nbefore: 10 samples")
        self.bad("diff", one, two, "-o", path, "--group", "age", code=2, names="age")

    def test_order_and_limits(self):
        both = [support.fixture_path(n) for n in ("redis-pid", "nginx-997")]
        change = lambda f: f["amount"]["change"]
        for key, value in (("change", lambda f: -abs(change(f))), ("growth", lambda f: -change(f)),
                           ("shrink", change), ("before", lambda f: -f["amount"]["before"]),
                           ("after", lambda f: -f["amount"]["after"]), ("p", lambda f: f["p"]),
                           ("name", lambda f: f["name"].encode())):
            rows = self.diff(*both, "--all", "--sort", key)["functions"]
            self.assertEqual([value(r) for r in rows], sorted(value(r) for r in rows), key)
        self.assertEqual(len(self.diff(*both, "--all", "--limit", "3")["functions"]), 3)
        significant = self.diff(*both)
        self.assertTrue(all(f["significant"] and f["q"] < 0.05 for f in significant["functions"]))
        self.assertEqual(len(significant["functions"]), significant["significant"])
        text = self.good("diff", *both, "--limit", "4").decode()
        self.check_terminal(text.encode())
        self.assertEqual(sum(" * " in line for line in text.splitlines()), 5)

    def test_what_it_refuses(self):
        path = support.fixture_path("tmpl")
        for args in (
            (), (path,), (path, path, path), (path, path, "--normalise", "x"), (path, path, "--by", "x"),
            (path, path, "--sort", "x"), (path, path, "--fail-above", "x"), (path, path, "--fail-above", "-1%"),
            (path, path, "--flip"), (path, path, "--elided"), (path, path, "-n"), (path, path, "--folded", "--json"),
            (path, "--frm 03:14"), (path, path, "--match", "("),
            (path, path, "-o", self.path("x.png")), (path, path, "-o", self.path("x.pdf")),
        ):
            self.bad("diff", *args, code=2)
        self.bad("diff", path, path, "--pid", "4711", names="no samples")


tap.main()
