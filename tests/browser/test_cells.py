#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The heatmap's rows a second and its two scales: each cell has the samples of the text that was imported, and its colour is as they are many."""
import os
import re
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import pictures
import scene
import tap
import viewed
from pictures import SECONDS
from viewed import AXIS, GUTTER, LANE

WHOLE = f"from={scene.START}&to={scene.START + SECONDS}&mode=sub&tz=utc"
DARK = ("27183e", "4e1d5c", "7e235e", "aa3350", "cd4d42", "e57137", "f4993c", "f9c254", "f9ea92")  # what the design names
CELL = """((column, columns, row, rows) => { const c = document.querySelector('#heat canvas'), x = %d + (column + 0.5) * (c.width - %d) / columns,
    y = %d + (rows - row - 0.5) * (c.height - %d) / rows; return [...c.getContext('2d').getImageData(Math.floor(x), Math.floor(y), 1, 1).data].slice(0, 3); })""" % (
        GUTTER, 2 * GUTTER, LANE, LANE + AXIS)


def setUpModule():
    global folder, browser, server, facts, samples
    folder = tempfile.mkdtemp(prefix="perfcam-cells-")
    os.chmod(folder, 0o755)
    server, facts = pictures.serve(folder)
    samples = [int(m[3]) + int(m[4]) / 1e6 + scene.START - 5000 for m in scene.HEAD.finditer(facts["text"])]
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    server.stop()
    shutil.rmtree(folder)


def share_of(colour):
    """Where on the scale a colour lies, 0 to 1: the nearest of those between the stops."""
    stops = [tuple(int(s[i:i + 2], 16) for i in (0, 2, 4)) for s in DARK]

    def at(t):
        k = min(int(t * 8), 7)
        return [a + (b - a) * (t * 8 - k) for a, b in zip(stops[k], stops[k + 1])]
    return min((i / 1000 for i in range(1001)), key=lambda t: sum((a - b) ** 2 for a, b in zip(at(t), colour)))


class Cells(unittest.TestCase):
    def choose(self, v, label, value):
        v.page.evaluate(f"(s => {{ s.value = '{value}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('[aria-label=\"{label}\"]'))")

    def test_rows_a_second(self):
        v = viewed.View(browser, server.url, WHOLE, facts)
        seen = set()
        offered = v.page.evaluate("[...document.querySelector('[aria-label=\"Rows per second\"]').options].map(o => Number(o.value))")
        self.assertEqual((min(offered), max(offered)), (10, 100))
        for rows in offered:
            self.choose(v, "Rows per second", rows)
            said = f"cell {1000 / rows:.0f} ms"
            v.settle(lambda rows=rows, said=said: v.query().get("rows", ["50"]) == [str(rows)] and said in v.page.evaluate("document.querySelector('.stage').innerText"))
            seen.add(v.picture("#heat"))
            second, row = scene.START + 30, rows // 3
            v.page.hover(*v.heat_point(second + 0.5, row, rows))
            tip = v.page.evaluate("document.querySelector('.tip').innerText")
            n = int(re.search(r"\n(\d+) samples? in ", tip)[1])
            low, high = second + row / rows, second + (row + 1) / rows
            # Times of an import are kept to 10 µs: one on the very edge may fall on either side.
            self.assertTrue(sum(low + 1e-5 <= t < high - 1e-5 for t in samples) <= n <= sum(low - 1e-5 <= t < high + 1e-5 for t in samples), (rows, tip))
            if rows in (offered[0], offered[-1]):
                self.assertEqual(viewed.View(browser, server.url, WHOLE + f"&rows={rows}", facts).picture("#heat"), v.picture("#heat"), rows)
        self.assertEqual(len(seen), len(offered))

    def test_two_scales(self):
        """Linear: twice the samples are twice as far along the scale. Sparse: the median is calm, one lone sample shows."""
        v = viewed.View(browser, server.url, WHOLE, facts)
        about, got = server.columns(f"/api/heatmap?from=@{scene.START}&to=@{scene.START + SECONDS}&mode=subsecond&rows=50&columns=980")
        columns = about["columns_n"]
        by_count = {}
        for i, n in enumerate(got["samples"]):
            if n and 3 <= i % columns < columns - 3 and not 55 <= i % columns <= 85:  # nothing is drawn over these
                by_count.setdefault(n, (i % columns, i // columns))

        def shares():
            return {n: share_of(v.page.evaluate(f"{CELL}({c}, {columns}, {r}, 50)")) for n, (c, r) in by_count.items()}
        filled = sorted(n for n in got["samples"] if n)
        median = filled[len(filled) // 2]
        sparse = shares()
        self.assertAlmostEqual(sparse[median], 0.24, delta=0.02)
        self.assertGreater(min(sparse.values()), 0.1)
        before = v.picture("#heat")
        v.page.evaluate("[...document.querySelectorAll('[aria-label=\"Colour scale\"] [role=radio]')].find(b => b.innerText === 'Linear').click()")
        v.settle(lambda: v.query().get("scale") == ["linear"] and v.picture("#heat") != before)
        linear = shares()
        most = max(got["samples"])
        self.assertGreater(len(linear), 10)
        for n, t in linear.items():
            self.assertAlmostEqual(t, n / most, delta=0.02, msg=(n, most))
        v.page.evaluate("[...document.querySelectorAll('[aria-label=\"Colour scale\"] [role=radio]')].find(b => b.innerText === 'Sparse').click()")
        v.settle(lambda: "scale" not in v.query() and v.picture("#heat") == before)


tap.main()
