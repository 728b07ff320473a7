#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What a running store answers: the last seconds, one process, another tool's text."""
import json
import os
import re
import signal
import time

import support
from support import perfcam


class Reading(support.Case):
    def setUp(self):
        super().setUp()
        self.recording = self.recorder("--window", "4s").ready()
        self.one = self.start(support.workload("spin31"), "60")
        self.two = self.start(support.workload("spin31"), "60")
        time.sleep(7)
        # Names come within seconds; the workloads stop, so that what is read twice is the same.
        for p in (self.one, self.two):
            p.send_signal(signal.SIGSTOP)
        time.sleep(4)

    def export(self, *args, code=(0, 3)):
        r = perfcam("export", *args)
        self.assertIn(r.returncode, code, r.stderr)
        return r.stdout

    def heads(self, text):
        return [line for line in text.splitlines() if line and line[0] not in "#\t "]

    def flame(self, *args):
        r = perfcam("flame", "--json", "--store", self.store, *args)
        self.assertIn(r.returncode, (0, 3), r.stderr)
        return json.loads(r.stdout)

    def test_a_live_store(self):
        for check in (self.one_process, self.the_last_seconds, self.another_tools_text,
                      self.the_picture, self.programs_and_users):
            with self.subTest(check.__name__):
                check()
        self.assertEqual(self.recording.stop(), 0, self.recording.said())

    def one_process(self):
        pid = self.one.pid
        text = self.export("perf-script", "--store", self.store, "--pid", str(pid))
        heads = self.heads(text)
        self.assertGreater(len(heads), 50)
        self.assertEqual([h for h in heads if f" {pid}/{pid} " not in h], [])
        found = self.flame("--pid", str(pid))
        self.assertEqual(found["samples"], len(heads))
        self.assertEqual(found["functions"][0]["name"], "three")

    def the_last_seconds(self):
        """The open window, too; and nothing of a time in which the process stood still."""
        pid = str(self.two.pid)
        whole = self.flame("--last", "60s", "--pid", pid)["samples"]
        self.assertGreater(whole, 50)
        text = self.export("perf-script", "--store", self.store, "--pid", pid)
        times = [float(re.search(r" (\d+\.\d{6}): ", h).group(1)) for h in self.heads(text)]
        self.assertEqual(times, sorted(times))
        self.assertEqual(len(times), whole)
        reference = re.search(r"# reference time: .* = (\d+\.\d+) \(TOD\) = (\d+\.\d+) \(mono", text)
        wall = float(reference.group(1)) - float(reference.group(2))
        # Between two samples, so that no rounding decides.
        cut = (times[whole // 2] + times[whole // 2 + 1]) / 2 + wall
        early = self.flame("--from", "-5m", "--to", f"@{cut:.6f}", "--pid", pid)["samples"]
        late = self.flame("--from", f"@{cut:.6f}", "--pid", pid)["samples"]
        self.assertEqual((early, late), (whole // 2 + 1, whole - whole // 2 - 1))
        r = perfcam("flame", "--json", "--store", self.store, "--last", "1s", "--pid", pid)
        self.assertEqual(r.returncode, 1, r.stdout)

    def another_tools_text(self):
        """Text out and in again folds as the store does; names, shares and roots are the same."""
        for scope in (("--pid", str(self.one.pid)), ("--pid", f"{self.one.pid},{self.two.pid}")):
            want = self.export("folded", "--store", self.store, *scope)
            path = os.path.join(self.dir, "x.txt")
            self.export("perf-script", "--store", self.store, *scope, "-o", path)
            self.assertEqual(self.export("folded", "-i", path, "--weight", "samples"), want)
            self.assertGreater(want.count("\n"), 1)
        total = sum(int(line.rpartition(" ")[2]) for line in self.export(
            "folded", "-i", path).splitlines())
        samples = len(self.heads(open(path).read()))
        self.assertAlmostEqual(total, samples * 1e9 / 97, delta=samples)

    def the_picture(self):
        svg = os.path.join(self.dir, "x.svg")
        pid = str(self.one.pid)
        r = perfcam("flame", "--store", self.store, "--last", "60s", "--pid", pid, "-o", svg,
                    env={**os.environ, "TZ": "Asia/Kolkata"})
        self.assertIn(r.returncode, (0, 3), r.stderr)
        with open(svg) as f:
            text = f.read()
        title = re.search(r'<text class="t"[^>]*>([^<]*)<', text).group(1)
        self.assertRegex(title, r"^" + re.escape(os.uname().nodename)
                         + r" · \d{4}-\d\d-\d\d \d\d:\d\d:\d\d – [\d: -]+ \+05:30$")
        self.assertIn(f">pid {pid} · ", text)

    def programs_and_users(self):
        """Other programs of the same name may run on this machine: pids keep them out."""
        pids = ("--pid", f"{self.one.pid},{self.two.pid}")
        path = os.path.realpath(support.workload("spin31"))
        mine = self.flame(*pids)["samples"]
        for taken in (("--exe", path), ("--exe", os.path.basename(path)), ("--exe", "workload_spin3?"),
                      ("--user", str(os.getuid())), ("--uid", "0,1"), ("--cgroup", "/")):
            self.assertEqual(self.flame(*pids, *taken)["samples"], mine, taken)
        for refused in (("--exe", "/bin/" + os.path.basename(path)), ("--user", "12345"),
                        ("--cgroup", "/no/such/cgroup")):
            r = perfcam("flame", "--json", "--store", self.store, *pids, *refused)
            self.assertEqual(r.returncode, 1, refused)


support.main()
