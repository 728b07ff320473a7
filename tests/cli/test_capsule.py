#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`capsule`: what it says of events. How it looks in a browser is tests/browser/test_capsule.py's."""
import json
import os

import tap
import why_synth
from support import Case


class Capsule(Case):
    def test_events_of_the_moment_are_whole_beside_many_others(self):
        """The timeline has the events of half an hour, the moment its own: neither may touch the other's texts."""
        load = why_synth.Load(11, 240, cpus=4, jobs=False)
        store, page = os.path.join(self.dir, "s"), os.path.join(self.dir, "x.html")
        load.write(store + ".txt")
        self.good("import", "--store", store, store + ".txt")
        begin = json.loads(self.good("ls", "--store", store, "--json"))[0]["realtime_ns"] / 1e9
        texts = [f"deploy {k:02d} " + chr(ord("a") + k % 26) * 300 for k in range(50)]
        for k, text in enumerate(texts):
            at = 120.5 + k / 100 if k < 6 else 10 + 2 * k
            self.good("mark", text, "--at", f"@{begin + at:.3f}", "--store", store)
        self.good("capsule", "--from", f"@{begin + 120:.3f}", "--to", f"@{begin + 122:.3f}", "--store", store, "-o", page)
        with open(page, encoding="utf-8") as f:
            html = f.read()
        moment = html[html.index("The moment in numbers"):html.index("A minute before and after")]
        self.assertNotIn("\\x", moment)
        for k in range(6):
            self.assertEqual(moment.count(f"deploy {k:02d} " + chr(ord("a") + k) * 20), 1, moment)
        self.assertIn("deploy 49", html[:html.index("The moment in numbers")])


if __name__ == "__main__":
    tap.main()
