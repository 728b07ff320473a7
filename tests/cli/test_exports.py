#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""export csv, json, pprof, speedscope, firefox: read back by other means, and the samples of perf's text."""
import collections
import csv
import gzip
import io
import json
import os
import re

import pprof
import support
import tap
from support import Case

HEAD = re.compile(rb"(.*?) +(?:(\d+)/)?(\d+) +(?:\[(\d+)\] +)?(\d+)\.(\d+): +(?:(\d+) )?([^ ].*?): ")
FRAME = re.compile(rb"\t *([0-9a-f]+) (.*?) \(((?:[^()]| \(deleted\))*)\)$")


def samples_of(text):
    """What perf's text says: (comm, pid, tid, cpu, ns, event, [(name, module)] leaf first)."""
    out = []
    for record in text.decode().encode().split(b"\n\n"):
        lines = [x for x in record.split(b"\n") if x and not x.startswith(b"#")]
        if not lines:
            continue
        comm, pid, tid, cpu, sec, part, _, event = HEAD.match(lines[0]).groups()
        stack = []
        for line in lines[1:]:
            _, name, module = FRAME.match(line).groups()
            name = re.sub(rb"\+0x[0-9a-f]+$", b"", name)
            stack.append((name.decode(), module.decode()))
        out.append((comm.decode(), pid and int(pid), int(tid), cpu and int(cpu),
                    int(sec) * 10**9 + int(part.ljust(9, b"0")), event.decode(), stack))
    return sorted(out, key=lambda s: s[4])


def variant(name):
    with gzip.open(os.path.join(support.DATA, "variants", name + ".gz")) as f:
        return f.read()


class Rows(Case):
    def setUp(self):
        super().setUp()
        self.text = variant("nginx-997.full")
        self.want = samples_of(self.text)
        self.assertEqual(len(self.want), 200)

    def export(self, name, stdin=None, *options):
        return self.good("export", name, "-i", "-", *options, stdin=stdin or self.text)

    def test_csv(self):
        rows = list(csv.DictReader(io.StringIO(self.export("csv").decode())))
        self.assertEqual(len(rows), len(self.want))
        for row, (comm, pid, tid, cpu, ns, event, stack) in zip(rows, self.want):
            self.assertEqual((row["comm"], row["pid"], row["tid"], row["cpu"], row["clock_ns"],
                              row["event"]), (comm, str(pid), str(tid), str(cpu), str(ns), event))
            self.assertEqual(len(row["stack"].split(";")), len(stack))
            self.assertEqual(row["weight"], "1003009")

    def test_json(self):
        rows = [json.loads(line) for line in self.export("json").splitlines()]
        self.assertEqual(len(rows), len(self.want))
        for row, (comm, pid, tid, cpu, ns, event, stack) in zip(rows, self.want):
            self.assertEqual((row["comm"], row["pid"], row["tid"], row["cpu"], row["clock_ns"],
                              row["event"]), (comm, pid, tid, cpu, ns, event))
            self.assertEqual([f["module"] for f in row["stack"]], [m for _, m in stack])
            named = [(f["name"], n) for f, (n, m) in zip(row["stack"], stack) if n != "[unknown]"]
            self.assertEqual([a for a, _ in named], [b for _, b in named])

    def test_wall_clock(self):
        text = self.good("script", "--header", "-i", support.fixture_path("nginx-997"))
        start = self.ls("-i", support.fixture_path("nginx-997"))[0]["realtime_ns"]
        rows = [json.loads(x) for x in self.good("export", "json", "-i", "-", stdin=text).splitlines()]
        import datetime
        day = datetime.datetime.fromtimestamp(start // 10**9, datetime.timezone.utc)
        self.assertTrue(rows[0]["time"].startswith(day.strftime("%Y-%m-%dT%H:%M:%S.")), rows[0]["time"])

    def test_pprof(self):
        p = pprof.read(self.export("pprof"))
        self.assertEqual(p["types"], [("samples", "count"), ("cpu", "nanoseconds")])
        self.assertEqual(sum(v[0] for _, v, _ in p["samples"]), 200)
        self.assertEqual(sum(v[1] for _, v, _ in p["samples"]), 200 * 1003009)
        self.assertEqual(p["duration"], self.want[-1][4] - self.want[0][4])
        got = collections.Counter()
        for stack, values, labels in p["samples"]:
            modules = tuple(m for _, m, _ in stack)
            got[(labels["comm"], labels["pid"], labels["tid"], labels["cpu"], modules)] += values[0]
        want = collections.Counter((c, p_, t, cpu, tuple(m for _, m in stack))
                                   for c, p_, t, cpu, _, _, stack in self.want)
        self.assertEqual(got, want)

    def test_pprof_with_inlined_functions(self):
        text = (b"a  1/1 [000]     1.000001:       1000 cpu-clock: \n"
                b"\t              20 inner (inlined)\n\t              20 middle (inlined)\n"
                b"\t              20 outer+0x4 (/bin/a)\n\t              90 main+0x1 (/bin/a)\n\n")
        (stack, _, _), = pprof.read(self.export("pprof", text))["samples"]
        self.assertEqual(stack, [(["inner", "middle", "outer"], "/bin/a", 0x20),
                                 (["main"], "/bin/a", 0x90)])

    def test_pprof_begins_with_the_program(self):
        """Readers call the profile after its first mapping. A library was met first, and another program has less."""
        def sample(comm, pid, at, leaf):
            return (f"{comm}  {pid}/{pid} [000]     1.{at:06}:       1000 cpu-clock: \n"
                    f"\t              20 f+0x4 ({leaf})\n"
                    f"\t              90 main+0x1 (/opt/{comm}-and-more)\n\n").encode()
        other = sample("other-has-15-ch", 7, 1, "/lib/libc.so.6")
        most = [sample("this-has-15-cha", 8, at, "/lib/libm.so.6") for at in (2, 3)]
        p = pprof.read(self.export("pprof", other + b"".join(most)))
        self.assertEqual(next(iter(p["mappings"].values()))[0], "/opt/this-has-15-cha-and-more")
        self.assertEqual(len(p["mappings"]), 4)

    def test_speedscope(self):
        f = json.loads(self.export("speedscope"))
        self.assertEqual(f["$schema"], "https://www.speedscope.app/file-format-schema.json")
        got = collections.defaultdict(list)
        for p in f["profiles"]:
            self.assertEqual((p["type"], p["unit"]), ("sampled", "nanoseconds"))
            self.assertEqual(len(p["samples"]), len(p["weights"]))
            at = p["startValue"]
            for stack, weight in zip(p["samples"], p["weights"]):
                if stack:
                    got[p["name"]].append((at, [f["shared"]["frames"][i]["file"] for i in stack]))
                at += weight
            self.assertEqual(at, p["endValue"])
        want = collections.defaultdict(list)
        first = self.want[0][4]
        last = {tid: comm for comm, _, tid, *_ in self.want}  # a comm may change: the last one names it
        for _, pid, tid, _, ns, event, stack in self.want:
            want[f"{last[tid]} {pid}/{tid} {event}"].append((ns - first, [m for _, m in stack][::-1]))
        self.assertEqual(got, want)

    def test_firefox(self):
        f = json.loads(self.export("firefox"))
        got = []
        for t in f["threads"]:
            stacks, frames, funcs = t["stackTable"], t["frameTable"], t["funcTable"]
            for table in (stacks, frames, funcs, t["resourceTable"], t["samples"]):
                for column in table.values():
                    if isinstance(column, list):
                        self.assertEqual(len(column), table["length"])
            for time, stack in zip(t["samples"]["time"], t["samples"]["stack"]):
                modules = []
                while stack is not None:
                    func = frames["func"][stacks["frame"][stack]]
                    lib = t["resourceTable"]["lib"][funcs["resource"][func]]
                    modules.append(f["libs"][lib]["path"])
                    prefix = stacks["prefix"][stack]
                    self.assertTrue(prefix is None or prefix < stack)
                    stack = prefix
                got.append((round(time * 10**6), t["tid"], modules))
        first = self.want[0][4]
        self.assertEqual(sorted(got), sorted((ns - first, tid, [m for _, m in stack])
                                             for _, _, tid, _, ns, _, stack in self.want))

    def test_a_selection(self):
        for name in ("csv", "json", "pprof", "speedscope", "firefox"):
            out = self.export(name, None, "--comm", "bash")
            want = [s for s in self.want if s[0] == "bash"]
            self.assertGreater(len(want), 2)
            if name == "pprof":
                self.assertEqual(sum(v[0] for _, v, _ in pprof.read(out)["samples"]), len(want))
            elif name == "json":
                self.assertEqual(out.count(b"\n"), len(want))
            else:
                self.assertNotIn(b"redis-server", out)

    def test_counts(self):
        folded = b"a;b;c 2\na;d 40\n"
        p = pprof.read(self.export("pprof", folded))
        self.assertEqual(p["types"][0], ("samples", "count"))
        self.assertEqual(sorted(v[0] for _, v, _ in p["samples"]), [2, 40])
        f = json.loads(self.export("speedscope", folded))
        self.assertEqual([p["unit"] for p in f["profiles"]], ["none"])
        self.assertEqual(sorted(f["profiles"][0]["weights"]), [2, 40])
        rows = list(csv.DictReader(io.StringIO(self.export("csv", folded).decode())))
        self.assertEqual([(r["comm"], r["stack"], r["weight"], r["time"]) for r in rows],
                         [("a", "b;c", "2", ""), ("a", "d", "40", "")])
        self.bad("export", "firefox", "-i", "-", stdin=folded, names="folded")

    def test_usage(self):
        self.bad("export", "svg", "-i", "-", stdin=self.text, code=2, names=("svg", "speedscope"))
        self.bad("export", "json", "--addrs", "-i", "-", stdin=self.text, code=2, names="folded")


tap.main()
