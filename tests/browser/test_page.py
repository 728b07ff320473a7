#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page in a real browser, on a real server: a made-up host whose every sample is known.

What the page says is compared with what is counted here from the text that was imported."""
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "cli"))
sys.path.insert(0, HERE)
import chrome
import scene
import served
import tap
import viewed
from served import Server
from viewed import AXIS, GUTTER, LANE

SECONDS, CPUS = 90, 8
EVIL = [
    "<script>alert(1)</script>", "<img src=x onerror=alert(3)>", "\" onload=\"alert(4)", "javascript:alert(7)", "</td><b>x</b>",
    "&lt;b&gt;", "${alert(9)}`", "\u202egnirts", "{{constructor.constructor('alert(11)')()}}", "'-alert(12)-'", "<svg/onload=alert(13)>",
    "\\u003cscript\\u003e", "%3Cscript%3E", "<style>*{display:none}</style>", "<a href=javascript:alert(15)>x</a>",
]
# A thousand more: what may end the place they are put into, what would act there, and what may make the rest of it well-formed.
BEFORE = ("", "\"", "'", "`", "-->", "</title>", "</script>", "]]>", "\\x3e", "&quot;&gt;")
ACTS = ("<script>alert(20)</script>", "<img src=x onerror=alert(21)>", "<svg><animate onbegin=alert(22) attributeName=x>", "<iframe srcdoc=&lt;script&gt;alert(23)&lt;/script&gt;>",
        "<details open ontoggle=alert(24)>", "<input autofocus onfocus=alert(25)>", "<a href=javascript:alert(26)>x</a>", "<style>@import'//127.0.0.1:1/'</style>",
        "<object data=data:text/html,<script>alert(27)</script>>", " onmouseover=alert(28) style=position:fixed;inset:0 ")
AFTER = ("", "<!--", "//", "/*", "\"", "'", "`", "<script>", "<plaintext>", "\u2028")
PAYLOADS = EVIL + ["".join(parts) for parts in itertools.product(BEFORE, ACTS, AFTER)]


def setUpModule():
    global folder, browser, text, facts, server, samples
    folder = tempfile.mkdtemp(prefix="perfcam-page-")
    os.chmod(folder, 0o755)
    text, facts = scene.make(seed=3, seconds=SECONDS, cpus=CPUS)
    server = Server(served.make_store(os.path.join(folder, "store"), text))
    # (wall seconds, comm, CPU): the last sample's time is the capture's.
    rows = [(int(m[3]) + int(m[4]) / 1e6, m[1].decode(), int(m[2])) for m in scene.HEAD.finditer(text)]
    shift = scene.START - 5000
    samples = [(t + shift, comm, cpu) for t, comm, cpu in rows]
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    server.stop()
    shutil.rmtree(folder)


class View(viewed.View):
    def __init__(self, query="", address=None, **options):
        super().__init__(browser, address or server.url, query, facts, **options)


def counted(a, comm=None):
    low, high, cpus = a
    return sum(low <= t < high and (cpus is None or c in cpus) and (comm is None or comm == n) for t, n, c in samples)


WHOLE = f"from={scene.START}&to={scene.START + SECONDS}"


class Page(unittest.TestCase):
    def check_quiet(self, view, port=None):
        bad = [p for p in view.page.problems() if not p.startswith(f"request: http://127.0.0.1:{port or server.port}/")]
        self.assertEqual(bad, [])

    def near(self, view, a, comm=None):
        """Times of an import are kept to 10 µs: a sample on the very edge may fall on either side."""
        self.assertLessEqual(abs(view.samples() - counted(a, comm)), 2, (view.samples(), counted(a, comm), a))

    def test_it_opens_on_the_newest_and_nothing_leaves_the_host(self):
        v = View()
        self.assertNotIn("token", v.page.evaluate("location.href"))
        self.assertEqual(v.page.evaluate("document.title"), "db-prod-17 · perfcam")
        self.assertIn("97 Hz · 8 CPUs", v.page.evaluate("document.querySelector('.top').innerText"))
        self.assertIn("db-prod-17 · 8 × AMD EPYC 9374F · Linux 6.1.0", v.panel())
        self.near(v, (facts["from"], facts["to"] + 1, None))
        self.check_quiet(v)

    def test_drag_along_time(self):
        v = View(WHOLE)
        x0, y0 = v.heat_point(scene.START + 20.5, 10, 50)
        x1, y1 = v.heat_point(scene.START + 30.5, 40, 50)
        v.drag(x0, y0, x1, y1)
        v.settle(lambda: v.selected() is not None)
        low, high, cpus = v.selected()
        self.assertAlmostEqual(low, scene.START + 20 + 10 * 0.02, places=3)
        self.assertAlmostEqual(high, scene.START + 30 + 41 * 0.02, places=3)
        self.assertIsNone(cpus)
        v.settle(lambda: abs((v.samples() or 0) - counted((low, high, None))) <= 2)
        self.near(v, (low, high, None))
        self.check_quiet(v)

    def test_click_and_click_as_in_flamescope(self):
        v = View(WHOLE)
        v.page.click(*v.heat_point(scene.START + 40.5, 0, 50))
        v.page.click(*v.heat_point(scene.START + 44.5, 49, 50))
        v.settle(lambda: v.selected() is not None)
        self.assertEqual(v.selected()[:2], (scene.START + 40, scene.START + 45))
        v.settle(lambda: abs((v.samples() or 0) - counted(v.selected())) <= 2)

    def test_a_core_of_an_incident(self):
        """A rectangle of one core at the time of the incident: its culprit heads the panel."""
        v = View(WHOLE + "&mode=cores")
        row = CPUS - 1 - facts["cpu"]  # CPU 0 is on top
        x0, y = v.heat_point(facts["incident"] + 0.05, row, CPUS)
        x1, _ = v.heat_point(facts["incident"] + 1.85, row, CPUS)
        v.drag(x0, y, x1, y)
        v.settle(lambda: v.selected() is not None and "kubelet" in v.panel())
        self.assertEqual(v.selected()[2], {facts["cpu"]})
        v.settle(lambda: abs((v.samples() or 0) - counted(v.selected())) <= 2)
        self.assertRegex(v.panel(), rf"kubelet held CPU {facts['cpu']} for 1\.9\d? s in mem_cgroup_nr_lru_pages")
        self.assertIn(f"CPU {facts['cpu']}", v.page.evaluate("document.querySelector('.selection').innerText"))
        self.check_quiet(v)

    def test_cores_stand_by_numa_node(self):
        """CPUs of a node are numbered apart, as on most hosts: their rows stand together, and a click on its name takes all of it."""
        store = os.path.join(folder, "numa")
        shutil.copytree(os.path.join(folder, "store"), store)
        viewed.annotate(store, ["fact nodes 0*2 1*2 0*2 1*2"])
        own = Server(store)
        self.addCleanup(own.stop)
        v = View(WHOLE + "&mode=cores", address=own.url)
        x, y, w, h = v.box("#heat")
        row = (h - LANE - AXIS) / CPUS
        v.page.hover(x + w / 2, y + LANE + 2.5 * row)
        self.assertIn("CPU 4, node 0: ", v.page.evaluate("document.querySelector('.tip').innerText"))
        v.page.hover(x + w / 2, y + LANE + 4.5 * row)
        self.assertIn("CPU 2, node 1: ", v.page.evaluate("document.querySelector('.tip').innerText"))
        v.page.click(x + 30, y + LANE + 4 * row + 5)
        v.settle(lambda: (v.selected() or (0, 0, None))[2] == {2, 3, 6, 7})
        v.settle(lambda: abs((v.samples() or 0) - counted(v.selected())) <= 2)
        v.page.click(x + 30, y + LANE + 6.5 * row)
        v.settle(lambda: v.selected()[2] == {6})
        x0, y0 = x + GUTTER + (w - 2 * GUTTER) * 0.25, y + LANE + 3.5 * row
        v.drag(x0, y0, x0 + 100, y0 + row)  # over the line between the nodes
        v.settle(lambda: v.selected()[2] == {5, 2})
        v.settle(lambda: abs((v.samples() or 0) - counted(v.selected())) <= 2)
        self.check_quiet(v, own.port)

    def test_a_whole_core_and_a_whole_second(self):
        v = View(WHOLE + "&mode=cores")
        x, y, w, h = v.box("#heat")
        v.page.click(x + 30, v.heat_point(0, CPUS - 1 - 2, CPUS)[1])
        v.settle(lambda: v.selected() is not None)
        self.assertEqual(v.selected()[2], {2})
        v.settle(lambda: abs((v.samples() or 0) - counted(v.selected())) <= 2)
        v = View(WHOLE)
        v.page.click(v.heat_point(scene.START + 12.5, 0, 50)[0], y + h - 8)
        v.settle(lambda: v.selected() is not None)
        self.assertEqual(v.selected(), (scene.START + 12, scene.START + 13, None))

    def test_filters_narrow_and_chips_widen(self):
        v = View(WHOLE)
        whole = v.samples()
        v.page.evaluate("[...document.querySelectorAll('.rows .row')].find(b => b.innerText.startsWith('postgres')).click()")
        want = counted((0, 1e12, None), "postgres")
        v.settle(lambda: v.samples() == want)
        self.assertEqual(v.query()["comm"], ["postgres"])
        v.page.evaluate("document.querySelector('.chip button').click()")
        v.settle(lambda: v.samples() == whole)
        v.page.evaluate("document.querySelector('[aria-label=\"Filter by\"]').value = 'cpu'")
        v.page.evaluate("document.querySelector('[aria-label=\"Value of the filter\"]').value = '1-2,5'")
        v.page.evaluate("document.querySelector('form.filter').requestSubmit()")
        v.settle(lambda: (v.selected() or (0, 0, None))[2] == {1, 2, 5})
        v.settle(lambda: abs((v.samples() or 0) - counted((0, 1e12, {1, 2, 5}))) <= 2)

    def test_a_link_reproduces_the_view_and_back_goes_back(self):
        v = View(WHOLE + f"&a={scene.START + 10}~{scene.START + 20}~1-3&mode=cores&q=heap&dir=icicle&tz=utc&comm=postgres")
        same = View(v.page.evaluate("location.search")[1:])
        for part in ("#heat", "#flame", "#timeline"):
            self.assertEqual(v.picture(part), same.picture(part), part)
        self.assertEqual(v.panel(), same.panel())
        self.near(v, (scene.START + 10, scene.START + 20, {1, 2, 3}), "postgres")
        before = v.page.evaluate("location.search")
        v.key("m")
        v.settle(lambda: v.query()["mode"] == ["sub"])
        v.page.evaluate("history.back()")
        v.settle(lambda: v.page.evaluate("location.search") == before)
        v.settle(lambda: v.picture("#heat") == same.picture("#heat"))

    def test_search_counts_each_stack_once(self):
        v = View(WHOLE)
        v.key("/")
        v.page.write("vfs_|ksys_")  # one below the other in the same stacks
        v.settle(lambda: "matched" in v.page.evaluate("document.querySelector('.stage').innerText"))
        said = float(re.search(r"([\d.]+) % matched", v.page.evaluate("document.querySelector('.stage').innerText")).group(1))
        stacks = text.split(b"\n\n")
        found = sum(b" vfs_" in s or b" ksys_" in s for s in stacks)
        self.assertAlmostEqual(said, 100 * found / len(samples), delta=0.06)
        for c in "(":
            v.page.write(c)
        v.settle(lambda: v.page.evaluate("document.querySelector('.finder input').getAttribute('aria-invalid')") == "true")
        self.check_quiet(v)

    def test_zoom_by_click_and_keys(self):
        v = View(WHOLE)
        x, y, w, h = v.box("#flame")
        v.page.click(x + 30, y + h - 6 - 18 - 9)  # the first process, just above the root
        v.settle(lambda: "zoom" in v.query())
        self.assertEqual(len(v.query()["zoom"]), 1)
        first = v.query()["zoom"][0]
        heaviest = max({n for _, n, _ in samples}, key=lambda n: counted((0, 1e12, None), n))
        self.assertEqual(first, heaviest)
        v.page.evaluate("document.querySelector('#flame').focus()")
        v.key("ArrowUp")
        v.key("Enter")
        v.settle(lambda: len(v.query().get("zoom", [])) == 2)
        self.assertIn("of the selection", v.page.evaluate("document.querySelector('[aria-live]').textContent"))
        v.key("Escape")
        v.settle(lambda: "zoom" not in v.query())

    def test_a_tower_that_is_cut_says_so(self):
        """What does not fit is counted at the edge: by the depth of the deepest stack in the text, and none where all fits."""
        deepest = max(len(block.strip().splitlines()) - 1 for block in text.split(b"\n\n") if block.strip() and not block.startswith(b"#")) + 2
        for height in (800, 2000):
            v = View(WHOLE, width=1440, height=height)
            v.page.evaluate("""window.said = []; const was = CanvasRenderingContext2D.prototype.fillText;
                CanvasRenderingContext2D.prototype.fillText = function (words, ...at) { said.push(words); return was.call(this, words, ...at); };""")
            v.key("i")
            v.settle(lambda: "icicle" in v.page.evaluate("location.search"))
            room = v.box("#flame")[3] - 4  # of an icicle, below its head
            found = [w for w in v.page.evaluate("said") if "more row" in w]
            cut = -(-(deepest * 18 - room) // 18)
            if cut <= 0:
                self.assertEqual((found, height), ([], 2000))
                continue
            self.assertEqual(height, 800)
            self.assertTrue(found)
            self.assertLessEqual(abs(int(re.search(r"\d+", found[-1])[0]) - cut), 1, (found, cut))
            # Of nothing there is nothing more.
            v.page.evaluate(f"history.pushState(null, '', location.pathname + '?{WHOLE}&comm=nobody'); dispatchEvent(new PopStateEvent('popstate'))")
            v.settle(lambda: v.samples() == 0)
            v.page.evaluate("said.length = 0")
            v.key("i")
            v.settle(lambda: "icicle" in v.page.evaluate("location.search"))
            self.assertEqual([w for w in v.page.evaluate("said") if "more row" in w], [])

    def test_another_colour_is_there_at_once(self):
        """As it is where the link asks for it from the beginning."""
        v = View(WHOLE)
        for colour in ("module", "name", "kind"):
            before = v.picture("#flame")
            v.page.evaluate(f"(s => {{ s.value = '{colour}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('[aria-label=\"Colour by\"]'))")
            v.settle(lambda: v.query().get("colour", ["kind"]) == [colour])
            self.assertNotEqual(v.picture("#flame"), before, colour)
            self.assertEqual(v.picture("#flame"), View(WHOLE + "&colour=" + colour).picture("#flame"), colour)

    def test_a_picture_that_the_browser_lost_is_drawn_again(self):
        """Its graphics process may die: what was drawn is gone then, with all that was set for drawing."""
        v = View(WHOLE + f"&a={scene.START + 10}~{scene.START + 20}")
        pictures = "[...document.querySelectorAll('canvas')].filter(c => c.clientWidth).map(c => c.toDataURL())"
        before = v.page.evaluate(pictures)
        lost = v.page.evaluate(f"""(() => {{ const all = document.querySelectorAll('canvas'); all.forEach(c => c.getContext('2d').reset()); const lost = {pictures};
            all.forEach(c => c.dispatchEvent(new Event('contextrestored'))); return lost; }})()""")
        self.assertGreaterEqual(sum(a != b for a, b in zip(lost, before)), 7)  # some have nothing in them
        v.settle(lambda: v.page.evaluate(pictures) == before)

    def test_undo_is_of_the_graph(self):
        """Zoom, a hidden function, a search: each is undone, while the selection stays; and done again."""
        v = View(WHOLE + f"&a={scene.START + 10}~{scene.START + 20}")
        undo = "document.querySelector('[aria-label=Undo]')"
        self.assertTrue(v.page.evaluate(undo + ".disabled"))
        x, y, w, h = v.box("#flame")
        v.page.mouse("mousePressed", x + 30, y + h - 6 - 3 * 18 + 9, button="right", clickCount=1)
        v.page.mouse("mouseReleased", x + 30, y + h - 6 - 3 * 18 + 9, button="right", clickCount=1)
        v.page.evaluate("[...document.querySelectorAll('.menu button')].find(b => b.innerText === 'Hide its frames').click()")
        v.settle(lambda: "hide" in v.query())
        v.page.click(x + 30, y + h - 6 - 18 - 9)
        v.settle(lambda: "zoom" in v.query())
        v.key("/")
        v.page.write("he")
        v.page.write("ap")
        v.settle(lambda: v.query().get("q") == ["heap"])
        v.page.evaluate("document.activeElement.blur()")
        for left in ({"hide", "zoom"}, {"hide"}, set()):
            v.page.evaluate(undo + ".click()")
            v.settle(lambda left=left: set(v.query()) & {"hide", "zoom", "q"} == left)
            self.assertEqual(v.selected(), (scene.START + 10, scene.START + 20, None))
        self.assertTrue(v.page.evaluate(undo + ".disabled"))
        v.page.key("z", modifiers=2 + 8)
        v.settle(lambda: "hide" in v.query())
        v.page.key("z", modifiers=2)
        v.settle(lambda: "hide" not in v.query())
        self.check_quiet(v)

    def test_keys(self):
        v = View(WHOLE + f"&a={scene.START + 10}~{scene.START + 12}")
        v.key("ArrowRight")
        v.settle(lambda: v.selected() == (scene.START + 10.02, scene.START + 12.02, None))
        v.key("Escape")
        v.settle(lambda: v.selected() is None)
        v.page.evaluate("document.querySelector('#heat').focus()")
        v.key("Enter")  # the cell in the middle, and 3 s more
        for _ in range(3):
            v.key("ArrowRight")
        self.assertRegex(v.page.evaluate("document.querySelector('[aria-live]').textContent"), r"^\d\d:\d\d:\d\d\.\d{3} – .* samples in 20 ms, selecting 3\.02 s$")
        v.key("Enter")
        v.settle(lambda: v.selected() is not None)
        self.assertAlmostEqual(v.selected()[1] - v.selected()[0], 3.02, places=3)
        v.settle(lambda: abs((v.samples() or 0) - counted(v.selected())) <= 2)
        v.key("Escape")
        v.settle(lambda: v.selected() is None)
        v.page.evaluate("document.activeElement.blur()")
        v.key("2")
        v.settle(lambda: v.query().get("tab") == ["table"])
        rows = v.page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => r.innerText)")
        self.assertGreater(len(rows), 10)
        v.key("?")
        self.assertTrue(v.page.evaluate("document.querySelector('dialog').open"))
        v.key("Escape")
        self.assertFalse(v.page.evaluate("document.querySelector('dialog').open"))
        self.assertEqual(v.page.evaluate("document.documentElement.dataset.theme"), "dark")
        v.key("d")
        self.assertEqual(v.page.evaluate("document.documentElement.dataset.theme"), "light")
        v.key("d")

    def test_the_table_has_the_functions_of_the_text(self):
        v = View(f"from={scene.START - 1}&to={scene.START + SECONDS + 1}&tab=table")
        rows = dict(v.page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => [r.cells[0].innerText.trim(), r.cells[2].innerText])"))
        leaves = {}
        for stack in text.split(b"\n\n"):
            lines = stack.split(b"\n")
            at = next((i for i, line in enumerate(lines) if scene.HEAD.match(line)), None)
            if at is not None:
                name = lines[at + 1].split()[1].rsplit(b"+", 1)[0].decode()
                leaves[name] = leaves.get(name, 0) + 1
        for name, n in leaves.items():
            self.assertEqual(int(rows[name].replace("\u2009", "")), n, name)

    def test_the_brush_has_edges(self):
        """Of the timeline: each edge by itself, the middle as a whole, beside it a new one; past the end of what there is an edge stops."""
        v = View(f"from={scene.START + 20}&to={scene.START + 50}")
        x, y, w, h = v.box("#timeline")
        begin, end = (float(server.json("/api/store")[k]) for k in ("from", "to"))

        def drag(*ends):
            a, b = (x + GUTTER + (t - begin) / (end - begin) * (w - 2 * GUTTER) for t in ends)
            v.drag(a, y + h / 2, b, y + h / 2)
            v.settle()
            return float(v.query()["from"][0]) - scene.START, float(v.query()["to"][0]) - scene.START

        step = 2 * (end - begin) / (w - 2 * GUTTER)  # two pixels
        for ends, want in (((scene.START + 50, scene.START + 70), (20, 70)), ((scene.START + 20, scene.START + 30), (30, 70)), ((scene.START + 50, scene.START + 40), (20, 60)),
                           ((scene.START + 20, scene.START - 3), (begin - scene.START, 60)), ((scene.START + 80, scene.START + 65), (65, 80))):
            low, high = drag(*ends)
            self.assertAlmostEqual(low, want[0], delta=step, msg=(ends, want))
            self.assertAlmostEqual(high, want[1], delta=step, msg=(ends, want))
        v.settle(lambda: abs((v.samples() or 0) - counted((float(v.query()["from"][0]), float(v.query()["to"][0]), None))) <= 2)
        for label, seconds in (("2 m", None), ("all", end - begin)):
            v.page.evaluate(f"[...document.querySelectorAll('[aria-label=Span] [role=radio]')].find(b => b.innerText === '{label}').click()")
            v.settle()
            if seconds:
                self.assertAlmostEqual(float(v.query()["to"][0]) - float(v.query()["from"][0]), seconds, delta=0.01)
        v.page.evaluate("history.back()")
        v.settle()
        self.check_quiet(v)

    def test_the_table_is_in_order_of_what_was_clicked(self):
        v = View(WHOLE + "&tab=table")
        rows = "[...document.querySelectorAll('tbody tr')].map(r => [...r.cells].map(c => c.innerText.trim()))"
        number = lambda text: float(text.replace("\u2009", "").rstrip(" %"))
        click = "[...document.querySelectorAll('th button')].find(b => b.innerText === '%s').click()"
        sorted_by = "document.querySelector('th[aria-sort]').innerText + ' ' + document.querySelector('th[aria-sort]').getAttribute('aria-sort')"
        self.assertEqual(v.page.evaluate(sorted_by), "Self descending")
        for words, cell, said in (("Total", 4, "Total descending"), ("Function", 0, "Function ascending"), ("Self", 2, "Self descending"), ("Total", 4, "Total descending")):
            v.page.evaluate(click % words)
            v.settle(lambda said=said: v.page.evaluate(sorted_by) == said)
            found = [r[cell] for r in v.page.evaluate(rows)]
            self.assertGreater(len(set(found)), 10)
            self.assertEqual(found, sorted(found) if cell == 0 else sorted(found, key=number, reverse=True), words)
        same = View(v.page.evaluate("location.search")[1:])
        self.assertEqual(same.page.evaluate(rows), v.page.evaluate(rows))
        low = facts["incident"]
        v = View(WHOLE + f"&tab=table&a={low}~{low + 1.9}&base=minute&cmp=1&sort=change")
        first = v.page.evaluate("[...document.querySelectorAll('tbody tr')].slice(0, 3).map(r => [r.cells[0].innerText.trim(), r.cells[6].innerText, r.cells[6].className])")
        self.assertTrue(all(n in {"mem_cgroup_nr_lru_pages", "memory_stat_show", "cgroup_seqfile_show", "seq_read_iter", "runtime.goexit", "cadvisor.(*containerData).housekeeping",
                                  "cadvisor.(*containerData).updateStats", "fs.(*MemoryGroup).GetStats", "os.ReadFile", "syscall.Syscall6"} for n, _, _ in first), first)
        self.assertTrue(all(c.startswith("+") and k == "more" for _, c, k in first), first)

    def test_baselines_that_nobody_drags(self):
        """The same length before, the minute around, an hour ago: each is what is asked for, and what is said."""
        a = (scene.START + 60, scene.START + 65)
        v = View(WHOLE + f"&a={a[0]}~{a[1]}&cmp=1&tz=utc")
        asked = "new URL(performance.getEntriesByType('resource').filter(e => e.name.includes('/api/diff')).at(-1).name).searchParams.getAll('before-from').concat(new URL(performance.getEntriesByType('resource').filter(e => e.name.includes('/api/diff')).at(-1).name).searchParams.getAll('before-to'))"
        for base, low, high in (("before", a[0] - 5, a[0]), ("minute", a[0] - 60, a[0]), ("around", a[0] - 27.5, a[1] + 27.5), ("hour", a[0] - 3600, a[1] - 3600)):
            v.page.evaluate(f"(s => {{ s.value = '{base}'; s.dispatchEvent(new Event('change')); }})(document.querySelector('[aria-label=Baseline]'))")
            v.settle(lambda base=base, low=low, high=high: v.query().get("base", ["before"]) == [base] and [float(t[1:]) for t in v.page.evaluate(asked)] == [low, high])
            self.assertEqual([float(t[1:]) for t in v.page.evaluate(asked)], [low, high], base)
            words = time.strftime("%H:%M:%S", time.gmtime(low)) + " – " + time.strftime("%H:%M:%S", time.gmtime(high))
            self.assertIn(words, v.page.evaluate("document.querySelector('.selection').innerText"), base)
        self.assertRegex(v.page.evaluate("document.querySelector('[title^=\"The selection as a file\"]').click(), document.querySelector('.menu a[href*=\"format=svg\"]').href"), rf"[?&]before-from=%40{a[0] - 3600}(\.0+)?&")
        # Of an hour ago nothing is kept: that is said, in place of a graph of something else; also where the link comes with it.
        said = "[document.querySelector('.headline').innerText, document.querySelector('#flame .empty h3').innerText, document.querySelector('#flame .skeleton').hidden]"
        for page in (v, View(v.page.evaluate("location.search")[1:])):
            self.assertEqual(page.page.evaluate(said), ["Nothing to compare with", "Nothing to compare with", True])
            self.assertTrue(page.page.evaluate("document.querySelector('.banner').hidden"))
            page.page.evaluate("document.querySelector('#flame .empty button').click()")
            page.settle(lambda page=page: "cmp" not in page.query() and abs((page.samples() or 0) - counted((*a, None))) <= 2)
        bad = [p for p in v.page.problems() if not re.match(rf"request: http://127\.0\.0\.1:{server.port}/|log: .* 404 ", p)]
        self.assertEqual(bad, [])

    def test_local_time_or_utc(self):
        """By button and key: every time on the page changes, the selection does not."""
        v = View(WHOLE + f"&a={scene.START + 10}~{scene.START + 12}", zone="Asia/Kathmandu")  # + 5:45
        words = "document.querySelector('.selection').innerText + document.querySelector('.stage').innerText"
        here, there = (time.strftime("%H:%M:%S", time.gmtime(scene.START + 10 + by)) for by in (0, 20700))
        self.assertIn(there, v.page.evaluate(words))
        self.assertNotIn(here, v.page.evaluate(words))
        before = v.picture("#timeline"), v.picture("#heat")
        v.page.evaluate("[...document.querySelectorAll('.top button')].find(b => b.innerText === 'Local').click()")
        v.settle(lambda: v.query().get("tz") == ["utc"])
        self.assertIn(here, v.page.evaluate(words))
        self.assertNotIn(there, v.page.evaluate(words))
        self.assertNotEqual(before[0], v.picture("#timeline"))
        self.assertNotEqual(before[1], v.picture("#heat"))
        self.assertEqual(v.selected(), (scene.START + 10, scene.START + 12, None))
        v.key("z")
        v.settle(lambda: "tz" not in v.query())
        self.assertEqual(before, (v.picture("#timeline"), v.picture("#heat")))

    def test_what_is_on_its_way_is_said(self):
        """The server is held: the graph that is shown is marked as the one before; a page without any has a skeleton."""
        v = View(WHOLE)
        busy = "['#flame', '#heat'].map(s => document.querySelector(s).getAttribute('aria-busy')).join()"
        self.assertEqual(v.page.evaluate(busy), "false,false")
        server.process.send_signal(signal.SIGSTOP)
        try:
            v.page.evaluate("[...document.querySelectorAll('.rows .row')].find(b => b.innerText.startsWith('postgres')).click()")
            until = time.monotonic() + 20
            while time.monotonic() < until and v.page.evaluate("[...document.querySelectorAll('#flame canvas')].some(c => Number(getComputedStyle(c).opacity) > 0.5)"):
                time.sleep(0.1)
            self.assertLess(time.monotonic(), until)
            self.assertEqual(v.page.evaluate(busy), "true,true")
            self.assertEqual(v.page.evaluate("document.querySelector('.stage').getAttribute('aria-busy')"), "true")
        finally:
            server.process.send_signal(signal.SIGCONT)
        v.settle(lambda: v.samples() == counted((0, 1e12, None), "postgres"))
        self.assertEqual(v.page.evaluate(busy), "false,false")

    def test_every_control_has_a_name(self):
        """As a screen reader has it, in each view."""
        for more in ("", "&tab=table", f"&tab=sandwich&sand=tcp_sendmsg&a={scene.START + 60}~{scene.START + 65}&cmp=1&q=tcp&comm=postgres"):
            v = View(WHOLE + more)
            v.page.call("Accessibility.enable")
            controls = [n for n in v.page.call("Accessibility.getFullAXTree")["nodes"] if not n.get("ignored") and n.get("role", {}).get("value") in (
                "button", "textbox", "searchbox", "combobox", "link", "radio", "application", "menuitem", "checkbox", "radiogroup", "region", "dialog", "tab", "tablist")]
            self.assertGreater(len(controls), 30)
            self.assertEqual([n["role"]["value"] for n in controls if not n.get("name", {}).get("value", "").strip()], [], more)
            v.page.call("Accessibility.disable")

    def test_what_changed_is_the_culprit(self):
        """The incident beside the minute before: its process is named, and what ran as ever is grey."""
        low = facts["incident"]
        v = View(WHOLE + f"&a={low}~{low + 1.9}&base=minute&cmp=1&mode=cores")
        self.assertIn("kubelet used", v.panel())
        self.assertIn("nothing before", v.panel())
        rows = v.page.evaluate("[...document.querySelectorAll('.rows .row')].map(r => [r.innerText.split('\\n')[0], r.querySelector('.ratio').className, r.innerText])")
        self.assertEqual([r[0] for r in rows if "more" in r[1]], ["kubelet"])
        self.assertIn("exceeds chance", v.page.evaluate("document.querySelector('.status').innerText"))
        # Whichever side has the widths, and whether all of it is shown or only what the other has not: what grew is the same, and as much.
        said = v.page.evaluate("document.querySelector('.headline').innerText")
        share = float(re.match(r"kubelet used ([\d.]+) %, and nothing before$", said).group(1))
        grew = "document.querySelector('.headline .more') !== null && document.querySelector('.headline .less') === null"
        self.assertTrue(v.page.evaluate(grew))
        v.key("x")
        v.settle(lambda: v.query().get("flip") == ["1"])
        v.key("c")
        v.settle(lambda: "cmp" not in v.query())
        self.assertIn("held CPU", v.panel())
        self.check_quiet(v)
        # (Of the minute before, 54 s are kept.)
        for more, observed in (("&flip=1", "90.0 %"), ("&flip=1&elided=1", "100 %")):
            v = View(WHOLE + f"&a={low}~{low + 1.9}&base=minute&cmp=1&mode=cores" + more)
            self.assertTrue(v.page.evaluate(grew), more)
            again = re.match(r"kubelet used ([\d.]+) %, and nothing before$", v.page.evaluate("document.querySelector('.headline').innerText"))
            self.assertAlmostEqual(float(again.group(1)), share, delta=0.2, msg=more)
            self.assertIn(f"{observed} observed", v.page.evaluate("document.querySelector('.selection').innerText"))
        self.assertIn("Only what the selection has and the baseline has not", v.page.evaluate("document.querySelector('.status').innerText"))
        rows = dict(v.page.evaluate("[...document.querySelectorAll('.rows .row[data-name=kubelet]')].map(r => [r.querySelector('.num').innerText, r.querySelector('.ratio').innerText])"))
        self.assertEqual([(round(float(k.split()[0]), 1), w) for k, w in rows.items()], [(float(again.group(1)), "new")])
        self.assertIn("1.90 s, as if it had lasted 60 s", v.panel())
        v = View(WHOLE + f"&a={low}~{low + 1.9}&base=minute&cmp=1&mode=cores&elided=1")  # all that ran before it ran in it, too: that is no idle time
        self.assertEqual(v.page.evaluate("document.querySelector('#flame .empty h3').innerText"), "Nothing is elided")
        self.assertIn("Nothing is on one side only", v.panel())
        v = View(WHOLE + f"&a={low - 30}~{low - 20}&b={low}~{low + 1.9}&cmp=1&mode=cores&elided=1&tab=table")  # the other way round it is gone
        gone = re.match(r"kubelet used nothing, and ([\d.]+) % before$", v.page.evaluate("document.querySelector('.headline').innerText"))
        self.assertAlmostEqual(float(gone.group(1)), share, delta=0.2)
        self.assertTrue(v.page.evaluate("document.querySelector('.headline .less') !== null"))
        self.assertRegex(v.page.evaluate("[...document.querySelectorAll('tbody tr')].find(r => r.innerText.includes('memory_stat_show')).innerText"), r"0 %\s+−[\d.]+ %")

    def test_a_baseline_is_dragged_with_ctrl(self):
        v = View(WHOLE + f"&a={scene.START + 60}~{scene.START + 65}")
        v.drag(*v.heat_point(scene.START + 20.5, 0, 50), *v.heat_point(scene.START + 29.5, 49, 50), modifiers=2)
        v.settle(lambda: "b" in v.query())
        self.assertEqual(v.query()["b"], [f"{scene.START + 20}~{scene.START + 30}"])
        self.assertEqual(v.query()["cmp"], ["1"])
        self.assertIn("chance", v.panel() + v.page.evaluate("document.querySelector('.status').innerText"))
        self.check_quiet(v)

    def test_callers_and_callees(self):
        v = View(f"from={scene.START - 1}&to={scene.START + SECONDS + 1}&tab=sandwich&sand=tcp_sendmsg")
        self.assertEqual(v.page.evaluate("document.querySelector('.sandwich .mono').innerText"), "tcp_sendmsg")
        v.page.evaluate("document.querySelector('#callers').focus()")
        v.key("ArrowUp")
        said = v.page.evaluate("document.querySelector('[aria-live]').textContent")
        self.assertRegex(said, r"^(sock_write_iter|__sys_sendto),")
        v.page.evaluate("document.querySelector('#callees').focus()")
        v.key("ArrowDown")
        said = v.page.evaluate("document.querySelector('[aria-live]').textContent")
        found = text.count(b" tcp_write_xmit+")
        self.assertRegex(said.replace("\u2009", ""), rf"^tcp_write_xmit, {found} samples")
        self.check_quiet(v)
        # Of nothing: not what stood there before.
        v.page.evaluate("history.pushState(null, '', location.search + '&comm=nobody'); dispatchEvent(new PopStateEvent('popstate'))")
        v.settle(lambda: v.samples() == 0)
        self.assertEqual(v.page.evaluate("document.querySelector('.sandwich .mono').innerText"), "")

    def test_when_did_it_run(self):
        """Only cells of the culprit's CPU and time have a colour of the search."""
        v = View(WHOLE + "&mode=cores&q=mem_cgroup_nr_lru_pages&paint=1")
        bright = """(c => { const w = c.width, h = c.height, d = c.getContext('2d').getImageData(0, 0, w, h).data; const at = [];
            for (let y = 16; y < h - 22; y++) for (let x = 58; x < w - 58; x++) { const i = (y * w + x) * 4; if (d[i] > 120) at.push([x, y]); }
            return at.length ? [Math.min(...at.map(p => p[0])), Math.max(...at.map(p => p[0])), Math.min(...at.map(p => p[1])), Math.max(...at.map(p => p[1]))] : null; })
            (document.querySelector('#heat canvas'))"""
        v.settle(lambda: v.page.evaluate(bright) is not None)
        x0, x1, y0, y1 = v.page.evaluate(bright)
        x, y, w, h = v.box("#heat")
        row = (h - LANE - AXIS) / CPUS
        self.assertGreaterEqual(y0, LANE + facts["cpu"] * row - 1)
        self.assertLessEqual(y1, LANE + (facts["cpu"] + 1) * row + 1)
        scale = (w - 2 * GUTTER) / SECONDS
        self.assertAlmostEqual((x0 - GUTTER) / scale, facts["incident"] - scene.START, delta=0.6)
        self.assertAlmostEqual((x1 - GUTTER) / scale, facts["incident"] + 1.9 - scene.START, delta=0.6)

    def test_groups(self):
        v = View(WHOLE + "&by=cpu")
        rows = v.page.evaluate("[...document.querySelectorAll('.rows .row')].map(r => r.innerText.split('\\n')[0])")
        self.assertEqual(sorted(rows), [f"CPU {c:02d}" for c in range(CPUS)])
        v.page.evaluate("[...document.querySelectorAll('.rows .row')].find(r => r.innerText.startsWith('CPU 02')).click()")
        v.settle(lambda: (v.selected() or (0, 0, None))[2] == {2})
        v.settle(lambda: abs((v.samples() or 0) - counted((0, 1e12, {2}))) <= 2)
        v.page.evaluate("[...document.querySelectorAll('[aria-label=\"Who ran, by\"] button')].find(b => b.innerText === 'Process').click()")
        v.settle(lambda: "by" not in v.query() and "zstd" in v.panel())

    def test_going_to_a_time(self):
        v = View()
        v.key("g")
        v.page.write(time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(facts["incident"])))
        v.key("Enter")
        v.page.call("Input.dispatchKeyEvent", type="char", text="\r")
        v.settle(lambda: v.selected() is not None)
        self.assertEqual(v.selected(), (facts["incident"] - 2.5, facts["incident"] + 2.5, None))
        v.key("g")
        v.page.evaluate("document.querySelector('.goto input').value = '03:99'")
        v.page.evaluate("document.querySelector('.goto').requestSubmit()")
        v.settle(lambda: "03:99" in (v.page.evaluate("document.querySelector('.goto .problem').innerText") or ""))
        self.assertIn("03:14:07", v.page.evaluate("document.querySelector('.goto .problem').innerText"))

    def test_a_time_before_all_that_is_kept(self):
        """Nobody looked then: that is neither idle nor observed; and what is kept is a click away."""
        v = View(f"from={scene.START - 600}&to={scene.START - 300}&a={scene.START - 500}~{scene.START - 490}")
        shown = "[...document.querySelectorAll('.banner, .empty h3')].filter(e => e.checkVisibility()).map(e => e.innerText)"
        self.assertEqual(v.page.evaluate(shown), ["Nothing was recorded at that time", "Not observed"])
        self.assertIn("0 % observed", v.page.evaluate("document.querySelector('.stage').innerText").replace("100 %", ""))
        self.assertRegex(v.panel(), r"Coverage and quality\nincomplete\nObserved\n0 %")
        v.page.evaluate("[...document.querySelectorAll('[role=radio]')].find(b => b.innerText === 'all').click()")
        v.key("Escape")
        v.settle(lambda: v.selected() is None and not v.page.evaluate(shown))
        self.near(v, (facts["from"], facts["to"] + 1, None))
        self.assertIn("100 % observed", v.page.evaluate("document.querySelector('.stage').innerText"))
        # In part: how much of it, before and behind what is kept.
        for low, high, said, gone in ((-10, 10, "50.0", r"10\.0 s"), (SECONDS - 2, SECONDS + 6, "25.0", r"6\.0[01] s")):
            v = View(WHOLE + f"&a={scene.START + low}~{scene.START + high}")
            self.assertRegex(v.page.evaluate("document.querySelector('.selection').innerText"), rf"{said[:-1]}\d % observed")
            self.assertRegex(v.panel(), rf"Coverage and quality\nincomplete\nObserved\n{said[:-1]}\d %(.|\n)*Not recorded\n{gone}")

    def test_names_are_only_ever_names(self):
        lines = []
        self.assertGreater(len(set(PAYLOADS)), 1000)
        for i, evil in enumerate(PAYLOADS + EVIL * 8):
            at = 5_000_000_000 + i * 10309
            lines.append(scene.sample(PAYLOADS[i * 7 % len(PAYLOADS)], 100 + i, i % 2, at, [(evil, "/bin/" + evil.replace("/", "")), (evil + str(i), None)]))
        mean = Server(served.make_store(os.path.join(folder, "evil"), text[:text.index(b"# ========\n#\n") + 13].replace(b"db-prod-17", EVIL[1].encode()) + "".join(lines).encode()))
        self.addCleanup(mean.stop)
        tags = "['SCRIPT', 'IMG', 'A', 'STYLE', 'SVG', 'IFRAME', 'OBJECT'].map(t => document.querySelectorAll(t).length).join()"
        clean = View().page.evaluate(tags)
        sandwich = "tab=sandwich&sand=" + urllib.parse.quote(PAYLOADS[-1])
        for query in ("", "tab=table", "tab=time", sandwich, "q=alert", "match=script"):
            v = View(address=mean.url)
            v.page.go(f"http://127.0.0.1:{mean.port}/?{query}")
            v.settle()
            v.page.hover(700, 700)
            self.assertEqual(v.page.evaluate(tags), clean)
            self.assertEqual(v.page.evaluate("document.title"), EVIL[1] + " · perfcam")
            if not query:
                self.assertTrue(any(e in v.panel() for e in EVIL), v.panel())
            bad = [p for p in v.page.problems() if not p.startswith(f"request: http://127.0.0.1:{mean.port}/")]
            self.assertEqual(bad, [])

    def test_a_server_that_is_gone_is_said_and_comes_back(self):
        """The store does not grow meanwhile: what failed is asked again all the same."""
        token = os.path.join(folder, "same-token")
        with open(token, "w", encoding="ascii") as f:
            f.write("correct-horse-battery\n")
        os.chmod(token, 0o600)
        store = os.path.join(folder, "store")
        own = Server(store, "--token", token)
        v = View(address=own.url)
        had = v.samples()
        own.stop()
        banner = "document.querySelector('.banner').hidden ? '' : document.querySelector('.banner').innerText"
        v.settle(lambda: v.page.evaluate(banner))
        self.assertIn("does not answer", v.page.evaluate(banner))
        self.assertEqual(v.samples(), had)
        before = v.picture("#heat")
        v.page.evaluate("[...document.querySelectorAll('[role=radio]')].find(b => b.innerText === 'Cores').click()")
        v.settle(lambda: v.page.evaluate(banner))
        own = Server(store, "--token", token, listen=f"127.0.0.1:{own.port}")
        self.addCleanup(own.stop)
        v.settle(lambda: not v.page.evaluate(banner))
        v.settle(lambda: "1 CPU" in v.page.evaluate("document.body.innerText") and v.picture("#heat") != before)
        self.assertEqual(v.samples(), had)

    def test_an_empty_store_says_what_to_do(self):
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        own = Server(empty)
        self.addCleanup(own.stop)
        v = View.__new__(View)
        v.page = browser.open(own.url, width=1440, height=900)
        until = time.monotonic() + 10
        while time.monotonic() < until and "Nothing has been recorded" not in v.page.evaluate("document.body.innerText"):
            time.sleep(0.1)
        self.assertIn("perfcam run", v.page.evaluate("document.body.innerText"))
        # Nothing was looked at: that is not all of it.
        self.assertRegex(v.panel(), r"^Nothing has been recorded yet(.|\n)*Observed\n–\n")
        self.assertNotIn("complete", v.panel())
        # Nor is there a span of it, a brush, or a host of no CPUs.
        said = v.page.evaluate("document.body.innerText")
        self.assertIn("The flame graph of what is selected", said)
        self.assertNotRegex(said, r"\b0 (× )?CPU|\d\d:\d\d:\d\d –|`")
        self.assertFalse(v.page.evaluate("(g => g.getImageData(0, 0, g.canvas.width, g.canvas.height).data.some(x => x))(document.querySelectorAll('#timeline canvas')[1].getContext('2d'))"))
        x, y, w, h = v.box("#timeline")
        v.drag(x + 200, y + 40, x + 400, y + 40)
        v.page.key("+", text="+")
        self.assertEqual(v.query(), {})

    def test_files_of_any_kind_at_once(self):
        """serve FILE…: a window, a text, and stacks without times; nothing is left of them."""
        raw, folded = os.path.join(folder, "some.perf-script"), os.path.join(folder, "some.folded")
        with open(raw, "wb") as f:
            f.write(text)
        with open(folded, "wb") as f:
            f.write(b"web;main;serve 30\nweb;main;parse 12\n")
        window = [os.path.join(folder, "store", n) for n in os.listdir(os.path.join(folder, "store")) if n.endswith(".pcw")]
        temporary = os.path.join(folder, "tmp")
        os.mkdir(temporary)
        os.chmod(temporary, 0o755)
        for files, want in (([raw], len(samples)), (window, len(samples)), ([folded], 42)):
            own = Server(None, *files, env={"TMPDIR": temporary})
            v = View(address=own.url)
            v.settle(lambda want=want: v.samples() == want)
            self.assertEqual(v.samples(), want, files)
            top = v.page.evaluate("document.querySelector('.top').innerText")
            self.assertIn("2 stacks" if files == [folded] else " kept", top)
            self.assertNotIn("nothing kept", top)
            own.stop()
            self.assertEqual(os.listdir(temporary), [])

    def test_a_picker_of_recordings(self):
        """Several stores and files: each is shown by itself, a link names it, Back goes back; one that is gone is said."""
        few, stacks = os.path.join(folder, "few"), os.path.join(folder, "few.folded")
        served.make_store(few, text[:text.index(b"# ========\n#\n") + 13] + "".join(
            scene.sample("few", 7, 0, 5_000_000_000 + i * 10309, [("main", "/bin/few")]) for i in range(50)).encode())
        with open(stacks, "wb") as f:
            f.write(b"web;main;serve 30\n")
        own = Server(None, os.path.join(folder, "store"), few, stacks)
        self.addCleanup(own.stop)
        v = View(address=own.url)
        name = "document.querySelector('button.host').innerText.replace(/\\s*▾/, '')"
        v.settle(lambda: v.page.evaluate(name) == "store" and v.samples() == len(samples))
        v.page.evaluate("document.querySelector('button.host').click()")
        entries = "[...document.querySelectorAll('.menu [role=menuitemradio]')].map(b => [b.firstChild.innerText, b.getAttribute('aria-checked')])"
        v.settle(lambda: v.page.evaluate(entries) == [["store", "true"], ["few", "false"], ["few.folded", "false"]])
        v.key("ArrowDown")
        v.page.evaluate("document.activeElement.click()")
        v.settle(lambda: v.samples() == 50)
        self.assertEqual(v.page.evaluate(name), "few")
        source = v.query()["source"]
        self.assertEqual(View(f"source={source[0]}", address=own.url).samples(), 50)
        v.page.evaluate("history.back()")
        v.settle(lambda: v.samples() == len(samples) and "source" not in v.query())
        # One without times has no heatmap, and no scale of another one's.
        scale = "(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data.some(x => x))(document.querySelector('canvas[role=img].wide'))"
        self.assertTrue(v.page.evaluate(scale))
        v.page.evaluate("document.querySelector('button.host').click()")
        v.settle(lambda: len(v.page.evaluate(entries)) == 3)
        v.page.evaluate("document.querySelectorAll('.menu [role=menuitemradio]')[2].click()")
        v.settle(lambda: v.samples() == 30)
        self.assertFalse(v.page.evaluate(scale))
        v.page.go(f"http://127.0.0.1:{own.port}/?source=s3")
        v.settle(lambda: v.samples() == 30)
        gone = browser.open(own.url, width=1440, height=900)
        gone.go(f"http://127.0.0.1:{own.port}/?source=s99")
        until = time.monotonic() + 45
        while time.monotonic() < until and not gone.evaluate("document.querySelector('.banner button') !== null"):
            time.sleep(0.05)
        gone.evaluate("document.querySelector('.banner button').click()")
        while time.monotonic() < until and "samples" not in gone.evaluate("document.querySelector('.side').innerText"):
            time.sleep(0.05)
        self.assertIn("samples", gone.evaluate("document.querySelector('.side').innerText"))

    def test_a_file_is_dropped(self):
        """Onto the page: it says that it can be, shows what was in it, and has it in the picker; what cannot be read is said."""
        good, bad = os.path.join(folder, EVIL[1].replace("/", "") + ".perf-script"), os.path.join(folder, "notes.txt")
        with open(good, "wb") as f:
            f.write(text[:text.index(b"# ========\n#\n") + 13] + "".join(
                scene.sample("dropped", 7, 0, 5_000_000_000 + i * 10309, [("main", "/bin/dropped")]) for i in range(70)).encode())
        with open(bad, "wb") as f:
            f.write(b"\x00\x01 nothing that anybody recorded\n" * 40)
        v = View(WHOLE)
        overlay = "document.querySelector('.overlay').hidden ? '' : document.querySelector('.overlay').innerText"

        def drag(kind, path):
            v.page.call("Input.dispatchDragEvent", type=kind, x=600, y=500, data={"items": [], "files": [path], "dragOperationsMask": 1})
        drag("dragEnter", good)
        drag("dragOver", good)
        self.assertRegex(v.page.evaluate(overlay), r"Drop it to open it\n+perf\.data.*\n+At most [\d.]+ .?B")
        drag("dragCancel", good)
        v.settle(lambda: v.page.evaluate(overlay) == "")
        for kind in ("dragEnter", "dragOver", "drop"):
            drag(kind, bad)
        v.settle(lambda: "notes.txt could not be opened" in v.page.evaluate(overlay))
        self.assertGreater(len(v.page.evaluate("document.querySelector('.overlay [role=alert]').innerText")), 10)
        self.assertEqual(v.samples(), counted((0, 1e12, None)))
        v.key("Escape")
        v.settle(lambda: v.page.evaluate(overlay) == "")
        for kind in ("dragEnter", "dragOver", "drop"):
            drag(kind, good)
        v.settle(lambda: v.samples() == 70 and v.page.evaluate(overlay) == "")
        self.assertIn("dropped", v.panel())
        self.assertIn(os.path.basename(good), v.page.evaluate("document.querySelector('button.host').innerText"))
        self.assertEqual(v.page.evaluate("document.title"), os.path.basename(good) + " · perfcam")
        self.assertEqual(View("source=" + v.query()["source"][0]).samples(), 70)
        v.key("o")
        entries = "[...document.querySelectorAll('.menu [role=menuitemradio]')].map(b => b.innerText.replace(/\\n/g, ' '))"
        v.settle(lambda: len(v.page.evaluate(entries)) == 2)
        self.assertRegex(v.page.evaluate(entries)[1], r"\.perf-script opened here · 70 samples")
        v.key("Escape")
        v.page.evaluate("""(() => { const f = new File(["x"], "huge.data"); Object.defineProperty(f, "size", { value: 1e15 });
            const e = new DragEvent("drop"); Object.defineProperty(e, "dataTransfer", { value: { types: ["Files"], files: [f] } }); dispatchEvent(e); })()""")
        v.settle(lambda: "huge.data is too large" in v.page.evaluate(overlay))
        bad = [p for p in v.page.problems() if "/api/open" not in p and not re.match(r"request: http://127\.0\.0\.1:|log: .* 422 ", p)]
        self.assertEqual(bad, [])

    def test_an_interrupt_while_files_are_read_leaves_nothing(self):
        temporary = os.path.join(folder, "tmp-interrupted")
        os.mkdir(temporary)
        process = subprocess.Popen([tap.BIN, "serve", "--listen", "127.0.0.1:0", "/dev/stdin"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                   stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": temporary})
        process.stdin.write(text[:100000])  # and no end of it
        process.stdin.flush()
        until = time.monotonic() + 10
        while time.monotonic() < until and not os.listdir(temporary):
            time.sleep(0.05)
        self.assertEqual(len(os.listdir(temporary)), 1)
        process.send_signal(signal.SIGINT)
        process.wait(10)
        self.assertEqual(os.listdir(temporary), [])
        process.communicate()

    def test_it_fits_small_windows(self):
        busy = f"&a={scene.START + 10}~{scene.START + 20}~1-3"
        for width, height, more in ((1024, 700, ""), (1440, 900, ""), (2560, 1300, ""), (1024, 700, busy + "&cmp=1&comm=zstd"), (1440, 900, busy + "&cmp=1&comm=zstd&q=main"),
                                    (1024, 700, busy + "&tab=time&q=main"), (1440, 900, busy + "&tab=time&q=main")):
            v = View(WHOLE + more, width=width, height=height)
            wide, high = v.page.evaluate("[document.documentElement.scrollWidth - innerWidth, document.documentElement.scrollHeight - innerHeight]")
            self.assertEqual((max(wide, 0), max(high, 0)), (0, 0), width)
            over = v.page.evaluate("[...document.querySelectorAll('.bar, .top')].filter(b => b.scrollWidth > b.clientWidth + 1).map(b => b.innerText)")
            self.assertEqual(over, [], (width, more))


tap.main()
