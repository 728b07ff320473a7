#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`capsule`: one file with all of a moment. Its parts as a parser finds them, then in a real browser, from the disk and without a server."""
import html.parser
import json
import os
import random
import re
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import tap
import viewed
import why_synth

EVIL = b"</iframe><img src=x onerror=alert(1)>&quot;<script>alert(2)</script>"
EVIL_COMM = b"<b>\"'&x</b>"
BURST = 120.25


class Parts(html.parser.HTMLParser):
    """Headings, texts by element, and the documents inside."""

    def __init__(self, text):
        super().__init__()
        self.at, self.tags, self.texts, self.inside = [], [], {}, []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        attrs = dict(attrs)
        self.tags.append((tag, attrs))
        self.at.append(tag)
        if tag == "iframe":
            self.inside.append((attrs["title"], attrs["srcdoc"]))

    def handle_endtag(self, tag):
        while self.at and self.at.pop() != tag:
            pass

    def handle_data(self, data):
        if self.at:
            self.texts.setdefault(self.at[-1], []).append(data)

    def text(self, tag):
        return "".join(self.texts.get(tag, []))


def capsule(name, *args):
    path = os.path.join(folder, name)
    r = tap.perfcam("capsule", "--store", store, *args, "-o", path)
    if r.returncode:
        raise AssertionError(r.stderr)
    assert r.stdout.decode().strip() == path
    with open(path, encoding="utf-8") as f:
        return Parts(f.read()), "file://" + path


def setUpModule():
    global folder, store, browser, wall, parts, url, seed
    folder = tempfile.mkdtemp(prefix="perfcam-capsule-")
    store = os.path.join(folder, "store")
    seed = random.SystemRandom().randrange(1 << 30)
    load = why_synth.Load(seed, 240, cpus=16)
    load.burst(EVIL_COMM, 1500, BURST, 1.9, load.text(why_synth.frames_of([EVIL, b"culprit_reader", b"vfs_read"])), cpu=7)
    text = os.path.join(folder, "load.txt")
    load.write(text)
    r = tap.perfcam("import", "--store", store, text)
    assert r.returncode == 0, r.stderr
    clock = int(why_synth.START_US * 1000 + BURST * 1e9)
    viewed.annotate(store, [f"event {clock} 3 kmsg {EVIL.decode()} password=hunter2", f"event {clock + 10**9} 6 mark deploy 7"])
    at = json.loads(tap.perfcam("at", why_synth.boot(BURST + 1), "--store", store, "--json").stdout)
    wall = f"@{at['time_ns'] / 1e9:.3f}"
    parts, url = capsule("x.html", wall)
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    shutil.rmtree(folder)


class Capsule(unittest.TestCase):
    def test_all_of_it_is_there(self):
        self.assertEqual(parts.texts["h2"], ["What was different", "When it was", "The moment in numbers", "A minute before and after",
                                             "What ran", "Against the minute before", "What it was recorded on"])
        self.assertEqual([name for name, _ in parts.inside], ["timeline", "heatmap by core", "heatmap of seconds", "Flame graph", "Change"])
        self.assertIn("CPU 7", parts.text("p"), f"seed {seed}")
        self.assertIn("culprit_reader", parts.text("p"))
        self.assertIn("perfcam flame --from", parts.text("code"))
        self.assertIn("deploy 7", parts.text("pre"))
        self.assertIn("big-host", parts.text("h1"))
        self.assertIn("6.1.0", parts.text("td"))

    def test_the_sentences_are_those_of_why(self):
        answer = json.loads(tap.perfcam("why", wall, "--store", store, "--json").stdout)
        self.assertEqual(answer["findings"][0]["cpu"], 7)
        for finding in answer["findings"]:
            self.assertIn(" ".join(finding["sentence"].split()), " ".join(parts.text("p").split()))

    def test_samples_are_those_of_flame(self):
        r = tap.perfcam("export", "folded", "--at", wall, "--store", store)
        count = sum(int(line.rsplit(b" ", 1)[1]) for line in r.stdout.splitlines())
        self.assertIn(f"{count} samples", dict(parts.inside)["Flame graph"].replace("\u2009", "").replace("\u202f", "").replace(",", ""))

    def test_names_are_text_and_secrets_are_gone(self):
        # The only elements are ours, in the page and in every picture.
        self.assertLessEqual({tag for tag, _ in parts.tags},
                             {"html", "head", "meta", "title", "style", "body", "header", "h1", "p", "main", "h2", "pre", "iframe", "code",
                              "table", "tr", "th", "td", "footer"})
        for name, document in parts.inside:
            inner = Parts(document)
            self.assertNotIn("img", [tag for tag, _ in inner.tags], name)
            for tag, attrs in inner.tags:
                self.assertFalse([a for a in attrs if a.startswith("on")], (name, tag, attrs))
                self.assertEqual(tag == "script", tag == "script" and name in ("Flame graph", "Change"))
        with open(url[7:], encoding="utf-8") as f:
            whole = f.read()
        self.assertNotIn("hunter2", whole)
        self.assertIn("[redacted]", whole)
        self.assertEqual(set(re.findall(r"https?://[^\s\"'&<]+", whole)), {"http://www.w3.org/2000/svg", "http://www.w3.org/1999/xhtml"})

    def test_a_browser_shows_it_from_the_disk(self):
        for scheme in ("light", "dark"):
            page = browser.open(url, width=1280, height=2400, scheme=scheme)
            self.assertEqual(page.problems(), [])
            self.assertEqual(page.evaluate("document.title"), parts.text("title"))
            high = page.evaluate("[...document.querySelectorAll('iframe')].map(f => f.getBoundingClientRect().height)")
            self.assertEqual(len(high), 5)
            self.assertGreater(min(high), 60)
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 1280)

    def test_the_flame_graph_inside_works(self):
        name, document = next(x for x in parts.inside if x[0] == "Flame graph")
        path = os.path.join(folder, "inner.html")
        with open(path, "w", encoding="utf-8") as f:
            f.write(document)
        page = browser.open("file://" + path)
        self.assertGreater(page.evaluate("document.querySelectorAll('.f g').length"), 20)
        self.assertEqual(page.problems(), [])

    def test_an_event_and_filters(self):
        events = json.loads(tap.perfcam("at", wall, "--store", store, "--json").stdout)["events"]
        mark = next(e["id"] for e in events if e["text"] == "deploy 7")
        other, _ = capsule("event.html", mark if mark.startswith("ev-") else "ev-" + mark, "--around", "3s", "--cpu", "7")
        self.assertIn("CPU 7", other.text("p") + other.text("pre"))

    def test_what_is_wrong_is_said(self):
        for args, code, words in (((wall,), 2, b"-o incident.html"), (("-o", "x.html"), 2, b"a time or an event"),
                                  ((wall, "more", "-o", "x.html"), 2, b"more"),
                                  (("@1000", "-o", os.path.join(folder, "none.html")), 1, b"nothing was recorded"),
                                  ((wall, "-o", os.path.join(folder, "no", "x.html")), 1, b"No such file"),
                                  (("--from", "@1", "--to", "@4000000000", "-o", os.path.join(folder, "none.html")), 1, b"at most 10 minutes")):
            r = tap.perfcam("capsule", "--store", store, *args)
            self.assertEqual(r.returncode, code, (args, r.stderr))
            self.assertIn(words, r.stderr)
        self.assertFalse(os.path.exists(os.path.join(folder, "none.html")))


tap.main()
