#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""script: what perf script prints of the same samples with the same -F, to the byte.

The oracle are texts that perf 6.1 printed of one recording with different options (tests/data)."""
import gzip
import os

import support
import tap
from support import Case

VARIANTS = {
    "nginx-997": {
        "nocpu": ("-F", "comm,tid,time,event,ip,sym,dso"),
        "noevent": ("-F", "comm,tid,time,ip,sym"),
        "period": ("-F", "comm,tid,time,period,ip,sym,dso"),
        "pid": ("-Fcomm,pid,time,event,ip,sym,dso",),
        "notime": ("--fields", "comm,tid,event,ip,sym,dso"),
        "tidonly": ("-F", "comm,tid,ip,sym,dso"),
        "header": (),
    },
}


def variant(name):
    with gzip.open(os.path.join(support.DATA, "variants", name + ".gz")) as f:
        return f.read()


def body(text):
    return b"".join(line for line in text.splitlines(keepends=True) if not line.startswith(b"#"))


class Fields(Case):
    def test_other_fields_are_what_perf_prints_for_them(self):
        for name, options in VARIANTS["nginx-997"].items():
            with self.subTest(name):
                out = self.good("script", *options, "-i", "-", stdin=variant("nginx-997.full"))
                self.assertTrue(out == body(variant("nginx-997." + name)), name)

    def test_signs_change_the_default(self):
        full = variant("nginx-997.full")
        for a, b in (("-pid", "comm,tid,cpu,time,period,event,trace,ip,sym,symoff,dso"),
                     ("+pid", "comm,pid,tid,cpu,time,period,event,trace,ip,sym,symoff,dso"),
                     ("-comm,-period,+pid", "pid,tid,cpu,time,event,trace,ip,sym,symoff,dso")):
            self.assertEqual(self.good("script", "-F", a, "-i", "-", stdin=full),
                             self.good("script", "-F", b, "-i", "-", stdin=full), a)
        out = self.good("script", "-F", "+pid", "-i", "-", stdin=full)
        self.assertTrue(out == full)

    def test_nanoseconds(self):
        ns = variant("nginx-997.ns")
        self.assertTrue(self.good("script", "--ns", "-i", "-", stdin=ns) == ns)
        out = self.good("script", "-i", "-", stdin=ns)
        self.assertTrue(out == body(variant("nginx-997.header")))

    def test_without_stacks_a_sample_is_a_line(self):
        """As perf -G prints it, but for the address there: the comm in 16 columns."""
        flat = variant("nginx-997.flat").splitlines()
        out = self.good("script", "-F-ip,-sym,-symoff,-dso", "-i", "-",
                        stdin=variant("nginx-997.full")).splitlines()
        self.assertEqual(len(flat), len(out))
        for a, b in zip(flat, out):
            self.assertTrue(a.startswith(b), (a, b))

    def test_tracepoints(self):
        full = variant("pg-sched.full")
        flat = variant("pg-sched.flat")
        # perf: whoever says something about the fields of tracepoints gets no stacks.
        self.assertEqual(self.good("script", "-F", "-pid", "-i", "-", stdin=full), flat)
        with_stacks = self.good("script", "-F", "trace:+ip,+sym,+dso,+pid", "-i", "-", stdin=full)
        self.assertTrue(with_stacks == full)
        self.assertEqual(self.good("script", "-F", "sw:comm", "-i", "-", stdin=full),
                         self.good("script", "-i", "-", stdin=full))

    def test_recordings(self):
        """The whole of each recording: -F comm,pid,tid,cpu,time,event,ip of perf, and its default."""
        for name in support.FIXTURES:
            path = os.path.join(support.DATA, name + ".raw.gz")
            with gzip.open(path) as f:
                want = f.read()
            cpu = "" if b"[00" not in want[:200] else "cpu,"
            with self.subTest(name):
                out = self.good("script", "-F", f"comm,pid,tid,{cpu}time,event,ip", "-i", path)
                self.assertTrue(out == want, name)
                out = self.good("script", "-i", support.fixture_path(name))
                self.assertTrue(out == body(support.fixture(name)), name)

    def test_bad_fields(self):
        path = support.fixture_path("tmpl")
        for fields, word in (("nonsense", "nonsense"), ("comm,+tid", "mix"), ("+comm,tid", "mix"),
                             ("sym", "ip"), ("comm,dso", "ip"), ("ip,symoff", "sym"), ("", "field"),
                             ("foo:comm", "foo"), ("addr", "addr"), ("comm,,tid", "field")):
            self.bad("script", "-F", fields, "-i", path, code=2, names=word)
        self.bad("script", "-F", "comm,pid", "-i", path, names="'pid'")
        self.bad("script", "-F", "+cpu", "-i", path, names="'cpu'")
        self.bad("script", "extra", "-i", path, code=2, names="extra")


class Selection(Case):
    def test_filters_and_header(self):
        path = support.fixture_path("nginx-997")
        out = self.good("script", "--header", "--comm", "bash", "--cpu", "0", "-i", path)
        self.assertTrue(out.startswith(b"# ========\n"))
        heads = support.heads(out)
        self.assertGreater(len(heads), 5)
        for head in heads:
            self.assertRegex(head, rb"^bash +\d+ \[000\] ")
        out = self.good("script", "-F", "event", "--event-type", "cpu-clock*", "-i", path)
        self.assertEqual(out.count(b"\n"), self.samples("-i", path))
        self.bad("script", "--comm", "no-such", "-i", path, names="no samples")

    def test_counts_have_no_samples(self):
        self.bad("script", "-i", "-", stdin=b"a;b 2\n", names="folded")



tap.main()
