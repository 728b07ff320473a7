#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page by keys alone, while what it shows goes on, and when there is no answer: focus stays, what is walked to is in sight, and no figure
stands under a name that it does not belong to."""
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
import pictures
import scene
import served
import tap
import viewed

WHOLE = f"from={scene.START}&to={scene.START + pictures.SECONDS}&tz=utc"
FOCUSED = "(e => e.dataset.name || e.getAttribute('aria-label') || e.innerText)(document.activeElement)"
BANNER = "[...document.querySelectorAll('.banner')].filter(b => !b.hidden).map(b => b.innerText).join(' ')"
STATUS = "document.querySelector('.status').innerText"


def setUpModule():
    global folder, browser, server, facts
    folder = tempfile.mkdtemp(prefix="perfcam-hands-")
    os.chmod(folder, 0o755)
    server, facts = pictures.serve(folder)
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    server.stop()
    shutil.rmtree(folder)


def half_busy(store, number):
    """Two minutes more, of which the store had so many; the server may read them."""
    path = os.path.join(store, f"perfcam-{number:05}.pcw")
    subprocess.run([os.environ["PERFCAM_HALF_BUSY"], path, str(number), "calm"], check=True)
    os.chmod(path, 0o644)


class Growing:
    """A store that gets longer while it is looked at."""

    def __enter__(self):
        self.store = tempfile.mkdtemp(prefix="growing-", dir=folder)
        os.chmod(self.store, 0o755)
        self.n = 0
        self.grow()
        self.server = served.Server(self.store)
        return self

    def __exit__(self, *_):
        self.server.stop()

    def grow(self):
        half_busy(self.store, self.n)
        self.n += 1

    def seen_by(self, v):
        """Until the page has what was added."""
        end = scene.START + 120 * self.n
        v.settle(lambda: v.page.evaluate("performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/api/flame')).at(-1)").find(f"to=%40{end}") > 0)


class Keys(unittest.TestCase):
    def view(self, query=WHOLE, **options):
        return viewed.View(browser, server.url, query, facts, **options)

    def test_the_focus_stays_while_it_goes_on(self):
        with Growing() as g:
            v = viewed.View(browser, g.server.url, "tz=utc")
            for focus, wanted in (("document.querySelector('[data-name=db]').focus()", "db"), ("document.querySelector('[aria-label=Baseline]').focus()", "Baseline"),
                                  ("document.querySelector('.selection button.framed').focus()", "Compare")):
                v.page.evaluate(focus)
                self.assertEqual(v.page.evaluate(FOCUSED), wanted)
                kept = v.page.evaluate("window.kept = document.activeElement, document.activeElement.tagName")
                g.grow()
                g.seen_by(v)
                self.assertEqual(v.page.evaluate(FOCUSED), wanted)
                # A list that is open would close if it were put there anew.
                self.assertEqual(v.page.evaluate("window.kept === document.activeElement && kept.isConnected"), kept == "SELECT")

    def test_a_walk_and_what_is_pointed_at_stay_while_it_goes_on(self):
        """In a graph of what is recorded just now: the frame that was walked to, rows that were scrolled to, and what is said beside the pointer."""
        with Growing() as g:
            v = viewed.View(browser, g.server.url, "tz=utc", width=1024, height=560)
            x, y, w, h = v.box("#flame")
            tip = "(t => t.hidden ? '' : t.innerText)(document.querySelector('.tip'))"
            v.page.evaluate("document.querySelector('#flame').focus()")
            for _ in range(3):
                v.page.key("ArrowUp")
            walked = v.page.evaluate(STATUS).split(",")[0]
            v.page.mouse("mouseWheel", x + w / 2, y + h / 2, deltaX=0, deltaY=-36)
            v.page.hover(x + w / 2, y + h - 30)
            v.settle(lambda: "samples" in v.page.evaluate(tip))
            said, lowest = v.page.evaluate(tip).split("\n"), self.lowest(v)
            g.grow()
            g.seen_by(v)
            v.settle()
            self.assertEqual(v.page.evaluate(tip).split("\n")[0], said[0])
            self.assertEqual(self.lowest(v), lowest)  # not scrolled back
            v.page.hover(x + w / 2, y - 5)
            v.page.key("ArrowDown")
            v.page.key("ArrowUp")
            self.assertEqual(v.page.evaluate(STATUS).split(",")[0], walked)
            # A cell of the heatmap: the tip is of what lies there now.
            x, y, w, h = v.box("#heat")
            v.page.hover(x + w / 2, y + h / 2)
            v.settle(lambda: "sample" in v.page.evaluate(tip))
            before = v.page.evaluate(tip).split("\n")[0]
            g.grow()
            v.settle(lambda: v.page.evaluate(tip) and v.page.evaluate(tip).split("\n")[0] != before)

    def lowest(self, v):
        """The colours of a line near the lower edge of the graph."""
        return v.page.evaluate("(c => [...c.getContext('2d').getImageData(0, c.height - 12, c.width, 1).data].filter((_, i) => i % 400 < 3).join())(document.querySelector('#flame canvas'))")

    def test_zooming_callers_and_callees(self):
        v = self.view(WHOLE + "&tab=sandwich&sand=tcp_sendmsg")
        root = "document.querySelector('[aria-live]').textContent"
        v.page.evaluate("document.querySelector('#callers').focus()")
        for key in ("ArrowUp", "ArrowUp", "Enter"):
            v.page.key(key, text="\r" if key == "Enter" else None)
        zoomed = v.picture("#callers")
        v.key("z")  # the page is shown anew, and the zoom is where it was
        v.settle()
        self.assertEqual(v.picture("#callers"), zoomed)
        v.page.key("Escape")
        self.assertEqual(v.query().get("tab"), ["sandwich"])
        v.settle(lambda: v.picture("#callers") != zoomed)
        self.assertNotEqual(v.page.evaluate(root), "")
        v.page.key("Escape")  # no step of it is left: nothing else was done

    def test_keys_of_the_browser_are_left_to_it(self):
        """Alt and an arrow is Back, wherever the focus is; a menu lets pass what is none of its own."""
        v = self.view()
        v.key("m")
        v.settle(lambda: v.query().get("mode") == ["cores"])
        v.page.evaluate("window.taken = []; document.addEventListener('keydown', e => setTimeout(() => taken.push([e.key, e.defaultPrevented])), true)")
        v.page.evaluate("document.querySelector('[aria-label=\"Heatmap mode\"] [aria-checked=true]').focus()")
        v.page.key("ArrowLeft", modifiers=1)
        self.assertEqual(v.query().get("mode"), ["cores"])
        v.key("e")
        v.settle()
        v.page.key("r", modifiers=2)
        v.page.key("End")
        self.assertEqual(v.page.evaluate("document.activeElement === document.querySelector('.menu').lastElementChild"), True)
        v.page.key("ArrowDown")
        self.assertEqual(v.page.evaluate("document.activeElement === document.querySelector('.menu').firstElementChild"), True)
        v.key("m")  # of the page, which has none of it meanwhile
        self.assertEqual(v.query().get("mode"), ["cores"])
        v.page.key("Escape")
        v.settle(lambda: v.page.evaluate("taken.length") >= 7)
        self.assertEqual(v.page.evaluate("taken.filter(([k]) => k !== 'Escape')"), [["ArrowLeft", False], ["e", True], ["r", False], ["End", True], ["ArrowDown", True], ["m", False]])

    def test_a_browser_that_keeps_nothing(self):
        page = browser.open("about:blank", width=1440, height=900, scheme="light")
        page.call("Page.addScriptToEvaluateOnNewDocument", source="Object.defineProperty(window, 'localStorage', { get() { throw new DOMException('no', 'SecurityError'); } })")
        page.go(server.url)
        until = time.monotonic() + 20
        while not page.evaluate("document.querySelector('.headline') !== null") and time.monotonic() < until:
            time.sleep(0.05)
        self.assertIn("zstd", page.evaluate("document.body.innerText"))
        page.key("d", text="d")
        self.assertEqual(page.evaluate("document.documentElement.dataset.theme"), "dark")

    def test_a_clock_is_of_the_page_s_zone_and_of_what_is_kept(self):
        """The recording is of April, the server's zone is another one's: what the page shows leads to what it shows."""
        for more, zone in (("", "Asia/Kathmandu"), ("&tz=utc", "Asia/Kathmandu"), ("", "America/New_York")):
            v = self.view(WHOLE.replace("&tz=utc", "") + more, zone=zone)
            at = facts["incident"] + 0.25
            shown = v.page.evaluate(f"(d => {'d.toISOString().slice(11, 19)' if more else 'd.toTimeString().slice(0, 8)'} + '.250')(new Date({at * 1000}))")
            v.page.evaluate(f"document.querySelector('.goto input').value = '{shown}'; document.querySelector('.goto').requestSubmit()")
            v.settle(lambda: v.selected() is not None)
            self.assertEqual(v.selected(), (at - 2.5, at + 2.5, None), (shown, zone))

    def test_several_days_are_said(self):
        with Growing() as g:
            half_busy(g.store, 720)  # a day later
            v = viewed.View(browser, g.server.url, f"from={scene.START}&to={scene.START + 120}&a={scene.START + 10}~{scene.START + 12}&cmp=1&base=hour&tz=utc")
            for selector in (".selection", ".stage"):
                self.assertIn("Wed 15 Apr 03:13:07.000 – 03:13:09.000 UTC" if selector == ".selection" else "Wed 15 Apr 03:12:57 – 03:14:57", v.page.evaluate(f"document.querySelector('{selector}').innerText"))
            v.page.hover(*v.heat_point(scene.START + 60.5, 10, 50))
            self.assertRegex(v.page.evaluate("document.querySelector('.tip').innerText"), r"^Wed 15 Apr 03:13:57\.2")

    def test_what_is_said_above_the_page_has_the_keys(self):
        """A file that cannot be read: Tab does not lead behind what says so, no key acts there, Escape closes it and nothing else; the focus is back where it was."""
        a = f"{scene.START + 60}~{scene.START + 70}"
        v = self.view(WHOLE + f"&a={a}")
        v.page.evaluate("document.querySelector('[aria-label=Baseline]').focus()")
        bad = os.path.join(folder, "notes.txt")
        with open(bad, "wb") as f:
            f.write(b"\x00\x01 nothing\n" * 40)
        for kind in ("dragEnter", "dragOver", "drop"):
            v.page.call("Input.dispatchDragEvent", type=kind, x=600, y=500, data={"items": [], "files": [bad], "dragOperationsMask": 1})
        v.settle(lambda: "could not be opened" in v.page.evaluate("document.querySelector('.overlay').innerText"))
        behind = "document.querySelector('.app').contains(document.activeElement)"
        for _ in range(5):
            v.page.key("Tab")
            self.assertFalse(v.page.evaluate(behind))
            v.key("m")
            self.assertNotIn("mode", v.query())
        v.page.key("Escape")
        self.assertTrue(v.page.evaluate("document.querySelector('.overlay').hidden"))
        self.assertEqual((v.query()["a"], v.page.evaluate(FOCUSED)), ([a], "Baseline"))

    def test_keys_that_have_nothing_to_act_on_say_so(self):
        v = self.view(WHOLE + "&base=b")
        before = v.query()
        for key, said in (("c", "no baseline"), ("x", "nothing is compared"), ("h", "nothing is searched for")):
            v.key(key)
            self.assertIn(said, v.page.evaluate(STATUS))
            self.assertEqual(v.query(), before)

    def test_only_one_and_all_but_one(self):
        """Of each kind that who ran is listed by: what a click leaves, and one with Alt; the text says which there are."""
        click = "(alt => (r => (r.dispatchEvent(new MouseEvent('click', { bubbles: true, altKey: alt })), [r.dataset.name, r.title]))(document.querySelector('.side .rows:not(.events) .row[data-name]')))"
        v = self.view()
        before = v.samples()
        for by, only, but in (("comm", {"comm": ["zstd"]}, {"exclude": ["^zstd$"]}), ("process", {"pid": ["4410"]}, None), ("thread", {"tid": ["4410"]}, None), ("cgroup", {"zoom": ["[unknown]"]}, None),
                              ("container", {"zoom": ["[host]"]}, None), ("user", {"zoom": ["[unknown]"]}, None), ("cpu", {"a": [f"{scene.START}~{scene.START + 120}~7"]}, {"a": [f"{scene.START}~{scene.START + 120}~0-6,8-15"]})):
            for alt, want in ((False, only), (True, but or only)):
                v.page.evaluate(f"history.pushState(null, '', '?{WHOLE}&by={by}'); dispatchEvent(new PopStateEvent('popstate'))")
                v.settle(lambda: v.samples() == before)
                name, title = v.page.evaluate(f"{click}({str(alt).lower()})")
                v.settle(lambda want=want: want.items() <= v.query().items())
                self.assertEqual("Alt" in title, but is not None, by)
                self.assertGreater(v.samples(), 0, (by, name))
                self.assertEqual(v.samples() < before, "zoom" not in want, (by, name))

    def test_a_file_is_shown_whole(self):
        """Ten minutes that nobody records any more: all of them, and what was chosen of them is in the link."""
        store = tempfile.mkdtemp(prefix="whole-", dir=folder)
        os.chmod(store, 0o755)
        for k in range(5):
            half_busy(store, k)
        own = served.Server(store)
        self.addCleanup(own.stop)
        v = viewed.View(browser, own.url, "tz=utc")
        pressed = "document.querySelector('[aria-label=Span] [aria-checked=true]').innerText"
        self.assertEqual(v.page.evaluate(pressed), "all")
        self.assertIn("03:12:57 – 03:22:57", v.page.evaluate("document.querySelector('.stage').innerText"))
        v.page.evaluate("[...document.querySelectorAll('[aria-label=Span] [role=radio]')].find(b => b.innerText === '2 m').click()")
        v.settle(lambda: v.page.evaluate(pressed) == "2 m")
        self.assertIn("03:20:57 – 03:22:57", v.page.evaluate("document.querySelector('.stage').innerText"))
        v.page.reload()
        v.settle(lambda: v.page.evaluate(pressed) == "2 m")

    def test_a_deep_zoom_is_in_the_link(self):
        """A hundred frames with names of templates: a server reads no link that has them all."""
        names = [f"ns{i % 7}::Handler<std::basic_string<char, std::char_traits<char>>, {i}>::operator()" for i in range(100)]
        folded = os.path.join(folder, "deep.folded")
        with open(folded, "w", encoding="utf-8") as f:
            f.write(";".join(["app", *names]) + " 7\n" + ";".join(["app", *names[:50], "other"]) + " 5\n")
        own = served.Server(None, folded)
        self.addCleanup(own.stop)
        v = viewed.View(browser, own.url)
        v.page.evaluate("document.querySelector('#flame').focus()")
        for _ in range(99):
            v.page.key("ArrowUp")
        v.page.key("Enter", text="\r")
        v.settle(lambda: "zooms" in v.query())
        self.assertLess(len(v.page.evaluate("location.search")), 1500)
        v.page.reload()
        v.settle()
        # It is in sight: the frame that fills the window, and the one above it.
        x, y, w, h = v.box("#flame")
        named = set()
        for below in range(5, int(h), 9):
            v.page.hover(x + w / 2, y + below)
            named.add(v.page.evaluate("document.querySelector('.tip').hidden ? '' : document.querySelector('.tip b').innerText"))
        self.assertLessEqual({names[98], names[99]}, named)

    def test_an_act_by_key_keeps_the_focus(self):
        v = self.view(WHOLE + f"&a={scene.START + 60}~{scene.START + 70}")
        v.page.evaluate("document.querySelector('.selection button.framed').focus()")
        v.page.key("Enter", text="\r")
        v.settle(lambda: "cmp" in v.query())
        self.assertEqual(v.page.evaluate(FOCUSED), "Show plain")
        v.page.key("Enter", text="\r")
        v.settle(lambda: "cmp" not in v.query())
        self.assertEqual(v.page.evaluate(FOCUSED), "Compare")

    def test_what_only_goes_on_does_not_fade(self):
        """Opacity a second after a picture is on its way: of one that a person asked for, and of one that follows the time."""
        fades = """(async () => { const c = document.querySelector('#heat'); c.setAttribute('aria-busy', 'true'); await new Promise(d => setTimeout(d, 1300));
            const o = getComputedStyle(c.querySelector('canvas')).opacity; c.setAttribute('aria-busy', 'false'); return Number(o); })()"""
        with Growing() as g:
            v = viewed.View(browser, g.server.url, "tz=utc")
            self.assertLess(v.page.evaluate(fades), 0.5)
            g.grow()
            g.seen_by(v)
            self.assertEqual(v.page.evaluate(fades), 1)
            v.key("m")
            v.settle()
            self.assertLess(v.page.evaluate(fades), 0.5)

    def test_answers_that_take_longer_than_the_time_between_two_looks_are_shown(self):
        """Each question ends the one before it: asked anew with every second, a slow one would never have an answer."""
        slow = """(() => { const fetch_ = window.fetch; let asked = 0, given = 0;
            window.fetch = (path, how) => path.includes('/api/flame') ? new Promise((done, failed) => { asked++;
                how.signal.addEventListener('abort', () => failed(new DOMException('stopped', 'AbortError')));
                setTimeout(() => { given += how.signal.aborted ? 0 : 1; done(fetch_(path, how)); }, 5000); }) : fetch_(path, how);
            window.slow = () => [asked, given]; })()"""
        with Growing() as g:
            v = viewed.View(browser, g.server.url, "tz=utc")
            v.page.evaluate(slow)
            until = time.monotonic() + 60
            while v.page.evaluate("slow()")[1] < 2 and time.monotonic() < until:
                g.grow()
                time.sleep(2.5)
            asked, given = v.page.evaluate("slow()")
            self.assertGreaterEqual(given, 2, asked)
            self.assertLessEqual(asked, given + 1)

    def test_a_walk_stays_in_sight(self):
        """Up the deepest tower, in a window that is too low for it, and down again; in both directions of the graph."""
        v = self.view(WHOLE + f"&zoom=postgres", width=1024, height=600)
        for icicle in (False, True):
            v.page.evaluate("document.querySelector('#flame').focus()")
            # The outline is the only thing of that colour on the layer above.
            outlined = """(() => { const c = document.querySelectorAll('#flame canvas')[1], d = c.getContext('2d').getImageData(0, 0, c.width, c.height).data; let n = 0;
                const tx = getComputedStyle(document.documentElement).getPropertyValue('--tx').trim().match(/\\w\\w/g).map(h => parseInt(h, 16));
                for (let i = 0; i < d.length; i += 4) n += d[i + 3] > 200 && Math.abs(d[i] - tx[0]) + Math.abs(d[i + 1] - tx[1]) + Math.abs(d[i + 2] - tx[2]) < 30; return n; })()"""
            names = []
            for key in ["ArrowDown" if icicle else "ArrowUp"] * 20 + ["ArrowUp" if icicle else "ArrowDown"] * 20:
                v.page.key(key)
                names.append(v.page.evaluate(STATUS).split(",")[0])
                self.assertGreater(v.page.evaluate(outlined), 30, (icicle, names))
            self.assertGreater(len(set(names)), 12, names)
            v.key("i")

    def test_a_frame_s_menu_by_key(self):
        v = self.view()
        v.page.evaluate("document.querySelector('#flame').focus()")
        for key in ("ArrowUp", "ArrowUp"):
            v.page.key(key)
        walked = v.page.evaluate(STATUS).split(",")[0]
        for key, modifiers in (("F10", 8), ("ContextMenu", 0)):
            v.page.key(key, modifiers=modifiers)
            self.assertEqual(v.page.evaluate("document.querySelector('.menu').getAttribute('aria-label')"), walked)
            self.assertEqual(v.page.evaluate("document.activeElement.innerText"), "Zoom to this frame")
            v.page.key("Escape")
            self.assertEqual(v.page.evaluate("document.activeElement.id"), "flame")

    def test_a_range_given_up_leaves_the_selection(self):
        v = self.view(WHOLE + f"&a={scene.START + 60}~{scene.START + 70}")
        before, x, y = v.selected(), *v.heat_point(scene.START + 20, 10, 50)
        v.page.mouse("mousePressed", x, y, button="left", clickCount=1)
        v.page.mouse("mouseMoved", x + 100, y, button="left", buttons=1)
        v.page.key("Escape")
        v.page.mouse("mouseReleased", x + 100, y, button="left", clickCount=1)
        v.settle()
        self.assertEqual(v.selected(), before)
        self.assertIn("10 s", v.page.evaluate("document.querySelector('.selection').innerText"))

    def test_what_is_copied_is_said(self):
        v = self.view()
        v.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: { writeText: t => (window.copied = t, Promise.resolve()) }, configurable: true })")
        press = "[...document.querySelectorAll('.top button')].find(b => b.innerText === 'Copy link').click()"
        v.page.evaluate(press)
        v.settle(lambda: "copied the link" in v.page.evaluate(STATUS))
        self.assertEqual(v.page.evaluate("copied"), v.page.evaluate("location.href"))
        v.page.evaluate("Object.defineProperty(navigator, 'clipboard', { value: undefined })")
        v.page.evaluate(press)
        v.settle(lambda: "does not let" in v.page.evaluate(STATUS))


class Looks(unittest.TestCase):
    def view(self, query=WHOLE, **options):
        return viewed.View(browser, server.url, query, facts, **options)

    def test_signs_cover_no_frame(self):
        """The culprit's tower does not fit: its signs stand where there are no frames."""
        event = next(e["id"] for e in server.json("/api/events?severity=3")["events"])
        for width, height, direction in ((1024, 768, ""), (1024, 768, "&dir=icicle")):
            v = self.view(WHOLE + f"&event={event}" + direction, width=width, height=height)
            v.settle(lambda: "As usual" in v.panel())
            covered, signs = v.page.evaluate("""(() => { const [below, above] = [...document.querySelectorAll('#flame canvas')].map(c => c.getContext('2d').getImageData(0, 0, c.width, c.height).data);
                const ground = getComputedStyle(document.documentElement).getPropertyValue('--bg1').trim().match(/\\w\\w/g).map(h => parseInt(h, 16)); let covered = 0, signs = 0;
                for (let i = 0; i < above.length; i += 4) if (above[i + 3] > 100) { signs++; covered += below[i] !== ground[0] || below[i + 1] !== ground[1] || below[i + 2] !== ground[2]; }
                return [covered, signs]; })()""")
            self.assertGreater(signs, 300)
            self.assertEqual(covered, 0, direction)

    def test_a_finding_has_the_place_of_any_event(self):
        v = self.view()
        v.key("u")
        v.settle(lambda: v.page.evaluate("document.querySelectorAll('.glyph.find').length") > 0)
        self.assertEqual(v.page.evaluate("[...new Set([...document.querySelectorAll('.glyph')].map(g => g.getBoundingClientRect().width))]"), [12])

    def test_names_of_the_table_are_cut_not_gone(self):
        v = self.view(WHOLE + f"&tab=table&cmp=1&a={scene.START + 60}~{scene.START + 70}", width=1024, height=768)
        widths = v.page.evaluate("[...document.querySelectorAll('.table tbody tr')].map(r => { const b = r.querySelector('button'), t = r.cells[0].getBoundingClientRect(), q = b.getBoundingClientRect(); return [b.innerText, q.width, q.right <= t.right + 0.5]; })")
        self.assertGreater(len(widths), 30)
        self.assertTrue(any(len(name) > 35 for name, _, _ in widths))
        self.assertEqual([w for w in widths if w[1] < 8 * min(8, len(w[0])) / 2 or not w[2]], [])

    def test_a_search_that_is_none_stays_in_its_place(self):
        v = self.view(WHOLE + "&q=((&paint=1")
        self.assertIn("Unterminated group", v.page.evaluate("document.querySelector('.stage').innerText"))
        self.assertTrue(v.page.evaluate("document.querySelector('.finder').getBoundingClientRect().right <= document.querySelector('.stage').getBoundingClientRect().right"))
        # It is being typed: no reason to lose the heatmap, or for a banner.
        self.assertEqual(v.page.evaluate(BANNER), "")
        self.assertIn("· cell", v.page.evaluate("document.querySelector('.stage').innerText"))

    def test_when_did_it_run_takes_small_letters_as_the_search_does(self):
        v = self.view(WHOLE + "&q=zstd_btfind&paint=1")
        self.assertRegex(v.page.evaluate("document.querySelector('.stage').innerText"), r"[1-9][\d.]* % matched")
        asked = v.page.evaluate("performance.getEntriesByType('resource').map(e => e.name).filter(n => n.includes('/api/heatmap')).at(-1)")
        _, got = server.columns(asked[asked.index("/api"):])
        self.assertGreater(sum(got["painted"]), 1000)

    def test_time_beside_the_span_is_not_called_unobserved(self):
        """The first and the last column lie in the span by a part: all of them was observed."""
        low = facts["incident"]
        for query, place in ((f"from={low - 0.2}&to={low + 0.8}&mode=sub", 0.25), (f"from={low - 0.2}&to={low + 0.8}&mode=sub", 0.75), (f"from={low - 20.43}&to={low + 20.27}&mode=cores", 0.0003),
                             (f"from={low - 20.43}&to={low + 20.27}&mode=cores", 0.9997)):
            v = self.view(query + "&tz=utc")
            x, y, w, h = v.box("#heat")
            plot = w - 2 * viewed.GUTTER
            v.page.hover(x + viewed.GUTTER + place * plot, y + viewed.LANE + 0.4 * (h - viewed.LANE - viewed.AXIS))
            words = v.page.evaluate("document.querySelector('.tip').innerText")
            self.assertRegex(words, r"\d samples?", query)
            self.assertNotIn("observed", words, query)
        self.assertIn("03:14:08.800 – 03:14:09.800", self.view(f"from={low - 0.2}&to={low + 0.8}&mode=sub&tz=utc").page.evaluate("document.querySelector('.stage').innerText"))

    def test_the_letters_of_a_selection_and_of_what_is_just_before_it_are_both_there(self):
        low = facts["incident"]
        v = self.view(WHOLE + f"&a={low}~{low + 0.9}&cmp=1&mode=cores")
        colours = v.page.evaluate("""(() => { const g = document.querySelectorAll('#heat canvas')[1].getContext('2d'), d = g.getImageData(0, 15, g.canvas.width, 1).data, runs = {};
            for (let i = 0; i < d.length; i += 4) if (d[i + 3] === 255) { const c = [d[i], d[i + 1], d[i + 2]].join(); runs[c] = (runs[c] ?? 0) + 1; } return runs; })()""")
        a, b = ",".join(str(int("4cc9ff"[i:i + 2], 16)) for i in (0, 2, 4)), ",".join(str(int("d3dae4"[i:i + 2], 16)) for i in (0, 2, 4))
        self.assertGreaterEqual(colours.get(a, 0), 14, colours)
        self.assertGreaterEqual(colours.get(b, 0), 14, colours)

    def test_damage_is_said_and_all_else_is_there(self):
        store = os.path.join(folder, "damaged")
        os.mkdir(store)
        os.chmod(store, 0o755)
        for number in range(3):
            half_busy(store, number)
        with open(os.path.join(store, "perfcam-00001.pcw"), "r+b") as f:
            f.seek(150_000)
            f.write(bytes(4000))
        s = served.Server(store)
        try:
            v = viewed.View(browser, s.url, f"from={scene.START}&to={scene.START + 360}&tz=utc")
            self.assertIn("Files of this span are damaged", v.page.evaluate(BANNER))
            self.assertIn("web ran most", v.panel())
            v.page.evaluate(f"history.pushState(null, '', '?from={scene.START + 240}&to={scene.START + 360}'); dispatchEvent(new PopStateEvent('popstate'))")
            v.settle(lambda: v.page.evaluate(BANNER) == "")
        finally:
            s.stop()


class NoAnswer(unittest.TestCase):
    def test_an_event_that_is_not_there_hides_no_other(self):
        v = viewed.View(browser, server.url, WHOLE + "&event=ev-0000aaaa", facts)
        self.assertIn("is no event of these windows", v.page.evaluate(BANNER))
        self.assertIn("deploy checkout v118", v.panel())

    def test_what_cannot_be_read_is_not_on_its_way(self):
        """A filter that is none, from the first question on: no skeleton, no "Reading…"."""
        v = None
        try:
            v = viewed.View(browser, server.url, WHOLE, facts)
            v.page.go(f"http://127.0.0.1:{server.port}/?{WHOLE}&match=((")
            v.settle(lambda: "could not be read" in v.panel())
        finally:
            said = v.page.evaluate("document.body.innerText") if v else ""
        self.assertNotIn("Reading…", said)
        self.assertIn("Why is said above", said)
        self.assertTrue(v.page.evaluate("document.querySelector('.skeleton').hidden"))
        self.assertIn("Unmatched (", v.page.evaluate(BANNER))
        v.page.evaluate("[...document.querySelectorAll('.banner button')].find(b => b.innerText === 'Remove the filters').click()")
        v.settle(lambda: "ran most" in v.panel())
        self.assertEqual(v.page.evaluate(BANNER), "")

    def test_figures_of_another_question_are_faint(self):
        """The server is gone when something else is selected: graph and figures are those of before, and look like it."""
        s = served.Server(os.path.join(folder, "store"))
        v = viewed.View(browser, s.url, WHOLE, facts)
        stale = "[...document.querySelectorAll('#flame, .side section')].filter(e => e.dataset.stale === 'true').map(e => getComputedStyle(e.firstElementChild).opacity)"
        self.assertEqual(v.page.evaluate(stale), [])
        s.stop()
        v.page.evaluate(f"history.pushState(null, '', '?{WHOLE}&a={scene.START + 10}~{scene.START + 20}'); dispatchEvent(new PopStateEvent('popstate'))")
        until = time.monotonic() + 20
        while v.page.evaluate(stale) != ["0.45"] * 4 and time.monotonic() < until:
            time.sleep(0.1)
        self.assertEqual(v.page.evaluate(stale), ["0.45"] * 4)
        self.assertNotIn("Looking for what was different", v.panel())
        again = served.Server(os.path.join(folder, "store"), listen=f"127.0.0.1:{s.port}")
        try:
            if again.token:  # another one than the page has
                v.page.call("Network.setExtraHTTPHeaders", headers={"Authorization": "Bearer " + again.token})
            v.settle(lambda: v.page.evaluate(stale) == [] and "10 s" in v.panel())
        finally:
            again.stop()


tap.main()
