#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Events and host counters in the page and its API, on a store whose every event and counter is known."""
import base64
import http.server
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import fake_recorder
import pictures
import scene
import served
import tap
import viewed
from pictures import CPUS, SECONDS
from viewed import GUTTER

SOURCE = os.environ.get("PERFCAM_SOURCE", ".")
WHOLE = f"from={scene.START}&to={scene.START + SECONDS}"


def setUpModule():
    global folder, browser, server, facts, lines, samples
    folder = tempfile.mkdtemp(prefix="perfcam-host-")
    os.chmod(folder, 0o755)
    server, facts = pictures.serve(folder)
    samples = [(int(m[3]) + int(m[4]) / 1e6 + scene.START - 5000, m[1].decode(), int(m[2])) for m in scene.HEAD.finditer(facts["text"])]
    lines = scene.notes(facts, SECONDS)
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    server.stop()
    shutil.rmtree(folder)


def open_page(query=""):
    return viewed.View(browser, server.url, query, facts)


def turn_wheel(v, x, y, times):
    """Over the heatmap, in no time: however busy the machine is."""
    v.page.evaluate(f"for (let i = 0; i < {times}; i++) document.querySelector('#heat').dispatchEvent(new WheelEvent('wheel', {{ deltaY: -100, clientX: {x}, clientY: {y}, bubbles: true, cancelable: true }}))")


def wall(ns):
    return scene.START + int(ns) / 1e9 - 5000


def known_events():
    found = []
    for line in lines:
        if line.startswith("event "):
            _, at, severity, source, text = line.split(" ", 4)
            found.append((wall(at), int(severity), source, text))
    return sorted(found)


class Api(unittest.TestCase):
    def test_events(self):
        got = server.json("/api/events")
        self.assertEqual(got["all"], len(known_events()))
        for e, (t, severity, source, text) in zip(got["events"], known_events()):
            self.assertAlmostEqual(float(e["time"]), t, places=4)
            self.assertEqual((e["severity"], e["source"], e["text"]), (severity, source, text))
        worst = server.json("/api/events?most=1")
        self.assertEqual([e["severity"] for e in worst["events"]], [3])
        self.assertEqual(worst["all"], len(known_events()))
        self.assertEqual(len(server.json("/api/events?severity=4")["events"]), 3)
        one = server.json("/api/events?around=1ms&event=" + got["events"][2]["id"])
        self.assertEqual(one["events"], [got["events"][2]])

    def test_counters(self):
        start, end = scene.START + 30, scene.START + 90
        about, got = server.columns(f"/api/counters?from=@{start}&to=@{end}&bins=12")
        names = [t["key"] for t in about["tracks"]]
        units = {t["key"]: t["unit"] for t in about["tracks"]}
        self.assertEqual((units["user"], units["runnable"], units["switches"], units["pressure_cpu"], units["run_delay"]),
                         ("machine", "number", "second", "time", "cpus"))
        kinds = {0: "user", 1: "system", 3: "softirq", 6: "runnable", 7: "switches", 8: "pressure_cpu", 15: "memory_cgroups", 16: "run_delay"}
        for kind, name in kinds.items():
            for b in range(12):
                low, high = start + 5 * b, start + 5 * (b + 1)
                values = [(int(v[5]), int(v[2])) for v in (line.split() for line in lines)
                          if v[0] == "counter" and int(v[1]) == kind and low < wall(v[3]) <= high]
                scale = {"user": 1e9, "system": 1e9, "softirq": 1e9, "pressure_cpu": 1e9, "run_delay": 1e9}.get(name, 1)
                mean = sum(v for v, _ in values) / len(values) / scale
                at = names.index(name) * 12 + b
                self.assertAlmostEqual(got["mean"][at] / mean, 1, places=4, msg=(name, b))
                self.assertAlmostEqual(got["peak"][at] / (max(v for v, _ in values) / scale), 1, places=4, msg=(name, b))
        hot = names.index("system") * 12 + int((facts["incident"] - start) / 5)
        self.assertEqual(got["who"][hot], facts["cpu"])
        self.assertEqual(about["waiters"][0]["tid"], 33)
        self.assertEqual(about["waiters"][0]["comm"], "ksoftirqd/3")


class Page(unittest.TestCase):
    def check_quiet(self, view):
        self.assertEqual([p for p in view.page.problems() if not p.startswith(f"request: http://127.0.0.1:{server.port}/")], [])

    def test_events_are_listed_and_lead_there(self):
        v = open_page(WHOLE)
        rows = v.page.evaluate("[...document.querySelectorAll('.events .row')].map(r => r.innerText)")
        self.assertEqual(len(rows), len(known_events()))
        for row, (_, _, _, text) in zip(rows, reversed(known_events())):
            self.assertIn(text, row)
        v.page.evaluate("document.querySelectorAll('.events .row')[2].click()")
        v.settle(lambda: v.selected() is not None)
        t = known_events()[-3][0]
        low, high, cpus = v.selected()
        self.assertAlmostEqual(low, t - 2.5, places=3)
        self.assertAlmostEqual(high, t + 2.5, places=3)
        self.assertIsNone(cpus)
        self.assertIn("Tx timeout", v.page.evaluate("document.querySelector('.selection').innerText"))
        self.assertEqual(v.page.evaluate("document.querySelectorAll('.events .chosen').length"), 1)
        # That one click says what was different, too: what `perfcam why` says of that event.
        event = next(e for e in server.json("/api/events")["events"] if "Tx timeout" in e["text"] and abs(float(e["time"]) - t) < 1e-3)
        why = json.loads(tap.perfcam("why", event["id"], "--around", "5s", "--store", os.path.join(folder, "store"), "--json").stdout)
        first = why["findings"][0]
        self.assertEqual((first["process"], first["cpu"]), ("kubelet", facts["cpu"]))
        v.settle(lambda: "held CPU" in v.panel())
        self.assertRegex(v.page.evaluate("document.querySelector('.headline').innerText"), rf"^{first['process']} held CPU {first['cpu']} for ")
        said = v.page.evaluate("document.querySelector('.sentence').innerText.replace(/\\s+/g, ' ')")
        self.assertIn(f"{first['process']} ({first['pid']}) used", said)
        v.key("]")
        v.settle(lambda: "reset completed" in v.page.evaluate("document.querySelector('.selection').innerText"))
        v.key("[")
        v.settle(lambda: "Tx timeout" in v.page.evaluate("document.querySelector('.selection').innerText"))
        link = v.page.evaluate("location.search")[1:]
        again = open_page(link)
        self.assertIn("Tx timeout", again.page.evaluate("document.querySelector('.selection').innerText"))
        self.check_quiet(v)

    def test_a_link_may_name_an_event_alone(self):
        """What was found there is of one core: cores are shown, unless a mode was chosen."""
        event = server.json("/api/events?severity=3")["events"][0]
        v = open_page("event=" + event["id"])
        v.settle(lambda: v.selected() is not None)
        self.assertAlmostEqual(v.selected()[0], float(event["time"]) - 2.5, places=3)
        mode = "document.querySelector('[aria-label=\"Heatmap mode\"] [aria-checked=true]').innerText"
        v.settle(lambda: v.page.evaluate(mode) == "Cores" and "1 CPU" in v.page.evaluate("document.querySelector('.stage').innerText"))
        v = open_page("mode=sub&event=" + event["id"])
        v.settle(lambda: "held CPU" in v.panel())
        self.assertEqual(v.page.evaluate(mode), "Sub-second")

    def test_markers_can_be_clicked(self):
        v = open_page(WHOLE)
        t = known_events()[0][0]
        for selector, y in (("#timeline", 7), ("#heat", 7)):
            x, top, w, _ = v.box(selector)
            at = x + GUTTER + (t - scene.START + (0 if selector == "#timeline" else 0.5)) / SECONDS * (w - 2 * GUTTER)
            v.page.hover(at, top + y)
            self.assertIn("smpboot", v.page.evaluate("document.querySelector('.tip').innerText"), selector)
            v.page.click(at, top + y)
            v.settle(lambda: v.selected() is not None and abs(v.selected()[0] - (t - 2.5)) < 0.01)
            v.key("Escape")
            v.settle(lambda: v.selected() is None)

    def test_what_the_host_counted(self):
        v = open_page(WHOLE + "&mode=cores")
        x, y, w, h = v.box("#track")
        at = x + GUTTER + (facts["incident"] + 1.5 - scene.START) / SECONDS * (w - 2 * GUTTER)
        v.page.hover(at, y + h / 2)
        tip = v.page.evaluate("document.querySelector('.tip').innerText")
        self.assertIn(f"system 96.0 % on CPU {facts['cpu']}", tip)
        self.assertIn("memory cgroups 70\u2009312", tip)
        pictures = {v.picture("#track")}
        for want in ("runnable", "delay", "pressure", "switches", "cgroups"):
            v.key("t")
            v.settle(lambda want=want: v.query().get("below") == [want])
            pictures.add(v.picture("#track"))
        self.assertEqual(len(pictures), 6)
        low = facts["incident"]
        v = open_page(WHOLE + f"&a={low}~{low + 1.9}")
        # Asked for once the graph is on the screen: between the two nothing is on its way.
        v.settle(lambda: "waited to run" in v.panel())
        self.assertIn("ksoftirqd/3", v.panel())
        self.check_quiet(v)

    def test_what_was_different_is_said_and_shown(self):
        """The headline names process, core and function; sentences lead to their places."""
        low = facts["incident"]
        v = open_page(WHOLE + f"&a={low - 1}~{low + 4}")
        v.settle(lambda: "held CPU" in v.panel())
        self.assertRegex(v.page.evaluate("document.querySelector('.headline').innerText"), rf"^kubelet held CPU {facts['cpu']} for 1\.\d+ s in\s+mem_cgroup_nr_lru_pages$")
        said = v.page.evaluate("[...document.querySelectorAll('.sentence')].map(s => s.innerText.replace(/\\s+/g, ' '))")
        self.assertIn("kubelet (990) used", said[0])
        self.assertIn(f"CPU {facts['cpu']} had nothing else", said[1])
        self.assertIn("mem_cgroup_nr_lru_pages", said[2])
        self.assertIn("ksoftirqd/3", said[3])
        bars = v.page.evaluate("[...document.querySelectorAll('.sentence .bars')].map(b => [b.getAttribute('aria-label'), b.querySelectorAll('.on').length])")
        self.assertEqual(len(bars), len(said))
        self.assertTrue(all(["", "weak", "fair", "strong"][n] + " evidence" == words for words, n in bars), bars)
        self.assertEqual(bars[0][1], 3)  # nothing like it in the whole recording
        v.settle(lambda: "As usual" in v.panel())
        line = v.page.evaluate("document.querySelector('.against').innerText")
        self.assertRegex(line, r"As usual beside the minute before: zstd [\d.]+ % \((0\.[89]|1\.[01])\d×\)")
        self.assertNotIn("kubelet", line)
        self.assertEqual(v.page.evaluate("[...document.querySelectorAll('.rows .row')].find(r => r.innerText.startsWith('kubelet')).querySelector('.ratio').className"), "ratio more")
        v.page.evaluate("document.querySelectorAll('.sentence')[1].click()")
        v.settle(lambda: (v.selected() or (0, 0, None))[2] == {facts["cpu"]})
        self.assertAlmostEqual(v.selected()[0], low, delta=0.05)
        self.assertAlmostEqual(v.selected()[1], low + 1.9, delta=0.05)
        self.assertEqual(v.query()["mode"], ["cores"])
        quiet = open_page(WHOLE + f"&a={low - 20}~{low - 15}")
        quiet.settle(lambda: "Nothing unusual" in quiet.panel() or "expected" in quiet.panel())
        self.assertNotIn("kubelet", quiet.page.evaluate("document.querySelector('.headline').innerText"))
        self.check_quiet(v)

    def test_by_time(self):
        """One core in order of time: the culprit is one box of 1.9 s, and what ran there before and after is beside it."""
        low = facts["incident"]
        v = open_page(WHOLE + f"&a={low - 0.6}~{low + 2.5}&tab=time&core={facts['cpu']}")
        mine = [s for s in samples if s[2] == facts["cpu"] and low - 0.6 <= s[0] < low + 2.5]
        status = "document.querySelector('.status').innerText.replace(/\\u2009/g, '')"
        n = int(re.match(rf"CPU {facts['cpu']}, (\d+) samples in order", v.page.evaluate(status)).group(1))
        self.assertAlmostEqual(n, len(mine), delta=1)
        x, y, w, h = v.box("#chart")
        v.page.hover(x + 12 + (w - 24) * (0.6 + 0.95) / 3.1, y + h - 20 - 9)
        tip = v.page.evaluate("document.querySelector('.tip').innerText")
        said = re.search(r"^kubelet\n.*CPU (\d+)\n([\d.]+) s without a break · (\d+) samples", tip)
        self.assertTrue(said, tip)
        self.assertEqual((int(said[1]), int(said[3])), (facts["cpu"], sum(s[1] == "kubelet" for s in mine)))
        self.assertAlmostEqual(float(said[2]), 1.9, delta=0.02)
        plain = v.picture("#chart")
        v.page.click(x + 12 + (w - 24) * (0.6 + 0.95) / 3.1, y + h - 20 - 9)
        self.assertNotEqual(v.picture("#chart"), plain)
        v.key("Escape")
        self.assertEqual(v.picture("#chart"), plain)
        v.page.evaluate("document.querySelector('#chart').focus()")
        v.key("ArrowUp")
        self.assertIn(mine[0][1], v.page.evaluate("document.querySelector('[aria-live]').textContent"))
        v.key(".")
        v.settle(lambda: v.query()["core"] == [str(facts["cpu"] + 1)] and f"CPU {facts['cpu'] + 1}," in v.page.evaluate(status))
        self.assertNotEqual(v.picture("#chart"), plain)
        self.check_quiet(v)
        v = open_page(WHOLE + "&tab=time")
        self.assertIn("30 s or less", v.page.evaluate("document.querySelector('#chart').innerText"))

    def test_how_good_the_stacks_are(self):
        v = open_page(WHOLE)
        got = server.json(f"/api/quality?from=@{scene.START}&to=@{scene.START + SECONDS}")
        named = 1 - sum(got["unnamed"].values()) / sum(got["frames"].values())
        v.settle(lambda: re.search(r"Stacks\n[\d.]+ %\nNames\n[\d.]+ %", v.panel()))
        stacks, names = (float(x) for x in re.search(r"Stacks\n([\d.]+) %\nNames\n([\d.]+) %", v.panel()).groups())
        self.assertAlmostEqual(stacks, 100 * got["complete"] / got["user"], delta=0.06)
        self.assertAlmostEqual(names, 100 * named, delta=0.06)
        self.check_quiet(v)

    def test_unusual_moments_are_found_without_being_named(self):
        v = open_page(WHOLE + "&mode=cores")
        v.key("u")
        v.settle(lambda: "kubelet on CPU" in v.panel())
        first = "[...document.querySelectorAll('.side section')].find(s => s.innerText.startsWith('Unusual')).querySelector('.row')"
        self.assertIn(f"kubelet on CPU {facts['cpu']}, mem_cgroup_nr_lru_pages", v.page.evaluate(first + ".innerText.replace(/\\s+/g, ' ')"))
        v.page.evaluate(first + ".click()")
        v.settle(lambda: v.selected() is not None)
        self.assertLess(v.selected()[0], facts["incident"] + 0.1)
        self.assertGreater(v.selected()[1], facts["incident"] + 1.6)
        self.check_quiet(v)

    def test_export_is_what_is_selected(self):
        low = facts["incident"]
        v = open_page(WHOLE + f"&a={low}~{low + 1.9}&comm=kubelet")
        v.key("e")
        items = v.page.evaluate("[...document.querySelectorAll('.menu a')].map(a => [a.innerText, a.getAttribute('href'), a.hasAttribute('download')])")
        self.assertEqual([i[0] for i in items][:3], ["Flame graph (SVG)", "Folded stacks", "perf script"])
        pages = [i for i in items if not i[2]]
        self.assertEqual([i[0] for i in pages], ["Open in speedscope"] if server.json("/api/sources")["speedscope"] else [])
        self.assertIn("Capsule, all of it in one HTML file", [i[0] for i in items])
        for words, href, _ in (i for i in items if i[2]):
            status, headers, body = server.ask(href)
            self.assertEqual(status, 200, words)
            self.assertIn("attachment", headers["content-disposition"], words)
            if words == "Folded stacks":
                self.assertEqual(sum(int(line.rsplit(b" ", 1)[1]) for line in body.splitlines()), v.samples())
                self.assertTrue(all(line.startswith(b"kubelet;") for line in body.splitlines()))
            if words == "perf script":
                self.assertEqual(body.count(b"\nkubelet ") + body.startswith(b"kubelet "), v.samples())
        v.key("ArrowDown")
        self.assertEqual(v.page.evaluate("document.activeElement.innerText"), "Folded stacks")
        v.key("Escape")
        self.assertEqual(v.page.evaluate("document.querySelectorAll('.menu').length"), 0)
        self.check_quiet(v)

    def test_frames_as_modules_and_hidden_ones(self):
        v = open_page(WHOLE + "&frames=module&tab=table")
        rows = v.page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => r.cells[0].innerText.trim())")
        self.assertTrue(any("zstd" in r for r in rows), rows)
        self.assertFalse(any("ZSTD_" in r for r in rows), rows)
        v = open_page(WHOLE + "&hide=%5EZSTD_&tab=table")
        rows = v.page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => r.cells[0].innerText.trim())")
        self.assertFalse(any(r.startswith("ZSTD_") for r in rows), rows)
        self.assertIn("POOL_thread", rows)
        self.check_quiet(v)

    def test_who_ran_in_a_cell(self):
        v = open_page(WHOLE + "&mode=cores")
        x, y, w, h = v.box("#heat")
        at = x + GUTTER + (facts["incident"] + 1 - scene.START) / SECONDS * (w - 2 * GUTTER)
        v.page.hover(at, y + 14 + (facts["cpu"] + 0.5) * (h - 34) / CPUS)
        v.settle(lambda: "kubelet 100 %" in v.page.evaluate("document.querySelector('.tip').innerText"))
        tip = v.page.evaluate("document.querySelector('.tip').innerText")
        said = re.match(rf"(\d\d:\d\d:\d\d\.\d{{3}}) – \S+ UTC\nCPU {facts['cpu']}: (100|9\d\.\d) % busy, (\d+) samples\n", tip)
        self.assertTrue(said, tip)
        low = scene.START - scene.START % 60 + float(said[1][6:])  # a minute and its seconds
        low += 60 * round((facts["incident"] + 1 - low) / 60)
        self.assertEqual(int(said[3]), sum(t[2] == facts["cpu"] and low <= t[0] < low + 0.2 for t in samples), tip)

    def test_a_frame_under_the_pointer(self):
        """CPU time, its share of the selection and of the machine, as counted in the text; what is told is of the frame, of the zoom it is not."""
        v = open_page(WHOLE)
        x, y, w, h = v.box("#flame")
        v.page.hover(x + 30, y + h - 6 - 18 - 9)
        tip = v.page.evaluate("document.querySelector('.tip').innerText").replace("\u2009", "")
        mine = sum(t[1] == tip.split("\n")[0] for t in samples)
        said = re.search(r"\n(\d+) samples · ([\d.]+) CPU·s\n([\d.]+) % of the selection · ([\d.]+) % of the machine\n", tip)
        self.assertTrue(mine and said, tip)
        self.assertLessEqual(abs(int(said[1]) - mine), 2)
        for got, want in zip(said.groups()[1:], (mine / scene.HZ, 100 * mine / len(samples), 100 * mine / scene.HZ / SECONDS / CPUS)):
            self.assertAlmostEqual(float(got) / want, 1, delta=0.01, msg=tip)
        for kind in ("mousePressed", "mouseReleased"):
            v.page.mouse(kind, x + 30, y + h - 6 - 18 - 9, button="right", clickCount=1)
        v.page.evaluate("[...document.querySelectorAll('.menu button')].find(b => b.innerText === 'Calls of itself as one frame').click()")
        v.settle(lambda: v.query().get("collapse") == ["1"] and "recursion as one frame" in v.page.evaluate("document.querySelector('.selection').innerText"))
        self.assertIn("recursion=collapse", v.page.evaluate("performance.getEntriesByType('resource').filter(e => e.name.includes('/api/flame')).at(-1).name"))
        v.page.evaluate("document.querySelector('.chip button').click()")
        v.settle(lambda: "collapse" not in v.query())

    def test_a_turn_of_the_wheel_is_no_step_back(self):
        """Ten of them are one; and so are arrow keys that move a selection."""
        v = open_page(WHOLE)
        x, y, w, h = v.box("#heat")
        turn_wheel(v, x + w / 2, y + h / 2, 10)
        v.settle(lambda: float(v.query()["to"][0]) - float(v.query()["from"][0]) < 15)
        v.page.evaluate("history.back()")
        v.settle(lambda: v.page.evaluate("location.search") == "?" + WHOLE)
        v = open_page(WHOLE + f"&a={scene.START + 30}~{scene.START + 40}")
        before = v.page.evaluate("location.search")
        v.page.evaluate("for (let i = 0; i < 5; i++) document.body.dispatchEvent(new KeyboardEvent('keydown', { key: 'ArrowRight', bubbles: true }))")
        v.settle(lambda: v.selected()[0] == scene.START + 30.1)
        v.page.evaluate("history.back()")
        v.settle(lambda: v.page.evaluate("location.search") == before)

    def test_escape_goes_back_one_step_at_a_time(self):
        v = open_page(WHOLE + f"&a={scene.START + 60}~{scene.START + 65}&b={scene.START + 20}~{scene.START + 30}&cmp=1&q=main&zoom=zstd")
        for gone in ("q", "zoom", "cmp", "a", "b"):
            self.assertIn(gone, v.query())
            v.key("Escape")
            v.settle(lambda gone=gone: gone not in v.query())
        self.assertEqual(set(v.query()), {"from", "to"})

    def test_a_baseline_by_keys_and_what_only_it_has(self):
        v = open_page(WHOLE + f"&a={scene.START + 60}~{scene.START + 62}&mode=cores")
        v.page.evaluate("document.querySelector('#heat').focus()")
        for key in ("b", "Enter", "ArrowRight", "ArrowDown", "Enter"):
            v.key(key)
        v.settle(lambda: "b" in v.query())
        low, high, cpus = v.query()["b"][0].split("~")
        self.assertAlmostEqual(float(high) - float(low), 0.4, places=3)
        self.assertEqual((len(cpus.split("-")), v.query()["cmp"]), (2, ["1"]))
        v = open_page(WHOLE + f"&a={scene.START + 20}~{scene.START + 40}&b={facts['incident']}~{facts['incident'] + 1.9}&cmp=1&elided=1&tab=table")
        rows = v.page.evaluate("[...document.querySelectorAll('tbody tr')].map(r => r.cells[0].innerText.trim())")
        self.assertIn("mem_cgroup_nr_lru_pages", rows)
        self.assertFalse([r for r in rows if r.startswith("ZSTD_") or r == "tcp_sendmsg"], rows)

    def test_time_without_a_cpu_is_hatched(self):
        """CPU 14 was away for 20 s: amber lines there, and nowhere else in that row."""
        v = open_page(WHOLE + "&mode=cores")
        x, y, w, h = v.box("#heat")
        row = (h - 34) / CPUS
        def amber(a, b):
            return v.page.evaluate(f"""(c => {{ const d = c.getContext('2d').getImageData({int(a)}, {int(14 + 14 * row) + 2}, {int(b - a)}, {int(row) - 4}).data;
                let n = 0; for (let i = 0; i < d.length; i += 4) n += d[i] > 130 && d[i + 1] > 90 && d[i + 2] < 90; return n; }})(document.querySelector('#heat canvas'))""")
        scale = (w - 2 * GUTTER) / SECONDS
        gone = facts["offline"][1] - scene.START
        self.assertGreater(amber(GUTTER + (gone + 1) * scale, GUTTER + (gone + 19) * scale), 100)
        x, y, w, h = v.box("#heat")
        v.page.hover(x + GUTTER + (gone + 10) * scale, y + 14 + 14.5 * row)
        self.assertIn("not observed", v.page.evaluate("document.querySelector('.tip').innerText"))


class Pictures(unittest.TestCase):
    def test_the_pictures_in_docs_are_of_this_page(self):
        """All but a few pixels, as fonts differ; tools/page-pictures makes them anew."""
        kept = {n for n in os.listdir(os.path.join(SOURCE, "docs")) if re.fullmatch(r"page-.*\.png", n)}
        self.assertEqual(kept, set(pictures.STATES))
        with open(os.path.join(SOURCE, "docs", "page.md"), encoding="utf-8") as f:
            told = f.read()
        for name in pictures.STATES:
            self.assertIn(f"({name})", told)
            v = pictures.take(browser, server, facts, name)
            v.page.screenshot(os.path.join(folder, name))
            images = []
            for where in (folder, os.path.join(SOURCE, "docs")):
                with open(os.path.join(where, name), "rb") as f:
                    images.append("data:image/png;base64," + base64.b64encode(f.read()).decode())
            wide, high, apart = browser.open("about:blank").evaluate("""Promise.all(%s.map(async (url) => {
                const image = new Image(); image.src = url; await image.decode();
                const c = document.createElement("canvas"); c.width = image.width; c.height = image.height;
                c.getContext("2d").drawImage(image, 0, 0); return c.getContext("2d").getImageData(0, 0, c.width, c.height); })).then(([a, b]) => {
                let n = 0; for (let i = 0; i < a.data.length; i += 4) n += Math.abs(a.data[i] - (b.data[i] ?? 0)) + Math.abs(a.data[i + 1] - (b.data[i + 1] ?? 0)) > 60;
                return [b.width, b.height, n / (a.width * a.height)]; })""" % json.dumps(images))
            self.assertEqual((wide, high), (1440, 900))
            self.assertLess(apart, 0.08, f"docs/{name} shows another page: run tools/page-pictures")


FORMS = ("<script>top.hit={n}</script>", "<img src=x{n} onerror=top.hit={n}>", "\"><svg/onload=top.hit={n}>", "' onmouseover='top.hit={n}", "javascript:top.hit={n}",
         "</title><iframe srcdoc=x{n}>", "<a href=//evil{n}.example>x</a>", "{{{{constructor.constructor('top.hit={n}')()}}}}", "${{top.hit={n}}}", "<style>*{{display:none}}/*{n}",
         "\u202e<b>{n}", "&lt;u&gt;{n}", "%3Cscript%3Etop.hit={n}%3C/script%3E", "--><!--<math><mi{n}>", "<details open ontoggle=top.hit={n}>", "\\x3cimg{n}\\x3e",
         "<form action=//e{n}><button>", "<input autofocus onfocus=top.hit={n}>", "<meta http-equiv=refresh content=0;url=//e{n}>", "`;top.hit={n}//")


class Hostile(unittest.TestCase):
    def test_a_thousand_names_of_an_attacker(self):
        """In process names, cgroups, functions, modules, events and the file's own name: text and pixels, nothing else."""
        evil = [FORMS[i % len(FORMS)].format(n=i) for i in range(1000)]
        lines, notes = [], []
        for i, name in enumerate(evil):
            at = 5_000_000_000 + i * 30928
            lines.append(scene.sample(name.replace(" ", "_").replace("/", "|")[:15], 100 + i, i % 2, at, [(name.replace("(", "["), "/bin/" + name.replace("/", "|").replace(")", "]")), ("leaf" + name.replace("(", "["), None)]))
            notes.append(f"event {at * 1000 + 1000000} {i % 8} {'kmsg' if i % 2 else 'mark'} {name}")
            notes.append(f"cgroup {100 + i} /evil.slice/{name}")
            notes.append(f"counter 16 {100 + i} {at * 1000 + 1000000} 1000000000 {900000000}")
        text, _ = scene.make(seed=5, seconds=1, cpus=2)
        head = text[:text.index(b"# ========\n#\n") + 13].replace(b"db-prod-17", b"<img/src=x/onerror=top.hit=1>")
        store = served.make_store(os.path.join(folder, "evil"), head + "".join(lines).encode())
        viewed.annotate(store, notes)
        window = next(n for n in os.listdir(store) if n.endswith(".pcw"))
        named = os.path.join(folder, "<img src=x onerror=top.hit=7>.pcw")
        shutil.copyfile(os.path.join(store, window), named)
        os.chmod(named, 0o644)
        tags = "[...new Set([...document.querySelectorAll('*')].map(e => e.tagName))].sort().join()"
        loose = "[...document.querySelectorAll('*')].filter(e => [...e.attributes].some(a => /^on|^srcdoc$|^action$/.test(a.name)) || (e.src && !e.src.startsWith(location.origin)) || (e.href && !String(e.href.baseVal ?? e.href).startsWith(location.origin))).length"
        clean = set()
        for query in ("", "tab=table", "tab=sandwich", WHOLE + f"&a={facts['incident']}~{facts['incident'] + 2}"):
            clean |= set(open_page(query).page.evaluate(tags).split(","))
        mean = served.Server(store)
        self.addCleanup(mean.stop)
        single = served.Server(None, named)
        self.addCleanup(single.stop)
        for own, query in ((mean, ""), (mean, "tab=table"), (mean, "tab=sandwich&q=hit"), (mean, "by=process&colour=module"), (mean, "by=cgroup"), (mean, "by=container&tab=table"), (single, "")):
            v = viewed.View(browser, own.url, query, facts)
            self.assertGreater(v.samples(), 900)
            x, y, w, h = v.box("#flame")
            for at in (0.2, 0.5, 0.8):
                v.page.hover(x + w * at, y + h - 40)
            v.page.hover(*(lambda b: (b[0] + b[2] / 2, b[1] + 7))(v.box("#timeline")))
            if not query:
                self.assertEqual(v.page.evaluate("document.querySelectorAll('.events .row').length"), 30)
                v.page.evaluate("document.querySelector('.events .row').click()")
                v.settle(lambda: v.selected() is not None)
            if query == "by=cgroup":
                first = v.page.evaluate("(r => [r.click(), r.querySelector('.cut').innerText][1])([...document.querySelectorAll('.rows .row')].find(r => r.innerText.startsWith('/evil.slice/')))")
                v.settle(lambda: v.samples() == 1)
                self.assertEqual(v.query()["cgroup"], [re.sub(r"([\\*?[\]])", r"\\\1", first)])
                self.assertIn(first[len("/evil.slice/"):], evil)
                self.assertIn("cgroup /evil.slice/", v.page.evaluate("document.querySelector('.chip').innerText"))
            self.assertEqual(set(v.page.evaluate(tags).split(",")) - clean, set(), query)
            self.assertEqual(v.page.evaluate(loose), 0, query)
            self.assertIsNone(v.page.evaluate("window.hit ?? null"))
            self.assertEqual([p for p in v.page.problems() if not p.startswith(f"request: http://127.0.0.1:{own.port}/")], [])


CROSS = """<!doctype html><iframe name=f></iframe>
<form method=post action="{to}/api/mark?token={token}" enctype=text/plain target=f><input name='{{"text":"form' value='"}}'></form>
<script>
const posts = ["text/plain", "application/x-www-form-urlencoded", "application/json"].map(type => ["POST", "/api/mark?", {{"Content-Type": type}}]);
const asked = [...posts, ["POST", "/api/pin?", {{}}], ["GET", "/api/store?", {{}}], ["GET", "/api/mark?text=x&", {{}}]].flatMap(([method, path, headers]) =>
    ["no-cors", "cors"].map(mode => fetch("{to}" + path + "token={token}", {{method, mode, headers, credentials: "include", body: method === "POST" ? '{{"text":"fetched"}}' : undefined}})
        .then(r => r.text(), () => "")));
const image = new Promise(done => {{ const i = new Image(); i.onload = i.onerror = () => done(""); i.src = "{to}/api/mark?text=img&token={token}"; }});
document.forms[0].submit();
window.told = Promise.all([...asked, image]).then(all => all.join(""));
</script>"""


class OtherSites(unittest.TestCase):
    def test_a_page_of_another_port_changes_and_reads_nothing(self):
        """Forms, images and every fetch that needs no leave, from a page that the browser has open beside perfcam's and that even knows
        the token."""
        store = served.make_store(os.path.join(folder, "asked"), facts["text"])
        own = served.Server(store)
        self.addCleanup(own.stop)
        page = CROSS.format(to=f"http://127.0.0.1:{own.port}", token=own.token).encode()

        class Site(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "text/html")
                self.end_headers()
                self.wfile.write(page)

            def log_message(self, *_):
                pass

        site = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site)
        threading.Thread(target=site.serve_forever, daemon=True).start()
        self.addCleanup(site.shutdown)
        with fake_recorder.FakeRecorder(store, lambda *a: (0, b"")) as r:
            os.chmod(r.path, 0o666)
            browser.open(own.url)
            seen = browser.open(f"http://127.0.0.1:{site.server_address[1]}/")
            self.assertEqual(seen.evaluate("window.told"), "")
            # The page's own may: it is this server, and this recorder.
            status, _, _ = own.ask("/api/mark", "POST", b'{"text":"mine"}', Content_Type="application/json")
            self.assertEqual((status, [text for verb, *_, text in r.asked if verb != fake_recorder.STATUS]), (200, [b"mine"]))


tap.main()
