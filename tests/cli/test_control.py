#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""status, snapshot, mark, pin, unpin: through a recorder (a fake one) and without."""
import fcntl
import gzip
import json
import os
import random
import string
import subprocess
import time

import support
import tap
from fake_recorder import MARK, NOW, PIN, SNAPSHOT, STATUS, UNPIN, FakeRecorder
from support import Case

HEADER = os.path.join(support.DATA, "variants", "nginx-997.header.gz")
STATUS_JSON = {
    "store": "/var/lib/perfcam", "since_realtime_ns": 1776222847250000000,
    "uptime_ns": 7384000000000, "source": "bpf", "why_source": "bpf: allowed", "event": "cycles",
    "hz": 49, "wanted_hz": 97, "cpus": 96, "kernel_stacks": True, "scope": "all",
    "samples": 123456789, "samples_per_second": 9312,
    "by_cause": {"idle": 500, "lost_ring": 10, "lost_queue": 2, "stolen": 7,
                 "unexplained": 14},
    "stacks": {"how": "unwound in the kernel (bpf_loop)",
               "ends": {"unknown": 1, "complete": 970, "no_user": 50, "pending": 20, "no_cfi": 10},
               "copies": 9, "copies_unwound": 8, "copies_denied": 2, "table_bytes": 3145728, "image_bytes": 1048576,
               "max_bytes": 67108864, "tables": 40, "images": 12, "evicted_tables": 1,
               "evicted_images": 2},
    "names": {"held_files": 31, "left_out_files": 2, "elsewhere_files": 5, "poisoned_files": 1, "symbols_only_files": 3,
              "debug_files": 4},
    "shedding": "the rate", "max_cpu_ppm": 10000,
    "processes": [
        {"name": "recorder", "pid": 41, "cpu_ns": 1500000000, "cpu_ppm": 1200,
         "resident_bytes": 20971520, "restarts": 0},
        {"name": "symboliser", "pid": 43, "cpu_ns": 100000000, "cpu_ppm": 300,
         "resident_bytes": 1048576, "restarts": 2},
    ],
    "budgets": [{"name": "resident", "used": 20971520, "limit": 67108864, "refused": 0},
                {"name": "names", "used": 1048576, "limit": 4194304, "refused": 5}],
    "ring_bytes": 25165824, "sample_ring_bytes": 262144, "side_ring_bytes": 131072,
    "rings_shrunk": True, "bytes_written": 1048576, "window_ns": 120000000000,
    "windows_sealed": 61, "windows_waiting": 1, "store_windows": 360, "store_bytes": 1073741824,
    "max_bytes": 2147483648, "free_bytes": 107374182400,
    "oldest_realtime_ns": 1776179647250000000, "pins": 2, "pinned_bytes": 1048576,
    "max_pinned_bytes": 1073741824,
    "errors": [{"realtime_ns": 1776222840000000000, "times": 3, "text": "disk full"}],
}


class WithStore(Case):
    def setUp(self):
        super().setUp()
        self.good("import", "--store", self.store, HEADER)
        self.window = self.ls("--store", self.store)[0]

    def recorder(self, answer, **options):
        return FakeRecorder(self.store, answer, **options)

    def pins(self):
        return json.loads(self.good("pin", "--json", "--store", self.store))

    def pinned(self):
        return [w["name"] for w in self.ls("--pinned", "--store", self.store)]


class Status(WithStore):
    def status(self, value, *args):
        text = value if isinstance(value, bytes) else json.dumps(value).encode()
        with self.recorder(lambda *_: (0, text)) as r:
            out = self.good("status", "--store", self.store, *args)
        self.assertEqual(r.asked, [(STATUS, 0, 0, b"")])
        return out

    def test_json_is_passed_on(self):
        self.assertEqual(json.loads(self.status(STATUS_JSON, "--json")), STATUS_JSON)

    def test_for_people(self):
        text = self.status(STATUS_JSON).decode()
        self.check_terminal(text.encode())
        for words in (
            "(2 h 3 min)", "into /var/lib/perfcam", "source   bpf: allowed\n",
            "rate     49 Hz × 96 CPUs (97 Hz wanted); user and kernel stacks\n",
            "scope    all\n", "stacks   unwound in the kernel (bpf_loop); complete 97 %, ",
            "not there yet 2 %", "no unwind table for this code 1 %\n",
            "40 tables, 12 images, 4.0 MiB of 64.0 MiB; evicted 3; 8 of 9 copies unwound, 2 not made: too many at once\n",
            "names    of 31 files, 4 with a debug file; the debug information of 2 was too large, or a part of "
            "it; that of 5 lies in files that are not read (.dwo) or not found (dwz -m); that of 3 could not be read: the symboliser died or hung; 1 could not be read at all: ", "123456789, 9312 a second in the last minute\n",
            "lost     12: ring full 10, queue full 2\n", "not kept 500: idle 500\n",
            "untaken  21: stolen by the hypervisor 7, unexplained 14\n", "0.15 % of one CPU",
            "limit: 96 % (1 % of 96 CPUs)", "recorder 0.12 %, 1 s in all, pid 41, 20.0 MiB resident", "restarted 2 times",
            "shedding the rate", "resident 20.0 MiB of 64.0 MiB",
            "names 1.0 MiB of 4.0 MiB, full 5 times",
            "rings    a CPU: 256.0 KiB for samples",
            "locked memory is limited", "61 windows sealed, 1 waiting; a window: 2 min\n",
            "360 windows, 1.0 GiB of 2.0 GiB", "100.0 GiB free", "2, 1.0 MiB of 1.0 GiB",
            "disk full (3 times)",
        ):
            self.assertIn(words, text)

    def test_of_a_young_recorder(self):
        text = self.status(dict(
            STATUS_JSON, uptime_ns=6_900_000_000, cpus=1, store_windows=1, max_cpu_ppm=0,
            by_cause={"unexplained": 3}, hz=97, why_source="source perf (as asked for), event x",
            processes=[{"name": "recorder", "pid": 1, "cpu_ns": 40_000_000}])).decode()
        for words in ("(6 s)", "source   perf (as asked for), event x\n", "97 Hz × 1 CPU; user",
                      "a second since the start\n", "lost     0\n", "untaken  3: unexplained 3\n",
                      "of one CPU since the start; limit: none", "0 %, 40 ms in all, pid 1",
                      "store    1 window, "):
            self.assertIn(words, text)
        self.assertNotIn("not kept", text)

    def test_a_recorder_that_says_less(self):
        self.assertIn(b"errors   none", self.status({"store": "x"}))
        self.status([])
        self.status({"processes": 7, "by_cause": [], "errors": {"0": 1}, "hz": -5, "uptime_ns": "x"})

    def test_hostile_words(self):
        hostile = dict(STATUS_JSON, store="\x1b[31m\x9b\n", errors=[{"text": "\x07\ud800"}])
        self.check_terminal(self.status(hostile))

    def test_not_json(self):
        for text in (b"", b"{", b"hello", b"{}x", b"[" * 5000):
            with self.recorder(lambda *_: (0, text)):
                self.bad("status", "--store", self.store, names=(self.store, "JSON"))


class Asking(WithStore):
    def test_snapshot(self):
        with self.recorder(lambda *_: (0, b"web1-20260415-03-12-00-120s.pcw")) as r:
            out = self.good("snapshot", "--store", self.store)
            again = self.good("snapshot", "--store", self.store, "--json")
        self.assertEqual(out, b"web1-20260415-03-12-00-120s.pcw\n")
        self.assertEqual(json.loads(again), {"window": "web1-20260415-03-12-00-120s.pcw"})
        self.assertEqual(r.asked, 2 * [(SNAPSHOT, 0, 0, b"")])

    def test_mark_now_and_then(self):
        with self.recorder(lambda *_: (0, b"")) as r:
            before = time.time_ns()
            got = json.loads(self.good("mark", "--json", "--store", self.store, "deploy", "42"))
            after = time.time_ns()
            self.good("mark", "--store", self.store, "--at", "@1776222847.25", "x")
            self.good("mark", "--store", self.store, "--at", "-90s", "--", "--flag", "-1")
        self.assertEqual(got["text"], "deploy 42")
        self.assertTrue(before <= got["realtime_ns"] <= after)
        # The recorder has the samples' clock: "now" is said as such.
        self.assertEqual(r.asked[0], (MARK, NOW, 0, b"deploy 42"))
        self.assertEqual(r.asked[1], (MARK, 1776222847250000000, 0, b"x"))
        self.assertEqual(r.asked[2][3], b"--flag -1")
        self.assertLess(abs(r.asked[2][1] - (after - 90 * 10**9)), 5 * 10**9)
        # Only the recorder writes the store.
        self.assertEqual(self.ls("--store", self.store)[0]["events"], 0)

    def test_pin_and_unpin(self):
        at = 1776222847250000000
        with self.recorder(lambda *_: (0, b"")) as r:
            self.good("pin", "--store", self.store, "--at", "@1776222847.25", "--note", "slow")
            self.good("pin", "--store", self.store, "@1776222847.25", "--around", "1m")
            self.good("pin", "--store", self.store, "--from", "@10", "--to", "@20")
            self.good("pin", "--store", self.store, self.window["name"])
            self.good("pin", "--store", self.store, "--last", "10m")
        self.assertEqual(r.asked[0], (PIN, at - 5 * 10**9, at + 5 * 10**9, b"slow"))
        self.assertEqual(r.asked[1], (PIN, at - 60 * 10**9, at + 60 * 10**9, b""))
        self.assertEqual(r.asked[2], (PIN, 10 * 10**9, 20 * 10**9, b""))
        length = self.window["end_ns"] - self.window["start_ns"]
        self.assertEqual(r.asked[3][1], self.window["realtime_ns"])
        self.assertEqual(r.asked[3][2] - r.asked[3][1], length + 1)
        self.assertEqual(r.asked[4][2] - r.asked[4][1], 600 * 10**9)
        self.assertEqual(self.pins(), [])
        # unpin releases what is there, by its exact range.
        self.good("pin", "--store", self.store, "--from", "@10", "--to", "@20")
        with self.recorder(lambda *_: (0, b"")) as r:
            self.good("unpin", "--store", self.store, "--from", "@15", "--to", "@16")
        self.assertEqual(r.asked, [(UNPIN, 10 * 10**9, 20 * 10**9, b"")])

    def test_refusals_are_passed_on(self):
        with self.recorder(lambda *_: (28, b"the budget of pins is used up")):
            self.bad("pin", "--store", self.store, "--last", "1m", names="the budget of pins is")
        with self.recorder(lambda *_: (28, b"")):
            self.bad("mark", "--store", self.store, "x", names="No space left")

    def test_something_else_listens(self):
        for said in (b"hello", b"PCA\x02" + b"\0" * 5, b"PCA\x01\0\0\0\0\x05abc"):
            with self.recorder(lambda *_: said):
                self.bad("status", "--store", self.store, names=("not a recorder", "socket"))
        with self.recorder(lambda *_: b""):
            self.bad("status", "--store", self.store, names="ended before it answered")

    def test_no_answer(self):
        with self.recorder(lambda *_: None):
            started = time.monotonic()
            self.bad("status", "--store", self.store, names=("did not answer", "socket"))
            self.assertLess(4.5, time.monotonic() - started)

    def test_not_allowed(self):
        os.chmod(self.store, 0o755)
        with self.recorder(lambda *_: (0, b"{}")) as r:
            os.chmod(r.path, 0o660)
            p = subprocess.run([support.BIN, "status", "--store", self.store], user=65534,
                               group=65534, extra_groups=[], capture_output=True)
        self.assertEqual((p.returncode, r.asked), (1, []))
        self.assertIn(b"group perfcam", p.stderr)

    def test_another_socket(self):
        with self.recorder(lambda *_: (0, b"{}"), path=self.path("elsewhere")) as r:
            self.good("status", "--store", self.store)
            self.good("status", "--store", "/nonexistent", "--control", r.path)
        self.assertEqual(len(r.asked), 2)


class Alone(WithStore):
    def test_nobody_to_ask(self):
        for verb in ("status", "snapshot"):
            self.bad(verb, "--store", self.store, names=("no recorder runs on store", self.store))
        # What a killed one left is no recorder.
        recorder = self.recorder(lambda *_: (0, b"{}"))
        recorder.__exit__()
        os.symlink(recorder.path, recorder.link)
        self.bad("status", "--store", self.store, names="no recorder runs on store")

    def test_pins_of_a_store(self):
        name = self.window["name"]
        self.good("pin", "--store", self.store, name, "--note", "the hiccup")
        self.assertEqual(self.pinned(), [name])
        self.assertEqual([p["note"] for p in self.pins()], ["the hiccup"])
        self.good("pin", "--store", self.store, "--last", "1s", "--note", "another")
        self.assertIn(b" to ", self.good("pin", "--store", self.store))
        released = json.loads(self.good("unpin", "--json", "--store", self.store, name))
        self.assertEqual([p["note"] for p in released], ["the hiccup"])
        self.assertEqual(self.pinned(), [])
        self.assertEqual([p["note"] for p in self.pins()], ["another"])
        self.bad("unpin", "--store", self.store, name, names=("no pin touches", self.store))
        # One may lie in the future.
        self.good("pin", "--store", self.store, "--from", "now", "--to", "+10m")
        self.assertEqual(len(self.pins()), 2)
        self.verify()

    def test_the_budget_of_pins(self):
        name = lambda: "".join(random.choices(string.ascii_letters, k=24))
        random.seed(1)
        with gzip.open(HEADER, "rt") as f:
            head = [line for line in f if line.startswith("#")]
        text = "".join(head) + "".join(
            f"x 7 [000] {1136 + i / 1000:.6f}: cpu-clock: \n\t{i:x} {name()} (/x)\n\n"
            for i in range(60000)
        )
        self.good("import", "--store", self.store, self.path("big.txt", text.encode()))
        conf = self.path("conf", b"max-pinned = 1M\n")
        pin = ("pin", "--store", self.store, "--config", conf)
        biggest = max(self.ls("--store", self.store), key=lambda w: w["bytes"])
        self.assertGreater(biggest["bytes"], 1 << 20)
        self.good(*pin, biggest["name"])
        self.bad(*pin, "--last", "1m", names=(self.store, "max-pinned 1M"))
        self.assertEqual(len(self.pins()), 1)
        self.good("unpin", "--store", self.store, biggest["name"])
        self.good(*pin, "--last", "1m")

    def test_a_mark_lands_in_its_window(self):
        middle = self.window["realtime_ns"] + 50_000_000
        at = f"@{middle // 10**9}.{middle % 10**9:09d}"
        self.good("mark", "--store", self.store, "--at", at, "the hiccup")
        self.assertEqual(self.ls("--store", self.store)[0]["events"], 1)
        # Now is in no window; it is kept all the same.
        self.good("mark", "--store", self.store, "now")
        self.assertEqual(self.ls("--store", self.store)[0]["events"], 1)
        self.bad("mark", "--store", self.store, "--at", "1999-12-31T23:59", "x", names=self.store)
        self.verify()

    def test_somebody_else_writes(self):
        with open(os.path.join(self.store, "lock"), "r+") as lock:
            fcntl.lockf(lock, fcntl.LOCK_EX)
            lock.seek(0)
            lock.write(f"{os.getpid()}\n")
            lock.flush()
            for words in (("mark", "x"), ("pin", "--last", "1m")):
                self.bad(*words, "--store", self.store, names=(self.store, str(os.getpid())))

    def test_usage(self):
        store = ("--store", self.store)
        self.bad("mark", *store, code=2, names="text")
        self.bad("mark", *store, "x" * 4097, code=2, names="4096")
        self.good("mark", *store, "x" * 4096)
        self.bad("mark", *store, "--at", "03:99", "x", code=2, names=("--at", "03:99", "59"))
        self.bad("pin", *store, "--at", "soon", code=2, names=("--at", "soon", "-90s"))
        self.bad("pin", *store, "--last", "long", code=2, names=("--last", "long"))
        self.bad("pin", *store, "--to", "now", code=2, names="--from")
        self.bad("pin", *store, "--from", "now", "--to", "-1s", code=2, names=("--from", "-1s"))
        self.bad("pin", *store, "--last", "1m", "--at", "now", code=2, names="--last")
        self.bad("pin", *store, "--around", "1m", code=2, names="--at")
        self.bad("pin", *store, "now", "then", code=2, names="then")
        self.bad("pin", *store, "--last", "1m", "--note", "x" * 64, code=2, names="63")
        self.bad("pin", *store, "no-such-window.pcw", names="no-such-window.pcw")
        self.bad("unpin", *store, code=2, names="unpin what")
        self.bad("status", *store, "now", code=2, names="now")
        self.bad("snapshot", *store, "now", code=2, names="now")
        self.bad("pin", "--last", "1m", "--store", self.path("nowhere"), names="nowhere")


tap.main()
