# SPDX-License-Identifier: Apache-2.0
"""The page in a browser, and stores for it: for the tests of this directory and tools/page-pictures."""
import json
import os
import re
import subprocess
import time
import urllib.parse

import served

GUTTER, LANE, AXIS = 56, 14, 20  # of the heatmap, as people see it


def annotate(store, lines):
    """Puts events, counters and missing time into every window of a store: see annotate.c."""
    for name in os.listdir(store):
        if name.endswith(".pcw"):
            path = os.path.join(store, name)
            r = subprocess.run([os.environ["PERFCAM_ANNOTATE"], path, path + ".new"], input="".join(line + "\n" for line in lines).encode(),
                               stderr=subprocess.PIPE)
            if r.returncode:
                raise RuntimeError(r.stderr.decode())
            os.replace(path + ".new", path)
    served.let_everyone_read(store)


class View:
    """One page, and what can be read from it."""

    def __init__(self, browser, url, query="", facts=None, **options):
        self.facts = facts
        port = urllib.parse.urlsplit(url).port
        wanted = f"http://127.0.0.1:{port}/?{query}"
        known = port in browser.known  # it has that server's token
        browser.known.add(port)
        self.page = browser.open(wanted if query and known else url, **{"width": 1440, "height": 900, "scheme": "dark", **options})
        if query and not known:
            self.page.go(wanted)
        self.settle()

    def settle(self, wanted=None):
        """Waits until nothing is asked any more, and then what is wanted is true."""
        until = time.monotonic() + 45
        quiet = 0
        while quiet < 3:
            if time.monotonic() > until:
                raise AssertionError(f"the page does not come to rest: {self.panel()!r}, {wanted}")
            time.sleep(0.05)
            done = self.page.evaluate("document.readyState === 'complete' && document.querySelector('.headline') !== null && document.querySelector('.stage').getAttribute('aria-busy') === 'false'")
            quiet = quiet + 1 if done and (not wanted or wanted()) else 0

    def panel(self):
        return self.page.evaluate("document.querySelector('.side').innerText") or ""

    def samples(self):
        m = re.search(r"([\d\u2009]+) (?:samples|cpu-clock)", self.panel())
        return int(m.group(1).replace("\u2009", "")) if m else None

    def query(self):
        return urllib.parse.parse_qs(self.page.evaluate("location.search")[1:])

    def box(self, selector):
        return self.page.evaluate(f"(r => [r.x, r.y, r.width, r.height])(document.querySelector({json.dumps(selector)}).getBoundingClientRect())")

    def drag(self, x0, y0, x1, y1, modifiers=0):
        p = self.page
        p.mouse("mouseMoved", x0, y0, modifiers=modifiers)
        p.mouse("mousePressed", x0, y0, button="left", clickCount=1, modifiers=modifiers)
        for i in range(1, 5):
            p.mouse("mouseMoved", x0 + (x1 - x0) * i / 4, y0 + (y1 - y0) * i / 4, button="left", buttons=1, modifiers=modifiers)
        p.mouse("mouseReleased", x1, y1, button="left", clickCount=1, modifiers=modifiers)

    def selected(self):
        """(from, to, CPUs or None) of the selection in the link."""
        a = self.query().get("a")
        if not a:
            return None
        parts = a[0].split("~")
        cpus = set()
        for run in parts[2].split(",") if len(parts) > 2 else ():
            low, _, high = run.partition("-")
            cpus.update(range(int(low), int(high or low) + 1))
        return float(parts[0]), float(parts[1]), cpus or None

    def heat_point(self, t, row, rows):
        """Where on the screen a time (seconds) and a row from the bottom is, of the whole recording."""
        x, y, w, h = self.box("#heat")
        span = self.query()
        start = int(float(span["from"][0])) if "from" in span else self.facts["from"]
        end = float(span["to"][0]) if "to" in span else self.facts["to"]
        return (x + GUTTER + (t - start) / (end - start) * (w - 2 * GUTTER), y + LANE + (1 - (row + 0.5) / rows) * (h - LANE - AXIS))

    def key(self, key):
        self.page.key(key, text=key if len(key) == 1 else None)

    def picture(self, selector):
        return self.page.evaluate(f"document.querySelector({json.dumps(selector)}).querySelector('canvas').toDataURL()")
