#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page without a browser: its logic by node, its types, and that web/dist is made from web/src."""
import filecmp
import os
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import tap

SOURCE = os.environ.get("PERFCAM_SOURCE", ".")
WEB = os.path.join(SOURCE, "web")
MOST_BYTES = 150_000  # of the page, compressed


def run(*command):
    return subprocess.run(command, text=True, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=120)


class Logic(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perfcam-page-")
        self.addCleanup(shutil.rmtree, self.folder)

    def test_types(self):
        r = run("tsc", "-p", WEB)
        self.assertEqual(r.returncode, 0, r.stdout)

    def test_dist_is_made_from_src(self):
        r = run(os.path.join(SOURCE, "tools", "build-page"), self.folder)
        self.assertEqual(r.returncode, 0, r.stdout)
        made, kept = sorted(os.listdir(self.folder)), sorted(os.listdir(os.path.join(WEB, "dist")))
        self.assertEqual(made, kept)
        _, differ, odd = filecmp.cmpfiles(self.folder, os.path.join(WEB, "dist"), made, shallow=False)
        self.assertEqual(differ + odd, [], "run tools/build-page")

    def test_the_page_is_small(self):
        dist = os.path.join(WEB, "dist")
        packed = sum(len(subprocess.run(["gzip", "-9c", os.path.join(dist, f)], stdout=subprocess.PIPE, check=True).stdout)
                     for f in os.listdir(dist))
        self.assertLess(packed, MOST_BYTES)

    def test_nothing_is_made_from_markup(self):
        """Names are hostile: no call that takes markup or code may stand in the sources."""
        forbidden = re.compile(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function|\.srcdoc|https?://(?!www\.w3\.org/)")
        for name in sorted(os.listdir(os.path.join(WEB, "src"))):
            with open(os.path.join(WEB, "src", name), encoding="utf-8") as f:
                found = [line.strip() for line in f if forbidden.search(line)]
            self.assertEqual(found, [], name)

    def test_node(self):
        tests = [os.path.join(WEB, "test", f) for f in sorted(os.listdir(os.path.join(WEB, "test"))) if f.endswith(".test.ts")]
        self.assertGreaterEqual(len(tests), 2)
        r = run("esbuild", *tests, "--bundle", "--platform=node", "--format=esm", "--out-extension:.js=.mjs",
                f"--outdir={self.folder}", "--log-level=warning")
        self.assertEqual(r.returncode, 0, r.stdout)
        r = run("node", "--test", self.folder)
        passed = re.search(r"^# pass (\d+)", r.stdout, re.M)
        self.assertEqual(r.returncode, 0, r.stdout)
        self.assertGreaterEqual(int(passed.group(1)), 14, r.stdout)


tap.main()
