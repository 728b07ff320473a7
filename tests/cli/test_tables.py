#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`top` and `at`: tables of fixtures, counted again from perf's own text by a reader that knows nothing of perfcam."""
import collections
import fcntl
import json
import os
import pty
import random
import re
import signal
import struct
import subprocess
import termios
import time

import support
import synth
import tap
from support import Case

HEAD = re.compile(rb"^(.+?)\s+(\d+)(?:/(\d+))?\s+(?:\[(\d+)\]\s+)?(\d+)\.(\d+):\s+(?:(\d+)\s+)?(\S+?):\s*$")
FRAME = re.compile(rb"^\s+[0-9a-f]+ (.*) \((.*)\)$")
Read = collections.namedtuple("Read", "comm tid cpu time_us period event frames")


def samples_of(text):
    """The samples of a perf script text; frames are (symbol, dso), leaf first, None where there is no symbol."""
    found, head, frames = [], None, []
    for line in text.split(b"\n") + [b""]:
        if line.startswith(b"#"):
            continue
        if not line.strip():
            if head:
                comm, pid, tid, cpu, seconds, fraction, period, event = head.groups()
                found.append(Read(comm.strip(), int(tid or pid), int(cpu or 0), int(seconds) * 10**6 + int(fraction[:6]),
                                  int(period or 1), event, tuple(frames)))
            head, frames = None, []
        elif line[:1] in b" \t" and head:
            m = FRAME.match(line)
            symbol = re.sub(rb"\+0x[0-9a-f]+$", b"", m.group(1))
            frames.append((None if symbol == b"[unknown]" else symbol, m.group(2)))
        else:
            head = HEAD.match(line)
            assert head, line
    return found


class Tables(Case):
    def rows(self, *args, code=0, **options):
        return json.loads(self.good(*args, "--json", code=code, **options))

    def count(self, samples, key):
        weights, numbers = collections.Counter(), collections.Counter()
        for s in samples:
            weights[key(s)] += s.period
            numbers[key(s)] += 1
        return {k: (numbers[k], weights[k]) for k in weights}

    def table(self, *args, key, **options):
        """{what key() makes of a row: (samples, weight)}"""
        found = {}
        for row in self.rows("top", *args, "-n", "100000", **options)["rows"]:
            self.assertNotIn(key(row), found)
            found[key(row)] = (row["self"]["samples"], row["self"]["weight"])
        return found

    def test_by_what_a_sample_is(self):
        for name in ("nginx-997", "gcc-compile", "redis-pid"):
            samples = samples_of(support.fixture(name))
            self.assertGreater(len(samples), 800)
            by = ["-i", support.fixture_path(name), "--idle", "--weight", "period"]
            ways = (
                (["--by", "command"], lambda r: r["comm"], lambda s: s.comm.decode()),
                (["--by", "thread"], lambda r: (r["tid"], r["comm"]), lambda s: (s.tid, s.comm.decode())),
                (["--sort", "tid"], lambda r: r["tid"], lambda s: s.tid),
                (["--sort", "event"], lambda r: r["event"], lambda s: s.event.decode()),
            )
            for options, key, of in ways:
                self.assertEqual(self.table(*by, *options, key=key), self.count(samples, of), (name, options))
            if name == "nginx-997":
                self.assertEqual(self.table(*by, "--by", "core", key=lambda r: r["cpu"]),
                                 self.count(samples, lambda s: s.cpu))
                self.assertEqual(self.table(*by, "--sort", "cpu,comm", key=lambda r: (r["cpu"], r["comm"])),
                                 self.count(samples, lambda s: (s.cpu, s.comm.decode())))

    def test_self_and_total_of_functions(self):
        """total counts a sample once, however often the function is in its stack."""
        for name in ("nginx-997", "gcc-compile"):
            samples = samples_of(support.fixture(name))
            own, total = collections.Counter(), collections.Counter()
            for s in samples:
                named = [f for f in s.frames if f[0]]
                if s.frames and s.frames[0][0]:
                    own[s.frames[0]] += s.period
                for frame in set(named):
                    total[frame] += s.period
            out = self.rows("top", "-i", support.fixture_path(name), "--idle", "--by", "function", "-n", "100000")
            self.assertEqual(out["total"], sum(s.period for s in samples))
            seen = {}
            for row in out["rows"]:
                seen[row["symbol"].encode(), row["dso"].encode()] = row["self"]["weight"], row["total"]["weight"]
            checked = 0
            for frame, weight in total.items():
                if frame[0].startswith(b"[") or b"perf-" in frame[1] or b"/tmp/" in frame[1]:
                    continue
                self.assertEqual(seen.get(frame), (own[frame], weight), frame)
                checked += 1
            self.assertGreater(checked, 200)

    def test_pieces_of_time(self):
        samples = samples_of(support.fixture("nginx-997"))
        first = min(s.time_us for s in samples)
        out = self.rows("top", "-i", support.fixture_path("nginx-997"), "--idle", "--sort", "time", "-n", "100000",
                        "--time-quantum", "250ms")
        times = [r["time_ns"] for r in out["rows"]]
        self.assertEqual(times, sorted(times))
        self.assertTrue(all(t % 250_000_000 == 0 for t in times))
        self.assertEqual(sum(r["self"]["samples"] for r in out["rows"]), len(samples))
        # The wall clock of the first sample: the header's end less the length, so only up to the file's second.
        spans = collections.Counter((s.time_us - first) // 250_000 for s in samples)
        self.assertAlmostEqual(len(times), len(spans), delta=1)

    def test_selections_of_synthetic_windows(self):
        """Through a store, by time and filters; shares by samples."""
        samples = synth.recording(61, 30, 200)
        end = max(s.time_us for s in samples)
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(samples, captured="Wed Apr 15 03:14:07 2026"))
        end_ns = 1776222847 * 10**9
        rng = random.Random(1)
        for _ in range(6):
            back = rng.randint(3_000_000, 25_000_000)
            half = rng.randint(100_000, 2_000_000)
            inside = [s for s in samples if end - back - half <= s.time_us < end - back + half]
            at = f"@{(end_ns - back * 1000) / 1e9:.6f}"
            out = self.rows("at", at, "--around", f"{half / 1e6}s", "--store", self.store)
            self.assertEqual(out["samples"], len(inside))
            want = collections.Counter((s.pid, s.comm.decode()) for s in inside)
            got = {(r["pid"], r["comm"]): r["self"]["samples"] for r in out["processes"]}
            self.assertEqual(got, dict(want))
            cores = collections.Counter(s.cpu for s in inside)
            self.assertEqual({r["cpu"]: r["self"]["samples"] for r in out["cores"]}, dict(cores))
            self.assertEqual(out["busiest_core"][0]["self"]["samples"] > 0, True)
            leaves = collections.Counter(s.frames[0].decode() for s in inside)
            for r in out["functions"]:
                self.assertEqual(r["self"]["samples"], leaves[r["symbol"]])
            # The window and how far into it.
            window = next(w for w in self.ls("--store", self.store) if w["name"] == out["window"])
            self.assertLess(abs(out["time_ns"] - window["realtime_ns"] - out["offset_ns"]), 20_000)
            text = self.good("at", at, "--store", self.store).decode()
            self.assertIn(f"{out['offset_ns'] // 10**8 / 10:.1f} s into {out['window']}", text)

    def test_what_is_wrong_is_said(self):
        path = support.fixture_path("tmpl")
        self.bad("top", "-i", path, "--sort", "comm,nonsense", code=2, names=("nonsense", "symbol", "overhead"))
        self.bad("top", "-i", path, "--sort", "comm,comm", code=2, names="twice")
        self.bad("top", "-i", path, "--sort", "overhead", code=2, names="what of?")
        self.bad("top", "-i", path, "--by", "nonsense", code=2, names=("nonsense", "process"))
        self.bad("top", "-i", path, "--by", "core", "--sort", "cpu", code=2, names="exclude each other")
        self.bad("top", "-i", path, "--every", "1s", code=2, names="--follow")
        self.bad("top", "-i", path, "--follow", code=2, names="--follow")
        self.bad("top", "-i", path, "--comm", "nobody", names="no samples")
        self.bad("top", "-i", path, "a", "b", code=2, names="b")

    def test_follow_prints_blocks(self):
        samples = synth.recording(62, 4, 100)
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(samples))
        out = self.good("top", "--store", self.store, "--follow", "--times", "2", "--every", "100ms", "--last", "200000h")
        self.assertEqual(out.count(b"everything recorded"), 2)
        self.check_terminal(out)

    def test_follow_redraws_a_terminal(self):
        samples = synth.recording(64, 4, 100)
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(samples))
        master, slave = pty.openpty()
        child = support.Child("top", "--store", self.store, "--follow", "--times", "2", "--every", "100ms", "--last",
                              "200000h", stdout=slave)
        self.assertEqual(child.p.wait(), 0)
        os.close(slave)
        text = b""
        try:
            # Each read gives what there is of a line or more; the end is an error.
            while piece := os.read(master, 65536):
                text += piece
        except OSError:
            pass
        os.close(master)
        self.assertTrue(text.startswith(b"\x1b[H\x1b[J"), text[:100])
        self.assertEqual(text.count(b"\x1b[H"), 2)

    def screen(self, lines, columns, *args):
        """What a terminal of that size is given, as lines without their colours; what goes to stderr is part of it."""
        pid, fd = pty.fork()
        if pid == 0:
            try:
                fcntl.ioctl(1, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
                os.environ.update(TZ="UTC", LC_ALL="C.UTF-8", TERM="xterm")
                os.execv(tap.BIN, [tap.BIN, *args])
            finally:
                os._exit(1)
        out = b""
        try:
            while chunk := os.read(fd, 65536):
                out += chunk
        except OSError:
            pass
        os.close(fd)
        os.waitpid(pid, 0)
        return re.sub(r"\x1b\[[0-9;]*[A-Za-z]", "", out.decode()).replace("\r", "").rstrip("\n").split("\n")

    def test_rows_fit_the_screen(self):
        path = os.path.join(support.DATA, "gcc-compile.stacks.gz")
        for columns in (80, 100, 200):
            for view in (("top", "--by", "function"), ("top", "--sort", "comm,dso,sym"), ("top",)):
                rows = [line for line in self.screen(24, columns, *view, "-i", path) if re.match(r" +[0-9.]+\s%", line)]
                self.assertGreater(len(rows), 2)
                self.assertLessEqual(max(map(len, rows)), columns, (columns, view))

    def test_pictures_fit_a_low_screen(self):
        path = os.path.join(support.DATA, "gcc-compile.stacks.gz")
        for lines in (16, 24, 50):
            for view in ("heatmap", "flame"):
                shown = self.screen(lines, 80, view, "-i", path)
                needed = sum(-(-max(len(line), 1) // 80) for line in shown)
                self.assertLess(needed, lines, (view, lines, shown))
                self.assertGreater(needed, lines // 3, (view, lines))

    def test_hostile_names(self):
        """What would steer a terminal comes out as text, and JSON has the bytes."""
        samples = [synth.Sample(b"a\x1b[31mb", 7, 0, 10**9 + i * 1000, [b"f\x1b]0;x\x07", b"main"]) for i in range(50)]
        path = self.path("hostile.txt", synth.text_of(samples))
        for args in (["top", "--by", "function"], ["top"], ["at", "-0s"]):
            self.check_terminal(self.good(*args, "-i", path))

    def test_written_whole_or_not_at_all(self):
        path = self.path("out.txt", b"old")
        self.good("top", "-i", support.fixture_path("tmpl"), "-o", path)
        with open(path) as f:
            self.assertIn("process", f.read())
        self.bad("top", "-i", support.fixture_path("tmpl"), "-o", self.path("no/such/dir"), names="no/such/dir")

    def watched(self, *args, stdin=None):
        """A process whose stderr is a terminal, and the terminal."""
        master, slave = pty.openpty()
        p = subprocess.Popen([tap.BIN, *args], stdin=stdin or subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=slave)
        os.close(slave)
        self.addCleanup(os.close, master)
        return p, master

    def told(self, p, master):
        out = b""
        try:
            while chunk := os.read(master, 65536):
                out += chunk
        except OSError:
            pass
        self.assertEqual(p.wait(), 0, out)
        return out

    def test_reading_a_long_file_says_how_far_it_is(self):
        """Only after a second, only where somebody looks, and nothing of it stays on the screen."""
        text = synth.text_of(synth.recording(67, 20, 2000))
        path = self.path("long name\x1b[31m.txt", text)
        p, master = self.watched("export", "folded", "-i", path)
        place = 0
        while place == 0:
            self.assertIsNone(p.poll())
            for name in os.listdir(f"/proc/{p.pid}/fd"):
                try:
                    if os.readlink(f"/proc/{p.pid}/fd/{name}") == path:
                        with open(f"/proc/{p.pid}/fdinfo/{name}") as f:
                            place = int(f.readline().split()[1])
                except FileNotFoundError:  # closed in between
                    pass
        p.send_signal(signal.SIGSTOP)
        time.sleep(1.2)
        p.send_signal(signal.SIGCONT)
        out = self.told(p, master)
        found = [int(n) for n in re.findall(rb"\rreading long name\[31m\.txt: +(\d+) %\x1b\[K", out)]
        self.assertTrue(found and place * 100 // len(text) <= found[0] <= 100 and found == sorted(found), (place, out))
        self.assertGreater(found[-1], 0)
        self.assertTrue(out.endswith(b"\r\x1b[K"), out)
        # A pipe has no end that is known; a quick file says nothing.
        p, master = self.watched("export", "folded", "-i", "-", stdin=subprocess.PIPE)
        p.stdin.write(text[:1 << 20])
        p.stdin.flush()
        time.sleep(1.2)
        p.stdin.write(text[1 << 20:])
        p.stdin.close()
        self.assertRegex(self.told(p, master), rb"\rreading standard input: \d+ MB\x1b\[K")
        self.assertEqual(self.told(*self.watched("top", "-i", support.fixture_path("tmpl"))), b"")

    def test_interrupted_leaves_nothing(self):
        """Whenever Ctrl-C comes: the whole file, or none, and nothing beside it."""
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(synth.recording(63, 20, 2000)))
        whole = None
        killed = 0
        for delay in (None, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05):
            place = self.path(f"out{delay}")
            os.mkdir(place)
            child = support.Child("export", "perf-script", "--store", self.store, "-o", f"{place}/x.txt")
            if delay is not None:
                time.sleep(delay)
                child.p.send_signal(signal.SIGINT)
            code = child.p.wait()
            found = os.listdir(place)
            killed += code != 0
            self.assertEqual(found, ["x.txt"] if code == 0 else [], (delay, code))
            if code == 0:
                size = os.path.getsize(f"{place}/x.txt")
                whole = whole or size
                self.assertEqual(size, whole)
        self.assertGreater(killed, 0)

    def test_a_name_that_ends_in_json_is_json(self):
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(synth.recording(61, 2, 100)))
        last, begun = ("--last", "200000h"), json.loads(self.good("ls", "--store", self.store, "--json"))[0]["realtime_ns"] / 1e9
        for verb, more in (("flame", last), ("heatmap", ()), ("report", last), ("top", last), ("search", (".", *last)), ("at", (f"@{begun + 1:.3f}",)), ("moments", ())):
            path = self.path(verb + ".json")
            self.good(verb, *more, "--store", self.store, "-o", path)
            with open(path, "rb") as f:
                self.assertEqual(json.loads(f.read()), json.loads(self.good(verb, *more, "--store", self.store, "--json")), verb)

    def test_every_verb_with_an_output_leaves_all_or_nothing(self):
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(synth.recording(61, 10, 1000)))
        last = ("--last", "200000h")
        verbs = {"flame": ("x.svg", *last), "heatmap": ("x.png",), "report": ("x.txt", *last), "top": ("x.txt", *last),
                 "search": ("x.txt", ".", *last), "at": ("x.txt", "-5s"), "why": ("x.txt", "-5s"), "moments": ("x.txt",),
                 "capsule": ("x.html", "-5s"), "script": ("x.txt.gz",), "export": ("x.folded", "folded"),
                 "diff": ("x.svg", "last=200000h", "last=200000h")}
        ends, whole = set(), None
        for verb, (name, *more) in verbs.items():
            for delay in (None, 0, 0.01, 0.02):
                place = self.path(f"{verb}{delay}")
                os.mkdir(place)
                child = support.Child(verb, *more, "--store", self.store, "-o", os.path.join(place, name))
                if delay is not None:
                    time.sleep(delay)
                    child.p.send_signal(signal.SIGINT)
                code = child.p.wait()
                ends.add(code)
                # The signal may also come when all is done.
                found = {n: os.path.getsize(os.path.join(place, n)) for n in os.listdir(place)}
                whole = found if delay is None else whole
                self.assertIn(found, [whole] if code in (0, 3) else [whole, {}], (verb, delay, code))
        self.assertGreater(len(ends), 1)


tap.main()
