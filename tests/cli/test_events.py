#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`events`: marks of a store, found by text, severity and time; and by their ids again."""
import json

import synth
import tap
from support import Case
from synth import Sample

END = 1776222847  # 2026-04-15T03:14:07Z, the header's "captured on"
HOSTILE = "evil \x1b[2J\r\n\u202e</script> \xff\"'&<b>"


class Events(Case):
    def setUp(self):
        super().setUp()
        samples = [Sample(b"busy", 7, i % 2, 5_000_000_000 + i * 10_000, [b"work", b"main"])
                   for i in range(30_000)]
        self.good("import", "--store", self.store, "-",
                  stdin=synth.text_of(samples, captured="Wed Apr 15 03:14:07 2026"))
        for ago, text in ((250, "deploy 42"), (200, "deploy 43"), (100, HOSTILE), (10, "rolled back")):
            self.good("mark", text, "--at", f"@{END - ago}", "--store", self.store)

    def events(self, *args, code=0):
        return json.loads(self.good("events", *args, "--json", "--store", self.store, code=code))

    def texts(self, *args):
        return [e["text"] for e in self.events(*args)["events"]]

    def test_by_time_text_and_source(self):
        everything = self.events()
        self.assertEqual(everything["all"], 4)
        self.assertEqual(self.texts(), ["deploy 42", "deploy 43", HOSTILE, "rolled back"])
        first = everything["events"][0]
        self.assertEqual((first["source"], first["severity"]), ("mark", 5))
        self.assertLess(abs(first["time_ns"] - (END - 250) * 10**9), 2_000_000)
        self.assertEqual(self.texts("--match", "^deploy"), ["deploy 42", "deploy 43"])
        self.assertEqual(self.texts("--match", "4[23]$", "--from", f"@{END - 220}"), ["deploy 43"])
        self.assertEqual(self.texts("--source", "kmsg"), [])
        self.assertEqual(self.texts("--severity", "warning"), [])
        self.assertEqual(self.texts("--severity", "5", "--at", f"@{END - 10}"), ["rolled back"])
        limited = self.events("-n", "1")
        self.assertEqual((limited["all"], [e["text"] for e in limited["events"]]), (4, ["rolled back"]))

    def test_an_id_is_stable_and_leads_back(self):
        ids = {e["id"]: e["text"] for e in self.events()["events"]}
        self.assertEqual(len(ids), 4)
        for event, text in ids.items():
            self.assertRegex(event, "^ev-[0-9a-f]{12}$")
            self.assertEqual(self.texts("--event", event, "--around", "1s"), [text])
            self.assertEqual(self.texts("--event", event[3:11], "--around", "1s"), [text])
        self.check_fails("events", "--event", "ev-", "--store", self.store, code=2)

    def test_what_is_around_an_event_may_lie_in_the_window_before(self):
        """Windows of files have no clock in common but the wall's."""
        windows = json.loads(self.good("ls", "--store", self.store, "--json"))
        self.assertGreater(len(windows), 1)
        second = windows[1]["realtime_ns"] / 1e9
        self.good("mark", "at the edge", "--at", f"@{second + 1:.3f}", "--store", self.store)
        event = self.events("--match", "at the edge")["events"][0]
        at = json.loads(self.good("at", "--event", event["id"], "--around", "4s", "--json", "--store", self.store))
        self.assertAlmostEqual(at["samples"], 800, delta=5)
        # Within its file it is what it was.
        self.assertEqual(len(self.texts("--event", event["id"], "--around", "500ms")), 1)

    def test_a_saved_log_becomes_events_once(self):
        log = self.path("app.log", (
            b"2026-04-15T03:12:27.500Z ERROR disk is slow token=abc\n"
            b"Apr 15 03:12:40 web1 kernel: EXT4-fs error (device sda1): oops\n"
            b"2026/04/15 03:13:00 [warn] \xff\x1b[2Jbytes\n"
            b"no time at all\n"
            b"2026-04-15T09:00:00Z of another time\n"
            b"[  123.456789] of another boot's clock\n"))
        added = json.loads(self.good("import", "--events", log, "--store", self.store, "--json"))
        self.assertEqual(added, {"lines": 6, "added": 3, "known": 0, "outside": 2, "untimed": 1, "suppressed": 0})
        again = self.good("import", "--events", log, "--store", self.store).decode()
        self.assertTrue(again.startswith("0 events added of 6 lines; 3 were there already; 2 are of times"), again)
        events = {e["text"]: e for e in self.events("--source", "log:app.log")["events"]}
        self.assertEqual(len(events), 3)
        self.assertEqual(self.texts("--source", "log"), self.texts("--source", "log:app.log"))
        self.assertEqual(self.texts("--source", "lo"), [])
        slow = events["ERROR disk is slow token=[redacted]"]
        self.assertEqual(slow["severity"], 3)
        self.assertLess(abs(slow["time_ns"] - (END - 100) * 10**9 - 500_000_000), 200_000_000)
        self.assertEqual(events["web1 kernel: EXT4-fs error (device sda1): oops"]["kind"], "fs-error")
        # A dmesg by when its boot began: 123 s later is 03:11:00.
        self.assertEqual(json.loads(self.good("import", "--events", log, "--at", "2026-04-15T03:08:57Z", "--store",
                                              self.store, "--json"))["added"], 1)
        # The same line as dmesg -x and dmesg -T have it, the latter by when it thinks that the boot was.
        for again in b"kern  :info  : [  123.456789] of another boot's clock\n", b"[Wed Apr 15 03:10:58 2026] of another boot's clock\n":
            other = json.loads(self.good("import", "--events", self.path("dmesg.txt", again), "--at", "2026-04-15T03:08:57Z", "--store",
                                         self.store, "--json"))
            self.assertEqual((other["added"], other["known"]), (0, 1), again)
        self.check_terminal(self.good("events", "--store", self.store))
        self.good("verify", "--store", self.store)
        for args in (("--events", log, "--boot", "12345678"), ("--events", log + ".absent")):
            self.check_fails("import", *args, "--store", self.store, code=1)
        for args in (("--events", log, "perf.data"), ("--boot", "1", "perf.data")):
            self.check_fails("import", *args, "--store", self.store, code=2)

    def test_hostile_text_is_only_text(self):
        out = self.good("events", "--store", self.store)
        self.check_terminal(out)
        # A line each, below the heading.
        self.assertEqual(len(out.decode().splitlines()), 5)
        self.assertIn("no such event", self.good("events", "--match", "nothing", "--store", self.store).decode())

    def check_fails(self, *args, code):
        r = tap.perfcam(*args)
        self.assertEqual(r.returncode, code, r)
        return r

    def test_what_is_wrong_is_said(self):
        for args in (("--match", "("), ("--severity", "loud"), ("one", "two"), ("--last", "x")):
            r = self.check_fails("events", *args, "--store", self.store, code=2)
            self.assertEqual(r.stdout, b"")


tap.main()
