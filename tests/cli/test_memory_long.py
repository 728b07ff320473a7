#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A text of 1 GB through every verb in less than 200 MB of memory; and a million different names in one window."""
import json

import served
import support
import synth
import tap
from support import Case

GB = 1_000_000_000
NAMES = 1_000_000


class Gigabyte(Case):
    def through(self, *args, text):
        r = support.run(*args, stdin=text, timeout=900)
        self.check_messages(r)
        self.assertEqual(r.code, 0, r.err)
        print(f"# {args[0]}: {r.rss / 1e6:.0f} MB, {r.cpu:.1f} s for {text.samples} samples")
        self.assertLess(r.rss, support.RSS_LIMIT)
        return r

    def test_every_verb_and_every_kind_of_text(self):
        for name in ("nginx-997", "java", "tmpl", "pg-sched"):
            text = synth.Repeated(name, GB)
            r = self.through("export", "folded", "-i", "-", text=text)
            want = {stack: n * text.rounds for stack, n in support.oracle(name).items()}
            self.assertEqual(support.folded(r.out), want)
            self.through("flame", "-i", "-", "-o", self.path("x.svg"), text=text)
            r = self.through("ls", "--json", "-i", "-", text=text)
            self.assertEqual(sum(w["samples"] for w in json.loads(r.out)), text.samples)

    def test_import(self):
        for name in ("nginx-997", "pg-sched"):
            store, text = self.path(name), synth.Repeated(name, GB)
            r = self.through("import", "--json", "--store", store, "-", text=text)
            self.assertEqual(json.loads(r.out)["samples"], text.samples)
            unit = 1 if name == "pg-sched" else 1003009
            want = {s: n * text.rounds // unit for s, n in support.oracle(name).items()}
            r = support.run("export", "folded", "--store", store, timeout=900)
            self.assertEqual(support.folded(r.out), want)
            self.assertLess(r.rss, support.RSS_LIMIT)
            r = support.run("verify", "--store", store, timeout=900)
            self.assertEqual(r.code, 0, r.out)
            self.assertLess(r.rss, support.RSS_LIMIT)


class Names(Case):
    """Each function of a million is one sample: what has to be held at once is all of it, in some hundred bytes a name."""

    def crowd(self):
        path = self.path("crowd.folded")
        with open(path, "w", encoding="ascii") as f:
            for n in range(NAMES):
                f.write(f"app;library_{n // 1000:04d};function_{n:07d}_{'x' * (n % 20)} 1\n")
        return path

    def taken(self, *args):
        r = support.run(*args, timeout=900)
        self.assertEqual(r.code, 0, r.err)
        print(f"# {' '.join(args[:2])}: {r.rss / 1e6:.0f} MB, {r.cpu:.1f} s")
        self.assertLess(r.rss, 700 * NAMES)
        return r

    def test_a_million_in_one_window(self):
        text, store, out = self.crowd(), self.path("store"), self.path("out")
        self.taken("import", "--store", store, text)
        self.taken("verify", "--store", store)
        with open(text, "rb") as f:
            self.assertEqual(self.taken("export", "folded", "--store", store).out, f.read())
        for verb in (("flame", "-o", out), ("flame", "--reverse", "-o", out), ("export", "pprof", "-o", out), ("export", "speedscope", "-o", out),
                     ("export", "csv", "-o", out), ("top", "--by", "function"), ("ls",)):
            self.taken(*verb, "--store", store)
        shown = self.taken("report", "--no-children", "-g", "none", "--store", store).out
        self.assertEqual(shown.count(b" function_"), NAMES)
        self.check_page(store)

    def check_page(self, store):
        """More than it holds at once, which it says; it goes on."""
        served.let_everyone_read(store)
        server = served.Server(store)
        server.patience = 300
        try:
            for path in ("/api/flame", "/api/flame?focus=function_00000", "/api/export?format=folded", "/api/quality", "/api/store"):
                status, _, body = server.ask(path)
                self.assertIn(status, (200, 413), (path, body[:300]))
            self.assertEqual(status, 200)
            with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
                peak = next(int(line.split()[1]) for line in f if line.startswith("VmHWM"))
            print(f"# the page's server: {peak >> 10} MiB")
            self.assertLess(peak, 512 << 10)
        finally:
            server.stop()


tap.main()
