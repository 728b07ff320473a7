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


    def test_those_that_rules_have_written_are_listed(self):
        store = os.path.join(self.dir, "s")
        load = why_synth.Load(12, 20, cpus=2, jobs=False)
        load.write(store + ".txt")
        self.good("import", "--store", store, store + ".txt")
        none = self.good("ls", "--capsules", "--store", store).decode().splitlines()
        self.assertEqual((len(none), none[1][:5]), (2, "none:"))
        self.assertEqual(json.loads(self.good("ls", "--capsules", "--json", "--store", store)), [])
        self.assertNotIn(b"capsule", self.good("ls", "--store", store))
        place = os.path.join(store, "capsules")
        os.mkdir(place)
        evil = "20260415T031408Z-log-\x1b[2J.html"
        for name in ("20260415T031407Z-kmsg.html", evil, ".unfinished", "notes.html", "20261515T031407Z-kmsg.html", "20260415T031407Z-kmsg.txt"):
            with open(os.path.join(place, name), "w", encoding="utf-8") as f:
                f.write("x" * 3000)
        os.symlink("/etc/passwd", os.path.join(place, "20260415T031409Z-kmsg.html"))
        listed = json.loads(self.good("ls", "--capsules", "--json", "--store", store))
        self.assertEqual([(c["realtime_ns"], c["source"], c["bytes"], c["path"]) for c in listed],
                         [(1776222847 * 10**9, "kmsg", 3000, os.path.join(place, "20260415T031407Z-kmsg.html")),
                          (1776222848 * 10**9, "log-\x1b[2J", 3000, os.path.join(place, evil))])
        text = self.good("ls", "--capsules", "--store", store)
        self.check_terminal(text)
        self.assertEqual(len(text.decode().splitlines()), 3)
        self.assertIn(os.path.join(place, "20260415T031407Z-kmsg.html"), text.decode())
        some = json.loads(self.good("ls", "--capsules", "--json", "--from", "@1776222846", "--to", "@1776222848", "--store", store))
        self.assertEqual([c["source"] for c in some], ["kmsg"])
        windows = self.good("ls", "--store", store)
        self.check_terminal(windows)
        self.assertIn("2 capsules (perfcam ls --capsules), the newest: " + place, windows.decode())
        self.good("ls", "--capsules", "--pinned", "--store", store, code=2)
        # What is no directory is not followed.
        os.rename(place, place + ".1")
        os.symlink(place + ".1", place)
        self.good("ls", "--store", store)
        self.assertEqual(json.loads(self.good("ls", "--capsules", "--json", "--store", store)), [])


if __name__ == "__main__":
    tap.main()
