#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Times as people write them, against Python's own zones: random zones, the days clocks change, odd offsets.

The file under test spans ten days with two samples; its end is "now" (docs/selection.md), so every answer is known.
"""
import collections
import datetime
import json
import random
import zoneinfo

import support
import synth
import tap
from support import Case, run
from synth import Sample, header

UTC = datetime.timezone.utc
SECOND = datetime.timedelta(seconds=1)
DAY = datetime.timedelta(days=1)
EPOCH = datetime.datetime(1970, 1, 1, tzinfo=UTC)
# What is odd about zones: half hours, changes by half an hour, at midnight, of the date itself, negative summer time.
ZONES = ("Europe/Berlin", "America/New_York", "Australia/Lord_Howe", "Asia/Kathmandu", "America/St_Johns",
         "Africa/Casablanca", "Pacific/Apia", "Asia/Beirut", "Europe/Dublin", "America/Sao_Paulo", "Pacific/Chatham",
         "Antarctica/Troll", "Africa/Cairo", "America/Havana")


def nanoseconds(moment):
    return (moment - EPOCH) // datetime.timedelta(microseconds=1) * 1000


def moments_of(local, zone):
    """Every moment at which clocks of the zone show this local time, ascending."""
    found = set()
    for fold in (0, 1):
        moment = local.replace(tzinfo=zone, fold=fold).astimezone(UTC)
        if moment.astimezone(zone).replace(tzinfo=None) == local:
            found.add(moment)
    return sorted(found)


def changes(zone, year):
    """The moments of a year at which the zone's offset changes, to the hour."""
    found, at = [], datetime.datetime(year, 1, 1, tzinfo=UTC)
    for _ in range(366):
        if at.astimezone(zone).utcoffset() != (at + DAY).astimezone(zone).utcoffset():
            hours = [at + h * 3600 * SECOND for h in range(25)]
            found += [b for a, b in zip(hours, hours[1:])
                      if a.astimezone(zone).utcoffset() != b.astimezone(zone).utcoffset()]
        at += DAY
    return found


class Times(Case):
    def recording(self, end, zone=UTC):
        """Two samples, ten days apart, the last one at `end`, as a text of somebody in that zone."""
        last = 2_000_000_000_000
        first = last - 10 * 86400 * 1_000_000
        samples = [Sample(b"x", 1, 0, t, [b"main"]) for t in (first, last)]
        captured = end.astimezone(zone).strftime("%a %b %e %H:%M:%S %Y")
        text = header(captured=captured, last_us=last) + b"".join(s.text() for s in samples)
        return self.path(f"{end.timestamp()}.txt", text)

    def ask(self, path, zone, text, *more, code=0):
        out = self.good("at", text, *more, "-i", path, "--json", env={"TZ": zone}, code=code)
        selected = json.loads(out)["selected"]
        self.assertEqual(selected["clock"], "wall")
        return selected["from_ns"], selected["to_ns"]

    def check(self, path, zone, text, expected):
        from_ns, to_ns = self.ask(path, zone, text, "--around", "1s")
        self.assertEqual(to_ns - from_ns, 2 * 10**9)
        error = abs(from_ns + 10**9 - nanoseconds(expected))
        self.assertLess(error, 20_000, f"{text} in {zone}: off by {error / 1e9} s, {expected}")

    def near_a_change(self, rng, zone):
        """(the end of a recording, a change of the zone's clocks shortly before it or about then)"""
        found = changes(zone, rng.randint(2005, 2026))
        while True:
            end = datetime.datetime(2020, 1, 1, tzinfo=UTC) + rng.randint(0, 2000 * 86400) * SECOND
            change = rng.choice(found) if found else end
            if found:
                end = change + rng.randint(-7200, 300_000) * SECOND
            # The header says it in local time: one that cannot be mistaken.
            if len(moments_of(end.astimezone(zone).replace(tzinfo=None), zone)) == 1:
                return end, change

    def test_clocks_and_dates_of_many_zones(self):
        rng = random.Random(5)
        others = sorted(zoneinfo.available_timezones() - {"localtime", "Factory"})
        refused = twice = 0
        for name in (*ZONES, *rng.sample(others, 4)):
            zone = zoneinfo.ZoneInfo(name)
            end, change = self.near_a_change(rng, zone)
            path = self.recording(end, zone)
            for i in range(4):
                at = end - rng.randint(2, 6 * 86400) * SECOND
                if i % 2:
                    at = min(change + rng.randint(-1800, 1800) * SECOND, end - 2 * SECOND)
                local = at.astimezone(zone).replace(tzinfo=None) + rng.choice((0, 1800)) * SECOND
                moments = moments_of(local, zone)
                date = local.strftime("%Y-%m-%dT%H:%M:%S")
                if not moments:
                    refused += 1
                    self.bad("at", date, "-i", path, env={"TZ": name}, code=2, names=("skipped it", date))
                else:
                    twice += len(moments) > 1
                    been = [m for m in moments if m <= end]
                    if not been:
                        continue  # it has not been yet: nothing is recorded then
                    self.check(path, name, date, been[-1])
                # The same clock without its date: the latest that has been.
                latest = max(m for d in range(9) for m in moments_of(
                    datetime.datetime.combine(end.astimezone(zone).date() + DAY - d * DAY, local.time()), zone)
                    if m < end - SECOND or m == end)
                if abs((latest - end).total_seconds()) > 2:
                    self.check(path, name, local.strftime("%H:%M:%S"), latest)
                offset = at.astimezone(zone).strftime("%z")[:5]
                if len(at.astimezone(zone).strftime("%z")) == 5:
                    self.check(path, name, at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S") + offset, at)
                self.check(path, name, at.strftime("%Y-%m-%dT%H:%M:%SZ"), at)
        self.assertGreater(refused, 0, "no skipped time was tried")
        self.assertGreater(twice, 0, "no time that happened twice was tried")

    def test_ranges_over_midnight(self):
        """--to is the first such moment behind --from."""
        rng = random.Random(7)
        for name in ("Europe/Berlin", "America/St_Johns", "UTC"):
            zone = zoneinfo.ZoneInfo(name)
            end, _ = self.near_a_change(rng, zone)
            path = self.recording(end, zone)
            for _ in range(6):
                start = end - rng.randint(90_000, 800_000) * SECOND
                stop = start + rng.randint(1, 80_000) * SECOND
                clock = stop.astimezone(zone).strftime("%H:%M:%S")
                local = stop.astimezone(zone).replace(tzinfo=None)
                first = min(m for d in range(-2, 4) for m in moments_of(
                    datetime.datetime.combine(start.astimezone(zone).date() + d * DAY, local.time()), zone)
                    if m > start)
                out = self.good("at", "--from", f"@{start.timestamp():.0f}", "--to", clock, "-i", path, "--json",
                                env={"TZ": name})
                selected = json.loads(out)["selected"]
                self.assertEqual(selected["from_ns"], nanoseconds(start))
                self.assertEqual(selected["to_ns"], nanoseconds(first), f"{start} to {clock} in {name}")

    def test_beside_now_and_since_1970(self):
        rng = random.Random(9)
        end = datetime.datetime(2026, 4, 15, 3, 14, 7, tzinfo=UTC)
        path = self.recording(end)
        for _ in range(10):
            back = rng.randint(1, 800_000_000)
            self.check(path, "UTC", f"-{back / 1000:.3f}s", end - datetime.timedelta(milliseconds=back))
            at = end - datetime.timedelta(milliseconds=back)
            self.check(path, "UTC", f"@{at.timestamp():.3f}", at)
        self.check(path, "UTC", "-90m", end - 90 * 60 * SECOND)
        self.check(path, "UTC", "now", end)
        # The stamp of the kernel log is that of perf's text.
        out = json.loads(self.good("at", "boot+1999990", "-i", path, "--json"))
        self.assertEqual(out["clock_ns"], 1999990 * 10**9)
        self.assertLess(abs(out["time_ns"] - nanoseconds(end - 10 * SECOND)), 20_000)

    def test_what_is_no_time_is_said(self):
        path = self.recording(datetime.datetime(2026, 4, 15, 3, 14, 7, tzinfo=UTC))
        for text in ("03:99", "25:00", "2026-02-30T00:00", "yesterday", "boot+", "@x", "-90x", "2026-04-15"):
            self.bad("at", text, "-i", path, code=2, names=(text, "is not a time"))
        self.bad("at", "03:99", "-i", path, code=2, names=("03:14:07", "-90s", "boot+123.4"))
        self.bad("at", "boot+5", "-i", path, names="boot+5")
        self.bad("at", "2020-01-01T00:00:00Z", "-i", path, names=("nothing was recorded then", "2026-04-15"))
        self.bad("at", code=2, names="at what time?")
        self.bad("at", "now", "--last", "5s", "-i", path, code=2, names="here are 2")

    def test_one_quoted_selection_is_what_the_options_say(self):
        """Of every verb that takes a time: words in one argument, and options, give the same answer."""
        samples = synth.recording(71, 8, 400)
        path = self.path("words.txt", synth.text_of(samples))
        comm = collections.Counter(s.comm for s in samples).most_common(1)[0][0].decode()
        asked = [
            (["-4s", "--around", "1s", "--comm", comm], f"-4s around=1s comm={comm}"),
            (["--from", "-6s", "--to", "-2s", "--comm", comm, "--idle"], f"--from -6s --to=-2s comm '{comm}' idle=1"),
            (["--last", "5s", "--cpu", "0-3", "--exclude", "^x y$"], "last=5s cpu=0-3 exclude='^x y$'"),
        ]
        for options, words in asked:
            for verb in (["at"], ["why"], ["top"], ["report"], ["flame"], ["heatmap"], ["moments"], ["search", "."],
                         ["script"], ["export", "json"]):
                more = [] if verb[0] in ("script", "export") else ["--json"]
                said = run(*verb, *options, *more, "-i", path)
                self.assertIn(said.code, (0, 3), said.err)
                if verb != ["moments"]:
                    self.assertGreater(len(said.out), 100, (verb, options))
                self.assertEqual(run(*verb, words, *more, "-i", path)[:3], said[:3], (verb, words))
        self.bad("why", "at=-4s at=-3s", "-i", path, code=2, names=("at=-4s at=-3s", "given twice"))
        self.bad("flame", "-4s -3s", "-i", path, code=2, names=("-4s", "-3s", "one says when"))
        self.bad("why", "at=-4s comm='x", "-i", path, code=2, names="quote is not closed")
        self.bad("why", "--colour red", "-i", path, code=2, names=("colour", "cannot be said here"))
        self.bad("pin", "last=5s comm=x", "--store", self.dir, code=2, names=("comm", "cannot be said here"))
        self.bad("top", "idle=maybe", "-i", path, code=2, names="idle takes no value")
        self.bad("at", "comm=x", "-i", path, code=2, names="at what time?")
        self.bad("why", "x" * 5000, "-i", path, code=2, names="4096 bytes")

    def test_a_date_and_a_clock_are_one_time(self):
        end = datetime.datetime(2026, 4, 15, 3, 14, 7, tzinfo=UTC)
        path = self.recording(end)
        whole = self.good("at", "2026-04-15T03:14:06Z", "-i", path, "--json")
        for words in ("2026-04-15 03:14:06", "at=2026-04-15 03:14:06Z", "--at 2026-04-15 03:14:06 --around 5s"):
            self.assertEqual(self.good("at", words, "-i", path, "--json"), whole, words)
        span = self.good("at", "--from", "2026-04-15T03:14", "--to", "2026-04-15T03:15", "-i", path, "--json")
        self.assertEqual(self.good("at", "from=2026-04-15 03:14 to 2026-04-15 03:15", "-i", path, "--json"), span)


tap.main()
