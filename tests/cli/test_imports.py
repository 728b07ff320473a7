#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""pprof, speedscope, Chrome's CPU profiles and trace events in; and round trips through our own exports."""
import collections
import gzip
import json
import math
import os

import pprof
import support
import tap
from support import Case

OTHER = os.path.join(support.DATA, "other")
TEXT = b"a 1 [000] 100.000000: cpu-clock: \n\t 1 f (x)\n\na 1 [000] 101.000000: cpu-clock: \n\t 1 f (x)\n\n"
TICK = 10_000  # FlameScope samples trace events at 100 Hz; times are microseconds


def variant(name):
    with gzip.open(os.path.join(support.DATA, "variants", name + ".gz")) as f:
        return f.read()


def load(name):
    with gzip.open(os.path.join(OTHER, name)) as f:
        return f.read()


class Rows(Case):
    def rows(self, data, *options, code=0):
        out = self.good("export", "json", "-i", "-", *options, stdin=data, code=code)
        return [json.loads(line) for line in out.splitlines()]

    def names(self, row):
        return [f["name"] for f in row["stack"]][::-1]


class At(Case):
    def test_a_time_for_files_that_have_none(self):
        """The window is then listed at that time; views of time still say why they cannot."""
        with open(os.path.join(OTHER, "go.pprof"), "rb") as f:
            go = f.read()
        for name, data, timed in (("folded", b"a;b 3\n", False), ("pprof", go, False),
                                  ("cpuprofile", load("node.cpuprofile.gz"), True),
                                  ("trace", load("node.trace.json.gz"), True), ("text", TEXT, True)):
            store = self.path(name)
            self.good("import", "--store", store, "--at", "2026-11-15T03:14:07Z",
                      self.path("f." + name, data))
            window, = self.ls("--store", store)
            with self.subTest(name):
                self.assertEqual(window["realtime_ns"] // 10**9, 1794712447)
                if timed:
                    out = self.good("export", "json", "--store", store)
                    self.assertEqual(json.loads(out.splitlines()[0])["time"],
                                     "2026-11-15T03:14:07.000000000Z")
                else:
                    self.bad("heatmap", "--store", store, names="no times")
                    self.bad("script", "--store", store, names="counts")
                    self.bad("at", "2026-11-15T03:14:07Z", "--store", store, names="no times")
                when = self.good("top", "--json", "--at", "2026-11-15T03:14:07Z", "--around", "1s", "--store", store)
                self.assertGreater(json.loads(when)["samples"], 0)
                self.bad("top", "--at", "2026-11-15T04:14:07Z", "--store", store, names="nothing was recorded then")

    def test_a_text_that_has_its_time_keeps_it(self):
        captured = b"# captured on    : Sun Nov 15 02:46:11 2026\n# time of last sample : 101.000000\n#\n" + TEXT
        reference = b"# reference time: 2026-11-15 05:03:44 = 1794719024.5 (TOD) = 100.5 (monotonic)\n#\n" + TEXT
        for name, data, want in (("captured", captured, 1776222847), ("reference", reference, 1794719024)):
            store = self.path(name)
            self.good("import", "--store", store, "--at", "@1776222847", self.path(name + ".txt", data))
            # A time that the clock itself was read at is better than what anybody says, a date of a file is not.
            self.assertEqual(self.ls("--store", store)[0]["realtime_ns"] // 10**9, want, name)

    def test_captured_on_is_of_a_zone(self):
        """The zone of this process, unless another is said."""
        data = b"# captured on    : Sun Nov 15 02:46:11 2026\n# time of last sample : 101.000000\n#\n" + TEXT
        starts = []
        for i, zone in enumerate(("UTC", "Europe/Berlin", "-0530", None)):
            store = self.path(str(i))
            self.good("import", "--store", store, *(("--tz", zone) if zone else ()), self.path("x.txt", data),
                      env={"TZ": "America/New_York"})
            starts.append(self.ls("--store", store)[0]["realtime_ns"])
        hours = [(t - starts[0]) / 3600e9 for t in starts]
        self.assertEqual(hours, [0, -1, 5.5, 5])


class CpuProfile(Rows):
    def expected(self, p):
        """By the format: (ns, stack root first) of every sample that is not idle."""
        nodes = {n["id"]: n for n in p["nodes"]}
        parent = {c: n["id"] for n in p["nodes"] for c in n.get("children", [])}
        at, out = p["startTime"], []
        for sample, delta in zip(p["samples"], p["timeDeltas"]):
            at += delta
            stack, node = [], sample
            while node is not None:
                name = nodes[node]["callFrame"]["functionName"]
                if name != "(root)":
                    stack.append(name or "(anonymous)")
                node = parent.get(node)
            if stack != ["(idle)"]:
                out.append((at * 1000, stack[::-1]))
        return sorted(out, key=lambda x: x[0])

    def test_a_profile_of_node(self):
        data = load("node.cpuprofile.gz")
        want = self.expected(json.loads(data))
        self.assertGreater(len(want), 40)
        rows = self.rows(data)
        self.assertEqual([(r["clock_ns"], self.names(r)) for r in rows], want)
        self.assertIn("fib", {n for r in rows for n in self.names(r)})
        # What FlameScope's heatmap counts: every sample but those of (idle), at the same times.
        p = json.loads(data)
        idle = next((n["id"] for n in p["nodes"]
                     if n["callFrame"]["functionName"] == "(idle)"), None)
        at, offsets = p["startTime"], []
        for sample, delta in zip(p["samples"], p["timeDeltas"]):
            at += delta
            if sample != idle:
                offsets.append(at * 1000)
        self.assertEqual(sorted(offsets), [r["clock_ns"] for r in rows])

    def test_compressed_and_by_parents(self):
        p = json.loads(load("node.cpuprofile.gz"))
        want = [(r["clock_ns"], self.names(r)) for r in self.rows(json.dumps(p).encode())]
        self.assertEqual([(r["clock_ns"], self.names(r))
                          for r in self.rows(support.zstd(json.dumps(p).encode()))], want)
        for n in p["nodes"]:
            for c in n.pop("children", []):
                next(x for x in p["nodes"] if x["id"] == c)["parent"] = n["id"]
        got = self.rows(json.dumps(dict(reversed(p.items())), indent=1).encode())
        self.assertEqual([(r["clock_ns"], self.names(r)) for r in got], want)

    def test_odd_profiles(self):
        node = {"id": 1, "callFrame": {"functionName": "a", "url": "u"}}
        base = {"nodes": [node], "startTime": 1, "endTime": 9, "samples": [1, 1], "timeDeltas": [1, 1]}
        self.assertEqual(len(self.rows(json.dumps(base).encode())), 2)
        ring = {**base, "nodes": [{**node, "children": [1]}]}
        self.assertEqual([self.names(r) for r in self.rows(json.dumps(ring).encode(), code=3)], [["a"]] * 2)
        for change in ({"samples": [1, 7]}, {"timeDeltas": [1]}, {"nodes": [node, node]},
                       {"samples": [1, "x"]}):
            r = support.run("export", "json", "-i", "-", stdin=json.dumps({**base, **change}).encode())
            self.assertEqual(r.code, 3, (change, r.err))


class TraceEvents(Rows):
    def flamescope(self, events):
        """The offsets of FlameScope's heatmap, in microseconds: its formula, for slices that do not
        lie in one another as X events (there it counts each)."""
        open_, out = {}, []
        roots = []
        for e in events:
            key = (e["pid"], e["tid"])
            if e["ph"] == "B":
                open_.setdefault(key, []).append(e["ts"])
            elif e["ph"] == "E":
                start = open_[key].pop()
                if not open_[key]:
                    roots.append((start, e["ts"]))
            elif e["ph"] == "X" and e["dur"] > 0 and not open_.get(key):
                roots.append((e["ts"], e["ts"] + e["dur"]))
        for start, end in roots:
            if start < end:
                out += range(math.floor(start / TICK) * TICK, math.ceil(end / TICK) * TICK, TICK)
        return sorted(out)

    def test_the_samples_that_flamescope_makes(self):
        events = [
            {"ph": "B", "name": "outer", "pid": 1, "tid": 1, "ts": 12_000, "cat": "c"},
            {"ph": "B", "name": "inner", "pid": 1, "tid": 1, "ts": 31_000, "cat": "c"},
            {"ph": "E", "pid": 1, "tid": 1, "ts": 45_000},
            {"ph": "E", "pid": 1, "tid": 1, "ts": 66_000},
            {"ph": "B", "name": "short", "pid": 1, "tid": 2, "ts": 41_000, "cat": "c"},
            {"ph": "E", "pid": 1, "tid": 2, "ts": 42_000},
            {"ph": "X", "name": "x", "pid": 1, "tid": 2, "ts": 42_500, "dur": 20_000.5, "tdur": 5,
             "cat": "c"},
            {"ph": "M", "name": "thread_name", "pid": 1, "tid": 2, "args": {"name": "worker"}},
            {"ph": "X", "name": "none", "pid": 1, "tid": 2, "ts": 90_000, "dur": 0, "cat": "c"},
        ]
        for text in (events, {"traceEvents": events, "displayTimeUnit": "ms"}):
            rows = self.rows(json.dumps(text).encode())
            self.assertEqual([r["clock_ns"] // 1000 for r in rows], self.flamescope(events))
            got = [(r["clock_ns"] // 1000, r["tid"], self.names(r)) for r in rows if r["tid"] == 1]
            self.assertEqual(got, [
                (10_000, 1, ["outer"]), (20_000, 1, ["outer"]), (30_000, 1, ["outer"]),
                (40_000, 1, ["outer", "inner"]), (50_000, 1, ["outer"]), (60_000, 1, ["outer"])])
            self.assertEqual({r["comm"] for r in rows if r["tid"] == 2}, {"worker"})
            self.assertEqual({r["comm"] for r in rows if r["tid"] == 1}, {"thread 1"})

    def test_slices_inside_slices_by_their_times(self):
        x = [{"ph": "X", "name": n, "pid": 1, "tid": 1, "ts": ts, "dur": dur}
             for n, ts, dur in (("a", 0, 50_000), ("b", 10_000, 20_000), ("c", 10_000, 10_000))]
        for events in (x, x[::-1]):
            rows = self.rows(json.dumps(events).encode())
            self.assertEqual([self.names(r) for r in rows],
                             [["a"], ["a", "b", "c"], ["a", "b"], ["a"], ["a"]])

    def test_a_trace_of_node(self):
        data = load("node.trace.json.gz")
        events = json.loads(data)["traceEvents"]
        rows = self.rows(data)
        plain = [e for e in events if e["ph"] in "BE"]
        only = self.rows(json.dumps(plain).encode())
        self.assertEqual([r["clock_ns"] // 1000 for r in only], self.flamescope(plain))
        names = {e["name"] for e in events if e["ph"] in "BX"}
        self.assertTrue({n for r in rows for n in self.names(r)} <= names)
        self.assertGreater(len(rows), 20)

    def test_a_list_without_its_bracket(self):
        text = b'[{"ph":"X","name":"a","pid":1,"tid":1,"ts":5,"dur":30000},\n'
        self.assertEqual(len(self.rows(text)), 4)


class Speedscope(Rows):
    def test_events_and_samples_in_any_order(self):
        f = {"profiles": [
            {"type": "evented", "name": "e", "unit": "milliseconds", "startValue": 0, "endValue": 9,
             "events": [{"type": "O", "frame": 0, "at": 1}, {"type": "O", "frame": 1, "at": 2.5},
                        {"type": "C", "frame": 1, "at": 4}, {"type": "C", "frame": 0, "at": 9}]},
            {"unit": "seconds", "weights": [1, 2, 3], "samples": [[0], [], [0, 1]],
             "startValue": 10, "endValue": 16, "type": "sampled", "name": "s"}],
            "shared": {"frames": [{"name": "a", "file": "x.c", "line": 3}, {"name": "b"}]},
            "$schema": "https://www.speedscope.app/file-format-schema.json"}
        rows = self.rows(json.dumps(f).encode())
        self.assertEqual([(r["comm"], r["clock_ns"], r["weight"], self.names(r)) for r in rows], [
            ("e", 1_000_000, 1_500_000, ["a"]), ("e", 2_500_000, 1_500_000, ["a", "b"]),
            ("e", 4_000_000, 5_000_000, ["a"]), ("s", 10 * 10**9, 10**9, ["a"]),
            ("s", 13 * 10**9, 3 * 10**9, ["a", "b"])])

    def test_counts(self):
        f = {"$schema": "https://www.speedscope.app/file-format-schema.json",
             "shared": {"frames": [{"name": "a"}, {"name": "b"}]},
             "profiles": [{"type": "sampled", "name": "n", "unit": "none", "startValue": 0,
                           "endValue": 5, "samples": [[0, 1], [0]], "weights": [2, 3]}]}
        out = self.good("export", "folded", "-i", "-", stdin=json.dumps(f).encode())
        self.assertEqual(out, b"n;a 3\nn;a;b 2\n")

    def test_events_as_far_apart_as_can_be_written(self):
        far = 9 * 10**15
        f = {"$schema": "https://www.speedscope.app/file-format-schema.json", "shared": {"frames": [{"name": "a"}]},
             "profiles": [{"type": "evented", "name": "e", "unit": "nanoseconds", "startValue": 0, "endValue": 1,
                           "events": [{"type": "O", "frame": 0, "at": -far}, {"type": "C", "frame": 0, "at": far}]}]}
        rows = self.rows(json.dumps(f).encode())
        self.assertEqual([(r["weight"], self.names(r)) for r in rows], [(2 * far, ["a"])])

    def test_out_in_out(self):
        for name in ("nginx-997.full", "pg-sched.full", "java.jit"):
            first = self.good("export", "speedscope", "-i", "-", stdin=variant(name))
            again = self.good("export", "speedscope", "-i", "-", stdin=first)
            with self.subTest(name):
                self.assertTrue(first == again)

    def test_through_a_store(self):
        first = self.good("export", "speedscope", "-i", support.fixture_path("nginx-997"))
        self.good("import", "--store", self.store, self.path("x.json.gz", gzip.compress(first)))
        again = self.good("export", "speedscope", "--store", self.store)
        a, b = json.loads(first), json.loads(again)
        self.assertEqual(a["perfcam"], b["perfcam"])

        def seen(f):
            frames = [(x["name"], x.get("file")) for x in f["shared"]["frames"]]
            return sorted((p["name"], p["startValue"], p["weights"],
                           [[frames[i] for i in s if frames[i][0] != "[unknown]"]
                            for s in p["samples"]]) for p in f["profiles"])

        self.assertEqual(seen(a), seen(b))

    def test_bad_files(self):
        good = self.good("export", "speedscope", "-i", "-", stdin=variant("nginx-997.full"))
        for cut in (len(good) // 2, len(good) - 3):
            r = support.run("export", "csv", "-i", "-", stdin=good[:cut])
            self.assertIn(r.code, (1, 3))
            self.check_messages(r)
        wrong = json.loads(good)
        wrong["profiles"][0]["samples"][0] = [10**9]
        r = support.run("export", "csv", "-i", "-", stdin=json.dumps(wrong).encode())
        self.assertEqual(r.code, 3, r.err)


class Pprof(Rows):
    def test_a_profile_of_go(self):
        with open(os.path.join(OTHER, "go.pprof"), "rb") as f:
            data = f.read()
        p = pprof.read(data)
        self.assertEqual(p["types"], [("samples", "count"), ("cpu", "nanoseconds")])
        want = collections.Counter()
        for stack, values, _ in p["samples"]:
            names = [n for lines, _, _ in stack for n in lines]
            want[tuple(names[::-1])] += values[1]
        got = collections.Counter()
        for r in self.rows(data):
            got[tuple(self.names(r))] += r["weight"]
        self.assertGreater(len(want), 10)
        self.assertEqual(got, want)
        self.assertEqual(sum(int(line.rsplit(b" ", 1)[1]) for line in self.good(
            "export", "folded", "-i", "-", stdin=data).splitlines()), sum(want.values()))

    def test_out_in_out(self):
        first = self.good("export", "pprof", "-i", "-", stdin=variant("nginx-997.full"))
        again = self.good("export", "pprof", "-i", "-", stdin=first)

        def seen(data):
            p = pprof.read(data)
            ns = p["types"].index(("cpu", "nanoseconds"))
            return collections.Counter({
                (json.dumps(stack), json.dumps(labels, sort_keys=True)): values[ns]
                for stack, values, labels in p["samples"]}), sorted(p["mappings"].values())

        self.assertEqual(seen(first), seen(again))

    def test_time_views_say_why_not(self):
        with open(os.path.join(OTHER, "go.pprof"), "rb") as f:
            self.bad("script", "-i", "-", stdin=f.read(), names="counts")

    def test_bad_files(self):
        with open(os.path.join(OTHER, "go.pprof"), "rb") as f:
            data = gzip.decompress(f.read())
        for cut in range(0, len(data), 97):
            r = support.run("export", "csv", "-i", "-", stdin=data[:cut])
            self.assertIn(r.code, (0, 1, 3), (cut, r.err))
            self.check_messages(r)



def varint(n):
    return bytes([n & 127 | 128]) + varint(n >> 7) if n > 127 else bytes([n])


def field(number, value):
    """A field of protobuf: bytes, or a number."""
    if isinstance(value, int):
        return varint(number << 3) + varint(value)
    return varint(number << 3 | 2) + varint(len(value)) + value


class Hostile(Rows):
    """Small files that claim much: what they cost is theirs, not its square."""
    DEEP = 1500
    SPEEDSCOPE = "https://www.speedscope.app/file-format-schema.json"

    def check_deep(self, data):
        """A stack deeper than is kept hangs under a mark; a shorter one, which is the root of it, does not."""
        rows = self.rows(data, code=3)
        deep, short = (self.names(r) for r in rows)
        self.assertEqual((deep[0], len(deep)), ("[truncated]", 1024))
        self.assertEqual(deep[1:], [f"f{i}" for i in range(self.DEEP - 1023, self.DEEP)])
        self.assertEqual(short, [f"f{i}" for i in range(600)])

    def test_depth_of_speedscope(self):
        self.check_deep(json.dumps({
            "$schema": self.SPEEDSCOPE, "shared": {"frames": [{"name": f"f{i}"} for i in range(self.DEEP)]},
            "profiles": [{"type": "sampled", "name": "n", "unit": "seconds", "startValue": 0, "endValue": 2,
                          "samples": [list(range(self.DEEP)), list(range(600))], "weights": [1, 1]}]}).encode())

    def test_depth_of_a_cpuprofile(self):
        nodes = [{"id": i + 1, "callFrame": {"functionName": f"f{i}"}, "children": [i + 2] * (i + 1 < self.DEEP)}
                 for i in range(self.DEEP)]
        self.check_deep(json.dumps({"nodes": nodes, "startTime": 0, "endTime": 9, "samples": [self.DEEP, 600],
                                    "timeDeltas": [1, 1]}).encode())

    def pprof(self, functions, locations, samples):
        texts = [b"", b"samples", b"count"] + [b"f%d" % i for i in range(self.DEEP)]
        return (field(1, field(1, 1) + field(2, 2)) + b"".join(field(6, t) for t in texts)
                + b"".join(field(5, f) for f in functions) + b"".join(field(4, x) for x in locations)
                + b"".join(field(2, x) for x in samples))

    def test_depth_of_pprof(self):
        numbers = range(1, self.DEEP + 1)
        stacks = [b"".join(map(varint, reversed(numbers))), b"".join(map(varint, range(600, 0, -1)))]
        self.check_deep(self.pprof([field(1, i) + field(2, i + 2) for i in numbers],
                                   [field(1, i) + field(4, field(1, i)) for i in numbers],
                                   [field(1, s) + field(2, varint(1)) for s in stacks]))

    def test_pprof_of_a_large_function_and_many_lines(self):
        """Read once for each line this took minutes."""
        junk = field(1, 1) + field(2, 3) + field(15, b"") * 500_000
        one = field(1, varint(1)) + field(2, varint(1))
        r = support.run("export", "folded", "-i", "-", timeout=20,
                        stdin=self.pprof([junk], [field(1, 1) + field(4, field(1, 1)) * 20_000], [one]))
        self.assertEqual(r.code, 3, r.err)

    def test_pprof_of_long_locations_on_long_stacks(self):
        """A million frames a sample, of which a thousand can be shown: 45 KB took 8 s of CPU."""
        samples = [field(1, varint(1) * 1024) + field(2, varint(1))] * 200
        r = support.run("export", "folded", "-i", "-", timeout=20, stdin=self.pprof(
            [field(1, 1) + field(2, 3)], [field(1, 1) + field(4, field(1, 1)) * 1000], samples))
        self.assertEqual(r.code, 3, r.err)
        self.assertEqual(r.out.count(b";"), 1024)

    def test_many_empty_profiles_of_speedscope(self):
        """3 MB: each was held in 1.3 KB, without a bound."""
        head = json.dumps({"$schema": self.SPEEDSCOPE, "shared": {"frames": []}})[:-1].encode()
        r = support.run("export", "folded", "-i", "-", stdin=head + b',"profiles":[' + b"{}," * 1_000_000 + b"{}]}")
        self.assertEqual(r.code, 1, r.err)
        self.assertLess(r.rss, (1800 if support.SANITIZED else 600) << 20)


tap.main()
