#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Twenty milliseconds of twelve hours: a host of 96 CPUs, half busy all the time, of which once all CPUs are busy for 20 ms. The
page shows all of it at once, and that one cell stands out. (half_busy.c makes two minutes of it, tests/bench/rebase the rest.)"""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import scene
import served
import tap
import viewed
from viewed import AXIS, GUTTER, LANE

WINDOWS, SECONDS, ROWS, CPUS = 360, 120, 50, 96
SPIKE = scene.START + 180 * SECONDS + 60.41  # its middle
WHOLE = f"from={scene.START}&to={scene.START + WINDOWS * SECONDS}"
# Of each cell the colour of its middle, as [r, g, b], row by row from the bottom.
CELLS = """((columns, rows) => { const c = document.querySelector('#heat canvas'), g = c.getContext('2d');
    const w = (c.width - %d) / columns, h = (c.height - %d) / rows, d = g.getImageData(0, 0, c.width, c.height).data, out = [];
    for (let r = 0; r < rows; r++) for (let k = 0; k < columns; k++) {
        const x = Math.floor(%d + (k + 0.5) * w), y = Math.floor(%d + (rows - r - 0.5) * h), at = (y * c.width + x) * 4; out.push([d[at], d[at + 1], d[at + 2]]); }
    return out; })""" % (2 * GUTTER, LANE + AXIS, GUTTER, LANE)


def setUpModule():
    global folder, browser, server
    folder = tempfile.mkdtemp(prefix="perfcam-spike-")
    os.chmod(folder, 0o755)
    store, calm = os.path.join(folder, "store"), os.path.join(folder, "calm.pcw")
    os.mkdir(store)
    make = os.environ["PERFCAM_HALF_BUSY"]
    subprocess.run([make, calm, "0", "calm"], check=True)
    subprocess.run([os.environ["PERFCAM_REBASE"], calm, str(WINDOWS), store], check=True, stdout=subprocess.DEVNULL)
    subprocess.run([make, os.path.join(store, "perfcam-rebased-00180.pcw"), "180", "spike"], check=True)
    served.let_everyone_read(store)
    server = served.Server(store)
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    server.stop()
    shutil.rmtree(folder)


def apart(p, q):
    return sum((a - b) ** 2 for a, b in zip(p, q)) ** 0.5


class Spike(unittest.TestCase):
    def test_of_twelve_hours_twenty_milliseconds_are_seen(self):
        about, got = server.columns(f"/api/heatmap?from=@{scene.START}&to=@{scene.START + WINDOWS * SECONDS}&mode=subsecond&columns=980")
        columns, step, begin = about["columns_n"], float(about["step"]), float(about["from"])
        self.assertGreater(step, 30)  # a column is more than half a minute
        self.assertEqual(sum(got["samples"]), about["seen"]["samples"])
        at = int((SPIKE - begin) / step), int(SPIKE % 1 * ROWS)
        peak = {(c, r): got["peak"][r * columns + c] for c in range(columns) for r in range(ROWS)}
        first, second = sorted(peak.values())[-1], sorted(peak.values())[-2]
        self.assertEqual(max(peak, key=peak.get), at)
        self.assertGreater(first, CPUS * 97 * 0.02 * 0.98)  # all CPUs, all the time
        self.assertLess(second, 0.8 * first)
        for scheme in ("dark", "light"):
            v = viewed.View(browser, server.url, WHOLE + "&tz=utc", width=1440, height=900, scheme=scheme)
            self.assertEqual(v.page.evaluate("document.querySelector('[aria-label=\"Heatmap mode\"] [aria-checked=true]').innerText"), "Sub-second")
            self.assertRegex(v.page.evaluate("document.querySelector('.stage').innerText"), r"cell 20 ms, busiest of \d+ s")
            shown = v.page.evaluate("[...performance.getEntriesByType('resource')].filter(e => e.name.includes('/api/heatmap')).at(-1).name")
            about, _ = server.columns(shown[shown.index("/api"):])
            columns, step, begin = about["columns_n"], float(about["step"]), float(about["from"])
            colours = v.page.evaluate(f"{CELLS}({columns}, {ROWS})")
            x, y = int((SPIKE - begin) / step), int(SPIKE % 1 * ROWS)
            spike = colours[y * columns + x]
            around = [colours[r * columns + c] for c in range(x - 3, x + 4) for r in range(y - 3, y + 4) if (c, r) != (x, y)]
            self.assertGreater(min(apart(spike, c) for c in around), 120, (scheme, spike, around))
            # Nothing else of all that is shown looks like it.
            self.assertEqual([i for i, c in enumerate(colours) if apart(spike, c) < 60], [y * columns + x], scheme)

    def test_among_the_cores_they_are_seen_as_well(self):
        """No row has more than two samples of it; above them all CPUs stand together, by the busiest 20 ms of each column."""
        strip = """((columns) => { const c = document.querySelector('#heat canvas'), d = c.getContext('2d').getImageData(0, %d, c.width, 1).data, w = (c.width - %d) / columns;
            return Array.from({ length: columns }, (_, k) => [...d.slice(Math.floor(%d + (k + 0.5) * w) * 4).slice(0, 3)]); })""" % (LANE + 4, 2 * GUTTER, GUTTER)
        for scheme in ("dark", "light"):
            v = viewed.View(browser, server.url, WHOLE + "&mode=cores&tz=utc", width=1440, height=900, scheme=scheme)
            shown = v.page.evaluate("[...performance.getEntriesByType('resource')].filter(e => e.name.includes('/api/heatmap')).at(-1).name")
            about, got = server.columns(shown[shown.index("/api"):])
            columns, at = about["columns_n"], int((SPIKE - float(about["from"])) / float(about["step"]))
            self.assertEqual(got["busiest"].index(max(got["busiest"])), at)
            self.assertGreater(got["busiest"][at], CPUS * 97 * 0.02 * 0.98)
            colours = v.page.evaluate(f"{strip}({columns})")
            self.assertGreater(min(apart(colours[at], c) for i, c in enumerate(colours) if i != at), 60, scheme)
            # A click there takes that column's time.
            x, y, w, _ = v.box("#heat")
            v.page.click(x + GUTTER + (at + 0.5) * (w - 2 * GUTTER) / columns, y + LANE + 4)
            v.settle(lambda: v.selected() is not None)
            low, high, cpus = v.selected()
            self.assertTrue(low <= SPIKE < high and high - low == float(about["step"]) and cpus is None, (low, high, cpus))

    def test_a_filter_of_hours_is_read_in_parts(self):
        """The newest first; what is not read yet is veiled, can be stopped, and the parts are together what one answer would be."""
        span = f"from={scene.START + 7200}&to={scene.START + 18000}"
        stop = "[...document.querySelectorAll('.stage button')].find(b => b.innerText.startsWith('Stop'))"
        v = viewed.View(browser, server.url, span + "&mode=cores&tz=utc", width=1440, height=900)
        asked = "performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/api/heatmap') && n.includes('user-only')).map(n => n.slice(n.indexOf('/api')))"
        veil = "(d => d[0] + d[1] + d[2])(document.querySelector('#heat canvas').getContext('2d').getImageData(70, 100, 1, 1).data)"
        busy = v.page.evaluate(veil)
        # Each answer is held until it has been looked at, as a slower server would.
        v.page.evaluate("""window.held = []; const real = window.fetch; window.fetch = (u, o) => !String(u).includes('user-only') || !String(u).includes('heatmap') ? real(u, o)
            : real(u, o).then((r) => new Promise((done, failed) => { held.push(() => done(r)); o.signal.addEventListener('abort', () => failed(new DOMException('x', 'AbortError'))); }))""")
        v.page.evaluate(f"history.pushState(null, '', '?{span}&mode=cores&tz=utc&only=user'); dispatchEvent(new PopStateEvent('popstate'))")

        def wait(condition):
            until = time.monotonic() + 40
            while not v.page.evaluate(condition):
                self.assertLess(time.monotonic(), until, condition)
                time.sleep(0.05)
        wait("held.length === 1")
        told = v.page.evaluate(f"{stop}.innerText")
        self.assertRegex(told, r"Stop · 0 of \d+ read")
        parts = int(told.split()[4])
        self.assertGreaterEqual(parts, 3)
        self.assertLess(v.page.evaluate(veil), busy / 2)
        for done in range(1, parts):
            v.page.evaluate("held.shift()()")
            wait(f"{stop}?.innerText === 'Stop · {done} of {parts} read' && held.length === 1")
        v.page.evaluate("held.shift()()")
        v.settle(lambda: v.page.evaluate(f"{stop} === undefined || {stop}.hidden"))
        self.assertGreater(v.page.evaluate(veil), busy / 3)
        paths = v.page.evaluate(asked)
        self.assertEqual(len(paths), parts)
        starts, whole = [], {}
        for path in paths:
            about, got = server.columns(path)
            begin, step, n = float(about["from"]), float(about["step"]), about["columns_n"]
            starts.append(begin)
            for i, peak in enumerate(got["peak"]):
                whole[round(begin + step * (i % n), 3), about["cpus"][i // n]] = peak, got["samples"][i]
        self.assertEqual(starts, sorted(starts, reverse=True))
        about, got = server.columns(f"/api/heatmap?from=@{scene.START + 7200}&to=@{scene.START + 18000}&mode=cores&user-only=1&columns=980&step={int(step)}s")
        n, begin = about["columns_n"], float(about["from"])
        self.assertEqual(whole, {(round(begin + step * (i % n), 3), about["cpus"][i // n]): (p, got["samples"][i]) for i, p in enumerate(got["peak"])})
        # Another question ends it, and Stop does: what was read stays.
        v.page.evaluate(f"history.pushState(null, '', '?{span}&mode=cores&tz=utc&only=kernel'); dispatchEvent(new PopStateEvent('popstate'))")
        v.settle()
        v.page.evaluate("held.length = 0")
        v.page.evaluate(f"history.pushState(null, '', '?{span}&mode=cores&tz=utc&only=user&comm=web'); dispatchEvent(new PopStateEvent('popstate'))")
        wait("held.length === 1")
        v.page.evaluate(f"{stop}.click()")
        v.settle(lambda: v.page.evaluate(f"{stop}?.hidden !== false"))
        self.assertLess(v.page.evaluate(veil), busy / 2)
        self.assertEqual(v.page.evaluate("[...document.querySelectorAll('.banner')].filter(b => !b.hidden).length"), 0)

    def test_presets(self):
        """Of a live link the newest so long; of a span that was chosen what ends where it did; all is all."""
        end = scene.START + WINDOWS * SECONDS
        v = viewed.View(browser, server.url, "tz=utc", width=1440, height=900)
        press = "[...document.querySelectorAll('[aria-label=Span] [role=radio]')].find(b => b.innerText === '%s').click()"
        pressed = "document.querySelector('[aria-label=Span] [aria-checked=true]').innerText"
        asked = "(u => [u.get('from'), u.get('to')])(new URL(performance.getEntriesByType('resource').filter(e => e.name.includes('/api/heatmap')).at(-1).name).searchParams)"

        def check(label, low, high):
            v.page.evaluate(press % label)
            v.settle(lambda: v.page.evaluate(pressed) == label)
            got = [float(t[1:]) for t in v.page.evaluate(asked)]
            for t, want in zip(got, (low, high)):
                self.assertAlmostEqual(t, want, delta=0.01, msg=(label, got))
        for label, length in (("10 m", 600), ("2 m", 120), ("1 h", 3600)):
            check(label, end - length, end)
        check("12 h", scene.START, end)
        v.page.evaluate("history.back()")
        v.settle(lambda: v.page.evaluate(pressed) == "1 h")
        middle = scene.START + 20000
        v.page.evaluate(f"history.pushState(null, '', '?from={middle - 60}&to={middle}&tz=utc'); dispatchEvent(new PopStateEvent('popstate'))")
        for label, length in (("2 m", 120), ("10 m", 600), ("1 h", 3600)):
            check(label, middle - length, middle)
        check("all", scene.START, end)

    def test_rows_that_sums_do_not_have_are_those_they_have(self):
        """49 rows a second would take the time of each of 200 million samples; so would a filter, even of 80 minutes: cores are shown of it."""
        v = viewed.View(browser, server.url, WHOLE + "&rows=49&tz=utc", width=1440, height=900)
        self.assertIn("cell 20 ms, busiest of", v.page.evaluate("document.querySelector('.stage').innerText"))
        v.page.evaluate(f"history.pushState(null, '', '?from={scene.START}&to={scene.START + 4800}&only=user'); dispatchEvent(new PopStateEvent('popstate'))")
        chosen = "document.querySelector('[aria-label=\"Heatmap mode\"] [aria-checked=true]').innerText"
        self.assertEqual(v.page.evaluate(chosen), "Cores")
        v.settle(lambda: "too long for parts of a second" in v.page.evaluate("document.querySelector('.stage').innerText"))
        v.page.evaluate(f"history.pushState(null, '', '?from={scene.START}&to={scene.START + 60}&only=user'); dispatchEvent(new PopStateEvent('popstate'))")
        v.settle(lambda: v.page.evaluate(chosen) == "Sub-second" and "too long" not in v.page.evaluate("document.querySelector('.stage').innerText"))


tap.main()
