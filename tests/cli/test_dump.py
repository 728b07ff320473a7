#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""verify --dump: the parts of a file are all of it, and a changed byte is in the part that is called bad."""
import glob
import json
import os
import random

import support
import tap
from support import Case

WINDOW = os.path.join(support.DATA, "window-1.pcw")
JOURNALS = os.path.join(support.SOURCE, "fuzz", "corpus", "journal", "raw-*")


class Dump(Case):
    def parts(self, path, code=0):
        return json.loads(self.good("verify", "--dump", path, "--json", code=code))

    def check_whole(self, parts, size):
        """One behind the other, from the first byte to the last."""
        at = 0
        for p in parts:
            self.assertEqual(p["at"], at)
            at += p["bytes"]
        self.assertEqual(at, size)

    def test_a_window(self):
        parts = self.parts(WINDOW)
        self.check_whole(parts, os.path.getsize(WINDOW))
        self.assertTrue(all(p["good"] for p in parts))
        self.assertEqual([p["part"] for p in parts[:3]], ["header", "directory", "strings"])
        self.assertEqual([p["part"] for p in parts[-2:]], ["directory", "trailer"])
        text = self.good("verify", "--dump", WINDOW).splitlines()
        self.assertEqual(len(text), len(parts) + 1)

    def test_a_byte_is_bad_where_it_is(self):
        with open(WINDOW, "rb") as f:
            data = f.read()
        parts = self.parts(WINDOW)
        pick = random.Random(1)
        places = [0, 10, 30, len(data) - 1, len(data) - 20] + [
            pick.randrange(len(data)) for _ in range(60)]
        for at in places:
            broken = bytearray(data)
            broken[at] ^= 1 << pick.randrange(8)
            path = self.path("broken.pcw", bytes(broken))
            part, = (p for p in parts if p["at"] <= at < p["at"] + p["bytes"])
            if part["part"] == "header" and at < 8:
                self.bad("verify", "--dump", path, names="not a window")
                continue
            if part["part"] == "header" and at < 20:
                # A feature that is not known, or a header that cannot be trusted: its crc says which.
                self.assertIn(support.run("verify", "--dump", path).code, (1, 3))
                continue
            bad = [p for p in self.parts(path, code=3) if not p["good"]]
            with self.subTest(f"byte {at}, {part['part']} {part['number']}"):
                names = [(p["part"], p["number"]) for p in bad]
                self.assertIn((part["part"], part["number"]), names)
                self.assertLessEqual(len(bad), 2, names)

    def test_cut_and_grown(self):
        with open(WINDOW, "rb") as f:
            data = f.read()
        for n in (0, 7, 24, 300, 600, 2000, 4096, len(data) - 1):
            r = support.run("verify", "--dump", self.path("cut.pcw", data[:n]))
            self.assertIn(r.code, (1, 3), n)
            self.check_messages(r)
        self.assertEqual(self.parts(self.path("more.pcw", data + b"x" * 100), code=3)[-1]["part"],
                         "unknown bytes")

    def test_journals(self):
        paths = sorted(glob.glob(JOURNALS))
        self.assertGreaterEqual(len(paths), 3)
        for given in paths:
            with open(given, "rb") as f:
                path = self.path(os.path.basename(given), f.read()[1:])  # the fuzzer's own letter
            r = support.run("verify", "--dump", path, "--json")
            with self.subTest(os.path.basename(path)):
                self.assertIn(r.code, (0, 3))
                parts = json.loads(r.out)
                self.check_whole(parts, os.path.getsize(path))
                self.assertEqual(parts[0]["part"], "header")
                self.assertEqual(r.code, 3 if any(not p["good"] for p in parts) else 0)
                if "bad" in path:
                    self.assertIn("unreadable", [p["part"] for p in parts])

    def test_other_files(self):
        self.bad("verify", "--dump", support.fixture_path("tmpl"), names="not a window")
        self.bad("verify", "--dump", self.path("none"), names="none")
        self.bad("verify", "--dump", WINDOW, "--store", self.dir, code=2, names="--dump")


tap.main()
