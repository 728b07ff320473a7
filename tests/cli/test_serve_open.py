#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several recordings at one server: those given at the start, and files that are sent to be opened, of which many mean no good."""
import gzip
import json
import os
import re
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "browser"))
import scene
import served
import tap


def setUpModule():
    global folder, store, text, other, facts, other_facts
    folder = tempfile.mkdtemp(prefix="perfcam-open-")
    os.chmod(folder, 0o755)
    text, facts = scene.make(seed=5, seconds=10, cpus=2)
    other, other_facts = scene.make(seed=6, seconds=5, cpus=3)
    store = served.make_store(os.path.join(folder, "store"), text)


def tearDownModule():
    shutil.rmtree(folder)


def write(name, data):
    path = os.path.join(folder, name)
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def samples(server, source=None):
    about, _ = server.columns("/api/flame?idle=1" + (f"&source={source}" if source else ""))
    return about["seen"]["samples"]


class Given(unittest.TestCase):
    """perfcam serve STORE FILE…"""

    def test_each_is_a_source(self):
        raw, folded = write("a/raw.perf-script", other), write("b/x.folded", b"main;work 3\nmain;wait 4\n")
        second = served.make_store(os.path.join(folder, "second"), other)
        own = served.Server(store, raw, folded, second)
        self.addCleanup(own.stop)
        got = own.json("/api/sources")
        self.assertEqual([(s["label"], s["kind"]) for s in got["sources"]],
                         [(store, "store"), (raw, "file"), (folded, "file"), (second, "store")])
        ids = [s["id"] for s in got["sources"]]
        self.assertEqual(len(set(ids)), 4)
        self.assertNotIn("/", "".join(ids))
        first = own.json("/api/store")
        self.assertEqual(own.json("/api/store?source=" + ids[0])["samples"], first["samples"])
        self.assertEqual([s["samples"] for s in got["sources"]], [own.json("/api/store?source=" + i)["samples"] for i in ids])
        self.assertEqual((got["sources"][0]["from"], got["sources"][0]["to"]), (first["from"], first["to"]))
        self.assertIsNone(got["sources"][2]["from"])
        self.assertEqual(own.json(f"/api/store?source={ids[1]}")["cpus"], 3)
        self.assertEqual(samples(own, ids[1]), samples(own, ids[3]))
        self.assertNotEqual(samples(own, ids[1]), samples(own, ids[0]))
        self.assertEqual(own.ask(f"/api/export?format=folded&source={ids[2]}")[2], b"main;wait 4\nmain;work 3\n")
        # All routes take it, and an answer that is kept is one source's.
        for path in ("/api/windows", "/api/timeline?from=-1h&to=now", "/api/heatmap", "/api/events", "/api/grafana/flame", "/api/time?at=now", "/api/moments"):
            self.assertEqual(own.ask(path + ("&" if "?" in path else "?") + "source=" + ids[1])[0], 200, path)
            status, _, body = own.ask(path + ("&" if "?" in path else "?") + "source=s9")
            self.assertEqual((status, "no such source" in json.loads(body)["error"]), (404, True), path)
        self.assertEqual(own.ask("/api/flame?source=../store")[0], 404)
        self.assertEqual(own.ask(f"/api/mark?source={ids[1]}", method="POST", body=b'{"text":"x"}', Content_Type="application/json")[0], 503 if own.token else 403)

    def test_a_stream_for_each(self):
        own = served.Server(store, write("live.perf-script", other))
        self.addCleanup(own.stop)
        seen = []
        for i in ("s1", "s2"):
            c, r = own.begin("/api/live?source=" + i)
            self.assertEqual(r.readline(), b"event: store\n")
            seen.append(json.loads(r.readline()[6:])["samples"])
            c.close()
        self.assertEqual(seen, [s["samples"] for s in own.json("/api/sources")["sources"]])

    def test_what_cannot_be_served_is_said(self):
        empty = os.path.join(folder, "empty")
        os.mkdir(empty)
        for arguments, words in (((empty,), b"no window in this directory"), ((write("x.txt", b"hello world\n"),), b"x.txt"), ((folder + "/gone",), b"gone"),
                                 (tuple([store] * 65), b"at most 64")):
            r = tap.perfcam("serve", "--listen", "127.0.0.1:0", *arguments, timeout=20)
            self.assertNotEqual(r.returncode, 0, arguments[0])
            self.assertIn(words, r.stderr)


def with_nodes(data, lists):
    """A perf.data whose host has these NUMA nodes, as perf writes them (feature 14)."""
    def text_of(s):
        return struct.pack("<I", len(s) + 1) + s + b"\0"
    section = struct.pack("<I", len(lists)) + b"".join(struct.pack("<IQQ", i, 1 << 20, 1 << 19) + text_of(s) for i, s in enumerate(lists))
    start, size = struct.unpack_from("<2Q", data, 40)
    bits = [b for b in range(256) if data[72 + b // 8] >> b % 8 & 1]
    made = bytearray(data)
    struct.pack_into("<2Q", made, start + size + 16 * bits.index(14), len(data), len(section))
    return bytes(made) + section


def children(pid):
    with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
        return [int(p) for p in f.read().split()]


class Opened(unittest.TestCase):
    """POST /api/open"""

    def setUp(self):
        self.place = tempfile.mkdtemp(dir=folder)
        os.chmod(self.place, 0o1777)  # the server is somebody else
        self.server = served.Server(store, env={"TMPDIR": self.place})
        self.addCleanup(self.server.stop)

    def kept(self):
        """What there is on the disk of what was opened: {number: names}."""
        (inner,) = os.listdir(self.place)
        self.assertTrue(inner.startswith("perfcam-open-"))
        inner = os.path.join(self.place, inner)
        return {int(n): os.listdir(os.path.join(inner, n)) for n in os.listdir(inner)}

    def keeps(self, n):
        """So many stores and nothing else, as soon as what was dropped is removed."""
        until = time.monotonic() + 5
        while len(self.kept()) != n and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(list(self.kept().values()), [["store"]] * n)

    def open(self, data, name="x", **headers):
        status, _, body = self.server.ask("/api/open?name=" + urllib.parse.quote(name, safe=""), method="POST", body=data,
                                          **{"Content_Type": "application/octet-stream", **headers})
        return status, json.loads(body)

    def refused(self, data, words, status=422):
        got, body = self.open(data)
        self.assertEqual(got, status, (data[:20], body))
        self.assertRegex(body["error"], words)
        self.assertEqual(self.server.ask("/api/store")[0], 200)

    def head(self, length):
        return (f"POST /api/open HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {self.server.token}\r\n"
                f"Content-Type: application/octet-stream\r\nContent-Length: {length}\r\n\r\n").encode()

    def test_each_kind_becomes_a_source(self):
        (window,) = [f for f in os.listdir(store) if f.endswith(".pcw")]
        with open(os.path.join(store, window), "rb") as f:
            window = f.read()
        speedscope = self.server.ask("/api/export?format=speedscope")[2]
        pprof = self.server.ask("/api/export?format=pprof")[2]
        for name, data in (("a.perf-script", text), ("a.gz", gzip.compress(text)), ("w.pcw", window), ("incident", window), ("w" * 251 + ".pcw", window)):
            status, body = self.open(data, name)
            self.assertEqual((status, body.get("label"), body.get("kind"), body.get("notes")), (200, name, "opened", []), body)
            self.assertEqual(samples(self.server, body["id"]), samples(self.server), name)
            self.assertEqual(body["samples"], self.server.json("/api/store")["samples"])
        for name, data in (("x.folded", b"main;work 3\n"), ("x.speedscope.json", speedscope), ("x.pb.gz", pprof)):
            status, body = self.open(data, name)
            self.assertEqual(status, 200, body)
            self.assertGreater(samples(self.server, body["id"]), 0, name)
        self.assertEqual(len(self.server.json("/api/sources")["sources"]), 9)
        self.assertEqual(self.server.ask(f"/api/live?source={body['id']}")[0], 404)

    def test_perf_data_and_its_time(self):
        data = subprocess.run(["zstd", "-dc", os.path.join(tap.DATA, "nginx-997.perf.data.zst")], check=True, stdout=subprocess.PIPE).stdout
        status, _, body = self.server.ask("/api/open?name=p.data&modified=1500000000.25", method="POST", body=data, Content_Type="application/octet-stream")
        body = json.loads(body)
        self.assertEqual(status, 200, body)
        self.assertAlmostEqual(float(body["to"]), 1500000000, delta=1)
        # No file of this machine is looked at for it, and that is said.
        (note,) = [n for n in body["notes"] if "no names" in n]
        self.assertRegex(note, r"functions of (\d+) of its \1 files have no names: .* `perfcam serve FILE`")
        # Nobody says when: that is not the time at which it was sent.
        for query in ("", "&modified=99999999999"):
            status, _, got = self.server.ask("/api/open?name=p.data" + query, method="POST", body=data, Content_Type="application/octet-stream")
            got = json.loads(got)
            self.assertEqual((status, got.get("from"), got.get("samples")), (200, None, body["samples"]), got)
        stats = tap.perfcam("export", "json", "--idle", "-i", os.path.join(tap.DATA, "nginx-997.perf.data.zst")).stdout
        self.assertEqual(body["samples"], len(stats.splitlines()))
        cpus = self.server.json("/api/store?source=" + body["id"])["cpus"]
        self.assertEqual(self.server.json("/api/store?source=" + body["id"])["nodes"], [0] * cpus)
        self.assertIsNone(self.server.json("/api/store")["nodes"])  # a text does not tell
        for lists, want in (([b"1-2,5-6", b"0,3"], [1, 0, 0, 1, -1, 0, 0]), ([b"", b"0-99999999999"], None), ([b"x", b"4-1"], None), ([b"0-3"] * 3, [0] * 4)):
            status, body = self.open(with_nodes(data, lists), "n.data")
            self.assertEqual(status, 200, body)
            about, _ = self.server.columns("/api/heatmap?mode=cores&idle=1&source=" + body["id"])
            if want:
                self.assertEqual(about["nodes"], [(want + [-1] * 99)[c] for c in about["cpus"]], lists)

    def test_a_text_and_its_time(self):
        """perf script without --header: seconds of another clock. It ended when it was written, if anybody says when that was; and that this is a guess is said."""
        plain = re.sub(rb"^#.*\n", b"", text, flags=re.M).lstrip(b"\n")
        self.assertRegex(plain[:200], rb"^\S+ \d+/\d+ \[")
        for data, name in ((plain, "plain"), (gzip.compress(plain), "plain.gz")):
            status, _, body = self.server.ask(f"/api/open?name={name}&modified=1500000000", method="POST", body=data, Content_Type="application/octet-stream")
            body = json.loads(body)
            self.assertEqual((status, body.get("samples")), (200, self.server.json("/api/store")["samples"]), body)
            self.assertAlmostEqual(float(body["to"]), 1500000000, delta=0.01)
            (note,) = body["notes"]
            self.assertIn("does not say when", note)
            about, columns = self.server.columns(f"/api/heatmap?source={body['id']}")
            self.assertEqual(sum(columns["samples"]), body["samples"])
            self.assertAlmostEqual(float(about["from"]) + about["columns_n"], 1500000000, delta=2)
            got, body = self.open(data, name)
            self.assertEqual((got, body.get("from"), body.get("notes")), (200, None, []), body)
        file = os.path.join(self.place, "plain")
        with open(file, "wb") as f:
            f.write(plain)
        os.utime(file, (1500000000, 1500000000))
        own = served.Server(None, file)
        self.addCleanup(own.stop)
        self.assertAlmostEqual(float(own.json("/api/store")["to"]), 1500000000, delta=0.01)

    def test_a_host_of_four_billion_cpus(self):
        data = bytearray(subprocess.run(["zstd", "-dc", os.path.join(tap.DATA, "nginx-997.perf.data.zst")], check=True, stdout=subprocess.PIPE).stdout)
        attrs, _, at, n = struct.unpack_from("<4Q", data, 24)
        flags, end = struct.unpack_from("<Q", data, attrs + 24)[0], at + n
        before = sum(8 for bit in (0, 1, 2, 3, 6, 9, 16) if flags >> bit & 1)  # fields that stand before the CPU
        while struct.unpack_from("<I", data, at)[0] != 9 and at < end:  # PERF_RECORD_SAMPLE
            at += struct.unpack_from("<H", data, at + 6)[0]
        struct.pack_into("<I", data, at + 8 + before, 4294967290)
        status, body = self.open(with_nodes(bytes(data), [b"0-3", b"4-7"]), "many.data")
        self.assertEqual(status, 200, body)
        begun, got = time.monotonic(), self.server.json("/api/store?source=" + body["id"])
        self.assertEqual((got["cpus"], got["nodes"]), (4294967291, None))
        for path in ("heatmap?", "heatmap?mode=cores&", "why?", "moments?", "timeline?from=-1h&to=now&", "chart?"):
            self.server.ask(f"/api/{path}source={body['id']}")
        self.assertLess(time.monotonic() - begun, 10)

    def test_the_oldest_goes(self):
        for i in range(9):
            self.assertEqual(self.open(b"main;work %d\n" % (i + 1), f"{i}.folded")[0], 200)
        got = [s["label"] for s in self.server.json("/api/sources")["sources"][1:]]
        self.assertEqual(got, [f"{i}.folded" for i in range(1, 9)])
        self.assertEqual(self.server.ask("/api/flame?source=o1")[0], 404)
        self.assertEqual(self.server.ask("/api/export?format=folded&source=o9")[2], b"main;work 9\n")
        self.keeps(8)

    def test_who_may_not(self):
        for headers, status in (({"Content_Type": "text/plain"}, 415), ({"Content_Type": "multipart/form-data; boundary=x"}, 415), ({"Origin": "http://evil.example"}, 403),
                                ({"Sec_Fetch_Site": "cross-site"}, 403), ({"Host": "evil.example"}, 421)):
            self.assertEqual(self.open(b"main 1\n", **headers)[0], status, headers)
        self.assertEqual(self.server.ask("/api/open")[0], 405)
        for query in ("path=/etc/passwd", "modified=x", "modified=-5", "name=" + "n" * 256):
            self.assertEqual(self.server.ask("/api/open?" + query, method="POST", body=b"", Content_Type="application/octet-stream")[0], 400, query)
        self.assertEqual(len(self.server.json("/api/sources")["sources"]), 1)
        if self.server.token:
            self.assertEqual(self.open(b"main 1\n", Authorization="Bearer x")[0], 401)

    def test_too_large_is_told_before_it_comes(self):
        for length in ("536870913", "99999999999999999999999", "-1", "x", ""):
            with socket.create_connection(("127.0.0.1", self.server.port), 10) as c:
                c.sendall(self.head(length))
                self.assertRegex(c.recv(4096), rb"^HTTP/1.1 4(13|00|11) ", length)
        self.assertEqual(self.open(b"main 1\n")[0], 200)

    def test_who_sends_too_slowly_loses_the_place(self):
        """A byte now and then: after ten seconds others may. Who comes before is refused, and reads it after all of a file was sent, as browsers do."""
        with socket.create_connection(("127.0.0.1", self.server.port), 10) as slow:
            slow.sendall(self.head(1 << 20) + b"main;work 1\n")
            time.sleep(1)  # until it has the place: another thread serves the other
            with socket.create_connection(("127.0.0.1", self.server.port), 10) as other:
                data = b"main;work 1\n" * 400000
                other.sendall(self.head(len(data)) + data)
                self.assertRegex(other.recv(4096), rb"(?s)^HTTP/1.1 503 .*another file is being opened; come again")
            begun, status = time.monotonic(), 503
            while status == 503 and time.monotonic() - begun < 30:
                time.sleep(0.5)
                try:
                    slow.sendall(b"m")
                except OSError:
                    pass
                status = self.open(b"main;work 2\n" * 4)[0]
            self.assertEqual(status, 200)
            self.assertGreater(time.monotonic() - begun, 8)
        # Steadily, and not fast: that is taken.
        data = b"main;work 1\n" * 100000
        with socket.create_connection(("127.0.0.1", self.server.port), 10) as steady:
            steady.sendall(self.head(len(data)))
            for i in range(0, len(data), 200000):
                steady.sendall(data[i:i + 200000])
                time.sleep(0.2)
            self.assertRegex(steady.recv(4096), rb"^HTTP/1.1 200 ")

    def test_what_is_no_recording(self):
        self.refused(b"", "empty")
        self.refused(b"hello world\n", "x: .* no known format; perfcam reads perf.data")
        for data in (os.urandom(100000), b"\x7fELF" + bytes(1000), b"PK\x03\x04" + bytes(1000), b"PERFILE2" + bytes(96), gzip.compress(b""),
                     b"PERFILE2" + struct.pack("<13Q", 104, 144, 1 << 62, 1 << 62, 1 << 62, 1 << 61, 1 << 62, 1 << 62, *([2**64 - 1] * 5)),
                     b'{"$schema":"https://www.speedscope.app/file-format-schema.json","profiles":' + b"[" * 100000, b"\x28\xb5\x2f\xfd" + os.urandom(1000)):
            self.refused(data, "^x: ")
        status, body = self.open(gzip.compress(text)[:1000])
        self.assertEqual(status, 200)
        self.assertRegex(body["notes"][0], "^x: the compressed file ends in the middle")
        (window,) = [f for f in os.listdir(store) if f.endswith(".pcw")]
        with open(os.path.join(store, window), "rb") as f:
            window = f.read()
        self.refused(window[:100], "damaged")
        self.keeps(1)
        self.assertLess(served.memory_mb(self.server.process.pid), 80)

    def test_bombs(self):
        begun = time.monotonic()
        member = gzip.compress(b"main;work;7 1\n" * 1000000)
        status, body = self.open(member * 300, "bomb.gz")  # 4 GB of text in 10 MB
        self.assertEqual(status, 422, body)
        names = gzip.compress(b"".join(b"f%d;g%d 1\n" % (i, i) for i in range(20000)), 1)
        status, body = self.open(names, "names.gz")  # 40,000 functions
        self.assertIn(status, (200, 422), body)
        self.assertLess(time.monotonic() - begun, 60)
        self.assertLess(served.memory_mb(self.server.process.pid), 120)
        self.assertEqual(self.open(b"main 1\n")[0], 200)

    def test_a_twentieth_of_the_disk_stays_free(self):
        small = tempfile.mkdtemp(dir=folder)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=16m,mode=1777", "none", small], check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", small], check=True)
        self.server.stop()
        self.server = served.Server(store, env={"TMPDIR": small})
        self.addCleanup(self.server.stop)
        self.assertEqual(self.open(b"main;work 1\n")[0], 200)
        ballast = os.path.join(small, "ballast")
        with open(ballast, "wb") as f:
            f.write(bytes(31 << 19))
        self.refused(b"main;work 1\n", "no room left", 503)
        os.unlink(ballast)
        self.assertEqual(self.open(b"main;work 1\n")[0], 200)
        # It ends in the middle of a file, too, and what came is removed.
        self.refused(b"main;work 1\n" * (15 << 20 >> 3), "no room left", 503)
        self.assertEqual(self.open(b"main;work 1\n")[0], 200)

    def test_names_are_labels(self):
        for name in ("../../../../tmp/x", "/etc/passwd", "..", ".", "store", "a/../../b", "-rf", "a\nb", "\\\\host\\share", "<img src=x>", "\u202egpj.exe", "n" * 255, "%s%n"):
            status, body = self.open(b"main;work 1\n", name)
            self.assertEqual((status, body.get("label")), (200, name), body)
        self.keeps(8)

    def test_half_a_file_and_another(self):
        with socket.create_connection(("127.0.0.1", self.server.port), 10) as c:
            c.sendall(self.head(1000000) + b"main;work 1\n" * 1000)
            until = time.monotonic() + 5
            while not self.kept() and time.monotonic() < until:
                time.sleep(0.01)
            status, body = self.open(b"main 1\n")
            self.assertEqual((status, "another file" in body["error"]), (503, True))
        until = time.monotonic() + 5
        while self.open(b"main 1\n")[0] != 200:
            self.assertLess(time.monotonic(), until)
            time.sleep(0.05)
        self.keeps(1)

    def test_its_reader_is_in_a_cell_and_may_die(self):
        (reader,) = children(self.server.process.pid)
        done = []
        # A long text, so that there is somebody to look at.
        t = threading.Thread(target=lambda: done.append(self.open(text * 40, "long.txt")))
        t.start()
        until, seen, worker = time.monotonic() + 20, "", 0
        while "Seccomp:\t2" not in seen and time.monotonic() < until and not done:
            try:
                (worker,) = children(reader)
                with open(f"/proc/{worker}/status", encoding="ascii") as f:
                    seen = f.read()
            except (ValueError, OSError):
                pass
        status = dict(line.split(":\t", 1) for line in seen.splitlines() if ":\t" in line)
        self.assertEqual((status.get("Seccomp"), status.get("NoNewPrivs")), ("2", "1"))
        self.assertEqual(int(status["CapEff"], 16), 0)
        os.kill(worker, signal.SIGKILL)
        t.join()
        self.assertEqual(done[0][0], 422, done)
        self.assertIn("broke down", done[0][1]["error"])
        self.assertEqual(self.open(b"main 1\n")[0], 200)
        os.kill(reader, signal.SIGKILL)
        status, body = self.open(b"main 1\n")
        self.assertEqual(status, 503, body)
        self.assertEqual(self.server.ask("/api/flame")[0], 200)

    def test_all_is_gone_with_the_server(self):
        for stop in (signal.SIGTERM, signal.SIGKILL):
            self.assertEqual(self.open(b"main 1\n")[0], 200)
            self.assertEqual(self.kept(), {1: ["store"]})
            self.assertEqual(os.stat(os.path.join(self.place, *os.listdir(self.place))).st_mode & 0o777, 0o700)
            self.server.process.send_signal(stop)
            self.server.process.communicate()
            until = time.monotonic() + 5
            while os.listdir(self.place) and time.monotonic() < until and stop == signal.SIGKILL:
                time.sleep(0.02)
            self.assertEqual(os.listdir(self.place), [], stop)
            self.server = served.Server(store, env={"TMPDIR": self.place})
            self.addCleanup(self.server.stop)

    def test_the_end_waits_for_no_file(self):
        (reader,) = children(self.server.process.pid)
        done = threading.Event()

        def ask():
            try:
                self.open(text * 40, "long.txt")
            except OSError:
                pass  # no answer is one, too
            done.set()
        threading.Thread(target=ask).start()
        until, workers = time.monotonic() + 20, []
        while not workers and time.monotonic() < until:
            workers = children(reader)
        os.kill(workers[0], signal.SIGSTOP)  # so that it takes for ever
        self.server.process.terminate()
        self.server.process.communicate(timeout=15)
        self.assertTrue(done.wait(5))
        self.assertEqual(os.listdir(self.place), [])

    def test_without_landlock_nothing_can_be_opened(self):
        # As on a kernel that was built or started without it.
        before = (sys.executable, "-c", "import ctypes, os, sys\n"
                  "c = ctypes.CDLL('libseccomp.so.2')\nc.seccomp_init.restype = ctypes.c_void_p\n"
                  "f = ctypes.c_void_p(c.seccomp_init(0x7fff0000))\n"  # all is allowed …
                  "if c.seccomp_rule_add(f, 0x00050000 | 95, 444, 0) or c.seccomp_load(f):\n    sys.exit(9)\n"  # … but landlock_create_ruleset: EOPNOTSUPP
                  "os.execv(sys.argv[1], sys.argv[1:])")
        own = served.Server(store, env={"TMPDIR": self.place}, before=before)
        self.addCleanup(own.stop)
        got = own.json("/api/sources")
        self.assertIsNone(got["open"])
        self.assertIn("Landlock", got["open_why"])
        status, _, body = own.ask("/api/open", method="POST", body=b"main 1\n", Content_Type="application/octet-stream")
        self.assertEqual((status, json.loads(body)["error"]), (503, got["open_why"]))
        self.assertEqual(own.ask("/api/flame")[0], 200)

    def test_without_a_place_nothing_can_be_opened(self):
        own = served.Server(store, env={"TMPDIR": "/proc"})
        self.addCleanup(own.stop)
        got = own.json("/api/sources")
        self.assertIsNone(got["open"])
        self.assertIn("TMPDIR", got["open_why"])
        status, _, body = own.ask("/api/open", method="POST", body=b"main 1\n", Content_Type="application/octet-stream")
        self.assertEqual((status, "TMPDIR" in json.loads(body)["error"]), (503, True))


tap.main()
