#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""script: what perf script prints of the same samples with the same -F, to the byte.

The oracle are texts that perf 6.1 printed of one recording with different options (tests/data)."""
import gzip
import json
import os
import pty
import re
import subprocess

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
                     ("+symoff", "comm,tid,cpu,time,period,event,trace,ip,sym,symoff,dso"),
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
        self.assertEqual(self.good("script", "-F", "+symoff", "-i", "-", stdin=full), flat)
        self.assertEqual(self.good("script", "-G", "-i", "-", stdin=full), flat)
        with_stacks = self.good("script", "-F", "trace:+ip,+sym,+dso,+pid", "-i", "-", stdin=full)
        self.assertTrue(with_stacks == full)
        self.assertEqual(self.good("script", "-F", "sw:comm", "-i", "-", stdin=full),
                         self.good("script", "-i", "-", stdin=full))

    def test_json_is_one_array_of_what_export_json_has(self):
        path = support.fixture_path("tmpl")
        lines = self.good("export", "json", "-i", path).splitlines()
        self.assertEqual(json.loads(self.good("script", "--json", "-i", path)), [json.loads(line) for line in lines])
        self.bad("script", "--json", "-F", "comm", "-i", path, code=2, names="--json")

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


class BesidePerf(Case):
    def test_times_and_chains_as_perf_prints_them(self):
        with open(os.path.join(support.DATA, "nginx-997.perf.data.zst"), "rb") as f:
            given = self.path("given.data", support.unzstd(f.read()))

        def both(*options):
            perf = subprocess.run(["perf", "script", "-i", given, *options], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                  env={**os.environ, "LC_ALL": "C.UTF-8"}, timeout=60, check=True).stdout
            # Of a versioned symbol's names perf takes another one.
            return [re.sub(rb"@@?GLIBC_[\d.]+", b"", text) for text in (perf, self.good("script", "-i", given, *options))]

        for options in (("--reltime",), ("--deltatime",), ("--deltatime", "--ns"), ("--reltime", "-F", "comm,time")):
            want, got = (support.heads(text) if "-F" not in options else text.splitlines() for text in both(*options))
            self.assertGreater(len(want), 5000)
            self.assertEqual(want, got, options)
        # The address is of the process there, of the file here.
        want, got = (re.sub(rb"(:  +)[0-9a-f]+ ", rb"\1", text).splitlines() for text in both("-G"))
        self.assertEqual(len(want), len(got))
        alike = sum(re.sub(rb" +", b" ", a) == re.sub(rb" +", b" ", b) for a, b in zip(want, got))
        self.assertGreater(alike, 0.99 * len(want))
        for n in (1, 3):
            want, got = (text.split(b"\n\n") for text in both("--max-stack", str(n)))
            self.assertEqual(len(want), len(got))
            # Where the kernel gave no call chain perf prints no frame; the window has its address.
            self.assertGreater(sum(a == b for a, b in zip(want, got)), 0.98 * len(want))
            self.assertTrue(all(r.count(b"\n\t") <= n for r in got))
        self.bad("script", "--reltime", "--deltatime", "-i", given, code=2, names="--deltatime")


class Terminal(Case):
    def test_a_terminal_gets_no_bytes_that_it_might_obey(self):
        """C1 control characters, as bytes and as UTF-8, and what is no UTF-8 at all; a pipe gets them as they are."""
        text = b"\xff\x9b31mcomm 7 [000] 1.000000: cpu-clock: \n\t     10 \xc2\x9b2Jmain\xc3\xa9 (/bin/\xfex)\n\n"
        path = self.path("bytes.perf-script", text)
        self.assertEqual(self.good("script", "-i", path).split(), text.split())
        master, slave = pty.openpty()
        with subprocess.Popen([tap.BIN, "script", "-i", path], stdout=slave, stdin=subprocess.DEVNULL) as process:
            os.close(slave)
            got = b""
            while True:
                try:
                    more = os.read(master, 65536)
                except OSError:
                    break
                if not more:
                    break
                got += more
            self.assertEqual(process.wait(20), 0)
        os.close(master)
        self.assertIn(rb"\xff\x9b31mcomm", got)
        self.assertIn(rb"\xc2\x9b2Jmain" + b"\xc3\xa9", got)
        self.assertIn(rb"(/bin/\xfex)", got)
        got.decode("utf-8")


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
