#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""perf.data read directly, compared with what perf itself printed of the same recordings."""
import gzip
import json
import os
import random
import re
import struct

import perf_bytes
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

    def test_a_stack_followed_into_garbage_is_kept_and_printed_as_perf_does(self):
        path = self.path("x.data", recording("nginx-997"))
        copy = self.path("copy.data")
        self.good("export", "perf-data", "-i", path, "-o", copy)
        perf_text.compare(self, raw("nginx-997"), self.script(copy), "copy")
        for file in (path, copy):
            stacks = self.export("-i", file, "--weight", "samples")
            broken = [s.split(b";") for s in stacks if b";[broken];" in s]
            self.assertEqual(sum(stacks[b";".join(s)] for s in broken), 2, file)
            self.assertTrue(all(s[1] == b"[broken]" for s in broken), broken)

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

    def test_the_kernels_names_by_its_kallsyms(self):
        """Those perf printed, by a file with as many symbols as it printed; also of a boot that was elsewhere."""
        data = recording("nginx-997")
        at = data.index(b"[kernel.kallsyms]_")
        landmark = data[at + 17:data.index(b"\0", at)].decode()
        base = struct.unpack("<Q", data[at - 8:at])[0]
        frame = re.compile(rb"\t *(f[0-9a-f]{15}) (\S+)\+0x([0-9a-f]+) \(\[kernel\.kallsyms\]\)")
        want = {(int(a, 16), name.decode()) for a, name, _ in frame.findall(support.fixture("nginx-997"))}
        starts = {int(a, 16) - int(o, 16): name.decode()
                  for a, name, o in frame.findall(support.fixture("nginx-997"))}
        self.assertGreater(len(want), 200)
        path = self.path("nginx.data", data)
        for moved in (0, 0x3400000):
            lines = [(base, landmark)] + sorted(starts.items())
            kallsyms = self.path(f"kallsyms-{moved}", "".join(
                f"{a + moved:016x} T {name}\n" for a, name in lines).encode())
            got = self.good("export", "perf-script", "-i", path, "--kallsyms", kallsyms)
            found = {(int(a, 16), name.decode()) for a, name, _ in frame.findall(got)}
            self.assertEqual(found, want)

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

    def test_the_header_says_what_perfs_does(self):
        """As perf printed it of the same recording; when it was captured is when the file was written. From a store, too."""
        keys = tuple(b"# " + k + b" :" for k in (
            b"hostname", b"os release", b"perf version", b"arch", b"nrcpus online", b"nrcpus avail",
            b"cpudesc", b"cpuid", b"total memory", b"time of first sample", b"time of last sample"))
        for name in NAMES:
            path = self.path(name + ".perf.data", recording(name))
            os.utime(path, (1776222847, 1776222847))
            want = [line for line in support.fixture(name).split(b"\n") if line.startswith(keys)]
            self.assertEqual(len(want), len(keys), name)
            store = self.path(name)
            self.good("import", path, "--store", store)
            for given in ("-i", path), ("--store", store):
                out = self.good("script", "--header", *given, env={"TZ": "UTC"})
                lines = out.split(b"\n#\n")[0].split(b"\n")
                self.assertEqual(lines[1], b"# captured on    : Wed Apr 15 03:14:07 2026", name)
                self.assertEqual([line for line in lines if line.startswith(keys)], want, name)
                self.assertFalse([line for line in lines if line.startswith(b"# cmdline")], name)

    def test_the_same_stacks_in_every_window(self):
        """What is remembered of a chain is good for one window: here the same ones come back in three."""
        data = recording("gcc-compile")
        path = self.path("thrice.data", b"".join(perf_bytes.repeat(data, 3, 125 * 10**9)))
        store = self.path("thrice")
        self.good("import", "--store", store, path, code=3)
        self.assertEqual(len(json.loads(self.good("ls", "--json", "--store", store))), 3)
        def counts(text):
            return {stack: int(n) for stack, _, n in (line.rpartition(" ") for line in text.decode().splitlines())}
        once = counts(self.good("export", "folded", "-i", self.path("once.data", b"".join(perf_bytes.repeat(data, 1, 0))), "--weight", "samples", code=3))
        self.assertEqual(counts(self.good("export", "folded", "--store", store)), {s: 3 * n for s, n in once.items()})

    def test_every_verb_takes_it(self):
        path = self.path("tmpl.data", recording("tmpl"))
        self.svg("-i", path)
        top = json.loads(self.good("flame", "-i", path, "--json"))
        self.assertEqual(top["samples"], len(raw("tmpl")))
        folded = self.export("-i", path, "--weight", "samples")
        self.assertEqual(sum(folded.values()), len(raw("tmpl")))

    def test_the_other_byte_order(self):
        for name in ("nginx-997", "tmpl"):
            with self.subTest(name):
                path = self.path(name + ".data", perf_bytes.other_order(recording(name)))
                perf_text.compare(self, raw(name), self.script(path), name)


class Folders(Case):
    """What the loop around perf record leaves behind: a directory of files, named by host and time."""

    def fill(self, *names):
        folder = self.path("recordings")
        os.mkdir(folder)
        for name in names:
            with open(os.path.join(folder, name), "wb") as f:
                f.write(recording("tmpl"))
        return folder

    def starts(self, store):
        return [w["realtime_ns"] / 1e9 for w in self.ls("--store", store)]

    def test_all_in_one_command_at_the_times_of_their_names(self):
        folder = self.fill("perf-web1-20260415-03-12-57-120s.data", "perf-web1-2026-04-15_03:14:57-120s.data",
                           "perf-web1-20260415031657.data")
        with open(os.path.join(folder, "notes.txt"), "w") as f:
            f.write("not a recording\n")
        r = support.run("import", "--store", self.store, "--tz", "+02:00", folder)
        self.check_messages(r)
        self.assertEqual(r.code, 0, r.err)
        self.assertIn(b"notes.txt", r.err)
        begin = 1776215577  # 2026-04-15T03:12:57+02:00
        self.assertEqual(sorted(round(t) for t in self.starts(self.store)), [begin, begin + 120, begin + 240])
        self.assertEqual(self.samples("--store", self.store), 3 * len(raw("tmpl")))

    def test_zones(self):
        folder = self.fill("perf-web1-20260715-12-00-00-120s.data")
        noon = 1784116800  # 2026-07-15T12:00:00Z
        for zone, hours in (("UTC", 0), ("Europe/Berlin", 2), ("-0530", -5.5), ("America/New_York", -4)):
            store = self.path("store" + zone.replace("/", "-"))
            self.good("import", "--store", store, "--tz", zone, folder)
            self.assertEqual(round(self.starts(store)[0]), noon - hours * 3600, zone)
        self.bad("import", "--store", self.store, "--tz", "Europe/Nowhere", folder, code=2, names="Nowhere")

    def test_a_time_that_was_said(self):
        folder = self.fill("a.data")
        path = os.path.join(folder, "a.data")
        self.good("import", "--store", self.store, "--at", "2026-01-02T03:04:05Z", path)
        self.assertEqual(round(self.starts(self.store)[0]), 1767323045)
        self.bad("import", "--store", self.store, "--at", "yesterday-ish", path, code=2, names="yesterday-ish")

    def test_else_when_the_file_was_written(self):
        path = os.path.join(self.fill("a.data"), "a.data")
        os.utime(path, (1700000000, 1700000000))
        self.good("import", "--store", self.store, path)
        self.assertLess(abs(self.starts(self.store)[0] - 1700000000), 5)

    def test_an_empty_directory(self):
        self.bad_import(self.fill())

    def bad_import(self, folder):
        r = support.run("import", "--store", self.store, folder)
        self.check_messages(r)
        self.assertEqual(r.code, 1)
        self.assertIn(folder.encode(), r.err)


class Damage(Case):
    """What perf reads nothing of: every sample that is there comes out, and the rest is said."""

    def setUp(self):
        super().setUp()
        self.whole = recording("nginx-997")
        self.file = perf_bytes.File(self.whole)
        self.want = {s[0] + tuple(s[1]) for s in raw("nginx-997")}

    def read(self, data, *words, lost, code=3):
        """At most `lost` samples are missing, and those that came are right."""
        path = self.path("damaged", data)
        r = support.run("export", "perf-script", "-i", path)
        self.check_messages(r)
        self.check_bounds(r)
        self.assertEqual(r.code, code, r.err)
        for word in words:
            self.assertIn(word, r.err.decode())
        got = perf_text.samples(r.out, decimals=6)
        self.assertGreaterEqual(len(got), len(self.want) - lost)
        right = sum(s[0] + tuple(s[1]) in self.want for s in got)
        self.assertGreaterEqual(right, len(got) - 10, "samples that perf does not have")
        return len(got)

    def test_a_killed_recorder(self):
        f = self.file
        killed = perf_bytes.put(self.whole[:f.at + f.bytes], 48, "<Q", 0)
        self.assertEqual(self.read(killed, "killed", "build-ids", lost=0), len(self.want))

    def test_no_size_in_the_header(self):
        self.read(perf_bytes.put(self.whole, 48, "<Q", 0), "killed", lost=0)

    def test_a_size_beyond_the_end(self):
        self.read(perf_bytes.put(self.whole, 48, "<Q", 1 << 40), "missing at the end", lost=0)

    def test_cut_anywhere(self):
        f = self.file
        samples = f.samples()
        for part in (30, 50, 90):
            cut = f.at + f.bytes * part // 100
            there = sum(at + size <= cut for at, _, size in samples)
            got = self.read(self.whole[:cut], "missing at the end", lost=len(self.want) - there)
            self.assertEqual(got, there)

    def test_a_record_of_size_0(self):
        at = self.file.samples()[3000][0]
        self.read(perf_bytes.put(self.whole, at + 6, "<H", 0), "damaged", lost=1)

    def test_a_record_that_would_swallow_others(self):
        at, _, size = self.file.samples()[3000]
        for wrong in (size + 8, size + 4096, 0xfff8):
            self.read(perf_bytes.put(self.whole, at + 6, "<H", wrong), "damaged", lost=2)

    def test_a_call_chain_of_2_to_the_60(self):
        at = self.file.samples()[3000][0] + self.file.chain_at()
        self.read(perf_bytes.put(self.whole, at, "<Q", 1 << 60), "malformed", lost=1)

    def test_a_hole(self):
        f = self.file
        middle = (f.at + f.bytes // 2) & ~4095
        hole = self.whole[:middle] + bytes(4096) + self.whole[middle + 4096:]
        self.read(hole, "damaged", lost=4096 // 64)

    def test_random_bytes(self):
        f, dice = self.file, random.Random(5)
        data = bytearray(self.whole)
        for _ in range(300):
            data[dice.randrange(f.at, f.at + f.bytes)] = dice.randrange(256)
        path = self.path("damaged", bytes(data))
        r = support.run("export", "perf-script", "-i", path)
        self.check_messages(r)
        self.check_bounds(r)
        self.assertEqual(r.code, 3, r.err)
        self.assertGreater(len(support.heads(r.out)), len(self.want) - 400)

    def test_headers_that_cannot_be(self):
        for at, layout, value in ((8, "<Q", 3), (8, "<Q", 1 << 40), (16, "<Q", 0), (24, "<Q", 1 << 50),
                                  (32, "<Q", 1 << 62), (40, "<Q", 1 << 63), (0, "8s", b"PERFILE1")):
            with self.subTest((at, value)):
                path = self.path("damaged", perf_bytes.put(self.whole, at, layout, value))
                self.bad("flame", "-i", path, "-o", self.path("x.svg"), names=path)

    def test_every_short_file(self):
        for n in (*range(0, 120, 7), *range(120, 460, 31)):
            path = self.path("short", self.whole[:n])
            self.bad("export", "folded", "-i", path, names=path)


if __name__ == "__main__":
    tap.main()
