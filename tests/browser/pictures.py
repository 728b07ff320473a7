# SPDX-License-Identifier: Apache-2.0
"""The states of the page that docs/ shows: of the made-up host of scene.py. For tools/page-pictures, which keeps them, and
test_host.py, which compares what is kept with the page as it is."""
import os

import scene
import served
import viewed

SECONDS, CPUS = 120, 16
STATES = {
    # file: scheme, what the link says, what the panel says then
    "page-event.png": ("dark", "from={s}&to={e}&event={id}&tz=utc", "As usual"),
    "page-subsecond.png": ("light", "from={s}&to={e}&mode=sub&event={id}&tz=utc", "As usual"),
    "page-compare.png": ("dark", "from={s}&to={e}&a={i}~{j}~4-11&base=minute&cmp=1&mode=cores&tz=utc", "Against"),
    "page-time.png": ("dark", "from={s}&to={e}&a={b}~{f}&mode=cores&tab=time&core={c}&tz=utc", "As usual"),
}


def serve(folder):
    """A server of that host, and what is known of it."""
    text, facts = scene.make(seed=5, seconds=SECONDS, cpus=CPUS, away=True)
    store = served.make_store(os.path.join(folder, "store"), text)
    viewed.annotate(store, scene.notes(facts, SECONDS))
    return served.Server(store), {**facts, "text": text}


def take(browser, server, facts, name):
    """A page in that state, at rest."""
    scheme, link, said = STATES[name]
    event = next(e["id"] for e in server.json("/api/events?severity=3")["events"])
    i = facts["incident"]
    words = {"s": facts["from"], "e": facts["from"] + SECONDS, "i": i, "j": i + 1.9, "b": i - 0.6, "f": i + 2.5, "c": facts["cpu"], "id": event}
    v = viewed.View(browser, server.url, link.format(**words), facts, scheme=scheme)
    v.settle(lambda: said in v.panel())
    return v
