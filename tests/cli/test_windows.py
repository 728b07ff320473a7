#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Windows of a store: their names, their times, how a long recording is cut."""
import calendar
import os
import re
import time

import support
import synth
import tap
from support import Case

NAME = re.compile(r"perfcam-(.+)-(\d{8}-\d\d-\d\d-\d\d)-(\d+)s(\.\d+)?\.pcw")
SECOND = 10**9


def started(name):
    return calendar.timegm(time.strptime(NAME.fullmatch(name).group(2), "%Y%m%d-%H-%M-%S"))


class Names(Case):
    def test_name_has_host_start_and_length(self):
        samples = synth.recording(30, 7, 50)
        samples[-1].time_us = samples[0].time_us + 7_200_000
        for host in ("vm", "web-01.eu-west.example", "a-20260101-00-00-00-120s"):
            store = self.path("store-" + host)
            self.good("import", "--store", store, "-", stdin=synth.text_of(samples, host=host))
            (name,) = self.windows(store)
            m = NAME.fullmatch(name)
            self.assertTrue(m, name)
            self.assertEqual((m.group(1), m.group(3), m.group(4)), (host, "8", None))
            self.assertEqual(self.ls("--store", store)[0]["host"], host)

    def test_hostile_host_stays_inside_the_store(self):
        samples = synth.recording(31, 2, 50)
        hosts = ("../../evil", "a/b", "..", ".hidden", "x" * 5000, "a\x1b[31mb", "")
        for i, host in enumerate(hosts):
            store = self.path(f"s{i}")
            self.good("import", "--store", store, "-", stdin=synth.text_of(samples, host=host))
            (name,) = self.windows(store)
            self.assertRegex(name, r"^perfcam-[\w.-]*-\d{8}-\d\d-\d\d-\d\d-\d+s\.pcw$")
            self.assertEqual(self.samples("--store", store), len(samples))
            self.check_terminal(self.good("ls", "--store", store))
        self.assertEqual(sorted(os.listdir(self.dir)), [f"s{i}" for i in range(7)])

    def test_start_is_wall_time_in_utc(self):
        """"captured on" is local time when the text was made, summer and winter."""
        samples = synth.recording(32, 3, 50)
        berlin = {"TZ": "CET-1CEST,M3.5.0,M10.5.0/3"}
        for captured, env, utc in (
            ("Sun Nov 15 02:45:41 2026", {"TZ": "UTC"}, "20261115-02-45-41"),
            ("Wed Jan 14 12:00:00 2026", berlin, "20260114-11-00-00"),
            ("Wed Jul 15 12:00:00 2026", berlin, "20260715-10-00-00"),
        ):
            store = self.path(utc)
            text = synth.text_of(samples, captured=captured)
            self.good("import", "--store", store, "-", stdin=text, env=env)
            (name,) = self.windows(store)
            want = calendar.timegm(time.strptime(utc, "%Y%m%d-%H-%M-%S"))
            # perf notes when the recording was written, which is at its end or a little later.
            self.assertLessEqual(abs(started(name) - want), 10, (captured, name))
            (listed,) = self.ls("--store", store)
            self.assertLessEqual(abs(listed["realtime_ns"] / SECOND - want), 10)

    def test_same_file_again_gets_a_number(self):
        path = support.fixture_path("redis-pid")
        for _ in range(3):
            self.good("import", "--store", self.store, path)
        names = self.windows()
        plain = min(names, key=len)
        stem = plain[: -len(".pcw")]
        self.assertEqual(set(names), {plain, stem + ".2.pcw", stem + ".3.pcw"})
        lines = self.export("--store", self.store)
        self.assertEqual(sum(lines.values()), 3 * len(support.heads(support.fixture("redis-pid"))))
        self.assertEqual(len(self.ls("--store", self.store)), 3)

    def test_text_without_header_or_times(self):
        bare = b"".join(s.text() for s in synth.recording(33, 2, 50))
        self.good("import", "--store", self.store, "-", stdin=bare)
        self.good("import", "--store", self.store, "-", stdin=b"a;b 3\na;c 4\n")
        self.assertEqual(len(self.windows()), 2)
        for name in self.windows():
            self.assertTrue(NAME.fullmatch(name), name)
        self.verify()

    def test_ls_gives_each_window_its_own_day(self):
        """Imports stand where they came in; which boot a text is of, nobody can tell."""
        for day in (17, 15, 16):
            text = synth.text_of(
                synth.recording(day, 2, 50, start_us=day * 86_400_000_000),
                captured=f"Sun Nov {day} 02:45:41 2026",
            )
            self.good("import", "--store", self.store, "-", stdin=text)
        listed = self.ls("--store", self.store)
        days = {time.gmtime(w["realtime_ns"] // SECOND).tm_mday: w["name"] for w in listed}
        self.assertEqual(sorted(days), [15, 16, 17])
        for day, name in days.items():
            self.assertEqual(time.gmtime(started(name)).tm_mday, day)
            self.assertIn(f"2026-11-{day} 02:45", self.good("ls", "--store", self.store).decode())


class Cutting(Case):
    def cut(self, samples):
        """Imports, and checks that the windows share the samples out."""
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(samples))
        self.verify()
        listed = self.ls("--store", self.store)
        self.assertEqual(sum(w["samples"] for w in listed), len(samples))
        self.assertEqual(self.export("--store", self.store), synth.fold(samples))
        self.assertEqual(
            self.export("--store", self.store, "--weight", "period"),
            synth.fold(samples, lambda s: s.period),
        )
        for w in listed:
            self.assertLessEqual(w["end_ns"] - w["start_ns"], 121 * SECOND)
            self.assertEqual(w["lost"], 0)
        return listed

    def test_ten_minutes_are_five_windows(self):
        samples = synth.recording(34, 600, 60)
        listed = self.cut(samples)
        self.assertIn(len(listed), (5, 6))
        for before, after in zip(listed, listed[1:]):
            self.assertLessEqual(before["end_ns"], after["start_ns"])
        first = samples[0].time_us * 1000
        self.assertEqual(listed[0]["start_ns"], first)
        for w in listed:
            inside = [
                s for s in samples if w["start_ns"] <= s.time_us * 1000 < w["end_ns"]
            ] if w is not listed[-1] else [s for s in samples if w["start_ns"] <= s.time_us * 1000]
            self.assertEqual(w["samples"], len(inside))
            path = os.path.join(self.store, w["name"])
            self.assertEqual(self.export("-i", path), synth.fold(inside))
        for w in listed[:-1]:
            self.assertEqual(NAME.fullmatch(w["name"]).group(3), "120")
        starts = [started(w["name"]) for w in listed]
        self.assertEqual([b - a for a, b in zip(starts, starts[1:])], [120] * (len(listed) - 1))

    def test_disorder_at_the_cuts_loses_nothing(self):
        """perf script merges CPUs almost, not quite, in order."""
        self.assertGreaterEqual(len(self.cut(synth.recording(35, 400, 50, jitter_us=200_000))), 3)

    def test_a_time_a_window_and_a_selection_say_which(self):
        text = synth.text_of([synth.Sample(b"a", 1, 0, (1_776_222_840 + i) * 10**6, [b"f"]) for i in range(600)])
        self.good("import", "--store", self.store, "-", stdin=text)
        every = self.ls("--store", self.store)
        self.assertEqual(len(every), 5)
        names = [w["name"] for w in every]
        for words, want in (("@1776222970", names[1:2]), (names[3], names[3:4]), ("from=@1776222970 to=@1776223090", names[1:3])):
            self.assertEqual([w["name"] for w in self.ls(words, "--store", self.store)], want, words)
        self.bad("ls", "@1776222970", names[1], "--store", self.store, code=2, names=names[1])
        self.bad("ls", "comm=a", "--store", self.store, code=2, names="comm")

    def test_silence_makes_no_windows(self):
        samples = synth.recording(36, 10, 50)
        samples += synth.recording(37, 10, 50, start_us=samples[-1].time_us + 3_600_000_000)
        self.assertLessEqual(len(self.cut(samples)), 3)

    def test_later_import_lies_beside_the_first(self):
        """A second import of later minutes of the same host lies beside the first."""
        samples = synth.recording(38, 300, 40)
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(samples[:6000]))
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(samples[6000:]))
        self.assertEqual(self.samples("--store", self.store), len(samples))
        self.assertEqual(self.export("--store", self.store), synth.fold(samples))


tap.main()
