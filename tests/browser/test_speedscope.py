#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""speedscope from our own server opens an export of ours, and nothing is asked of anybody else."""
import gzip
import os
import re
import shutil
import sys
import tempfile
import time
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
import chrome
import scene
import served
import tap

PACKAGE = os.path.join(HERE, "..", "..", "web", "node_modules", "speedscope")


class Speedscope(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="perfcam-speedscope-")
        self.addCleanup(shutil.rmtree, self.folder)
        os.chmod(self.folder, 0o755)
        text, _ = scene.make(seed=5, seconds=5, cpus=2)
        self.server = served.Server(served.make_store(os.path.join(self.folder, "store"), text))
        self.addCleanup(self.server.stop)

    def test_it_is_there_where_npm_could_install_it(self):
        has = os.path.isdir(PACKAGE)
        self.assertEqual(self.server.json("/api/sources")["speedscope"], has)
        status, headers, body = self.server.ask("/speedscope/")
        self.assertEqual(status, 200 if has else 404)
        if not has:
            self.assertIn(b"built without speedscope", body)
            return
        # No more than it needs: nothing inline but styles, nobody else.
        policy = headers["content-security-policy"]
        self.assertIn("default-src 'none'", policy)
        self.assertRegex(policy, r"script-src 'self' 'wasm-unsafe-eval';")
        self.assertRegex(policy, r"connect-src 'self';")
        self.assertNotIn("unsafe", self.server.ask("/")[1]["content-security-policy"])
        self.assertIn(b"MIT", self.unpacked("/speedscope/LICENSE"))
        self.opens_an_export()

    def unpacked(self, path):
        return gzip.decompress(self.server.ask(path)[2])

    def opens_an_export(self):
        address = urllib.parse.quote("/api/export?format=speedscope&comm=postgres", safe="")
        with chrome.Browser() as browser:
            page = browser.open(self.server.url)  # the token becomes a cookie
            page.go(f"http://127.0.0.1:{self.server.port}/speedscope/#profileURL={address}&title=only%20postgres")
            until = time.monotonic() + 20
            while page.evaluate("document.title") != "only postgres - speedscope" and time.monotonic() < until:
                time.sleep(0.1)
            self.assertEqual(page.evaluate("document.title"), "only postgres - speedscope")
            self.assertIn("Left Heavy", page.evaluate("document.body.innerText"))
            self.assertGreater(page.evaluate("document.querySelectorAll('canvas').length"), 0)
            for problem in page.problems():
                asked = re.match(r"request: (\S+)", problem)
                if asked:
                    self.assertTrue(asked[1].startswith(f"http://127.0.0.1:{self.server.port}/"), problem)
                else:
                    self.assertIn("WebGL", problem)


tap.main()
