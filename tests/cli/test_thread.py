#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The whole thread: perf script text → flame graph and folded stacks, directly and by a store.

Expected stacks are what stackcollapse-perf.pl printed for the same text (tests/data/oracle); the
number of samples is the number of sample headers in the text.
"""
import base64
import gzip
import hashlib
import json
import os
import re
import shutil

import support
import synth
import tap
from support import Case

PERIOD = 1003009  # what every sample of the cpu-clock fixtures says


def in_samples(name):
    """The oracle's counts as samples: periods are all the same, tracepoints have none."""
    unit = 1 if name == "pg-sched" else PERIOD
    lines = support.oracle(name)
    assert all(count % unit == 0 for count in lines.values())
    return {stack: count // unit for stack, count in lines.items()}


def heavy_functions(lines, share):
    """Plain names of functions in at least this share of all counts."""
    total, by_name = sum(lines.values()), {}
    for stack, count in lines.items():
        for name in set(stack.split(b";")[1:]):
            by_name[name] = by_name.get(name, 0) + count
    plain = re.compile(rb"[\w.[\]-]+")
    heavy = [name for name, count in by_name.items() if count >= share * total]
    return [name.decode() for name in heavy if plain.fullmatch(name)]


class Thread(Case):
    def test_folded_is_what_stackcollapse_prints(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                lines = self.export("-i", support.fixture_path(name))
                self.assertEqual(lines, support.oracle(name))

    def test_folded_in_samples(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                lines = self.export("-i", support.fixture_path(name), "--weight", "samples")
                self.assertEqual(lines, in_samples(name))

    def test_wrapping_does_not_matter(self):
        for name in ("tmpl", "redis-pid"):
            text = support.fixture(name)
            want = self.good("export", "folded", "-i", support.fixture_path(name))
            plain = self.path("plain.txt", text)
            packed = self.path("no-telling-name", support.zstd(text))
            two = self.path("two.gz", gzip.compress(text[:99999]) + gzip.compress(text[99999:]))
            self.assertEqual(self.good("export", "folded", "-i", plain), want)
            self.assertEqual(self.good("export", "folded", "-i", packed), want)
            self.assertEqual(self.good("export", "folded", "-i", two), want)
            for stdin in (text, gzip.compress(text), support.zstd(text)):
                self.assertEqual(self.good("export", "folded", "-i", "-", stdin=stdin), want)

    def test_slow_and_named_pipes(self):
        text = support.fixture("tmpl")
        want = self.good("export", "folded", "-i", support.fixture_path("tmpl"))
        drops = [text[i : i + 7919] for i in range(0, len(text), 7919)]
        self.assertEqual(self.good("export", "folded", "-i", "-", stdin=drops), want)
        fifo = self.path("fifo")
        os.mkfifo(fifo)
        child = support.Child("export", "folded", "-i", fifo)
        with open(fifo, "wb") as f:
            f.write(text)
        r = child.finish()
        self.assertEqual((r.code, r.out), (0, want), r.err)

    def test_variants_of_the_text(self):
        """Without header, with pid/tid, without cpu, without period: the same stacks."""
        samples = synth.recording(1, 4, 50)
        text = synth.text_of(samples)
        bare = re.sub(rb"(?m)^#.*\n", b"", text)
        with_tid = re.sub(rb"(?m)^(\S+ +)(\d+) \[", rb"\1\2/\2 [", text)
        no_cpu = re.sub(rb"(?m)^(\S+ +\d+) \[\d+\]", rb"\1", text)
        no_period = re.sub(rb"(?m)^(\S.*\d\.\d{6}:) +\d+ ", rb"\1 ", text)
        for variant in (text, bare, with_tid, no_cpu):
            self.assertEqual(
                self.export("-i", "-", stdin=variant), synth.fold(samples, lambda s: s.period)
            )
            self.assertEqual(
                self.export("-i", "-", "--weight", "samples", stdin=variant), synth.fold(samples)
            )
        self.assertNotEqual(no_period, text)
        self.assertEqual(self.export("-i", "-", stdin=no_period), synth.fold(samples))

    def test_several_events_are_not_mixed(self):
        samples = synth.recording(2, 4, 50)
        for s in samples[1::3]:
            s.event, s.period = "page-faults:u", 1
        text = synth.text_of(samples)
        first = [s for s in samples if s.event.startswith("cpu-clock")]
        other = [s for s in samples if s.event.startswith("page")]
        self.assertEqual(
            self.export("-i", "-", "--weight", "samples", stdin=text), synth.fold(first)
        )
        self.assertEqual(
            self.export("-i", "-", "--event-type", "page-faults:u", stdin=text), synth.fold(other)
        )
        self.assertEqual(self.samples("-i", "-", stdin=text), len(samples))


class Picture(Case):
    def check_alone(self, root, data):
        """Self-contained: no reference that leaves the file, no code but what it brings."""
        self.assertNotIn(b"<!DOCTYPE", data)
        self.assertNotIn(b"<!ENTITY", data)
        self.assertNotIn(b"<?xml-stylesheet", data)
        for element in root.iter():
            self.assertNotRegex(element.tag, r"(image|foreignObject|iframe|link)$")
            for key, value in element.attrib.items():
                if re.search(r"(^|\})(href|src)$", key):
                    self.assertTrue(value.startswith("#"), value)
        rest = re.sub(rb'xmlns(:\w+)?="[^"]*"', b"", data)
        rest = re.sub(rb"http://www\.w3\.org/(2000/svg|1999/xlink|1999/xhtml)", b"", rest)
        self.assertNotRegex(rest, rb"(?i)(https?:)?//[a-z0-9.-]+\.[a-z]{2,}")
        code = "".join(e.text for e in root.iter() if re.search("(script|style)$", e.tag))
        self.assertNotRegex(code, r"@import|XMLHttpRequest|WebSocket|\bfetch\s*\(|\beval\s*\(")
        for url in re.findall(rb"url\(([^)]*)\)", rest):
            self.assertTrue(url.strip(b"'\"").startswith((b"#", b"data:")), url)

    def test_picture_is_well_formed_whole_and_alone(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                root = self.svg("-i", support.fixture_path(name))
                self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
                with open(self.path("picture.svg"), "rb") as f:
                    self.check_alone(root, f.read())
                text = support.texts_of(root)
                names = heavy_functions(support.oracle(name), 0.02)
                self.assertGreater(len(names), 1)
                for function in names:
                    self.assertIn(function, text)

    def test_picture_says_its_unit(self):
        path = support.fixture_path("gcc-compile")
        text = support.texts_of(self.svg("-i", path, "--weight", "samples"))
        total = sum(in_samples("gcc-compile").values())
        self.assertRegex(text, rf"\b{total} samples\b")
        text = support.texts_of(self.svg("-i", path))
        self.assertIn("cpu-clock", text)
        seconds = sum(support.oracle("gcc-compile").values()) / 1e9
        self.assertRegex(text, rf"\b{seconds:.2f}\d* s\b")

    def test_script_is_one_constant_named_in_the_docs(self):
        scripts = set()
        for name in ("tmpl", "java"):
            found = [
                e for e in self.svg("-i", support.fixture_path(name)).iter()
                if e.tag.endswith("script")
            ]
            self.assertEqual(len(found), 1)
            self.assertEqual(set(found[0].attrib) - {"type"}, set())
            scripts.add(found[0].text)
        self.assertEqual(len(scripts), 1, "the script depends on the profile")
        script = scripts.pop()
        self.assertGreater(len(script), 100)
        hashes = set()
        for form in (script, script.strip(), script.strip() + "\n"):
            digest = hashlib.sha256(form.encode())
            hashes |= {digest.hexdigest(), base64.b64encode(digest.digest()).decode()}
        docs = ""
        for name in os.listdir(os.path.join(support.SOURCE, "docs")):
            if name.endswith(".md"):
                with open(os.path.join(support.SOURCE, "docs", name), encoding="utf-8") as f:
                    docs += f.read()
        self.assertTrue(any(h in docs for h in hashes), hashes)

    def test_filters_narrow(self):
        path = support.fixture_path("nginx-997")
        lines = support.oracle("nginx-997")
        comms = {stack.split(b";")[0].decode() for stack in lines}
        self.assertIn("nginx", comms)
        text = support.texts_of(self.svg("-i", path, "--comm", "nginx"))
        inside = {k: v for k, v in lines.items() if k.startswith(b"nginx;")}
        for function in heavy_functions(inside, 0.05):
            self.assertIn(function, text)
        text = support.texts_of(self.svg("-i", path, "--exclude", "^do_syscall_64$"))
        self.assertNotRegex(text, r"(?m)^do_syscall_64\b")
        text = support.texts_of(self.svg("-i", path, "--match", "^do_syscall_64$"))
        self.assertIn("do_syscall_64", text)

    def test_top_prints_path_and_functions(self):
        path, svg = support.fixture_path("gcc-compile"), self.path("x.svg")
        out = self.good("flame", "-i", path, "-o", svg, "--top", "10", "--weight", "samples")
        self.assertIn(svg, out.decode())
        self.check_terminal(out)
        leaves = {}
        for stack, count in in_samples("gcc-compile").items():
            leaf = stack.split(b";")[-1]
            leaves[leaf] = leaves.get(leaf, 0) + count
        best = sorted(leaves, key=lambda n: -leaves[n])[:5]
        for name in best:
            self.assertIn(name, out)
        lines = support.ungroup(out.decode()).splitlines()
        rows = [line for line in lines if best[0].decode() in line]
        self.assertRegex(rows[0], rf"\b{leaves[best[0]]}\b")


class Store(Case):
    def test_import_ls_export_verify(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                store = os.path.join(self.dir, name)
                count = len(support.heads(support.fixture(name)))
                out = self.good("import", "--store", store, support.fixture_path(name))
                self.assertRegex(out, rb"\b%d\b" % count)
                listed = self.ls("--store", store)
                self.assertEqual(sum(w["samples"] for w in listed), count)
                self.assertEqual(sorted(w["name"] for w in listed), self.windows(store))
                for w in listed:
                    self.assertEqual((w["host"], w["lost"], w["sealed"]), ("vm", 0, True))
                    self.assertEqual(w["pinned"], False)
                    size = os.path.getsize(os.path.join(store, w["name"]))
                    self.assertEqual(w["bytes"], size)
                self.assertEqual(self.export("--store", store), in_samples(name))
                self.assertEqual(
                    self.export("--store", store, "--weight", "period"), support.oracle(name)
                )
                done = self.verify(store)
                self.assertEqual(done["samples"], count)
                self.assertEqual(done["damaged_files"], 0)
                self.good("verify", "--store", store)

    def test_ls_of_a_file_and_for_people(self):
        path = support.fixture_path("redis-pid")
        count = len(support.heads(support.fixture("redis-pid")))
        self.assertEqual(self.samples("-i", path), count)
        self.good("import", "--store", self.store, path)
        out = self.good("ls", "--store", self.store)
        self.check_terminal(out)
        rows = out.decode().splitlines()
        self.assertEqual(len(rows), 2)
        self.assertLessEqual(max(map(len, rows)), 100)
        named = self.good("ls", "--names", "--store", self.store).decode().splitlines()
        self.assertIn(self.windows()[0], named[1])
        self.assertRegex(rows[1], rf"\b{count}\b")

    def test_import_says_what_it_did(self):
        path = support.fixture_path("tmpl")
        count = len(support.heads(support.fixture("tmpl")))
        out = self.good("import", "--store", self.store, "--json", path, path)
        done = json.loads(out)
        self.assertEqual(done["samples"], 2 * count)
        self.assertEqual(done["windows"], 2)

    def test_import_takes_standard_input_and_several_files(self):
        text = support.fixture("tmpl")
        self.good(
            "import", "--store", self.store, support.fixture_path("redis-pid"), "-", stdin=text
        )
        want = in_samples("redis-pid")
        for stack, count in in_samples("tmpl").items():
            want[stack] = want.get(stack, 0) + count
        self.assertEqual(self.export("--store", self.store), want)

    def test_pictures_of_store_and_file_agree(self):
        path = support.fixture_path("nginx-997")
        self.good("import", "--store", self.store, path)
        tables = []
        for source in (("-i", path, "--weight", "samples"), ("--store", self.store)):
            out = self.good("flame", *source, "-o", self.path("x.svg"), "--top", "25")
            tables.append([line for line in out.splitlines() if re.match(rb"\s*\d", line)])
        self.assertGreaterEqual(len(tables[0]), 25)
        self.assertEqual(tables[0], tables[1])

    def test_default_store_is_in_the_users_data_directory(self):
        """Root's is /var/lib/perfcam, which a test leaves alone."""
        data = self.path("data")
        os.mkdir(data, 0o777)
        os.chmod(data, 0o777)
        user = 65534 if os.geteuid() == 0 else None
        program = self.path("perfcam")
        shutil.copy(support.BIN, program)
        os.chmod(program, 0o755)
        text = self.path("text", support.fixture("tmpl"))
        options = {"env": {"XDG_DATA_HOME": data}, "user": user, "program": program}
        self.good("import", text, **options)
        self.assertEqual(len(self.windows(os.path.join(data, "perfcam"))), 1)
        self.assertEqual(self.samples(**options), len(support.heads(support.fixture("tmpl"))))


tap.main()
