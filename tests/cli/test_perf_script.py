#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export perf-script: perf's own text comes out as it went in, and no name can forge a record."""
import glob
import gzip
import json
import os
import re

import support
import tap
from support import Case

GOLDEN = os.path.join(support.SOURCE, "tests", "golden", "folded")
# Samples of one microsecond on two CPUs: which came first the text says, the window does not.
TIES = {"pg-sched"}
# What a window does not keep of these texts, docs/perf-script.md: source lines, -G, misc, other records.
OTHERWISE = {"java.srcline", "nginx-997.flatnoevent",
             "nginx-997.misc", "nginx-997.noevent", "nginx-997.sideband"}


def body(text):
    return b"".join(line + b"\n" for line in text.split(b"\n")[:-1] if not line.startswith(b"#"))


def records(text):
    return body(text).split(b"\n\n")


class Identity(Case):
    def test_a_recording_read_from_a_file(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                out = self.good("export", "perf-script", "-i", support.fixture_path(name))
                self.assertTrue(body(out) == body(support.fixture(name)), name)

    def test_a_recording_kept_in_a_store(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                store = self.path(name)
                self.good("import", "--store", store, support.fixture_path(name))
                out = self.good("export", "perf-script", "--store", store)
                want = support.fixture(name)
                if name in TIES:
                    self.assertTrue(sorted(records(out)) == sorted(records(want)), name)
                else:
                    self.assertTrue(body(out) == body(want), name)

    def test_other_fields_of_perf_script(self):
        seen = 0
        for path in sorted(glob.glob(os.path.join(support.DATA, "variants", "*.gz"))):
            name = os.path.basename(path)[:-3]
            with gzip.open(path) as f:
                want = f.read()
            out = self.good("export", "perf-script", "-i", path)
            seen += 1
            with self.subTest(name):
                self.assertEqual(body(out) == body(want), name not in OTHERWISE)
        self.assertGreater(seen, 15)

    def test_the_header_keeps_what_is_known(self):
        text = support.fixture("nginx-997")
        out = self.good("export", "perf-script", "-i", "-", stdin=text)
        lines = [line for line in out.split(b"\n") if line.startswith(b"#")]
        self.assertEqual(lines[0], b"# ========")
        for key in (b"captured on", b"hostname", b"os release", b"arch", b"nrcpus online",
                    b"time of first sample", b"time of last sample"):
            found = [line for line in text.split(b"\n") if line.startswith(b"# " + key)]
            self.assertIn(found[0], lines)
        events = [line for line in lines if line.startswith(b"# event")]
        self.assertEqual(len(events), 1)
        self.assertIn(b"{ sample_period, sample_freq } = 997", events[0])
        self.assertEqual(self.ls("-i", "-", stdin=out)[0]["realtime_ns"],
                         self.ls("-i", "-", stdin=text)[0]["realtime_ns"])


class RoundTrip(Case):
    def test_stacks_are_what_stackcollapse_makes_of_perfs_text(self):
        for name in support.FIXTURES:
            with self.subTest(name):
                text = self.good("export", "perf-script", "-i", support.fixture_path(name))
                got = support.folded(self.good("export", "folded", "-i", "-", stdin=text))
                self.assertEqual(got, support.oracle(name))

    def test_odd_names_fold_as_before(self):
        texts = sorted(glob.glob(os.path.join(GOLDEN, "*.txt")))
        self.assertGreater(len(texts), 8)
        for path in texts:
            text = self.good("export", "perf-script", "-i", path)
            for options, suffix in (((), "plain"), (("--annotate", "--with-tid", "--addrs"),
                                                    "all-tid-addrs")):
                with open(path[:-3] + suffix, "rb") as f:
                    want = support.folded(f.read())
                out = self.good("export", "folded", "-i", "-", *options, stdin=text)
                with self.subTest(os.path.basename(path) + " " + suffix):
                    self.assertEqual(support.folded(out), want)

    def test_control_characters_stay_in_their_record(self):
        """What a name holds, also a whole record, is one field of one line."""
        evil = b"f\x0bg\x01\x1b[2J\x7f"
        text = (b"comm\x02x  12/13 [001]   100.000001:       1000 cpu-clock: \n"
                b"\t              10 " + evil + b"+0x2 (/lib/\x03a)\n\n")
        out = self.good("export", "perf-script", "-i", "-", stdin=text)
        self.check_terminal(body(out).replace(b"\t", b""))
        self.assertEqual(body(out).count(b"\n"), 3)
        self.assertIn(rb"f\x0bg\x01\x1b[2J\x7f+0x2 (/lib/\x03a)", out)

    def test_counts_have_no_samples(self):
        self.bad("export", "perf-script", "-i", "-", stdin=b"a;b 2\n", names="folded")

    def test_options_of_folded_are_refused(self):
        for option in ("--annotate", "--with-pid", "--with-tid", "--addrs", "--weight=samples"):
            self.bad("export", "perf-script", option, "-i", support.fixture_path("tmpl"), code=2,
                     names="folded")


class Selection(Case):
    """What is left is what a look at the text itself says."""

    def heads(self, *args, stdin=None, code=0):
        out = self.good("export", "perf-script", *args, stdin=stdin, code=code)
        return support.heads(out)

    def test_by_thread_command_and_cpu(self):
        text = support.fixture("nginx-997")
        path = support.fixture_path("nginx-997")
        all_heads = support.heads(text)
        tid = re.match(rb".*? +(\d+) \[", all_heads[0]).group(1)
        for options, pattern in (
            (("--tid", tid.decode()), rb"^.{0,16}? +" + tid + rb" \["),
            (("--comm", "redis-*"), rb"^redis-"),
            (("--comm", "bash"), rb"^bash "),
            (("--cpu", "1"), rb"^.{15,40}\[001\]|^[^\[]*\[001\]"),
            (("--comm", "bash", "--cpu", "0"), rb"^bash [^\[]*\[000\]"),
        ):
            want = [h for h in all_heads if re.match(pattern, h)]
            self.assertGreater(len(want), 5)
            self.assertLess(len(want), len(all_heads))
            with self.subTest(options):
                self.assertEqual(self.heads("-i", path, *options), want)
                folded = self.export("-i", path, "--weight", "samples", *options)
                self.assertEqual(sum(folded.values()), len(want))

    def test_by_time_to_the_microsecond(self):
        """Times that count from 1970; cut anywhere, the halves are the whole."""
        text = "".join(
            f"p  1/{i % 3 + 1} [{i % 2:03d}] {1790000000 + i * 0.37:.6f}:  1000 cpu-clock: \n"
            f"\t 10 f{i} (/m)\n\n" for i in range(2000)).encode()
        self.good("import", "--store", self.store, self.path("x.txt", text))
        self.assertGreater(len(self.windows()), 3)
        at = lambda h: float(re.search(rb"(\d+\.\d{6}):", h).group(1))
        times = [at(h) for h in support.heads(text)]
        cut = times[777]
        early = self.heads("--store", self.store, "--from", "@1780000000", "--to", f"@{cut:.6f}")
        late = self.heads("--store", self.store, "--from", f"@{cut:.6f}", "--to", "@1795000000")
        self.assertEqual([at(h) for h in early], times[:777])
        self.assertEqual([at(h) for h in late], times[777:])
        around = self.heads("--store", self.store, "--at", f"@{cut:.6f}", "--around", "2s")
        self.assertEqual([at(h) for h in around], [t for t in times if cut - 2 <= t < cut + 2])
        self.bad("export", "perf-script", "--store", self.store, "--last", "5s", names="nothing was recorded then")
        # ls, flame and folded cut at the same place.
        listed = self.ls("--store", self.store, "--from", f"@{cut:.6f}", "--to", f"@{cut + 5:.6f}")
        self.assertIn(len(listed), (1, 2))
        folded = self.export("--store", self.store, "--from", f"@{cut:.6f}", "--to", "@1795000000")
        self.assertEqual(sum(folded.values()), len(late))
        top = self.good("flame", "--json", "--store", self.store, "--from", f"@{cut:.6f}",
                        "--to", "@1795000000", "--tid", "2")
        self.assertEqual(json.loads(top)["samples"], sum(b" 1/2 " in h for h in late))

    def test_parts_as_perf_writes_them(self):
        """perf's percentages and stamps: parts follow each other without a gap, the last one has the last sample."""
        us = [5_000_000 + i * 370 for i in range(1001)]
        text = "".join(f"p  1/1 [000] {t / 1e6:.6f}:  1000 cpu-clock: \n\t 10 f (/m)\n\n" for t in us).encode()
        path = self.path("x.txt", text)
        found = lambda part: [round(float(re.search(rb"(\d+\.\d{6}):", h)[1]) * 1e6) for h in self.heads("-i", path, "--time", part)]
        for k in range(4):
            self.assertEqual(found(f"25%/{k + 1}"), us[250 * k:250 * (k + 1) + (k == 3)])
        self.assertEqual(found("10%-30%"), us[100:300])
        self.assertEqual(found(f"{us[10] / 1e6:.6f},{us[20] / 1e6:.6f}"), us[10:21])
        self.assertEqual(found(f"{us[990] / 1e6:.6f},"), us[990:])
        self.bad("script", "-i", path, "--time", "10%/11", code=2, names="--time")
        self.bad("script", "-i", path, "--time", "6,", names="begins behind all")

    def test_wrong_values_are_named(self):
        path = support.fixture_path("tmpl")
        for options, names in ((("--user", "no-such-user-xyz"), "no such user"),
                               (("--pid", "x"), "--pid"), (("--from", "soon"), "soon"),
                               (("--to", "now"), "--from"), (("--last", "0s"), "--last"),
                               (("--last", "5s", "--at", "now"), "one of")):
            for verb in (("export", "folded"), ("export", "perf-script"),
                         ("flame", "-o", self.path("x.svg"))):
                self.bad(*verb, "-i", path, *options, code=2, names=names)


class Memory(Case):
    def test_memory_does_not_follow_the_text(self):
        record = (b"p  1/1     [000] %13.6f:       1000 cpu-clock: \n"
                  b"\t              10 f (/m)\n\n")
        chunks = (b"".join(record % (1000 + (k * 1000 + i) * 1e-4) for i in range(1000))
                  for k in range(400))
        path = self.path("out.txt")
        r = support.run("export", "perf-script", "-i", "-", "-o", path, stdin=chunks)
        self.assertEqual(r.code, 0, r.err)
        self.assertLess(r.rss, support.RSS_LIMIT)
        with open(path, "rb") as f:
            self.assertEqual(f.read().count(b"cpu-clock: "), 400000)


tap.main()
