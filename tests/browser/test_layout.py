#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The page at 1024 × 768, the least it is made for: nothing is cut, and nothing breaks where it must not."""
import itertools
import os
import shutil
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path[:0] = [os.path.join(HERE, "..", "cli"), HERE]
import chrome
import pictures
import scene
import served
import tap
import viewed
from pictures import SECONDS

WIDTH, HEIGHT = 1024, 768
WHOLE = f"from={scene.START}&to={scene.START + SECONDS}"
# What cannot be read of what is visible. Names of others may be of any length: they are cut where they have a title.
FIND_CUT = """(() => {
    const found = [], seen = (e) => e.checkVisibility() && e.getClientRects().length > 0;
    const words = (e) => e.tagName + '.' + e.className + ': ' + (e.selectedOptions ? e.selectedOptions[0].text : e.innerText || e.placeholder).slice(0, 60);
    const lines = (range) => { const middles = [...range.getClientRects()].filter((r) => r.width > 0).map((r) => r.top + r.height / 2); return Math.max(...middles) - Math.min(...middles) > 8 ? 2 : 1; };
    const natural = (text, like) => { const s = document.createElement('span'); s.textContent = text; s.style.cssText = 'position:fixed;visibility:hidden;white-space:pre'; s.style.font = getComputedStyle(like).font;
        document.body.append(s); const w = s.getBoundingClientRect().width; s.remove(); return w; };
    const told = (e) => e.matches('.cut') && e.closest('[title]')?.title.includes(e.innerText.trim().slice(0, 15));
    for (const e of document.querySelectorAll('button, .chip, dt, dd, h2, th, td, label, .legend, .num, .ratio, .cut, .seg, .head > span, .bar > span, .top > span')) {
        if (!seen(e) || e.closest('.sentence, canvas, .spoken') || (e.matches('button') && e.querySelector('.cut'))) continue;
        const range = document.createRange(); range.selectNodeContents(e);
        if (e.scrollWidth > e.clientWidth + 1 && getComputedStyle(e).display !== 'inline' && !told(e)) found.push('cut ' + words(e));
        if (e.matches('button, .chip, dt, dd, h2, th, label, .num, .ratio, .head > span, .bar > span') && !e.querySelector('select') && lines(range) > 1) found.push('two lines ' + words(e));
    }
    for (const e of document.querySelectorAll('select')) {
        if (!seen(e)) continue;
        const style = getComputedStyle(e), room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        if (natural(e.selectedOptions[0].text, e) > room + 1) found.push('cut ' + words(e));
    }
    for (const e of document.querySelectorAll('input')) {
        if (!seen(e)) continue;
        const style = getComputedStyle(e), room = e.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
        if (natural(e.value || e.placeholder, e) > room + 1) found.push('cut ' + words(e));
    }
    const texts = document.createTreeWalker(document.querySelector('.app'), NodeFilter.SHOW_TEXT);
    for (let t; (t = texts.nextNode());)
        if (seen(t.parentElement))
            for (const m of t.data.matchAll(/\\d[\\d.\\u2009]*\\s(%|µs|ms|s|min|h|days|CPU·ms|CPU·s|CPU·h|bytes|kB|MB|GB)(?![\\w])/g)) {
                const range = document.createRange(); range.setStart(t, m.index); range.setEnd(t, m.index + m[0].length);
                if (lines(range) > 1) found.push('apart ' + m[0] + ' in ' + t.data.slice(0, 60));
            }
    for (const e of document.querySelectorAll('.bar, .top, .side, .stage, .status, .banner'))
        if (seen(e) && e.scrollWidth > e.clientWidth + 1) found.push('overflows ' + words(e));
    const right = (e) => e.getBoundingClientRect().right, edge = (e) => right(e.closest('.side, .stage, .top, .menu, dialog') ?? document.body);
    for (const e of document.querySelectorAll('button, select, input, .chip, .seg, .legend'))
        if (seen(e) && right(e) > edge(e) + 0.5) found.push('outside ' + words(e));
    return found;
})()"""


def setUpModule():
    global folder, browser, server, facts
    folder = tempfile.mkdtemp(prefix="perfcam-layout-")
    os.chmod(folder, 0o755)
    server, facts = pictures.serve(folder)
    browser = chrome.Browser()


def tearDownModule():
    browser.__exit__()
    server.stop()
    shutil.rmtree(folder)


class Layout(unittest.TestCase):
    def look(self, query, said="", **options):
        v = viewed.View(browser, server.url, query, facts, **{"width": WIDTH, "height": HEIGHT, **options})
        v.settle(lambda: said in v.panel())
        self.assertEqual(v.page.evaluate(FIND_CUT), [], query)
        return v

    def test_what_it_looks_for_is_found(self):
        """Each kind of it, made on purpose: else no test of this file could fail."""
        v = self.look(WHOLE)
        for act, want in (("document.querySelector('[aria-label=Baseline]').style.width = '50px'", "cut SELECT"),
                          ("document.querySelector('.goto').style.width = '120px'", "cut INPUT"),
                          ("document.querySelector('.facts dt').style.cssText = 'white-space: normal; width: 30px'; document.querySelector('.facts dt').innerText = 'Not recorded'", "two lines DT"),
                          ("document.querySelector('.headline').innerText = 'for 12 ms'; document.querySelector('.headline').style.width = '70px'", "apart 12 ms"),
                          ("document.querySelector('.top').style.paddingLeft = '600px'", "overflows")):
            v.page.evaluate(f"(() => {{ {act} }})()")
            found = v.page.evaluate(FIND_CUT)
            self.assertTrue(any(f.startswith(want) for f in found), (want, found))

    def test_all_of_it(self):
        self.look(WHOLE)
        self.look(WHOLE + "&mode=cores&tz=utc&scale=linear", scheme="light")
        v = self.look("", zone="Asia/Kathmandu")  # UTC+5:45
        # Nor beside the axes, which are drawn: what stands there does not reach the edge.
        for picture in ("#timeline", "#heat"):
            self.assertEqual(v.page.evaluate(f"new Set(new Uint32Array((c => c.getContext('2d').getImageData(0, c.height - 20, 2, 20))(document.querySelector('{picture} canvas')).data.buffer)).size"), 1, picture)

    def test_a_selection_and_its_answer(self):
        low = facts["incident"]
        event = server.json("/api/events?severity=3")["events"][0]["id"]
        self.look(WHOLE + f"&a={low - 0.6}~{low + 2.5}&mode=cores", "As usual")
        self.look(WHOLE + f"&event={event}", "As usual")
        self.look(WHOLE + f"&a={low}~{low + 0.012}", "Coverage")  # "12 ms"

    def test_a_comparison(self):
        low = facts["incident"]
        for zone in ("UTC", "Asia/Kathmandu"):
            for base in ("before", "minute", "around", "hour"):
                self.look(WHOLE + f"&a={low}~{low + 1.9}~4-11&base={base}&cmp=1&mode=cores", "Against" if base != "hour" else "", zone=zone)
        v = self.look(WHOLE + f"&a={low}~{low + 1.9}&b={low - 50}~{low - 20}&cmp=1&comm=zstd&only=user&match=ZSTD_compressBlock_lazy2&q=main", zone="Asia/Kathmandu")
        # What there is no room for is in the menu.
        v.page.evaluate("document.querySelector('[aria-label=More]').click()")
        v.page.evaluate("[...document.querySelectorAll('.menu button')].find(b => b.innerText.startsWith('Flip')).click()")
        v.settle(lambda: v.query().get("flip") == ["1"])
        self.assertEqual(v.page.evaluate(FIND_CUT), [])
        for words, name, value in (("pressure", "below", "pressure"), ("Heatmap: when", "paint", "1")):
            v.page.evaluate("document.querySelector('[aria-label=More]').click()")
            self.assertTrue(v.page.evaluate("(r => r.top >= 0 && r.bottom <= innerHeight)(document.querySelector('.menu').getBoundingClientRect())"))
            v.page.evaluate(f"[...document.querySelectorAll('.menu button')].find(b => b.innerText.startsWith('{words}')).click()")
            v.settle(lambda name=name, value=value: v.query().get(name) == [value])

    def test_the_views(self):
        low = facts["incident"]
        a = f"&a={low - 0.6}~{low + 2.5}"
        self.look(WHOLE + a + f"&tab=time&core={facts['cpu']}&q=main")
        self.look(WHOLE + a + "&tab=table")
        self.look(WHOLE + a + "&tab=table&cmp=1&sort=change")
        self.look(WHOLE + "&tab=sandwich&sand=mem_cgroup_nr_lru_pages&q=mem_cgroup&paint=1&mode=cores")
        self.look(WHOLE + "&tab=time")

    def test_how_much_matched_is_never_cut(self):
        """It has a title, as names of others have, which excuses those."""
        for width, more in itertools.product((WIDTH, 1440), ("", "&paint=1", "&cmp=1&base=minute", "&colour=module&tab=sandwich")):
            v = self.look(WHOLE + f"&a={facts['incident']}~{facts['incident'] + 1.9}&q=tcp_&mode=cores" + more, width=width, height=900)
            words, room, needed = v.page.evaluate("(e => [e.innerText, e.clientWidth, e.scrollWidth])(document.querySelector('.matched'))")
            self.assertRegex(words, r"^\d[\d.]* % matched$")
            self.assertLessEqual(needed, room, (width, more))

    def test_the_list_of_keys(self):
        v = self.look(WHOLE)
        v.key("?")
        self.assertEqual(v.page.evaluate(FIND_CUT), [])
        last, close, low = v.page.evaluate("""[[...document.querySelectorAll('.keys span')].at(-1).getBoundingClientRect().bottom, document.querySelector('dialog form button').getBoundingClientRect().top,
            document.querySelector('dialog').getBoundingClientRect().bottom]""")
        self.assertLess(last + 6, close)
        self.assertLess(low, HEIGHT)

    def test_callers_and_callees_have_room_by_their_rows(self):
        v = self.look(WHOLE + "&tab=sandwich&sand=tcp_sendmsg")
        self.assertGreater(v.box("#callers")[3], 2 * v.box("#callees")[3])
        v = self.look(WHOLE + "&tab=sandwich&sand=_start")
        self.assertGreater(v.box("#callees")[3], 2 * v.box("#callers")[3])

    def test_time_that_was_not_recorded(self):
        v = self.look(WHOLE + f"&a={scene.START - 30}~{scene.START + 10}", "Not recorded")
        self.assertIn("Not recorded\n30", v.panel())
        self.look(f"from={scene.START - 600}&to={scene.START - 300}&a={scene.START - 500}~{scene.START - 490}")
        self.look(WHOLE + "&comm=nobody")

    def test_nothing_at_all(self):
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        own = served.Server(empty)
        self.addCleanup(own.stop)
        page = browser.open(own.url, width=WIDTH, height=HEIGHT)
        for _ in range(200):
            if "Nothing has been recorded" in page.evaluate("document.body.innerText"):
                break
            page.evaluate("new Promise((done) => setTimeout(done, 50))")
        self.assertIn("perfcam run", page.evaluate("document.body.innerText"))
        self.assertEqual(page.evaluate(FIND_CUT), [])


tap.main()
