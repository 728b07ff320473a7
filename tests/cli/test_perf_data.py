#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf.data read directly, compared with what perf itself printed of the same recordings."""
import gzip
import json
import os
import re

import perf_text
import support
import tap
from support import Case

NAMES = ("nginx-997", "gcc-compile", "java", "redis-pid", "tmpl", "pg-sched")


def packed(name):
    return os.path.join(support.DATA, name + ".perf.data.zst")


def recording(name):
    with open(packed(name), "rb") as f:
        return support.unzstd(f.read())


def raw(name):
    """What perf script -F comm,pid,tid,cpu,time,event,ip printed."""
    with gzip.open(os.path.join(support.DATA, name + ".raw.gz")) as f:
        return perf_text.samples(f.read())


class Recordings(Case):
    def script(self, *args, code=0, **options):
        out = self.good("export", "perf-script", "-i", *args, code=code, **options)
        return perf_text.samples(out, decimals=6)

    def test_every_sample_is_perfs(self):
        for name in NAMES:
            with self.subTest(name):
                path = self.path(name + ".data", recording(name))
                perf_text.compare(self, raw(name), self.script(path), name)

    def test_compressed_and_through_a_pipe(self):
        want = raw("tmpl")
        perf_text.compare(self, want, self.script(packed("tmpl")), "zstd")
        perf_text.compare(self, want, self.script("-", stdin=recording("tmpl")), "pipe")

    def test_modules_are_perfs(self):
        """Symbols depend on the machine, modules do not: the text of the same recording has them."""
        def modules(line):
            return perf_text.named(line)[2]

        def stacks(text):
            found, current = [], None
            for line in text.decode().split("\n"):
                if line.startswith("\t"):
                    current.append(modules(line))
                elif line and line[0] != "#":
                    current = []
                    found.append(current)
            return found

        for name in ("tmpl", "redis-pid", "java"):
            with self.subTest(name):
                path = self.path(name + ".data", recording(name))
                got = stacks(self.good("export", "perf-script", "-i", path))
                self.assertTrue(got == stacks(support.fixture(name)), name)

    def test_texts_of_tracepoints_are_perfs(self):
        def texts(text):
            heads = [perf_text.HEAD.match(h.decode()) for h in support.heads(text)]
            return sorted((m["tid"], m["time"][:11], m["event"], m["text"].strip()) for m in heads)

        # perf printed the text fixture without pids.
        want = re.sub(rb"(?m)^(\S.*?\S) +(\d+) +(\[\d+\])", rb"\1 \2/\2 \3", support.fixture("pg-sched"))
        got = self.good("export", "perf-script", "-i", packed("pg-sched"))
        self.assertTrue(texts(got) == texts(want))
        self.assertGreater(len(texts(got)), 10000)

    def test_a_store_keeps_it(self):
        store = self.path("store")
        self.good("import", "--store", store, packed("redis-pid"))
        out = self.good("export", "perf-script", "--store", store)
        perf_text.compare(self, raw("redis-pid"), perf_text.samples(out, 6), "store")

    def test_every_verb_takes_it(self):
        path = self.path("tmpl.data", recording("tmpl"))
        self.svg("-i", path)
        top = json.loads(self.good("flame", "-i", path, "--json"))
        self.assertEqual(top["samples"], len(raw("tmpl")))
        folded = self.export("-i", path, "--weight", "samples")
        self.assertEqual(sum(folded.values()), len(raw("tmpl")))


if __name__ == "__main__":
    tap.main()
