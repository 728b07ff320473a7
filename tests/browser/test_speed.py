#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""How long the page's thread works to draw as much as there will ever be: CPU time, so that a busy machine does not
matter. The numbers are printed."""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import tap

SOURCE = os.environ.get("PERFCAM_SOURCE", ".")
NODES, CELLS = 100_000, 4_000_000
RUNS, MOST_RUNS = 5, 40  # more than the first while others on the machine take the caches away


class Speed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.mkdtemp(prefix="perfcam-speed-")
        subprocess.run(["esbuild", os.path.join(SOURCE, "web", "test", "speed.ts"), "--bundle", "--minify", "--format=iife",
                        f"--outfile={cls.folder}/speed.js", "--log-level=warning"], check=True)
        with open(os.path.join(cls.folder, "index.html"), "w", encoding="utf-8") as f:
            f.write("<!doctype html><meta charset=utf-8><body style='margin:0;width:1100px'><script src=speed.js></script>")
        cls.browser = chrome.Browser()
        cls.page = cls.browser.open(f"file://{cls.folder}/index.html", width=1100, height=900)
        cls.page.call("Performance.enable", timeDomain="threadTicks")

    @classmethod
    def tearDownClass(cls):
        cls.browser.__exit__()
        shutil.rmtree(cls.folder)

    def thread_ms(self):
        found = {m["name"]: m["value"] for m in self.page.call("Performance.getMetrics")["metrics"]}
        return found["ThreadTime"] * 1000

    def measure(self, call, most):
        """The least of some runs, in ms of CPU time, and how many they were; what it answered is in self.got. What is slower by itself is so in every run."""
        took = []
        while len(took) < RUNS or (min(took) >= most and len(took) < MOST_RUNS):
            before = self.thread_ms()
            self.got = self.page.evaluate(f"speed.{call}")
            took.append(self.thread_ms() - before)
        return min(took), len(took)

    def show(self, what, measured, most):
        ms, runs = measured
        print(f"# {what}: {ms:.1f} ms, the least of {runs} runs, at most {most}", flush=True)
        self.assertGreater(ms, 0.01, "nothing was measured")
        self.assertLess(ms, most, what)

    def test_a_large_flame_graph(self):
        self.assertEqual(self.page.evaluate(f"speed.make({NODES})"), NODES)
        took = self.measure("paint(0)", 100)
        self.assertGreater(self.got, NODES // 10)
        self.show(f"flame graph of {NODES} nodes, {self.got} wide enough to draw, from columns to picture", took, 100)
        took = self.measure("zoom(2)", 2 * 32)
        self.assertGreater(self.got, 0)
        self.show("zoom in, and out again", took, 2 * 32)

    def test_a_large_heatmap(self):
        self.assertEqual(self.page.evaluate(f"speed.makeHeat({CELLS})"), CELLS)
        self.show(f"heatmap of {CELLS} cells", self.measure("paintHeat(0)", 50), 50)


tap.main()
