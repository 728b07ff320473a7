#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Memory follows what is distinct in a text, not its length. 1 GB: test_memory_long.py."""
import json
import subprocess

import support
import synth
import tap
from support import Case


class Memory(Case):
    def test_folded_stacks_of_a_large_text(self):
        text = synth.Repeated("nginx-997", 300_000_000)
        r = support.run("export", "folded", "-i", "-", stdin=text, timeout=60)
        self.assertEqual(r.code, 0, r.err)
        print(f"# export folded: {r.rss / 1e6:.0f} MB, {r.cpu:.1f} s for {text.samples} samples")
        self.assertLess(r.rss, support.RSS_LIMIT)
        want = {stack: n * text.rounds for stack, n in support.oracle("nginx-997").items()}
        self.assertEqual(support.folded(r.out), want)

    def test_import_of_a_large_text(self):
        text = synth.Repeated("gcc-compile", 120_000_000)
        r = support.run("import", "--store", self.store, "-", "--json", stdin=text, timeout=60)
        self.assertEqual(r.code, 0, r.err)
        print(f"# import: {r.rss / 1e6:.0f} MB, {r.cpu:.1f} s for {text.samples} samples")
        self.assertLess(r.rss, support.RSS_LIMIT)
        self.assertEqual(json.loads(r.out)["samples"], text.samples)
        self.assertEqual(self.samples("--store", self.store), text.samples)
        r = support.run("flame", "--store", self.store, "-o", self.path("x.svg"))
        self.assertEqual(r.code, 0, r.err)
        self.assertLess(r.rss, support.RSS_LIMIT)

    def test_flame_of_tracepoint_text(self):
        """Each sample says something else; a picture does not need it."""
        text = synth.Repeated("pg-sched", 100_000_000)
        child = support.Child(
            "flame", "-i", "-", "-o", self.path("x.svg"), stdin=subprocess.PIPE
        )
        child.feed(text)
        r = child.finish(60)
        self.assertEqual(r.code, 0, r.err)
        print(f"# flame: {r.rss / 1e6:.0f} MB, {r.cpu:.1f} s for {text.samples} samples")
        self.assertLess(r.rss, support.RSS_LIMIT)


tap.main()
