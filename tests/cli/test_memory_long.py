#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A text of 1 GB through every verb in less than 200 MB of memory."""
import json

import support
import synth
import tap
from support import Case

GB = 1_000_000_000


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


tap.main()
