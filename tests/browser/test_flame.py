#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The flame graph in a real browser: what `perfcam flame` writes is opened, clicked and searched."""
import gzip
import http.server
import json
import os
import re
import shutil
import sys
import tempfile
import threading
import unittest
import urllib.parse

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "cli"))
import chrome
import tap

SOURCE = os.environ.get("PERFCAM_SOURCE", ".")
PROFILE = os.path.join(tap.DATA, "oracle", "nginx-997.folded.gz")
SMALL = b"""web;main;serve;read_[k] 300
web;main;serve;parse;parse;parse 200
web;main;idle_work 100
web;start 50
db;main;query;scan_[j];inner_[i] 250
db;main;query;write_[k] 100
"""
FRAMES = 16 # of SMALL, with the root
INNER = 1200 - 32
ALL = "[...document.querySelectorAll('.f g')]"
SHOWN = ALL + ".filter(g => g.getAttribute('display') !== 'none')"
# How the README's picture is made.
EXAMPLE = ("flame", "-i", os.path.join(SOURCE, "examples", "example.perf-script.gz"), "--width", "900",
           "--title", "kitchen: a server and a compactor")
EVIL = [
    "<script>alert(1)</script>", "</title></svg><script>alert(2)</script>", "<img src=x onerror=alert(3)>",
    "\" onload=\"alert(4)", "' onclick='alert(5)", "]]><script>alert(6)</script>", "javascript:alert(7)",
    "&lt;script&gt;alert(8)&lt;/script&gt;", "<!--", "<![CDATA[", "<?xml?>", "${alert(9)}`", "\u202egnirts",
    "\x1b[31mred", "</text><a href=\"javascript:alert(10)\">x</a>", "<foreignObject><b>x</b></foreignObject>",
    "<style>*{display:none}</style>", "{{constructor.constructor('alert(11)')()}}", "%3Cscript%3E", "\\u003cscript\\u003e",
]


def setUpModule():
    global folder, browser
    folder = tempfile.mkdtemp(prefix="perfcam-browser-")
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    shutil.rmtree(folder)


def picture(name, folded, *options):
    """The URL of the picture of a folded text, or of a file."""
    source = folded
    if isinstance(folded, bytes):
        source = os.path.join(folder, name + ".folded")
        with open(source, "wb") as f:
            f.write(folded)
    target = os.path.join(folder, name if "." in name else name + ".svg")
    done = tap.perfcam("flame", "-i", source, "-o", target, *options)
    if done.returncode:
        raise AssertionError(f"perfcam flame: {done.returncode} {done.stderr!r}")
    return "file://" + target


def stacks(data):
    """[(frames without their kinds, weight)] of a folded text."""
    for line in data.decode().splitlines():
        stack, weight = line.rsplit(" ", 1)
        yield [re.sub(r"_\[[kji]\]$", "", frame) for frame in stack.split(";")], int(weight)


def matched_percent(data, expression):
    """Independently: the share of all that has a match in its stack."""
    flags = 0 if re.search("[A-Z]", expression) else re.I
    found = whole = 0
    for frames, weight in stacks(data):
        whole += weight
        if any(re.search(expression, frame, flags) for frame in frames):
            found += weight
    return 100 * found / whole


class Flame(unittest.TestCase):
    def open(self, url, **options):
        page = browser.open(url, **options)
        self.addCleanup(lambda: self.assertEqual(page.problems(), []))
        return page

    def box(self, page, name):
        """x, y, width, height on the screen of the widest frame of that name."""
        return page.evaluate(f"""(() => {{
            const f = {SHOWN}.filter(g => g.frame.lines[0] === {json.dumps(name)});
            const r = f.map(g => g.querySelector('rect').getBoundingClientRect()).sort((a, b) => b.width - a.width)[0];
            return r && [r.x, r.y, r.width, r.height];
        }})()""")

    def click(self, page, name):
        x, y, width, height = self.box(page, name)
        page.click(x + min(width / 2, 30), y + height / 2)

    def geometry(self, page):
        return page.evaluate(f"""{SHOWN}.map(g => [g.frame.lines[0], g.getAttribute('class'),
            ...['x', 'y', 'width'].map(a => +g.querySelector('rect').getAttribute(a))].join(' '))""")

    def search(self, page, text):
        page.key("f", modifiers=2)
        page.write(text)
        return page.evaluate("document.querySelector('text[aria-live]').textContent")

    def test_zoom_and_reset(self):
        page = self.open(picture("small", SMALL))
        before = self.geometry(page)
        self.assertEqual(len(before), FRAMES)
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER * 500 / 1000 - 1, delta=0.1)
        self.click(page, "serve")
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER - 1, delta=0.1)
        self.assertAlmostEqual(self.box(page, "read")[2], INNER * 300 / 500 - 1, delta=0.1)
        faded = page.evaluate(f"{SHOWN}.filter(g => g.classList.contains('up')).map(g => g.frame.lines[0])")
        self.assertEqual(faded, ["all", "web", "main"])
        for name in faded:
            self.assertAlmostEqual(self.box(page, name)[2], INNER - 1, delta=0.1)
        opacity = "+getComputedStyle({}).opacity"
        rect = "document.querySelector('.f .up rect')"
        self.assertLess(page.evaluate(opacity.format(rect)), 0.6)
        self.assertIsNone(self.box(page, "query"))
        page.click(*page.evaluate("""(() => { const r = document.querySelector('.ui rect').getBoundingClientRect();
            return [r.x + 10, r.y + 10]; })()"""))
        self.assertEqual(self.geometry(page), before)

    def test_zoom_out_by_parent_and_escape(self):
        page = self.open(picture("small", SMALL))
        before = self.geometry(page)
        self.click(page, "read")
        self.click(page, "main")
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER * 500 / 600 - 1, delta=0.1)
        page.key("Escape")
        self.assertEqual(self.geometry(page), before)

    def test_matched_counts_each_stack_once(self):
        page = self.open(picture("small", SMALL))
        for expression in ("parse", "main", "^read$", "serve|parse", "web", "i", "nothing"):
            text = self.search(page, expression)
            self.assertEqual(text.split(",")[0].replace("\u202f", " "),
                             f"Matched {matched_percent(SMALL, expression):.1f} %", expression)
        hits = f"{ALL}.filter(g => g.classList.contains('hit')).length"
        self.search(page, "parse")
        self.assertEqual(page.evaluate(hits), 3)
        self.search(page, "Parse")
        self.assertEqual(page.evaluate(hits), 0)
        self.assertEqual(self.search(page, "("), "not a regular expression")
        page.key("Escape")
        self.assertEqual(page.evaluate("document.querySelector('text[aria-live]').textContent"), "")
        self.assertFalse(page.evaluate("document.documentElement.classList.contains('found')"))

    def test_matched_of_a_real_profile(self):
        with gzip.open(PROFILE) as f:
            data = f.read()
        page = self.open(picture("real", PROFILE, "--idle"))
        for expression in ("tcp_", "^__", "read|write", "redis", r"\[unknown\]", "page_fault"):
            text = self.search(page, expression)
            expected = matched_percent(data, expression)
            self.assertGreater(expected, 0)
            self.assertEqual(text.split(",")[0].replace("\u202f", " "), f"Matched {expected:.1f} %", expression)

    def test_state_survives_reload(self):
        page = self.open(picture("small", SMALL))
        self.click(page, "query")
        self.search(page, "write|scan")
        page.evaluate("document.activeElement.blur()")
        page.key("i", text="i")
        address = page.evaluate("location.hash")
        for key in ("x=", "y=", "s=write%7Cscan", "i=1"):
            self.assertIn(key, address)
        before = self.geometry(page)
        matched = "document.querySelector('text[aria-live]').textContent"
        said = page.evaluate(matched)
        page.reload()
        self.assertEqual(page.evaluate("location.hash"), address)
        self.assertEqual(self.geometry(page), before)
        self.assertEqual(page.evaluate(matched), said)
        self.assertEqual(page.evaluate("document.querySelector('input').value"), "write|scan")
        other = self.open(picture("small", SMALL) + address)
        self.assertEqual(self.geometry(other), before)

    def test_back_undoes_a_zoom(self):
        page = self.open(picture("small", SMALL))
        before = self.geometry(page)
        self.click(page, "query")
        self.assertNotEqual(self.geometry(page), before)
        page.evaluate("new Promise(r => { addEventListener('popstate', () => setTimeout(r, 50)); history.back(); })")
        self.assertEqual(self.geometry(page), before)

    def test_query_in_place_of_the_fragment(self):
        page = self.open(picture("small", SMALL) + "?s=parse")
        self.assertIn("20.0", page.evaluate("document.querySelector('text[aria-live]').textContent"))

    def test_tooltip(self):
        page = self.open(picture("small", SMALL))
        x, y, _, _ = self.box(page, "read")
        page.hover(x + 20, y + 8)
        lines = page.evaluate("[...document.querySelectorAll('.tip text')].map(t => t.textContent)")
        self.assertEqual(lines[0], "read")
        self.assertIn("kernel", lines[1])
        self.assertIn("300 samples, 30.0\u202f% of all", lines[2])
        self.assertIn("read", page.evaluate("document.querySelector('.status').textContent"))
        page.hover(5, 300)
        self.assertEqual(page.evaluate("document.querySelector('.tip').getAttribute('display')"), "none")

    def test_keys_walk_and_zoom(self):
        page = self.open(picture("small", SMALL))
        for key in ("ArrowUp", "ArrowUp", "ArrowUp"):
            page.key(key)
        at = "document.querySelector('.at').frame.lines[0]"
        self.assertEqual(page.evaluate(at), "serve") # the widest child each time: web, main, serve
        page.key("ArrowLeft")
        self.assertEqual(page.evaluate(at), "idle_work")
        page.key("ArrowDown")
        self.assertEqual(page.evaluate(at), "main")
        page.key("Enter", text="\r")
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER * 500 / 600 - 1, delta=0.1)

    def test_icicle(self):
        flame = self.open(picture("small", SMALL))
        icicle = self.open(picture("icicle", SMALL, "--inverted"))
        self.assertGreater(self.box(flame, "all")[1], self.box(flame, "read")[1])
        self.assertLess(self.box(icicle, "all")[1], self.box(icicle, "read")[1])
        flame.key("i", text="i")
        self.assertEqual(self.geometry(flame), self.geometry(icicle))

    def test_page(self):
        """The same picture inside a page, under the policy that the page itself declares."""
        page = self.open(picture("page.html", SMALL))
        self.assertEqual(page.evaluate("document.documentElement.tagName"), "HTML")
        self.assertTrue(page.evaluate("document.querySelector('svg').classList.contains('ready')"))
        self.assertEqual(len(self.geometry(page)), FRAMES)
        self.click(page, "serve")
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER - 1, delta=0.1)
        self.assertIn("Matched 30.0", self.search(page, "^read$"))
        self.assertIn("s=%5Eread%24", page.evaluate("location.hash"))
        page.reload()
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER - 1, delta=0.1)
        # Whatever else would run is refused, and says so.
        page.evaluate("(() => { const s = document.createElement('script'); s.textContent = 'window.ran = 1'; "
                      "document.body.append(s); document.body.setAttribute('onclick', 'window.ran = 2'); "
                      "document.body.click(); })()")
        self.assertIsNone(page.evaluate("window.ran"))
        refused = [p for p in page.problems() if "Content Security Policy" in p]
        self.assertEqual(len(refused), 2)
        browser.events.clear()

    def test_links_are_followed_by_ctrl_click_alone(self):
        attributes = os.path.join(folder, "attributes")
        with open(attributes, "w", encoding="utf-8") as f:
            f.write("serve\thref=#linked\ttarget=_self\tclass=mine\n")
        page = self.open(picture("links", SMALL, "--nameattr", attributes))
        self.click(page, "serve")
        self.assertAlmostEqual(self.box(page, "serve")[2], INNER - 1, delta=0.1)
        self.assertNotIn("linked", page.evaluate("location.href"))
        follow = page.evaluate("(() => { const a = document.querySelector('.f a'); let taken; "
                               "document.addEventListener('click', e => { taken = e.defaultPrevented; e.preventDefault(); }); "
                               "const click = o => { a.firstChild.dispatchEvent(new MouseEvent('click', "
                               "{ bubbles: true, cancelable: true, ...o })); return taken; }; "
                               "return [click({}), click({ ctrlKey: true })]; })()")
        self.assertEqual(follow, [True, False]) # the script takes a plain click, and leaves the other to the browser

    def test_palette_and_sizes(self):
        page = self.open(picture("hot", SMALL, "--colors", "hot", "--hash", "--height", "30", "--fontsize", "16",
                                 "--bgcolors", "#102030", "--fonttype", "monospace"), scheme="dark")
        colour = "getComputedStyle(document.querySelector('.f g:nth-of-type(%d) rect')).fill"
        fills = {page.evaluate(colour % i) for i in range(1, FRAMES)}
        self.assertGreater(len(fills), 5)
        for fill in fills:
            red, _, blue = (int(v) for v in re.findall(r"\d+", fill))
            self.assertTrue(red >= 205 and blue <= 55, fill)
        self.assertEqual(page.evaluate("getComputedStyle(document.documentElement).backgroundColor"), "rgb(16, 32, 48)")
        self.assertEqual(self.box(page, "serve")[3], 29)
        label = "getComputedStyle([...document.querySelectorAll('.f text')].find(t => t.textContent === 'serve'))"
        self.assertEqual(page.evaluate(f"{label}.fontSize + ' ' + {label}.fontFamily"), "16px monospace")
        text = page.evaluate("[...document.querySelectorAll('.f text')].find(t => t.textContent === 'serve').getBBox().height")
        self.assertLess(text, 29)

    def test_wider_than_the_window(self):
        page = self.open(picture("wide", SMALL, "--width", "3000"))
        self.assertAlmostEqual(self.box(page, "all")[2], 3000 - 32 - 1, delta=0.1)
        narrow = self.open(picture("narrow", SMALL, "--width", "300"))
        self.assertAlmostEqual(self.box(narrow, "all")[2], INNER - 1, delta=0.1)

    def test_own_samples_come_first_then_the_children(self):
        """As flamegraph.pl places them: the children of a frame fill it from the right, in order."""
        page = self.open(picture("real", PROFILE, "--idle"))
        frames = page.evaluate(f"{ALL}.map(g => [g.frame.lines[0], g.frame.x, g.frame.v, g.frame.depth])")
        path = [] # [end, where the next child starts (None: anywhere), name of the child before]
        for name, x, v, depth in frames:
            while len(path) > depth:
                end, child, _ = path.pop()
                self.assertIn(child, (end, None))
            if path:
                parent = path[-1]
                self.assertIn(parent[1], (x, None), name)
                # A name that another one starts with may come behind it: "read.cold", "read".
                self.assertTrue(parent[2] <= name or parent[2].startswith(name), (parent[2], name))
                self.assertLessEqual(x + v, parent[0])
                parent[1:] = [x + v, name]
            path.append([x + v, None, ""])
        scale = page.evaluate("+document.querySelector('.f').dataset.scale")
        with gzip.open(PROFILE) as f:
            self.assertEqual(frames[0][2] * scale, sum(weight for _, weight in stacks(f.read())))
        rects = page.evaluate(f"{SHOWN}.map(g => [g.frame.x, +g.querySelector('rect').getAttribute('x')])")
        for x, drawn in rects:
            self.assertAlmostEqual(drawn, 16 + x * INNER / frames[0][2], delta=0.006)

    def test_labels_stay_inside(self):
        outside = f"""{SHOWN}.filter(g => {{ const t = g.querySelector('text');
            return t && t.getBoundingClientRect().right > g.querySelector('rect').getBoundingClientRect().right + 1; }})
            .map(g => g.frame.lines[0])"""
        for width in (700, 1200, 1900):
            page = self.open(picture("real", PROFILE), width=width)
            self.assertEqual(page.evaluate("document.documentElement.getBoundingClientRect().width"), width)
            self.assertEqual(page.evaluate(outside), [])
            self.click(page, "redis-server")
            self.assertEqual(page.evaluate(outside), [])
            labels = f"{SHOWN}.filter(g => g.querySelector('text')).length"
            self.assertGreater(page.evaluate(labels), width / 60)

    def test_header_does_not_overlap(self):
        for width in (900, 1200):
            page = self.open(picture("small", SMALL), width=width)
            self.click(page, "web")
            boxes = page.evaluate("""[...document.querySelectorAll('.head > text, .head > .end, .head > .ui, .head > foreignObject')]
                .map(e => e.getBoundingClientRect()).filter(r => r.width).map(r => [r.left, r.top, r.right, r.bottom])""")
            self.assertGreaterEqual(len(boxes), 6)
            for i, a in enumerate(boxes):
                self.assertLessEqual(a[2], width)
                for b in boxes[i + 1:]:
                    apart = a[2] <= b[0] or b[2] <= a[0] or a[3] <= b[1] or b[3] <= a[1]
                    self.assertTrue(apart, (width, a, b))

    def test_hostile_names(self):
        lines = "".join(f"{name};{name};f{i} {i + 10}\n" for i, name in enumerate(n.replace(";", ":") for n in EVIL))
        page = self.open(picture("evil", lines.encode()))
        tags = set(page.evaluate("[...document.querySelectorAll('*')].map(e => e.localName)"))
        self.assertEqual(tags - {"svg", "title", "style", "rect", "text", "tspan", "line", "g", "desc", "script",
                                 "foreignObject", "input"}, set())
        self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 1)
        handlers = """[...document.querySelectorAll('*')].filter(e => [...e.attributes]
            .some(a => /^on|href/i.test(a.name) || /script|alert/i.test(a.value))).length"""
        self.assertEqual(page.evaluate(handlers), 0)
        names = page.evaluate(f"{ALL}.map(g => g.frame.lines[0])")
        shown = [n.replace(";", ":").replace("\x1b", "\\x1b").replace("\u202e", "\\u202e") for n in EVIL]
        self.assertEqual(sorted(set(shown) - set(names)), [])
        for name in shown:
            x, y, width, _ = self.box(page, name)
            page.hover(x + width / 2, y + 8)
            self.assertIn(name, page.evaluate("document.querySelector('.tip .b').textContent"))
        for name in EVIL:
            self.search(page, name.replace("\x1b", ""))
        self.assertEqual(page.evaluate("document.querySelectorAll('script').length"), 1)

    def test_hostile_address(self):
        for text in ("<img src=x onerror=alert(1)>", "(((((", "\\", "'\"><script>alert(1)</script>"):
            page = self.open(picture("small", SMALL) + "#x=NaN&y=%00&i=<b>&s=" + urllib.parse.quote(text))
            self.assertEqual(page.evaluate("document.querySelector('input').value"), text)
            self.assertEqual(len(self.geometry(page)), FRAMES)

    def test_without_script(self):
        page = self.open(picture("small", SMALL), script=False)
        self.assertEqual(page.evaluate("document.querySelectorAll('.f title').length"), FRAMES)
        self.assertEqual(page.evaluate("document.querySelectorAll('.ui, input').length"), 0)
        self.assertGreater(page.evaluate("document.querySelectorAll('.f text').length"), 10)

    def test_as_an_image(self):
        url = picture("small", SMALL)
        html = os.path.join(folder, "image.html")
        with open(html, "w", encoding="utf-8") as f:
            f.write(f'<!doctype html><img src="{url}">')
        page = self.open("file://" + html)
        self.assertEqual(page.evaluate("document.images[0].naturalWidth"), 1200)
        self.assertTrue(page.evaluate("document.images[0].complete"))

    def test_readme_picture_is_what_the_program_draws(self):
        path = os.path.join(folder, "example.svg")
        self.assertEqual(tap.perfcam(*EXAMPLE, "-o", path).returncode, 0)
        with open(path, "rb") as ours, open(os.path.join(SOURCE, "docs", "example.svg"), "rb") as theirs:
            self.assertTrue(ours.read() == theirs.read(), f"draw it again: perfcam {' '.join(EXAMPLE)}")

    def test_dark_and_light(self):
        colour = "getComputedStyle(document.querySelector('.bg')).fill"
        url = picture("small", SMALL)
        self.assertEqual(self.open(url, scheme="light").evaluate(colour), "rgb(255, 255, 255)")
        self.assertEqual(self.open(url, scheme="dark").evaluate(colour), "rgb(16, 19, 25)")

    def test_documented_policy_admits_the_script(self):
        with open(os.path.join(SOURCE, "docs", "svg.md"), encoding="utf-8") as f:
            policy = re.search(r"^Content-Security-Policy: (.*)$", f.read(), re.M).group(1)
        with open(picture("small", SMALL)[7:], "rb") as f:
            svg = f.read()

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                self.send_response(200)
                self.send_header("Content-Type", "image/svg+xml")
                self.send_header("Content-Security-Policy", policy)
                self.end_headers()
                self.wfile.write(svg if "good" in self.path else svg.replace(b"'use strict'", b"'use strict' "))

            def log_message(self, *_):
                pass

        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        base = f"http://127.0.0.1:{server.server_port}/"
        ready = "document.documentElement.classList.contains('ready')"
        page = browser.open(base + "good")
        self.assertTrue(page.evaluate(ready))
        self.assertEqual([p for p in page.problems() if not p.startswith("request: " + base)], [])
        changed = browser.open(base + "changed")
        self.assertFalse(changed.evaluate(ready))


if __name__ == "__main__":
    tap.main()
