#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Programs that nobody here wrote read what perfcam exports: go tool pprof, npm's pprof-format, speedscope's
schema, Firefox's profiler. tools/setup installs those of npm; Go is in its group `programs`."""
import collections
import glob
import json
import os
import re
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.environ["PERFCAM_SOURCE"], "tests", "cli"))
import support
import tap
from support import Case

HERE = os.path.dirname(os.path.abspath(__file__))
MODULES = os.path.join(HERE, "node_modules")
NPM = shutil.which("node") and os.path.isdir(MODULES)
GO = shutil.which("go") or next(iter(glob.glob("/usr/lib/go*/bin/go")), None)
FIXTURES = ("nginx-997", "java", "tmpl")


def not_run(what, why):
    print(f"# not run: {what}: {why}", flush=True)


def heads(name):
    return support.heads(support.fixture(name))


class Readers(Case):
    def export(self, form, name):
        path = self.path(f"{name}.{form}")
        self.good("export", form, "-i", support.fixture_path(name), "-o", path)
        return path

    def ask(self, *args, env=None):
        r = subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=120,
                           env={**os.environ, "HOME": self.dir, "TZ": "UTC", **(env or {})})
        self.assertEqual(r.returncode, 0, r.stderr.decode()[-500:])
        return r.stdout.decode()

    def node(self, what, path):
        return json.loads(self.ask("node", os.path.join(HERE, "read.mjs"), what, path))

    def test_go_tool_pprof(self):
        if not GO:
            return not_run("go tool pprof", "Go is not installed")
        for name in FIXTURES:
            path = self.export("pprof", name)
            n = len(heads(name))
            raw = self.ask(GO, "tool", "pprof", "-raw", path)
            self.assertIn("samples/count cpu/nanoseconds", raw)
            counts = [int(x) for x in re.findall(r"^ +(\d+) +\d+:", raw, re.M)]
            # It lists no samples without a stack; its total has them.
            bare = len(re.findall(rb"(?m)^[^\t#\n].*\n\n", support.fixture(name)))
            self.assertEqual(sum(counts) + bare, n)
            top = self.ask(GO, "tool", "pprof", "-top", "-sample_index=samples", "-nodecount=5", path)
            self.assertIn(f"of {n} total", top)
        # The same by label: what the text says of one command.
        path = self.export("pprof", "nginx-997")
        want = sum(h.startswith(b"redis-server ") for h in heads("nginx-997"))
        out = self.ask(GO, "tool", "pprof", "-top", "-sample_index=samples",
                       "-tagfocus=comm=redis-server", path)
        self.assertRegex(out, rf"Showing nodes accounting for .* of {len(heads('nginx-997'))} total")
        self.assertIn("Active filters:\n   tagfocus=comm=redis-server", out)
        flat = sum(int(x) for x in re.findall(r"^ +(\d+) +[\d.]+% +[\d.]+% +\d+ ", out, re.M))
        self.assertLessEqual(flat, want)
        self.assertGreater(flat, want * 0.5)

    def test_pprof_format(self):
        if not NPM:
            return not_run("pprof-format", "npm's packages are not installed: tools/setup test")
        for name in FIXTURES:
            said = self.node("pprof", self.export("pprof", name))
            n = len(heads(name))
            self.assertEqual(said["sums"][0], ["samples", "count", n])
            self.assertEqual(said["sums"][1][:2], ["cpu", "nanoseconds"])
            comms = collections.Counter(re.match(rb"(.*?) +\d+", h).group(1).decode()
                                        for h in heads(name))
            self.assertEqual(said["comms"], dict(comms))
            self.assertGreater(len(said["names"]), 20)

    def test_speedscope_schema(self):
        if not NPM:
            return not_run("speedscope's schema", "npm's packages are not installed: tools/setup test")
        for name in FIXTURES + ("pg-sched",):
            self.assertEqual(self.node("speedscope", self.export("speedscope", name)), [])
        wrong = self.path("wrong.json", b'{"$schema": "x", "shared": {"frames": [{}]}}')
        self.assertEqual(len(self.node("speedscope", wrong)), 3)

    def test_firefox_profiler(self):
        if not NPM:
            return not_run("profiler-cli", "npm's packages are not installed: tools/setup test")
        cli = os.path.join(MODULES, ".bin", "profiler-cli")
        # Its daemon gets half a second to start, which a busy machine does not give.
        path = self.export("firefox", "nginx-997")
        try:
            subprocess.run([cli, "load", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                           env={**os.environ, "HOME": self.dir}, timeout=60)
            for _ in range(50):
                if not subprocess.run([cli, "status"], stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL, timeout=60,
                                      env={**os.environ, "HOME": self.dir}).returncode:
                    break
                time.sleep(0.3)
            info = json.loads(self.ask(cli, "profile", "info", "--json"))
            tids = collections.Counter(int(re.match(rb".*? +(\d+) \[", h).group(1))
                                       for h in heads("nginx-997"))
            self.assertEqual(info["threadCount"], len(tids))
            busiest, n = tids.most_common(1)[0]
            said = json.loads(self.ask(cli, "thread", "functions", "--json"))
            threads = json.loads(self.ask(cli, "thread", "list", "--json"))["threads"]
            selected = next(t for t in threads if t["selected"])
            self.assertEqual(selected["tid"], busiest)
            self.assertEqual(sum(f["selfSamples"] for f in said["functions"]), n)
        finally:
            subprocess.run([cli, "stop", "--all"], stdout=subprocess.DEVNULL,
                           stderr=subprocess.DEVNULL, env={**os.environ, "HOME": self.dir})


tap.main()
