#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""resymbolise from outside, without a recorder: what it refuses, and stores in which nothing can be named.
That it names what it should is tested with real recordings (tests/system)."""
import json
import os

import support
import synth
import tap
from support import Case


class Resymbolise(Case):
    def refused(self, code, words, *args):
        r = support.run("resymbolise", *args)
        self.check_messages(r)
        self.assertEqual(r.code, code, r.err)
        self.assertIn(words, r.err)

    def test_what_is_refused(self):
        self.refused(2, b"one too many", "--store", self.store, "a", "b")
        self.refused(1, b"does not exist", "--store", self.store)
        self.refused(2, b"--symfs", "--symfs")

    def test_what_has_names_keeps_them(self):
        recording = synth.recording(7, 20, 30)
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(recording))
        files = {n: open(os.path.join(self.store, n), "rb").read() for n in self.windows()}
        said = json.loads(self.good("resymbolise", "--store", self.store, "--json"))
        self.assertEqual([w["name"] for w in said["windows"]], list(files))
        self.assertEqual((said["unnamed_functions"], said["rewritten"]), (0, 0))
        text = self.good("resymbolise", "--store", self.store)
        self.assertEqual(text, b"1 windows, 0 with unnamed functions, 0 rewritten\n")
        for name, content in files.items():
            with open(os.path.join(self.store, name), "rb") as f:
                self.assertEqual(f.read(), content)
        # Outside the time that was asked for there is nothing.
        none = json.loads(self.good("resymbolise", "--store", self.store, "--last", "1s", "--json"))
        self.assertEqual(none["windows"], [])

    def test_a_damaged_window_is_told_and_left(self):
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(synth.recording(8, 5, 5)))
        path = os.path.join(self.store, self.windows()[0])
        with open(path, "rb") as f:
            cut = f.read()[:100]
        with open(path, "wb") as f:
            f.write(cut)
        r = support.run("resymbolise", "--store", self.store)
        self.check_messages(r)
        self.assertEqual(r.code, 3)
        self.assertIn(b"perfcam verify", r.err)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), cut)


if __name__ == "__main__":
    tap.main()
