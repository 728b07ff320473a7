#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the server writes for other programs: the same as the command line, at the reader's pace."""
import gzip
import json
import os
import re
import shutil
import socket
import sys
import tempfile
import time
import unittest
import xml.etree.ElementTree as ElementTree

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "browser"))
import scene
import served
import support
import tap


def setUpModule():
    global folder, store, text, facts, server
    folder = tempfile.mkdtemp(prefix="perfcam-serve-")
    os.chmod(folder, 0o755)
    text, facts = scene.make(seed=5, seconds=20, cpus=4)
    store = served.make_store(os.path.join(folder, "store"), text)
    server = served.Server(store)


def tearDownModule():
    server.stop()
    shutil.rmtree(folder)


class Export(unittest.TestCase):
    FORMATS = ("folded", "perf-script", "pprof", "speedscope", "firefox", "csv", "json")

    def test_the_same_as_the_command_line(self):
        times = f"from=@{scene.START + 3}&to=@{scene.START + 9}"
        for name in self.FORMATS:
            for query, options in ((times, ("--from", f"@{scene.START + 3}", "--to", f"@{scene.START + 9}")),
                                   (times + "&comm=postgres&cpu=0-1", ("--from", f"@{scene.START + 3}", "--to", f"@{scene.START + 9}",
                                                                       "--comm", "postgres", "--cpu", "0-1")), ("", ())):
                status, headers, body = server.ask(f"/api/export?format={name}&{query}".rstrip("&"))
                self.assertEqual(status, 200, (name, body[:200]))
                want = tap.perfcam("export", name, "--store", store, "--no-idle", *options).stdout
                if name == "pprof":
                    body, want = gzip.decompress(body), gzip.decompress(want)
                self.assertEqual(len(body), len(want), name)
                self.assertEqual(body, want, name)
                self.assertRegex(headers["content-disposition"],
                                 r'^attachment; filename="perfcam-20260415-0313\d\d\.[a-z.-]+"$' if query else r'^attachment; filename="perfcam\.[a-z.-]+"$')

    def test_a_capsule(self):
        for query, options in (("", ()), ("&comm=postgres", ("--comm", "postgres"))):
            status, headers, body = server.ask(f"/api/export?format=capsule&at=@{scene.START + 9}{query}")
            self.assertEqual((status, headers["content-type"]), (200, "text/html; charset=utf-8"), body[:200])
            self.assertEqual(headers["content-disposition"], 'attachment; filename="perfcam-capsule.html"')
            path = os.path.join(folder, "capsule.html")
            tap.perfcam("capsule", f"@{scene.START + 9}", "--store", store, "-o", path, *options)
            with open(path, "rb") as f:
                want = f.read()
            # Who was selected is said in other words.
            parts = [re.sub(rb"<p[^>]*>(comm|command) postgres</p>|command postgres|comm postgres", b"", x) for x in (body, want)]
            self.assertEqual(len(parts[0]), len(parts[1]))
            self.assertEqual(*parts)
        status, _, body = server.ask(f"/api/export?format=capsule&from=@{scene.START - 4000}&to=@{scene.START + 9}")
        self.assertEqual((status, "10 minutes" in json.loads(body)["error"]), (413, True))
        self.assertEqual(server.ask("/api/export?format=capsule&at=@5")[0], 404)
        self.assertEqual(server.ask(f"/api/export?format=capsule&at=@{scene.START + 9}&by=comm")[0], 400)

    def test_a_picture(self):
        status, headers, body = server.ask("/api/export?format=svg&comm=postgres&by=comm")
        self.assertEqual((status, headers["content-type"]), (200, "image/svg+xml"))
        names = {t.text for t in ElementTree.fromstring(body).iter("{http://www.w3.org/2000/svg}title")}
        self.assertTrue(any(n and n.startswith("PostgresMain\n") for n in names), names)
        self.assertFalse(any(n and n.startswith("ZSTD") for n in names))

    def test_a_picture_of_a_comparison(self):
        """What perfcam diff draws of the same two times, but for its title."""
        a, b, c = scene.START, scene.START + 8, scene.START + 16
        path = os.path.join(folder, "diff.svg")
        for show, option in (("differential", ()), ("elided", ("--elided",))):
            status, headers, body = server.ask(f"/api/export?format=svg&from=@{b}&to=@{c}&before-from=@{a}&before-to=@{b}&show={show}")
            self.assertEqual((status, headers["content-type"]), (200, "image/svg+xml"), body[:200])
            r = tap.perfcam("diff", f"from=@{a} to=@{b}", f"from=@{b} to=@{c}", "--store", store, "-o", path, *option)
            self.assertEqual(r.returncode, 0, r.stderr)
            with open(path, "rb") as f:
                want = f.read()
            drawn = [sorted((g.findtext("{*}title") or "", tuple(sorted(rect.items()))) for g in ElementTree.fromstring(x).iter("{http://www.w3.org/2000/svg}g")
                            for rect in (r.attrib for r in g.findall("{*}rect"))) for x in (body, want)]
            self.assertGreater(len(drawn[0]), 10 if show == "differential" else 0)
            self.assertEqual(*drawn)
        self.assertEqual(server.ask(f"/api/export?format=svg&from=@{b}&to=@{c}&before-from=@{a}")[0], 400)

    def test_what_is_wrong_is_said(self):
        for query, status, words in (("", 400, "format"), ("format=xls", 400, "pprof"), ("format=csv&pid=x", 400, "pid"), ("format=csv&by=comm", 400, "by"),
                                     ("format=svg&by=nothing", 400, "by"), ("format=pprof&comm=nobody", 404, "nothing was recorded"),
                                     ("format=folded&comm=nobody", 404, "nothing was recorded"), ("format=folded&match=((", 400, "match")):
            got, headers, body = server.ask("/api/export?" + query)
            self.assertEqual(got, status, query)
            self.assertIn(words, json.loads(body)["error"])
            self.assertNotIn("content-disposition", headers)
        self.assertEqual(server.ask("/api/export?format=csv", method="HEAD")[0], 200)
        counts = served.Server(served.make_store(os.path.join(folder, "counts"), b"a;b 3\na;c 4\n"))
        self.addCleanup(counts.stop)
        self.assertEqual(counts.ask("/api/export?format=folded")[2], b"a;b 3\na;c 4\n")
        status, _, body = counts.ask("/api/export?format=firefox")
        self.assertEqual((status, json.loads(body)["error"][:14]), (400, "folded stacks "))

    def test_slow_readers_hold_up_nobody(self):
        """Two who do not read on: a third is told to come again, questions are answered, and what they hold ends with them."""
        big = os.path.join(folder, "big")
        served.make_store(big, text)
        for i in range(1, 13):
            served.make_store(big, text.replace(f"= {scene.START}.".encode(), f"= {scene.START + 100 * i}.".encode()))
        own = served.Server(big)
        self.addCleanup(own.stop)
        slow = []
        for _ in range(2):
            s = socket.create_connection(("127.0.0.1", own.port))
            s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
            s.sendall(f"GET /api/export?format=json HTTP/1.1\r\nHost: localhost:{own.port}\r\nAuthorization: Bearer {own.token}\r\n\r\n".encode())
            self.assertTrue(s.recv(100).startswith(b"HTTP/1.1 200 "))
            slow.append(s)
        status, headers, body = own.ask("/api/export?format=folded")
        self.assertEqual((status, headers["retry-after"], "error" in json.loads(body)), (503, "2", True))
        for _ in range(6):
            self.assertEqual(own.ask("/api/flame")[0], 200)
        for s in slow:
            s.close()
        until = time.monotonic() + 10
        while own.ask("/api/export?format=csv", method="HEAD")[0] != 200 and time.monotonic() < until:
            time.sleep(0.1)
        whole = own.ask("/api/export?format=json")
        self.assertEqual(whole[0], 200)
        self.assertEqual(whole[2].count(b"\n"), 13 * facts["samples"])
        self.assertLess(served.memory_mb(own.process.pid), 300 if support.SANITIZED else 100)
        c, _ = own.begin("/api/export?format=json")
        begun = time.monotonic()
        own.process.terminate()  # an export in the middle does not hold it up
        own.process.wait(10)
        self.assertLess(time.monotonic() - begun, 4)
        c.close()


class Grafana(unittest.TestCase):
    def test_nested_sets(self):
        rows = server.json("/api/grafana/flame")
        self.assertEqual(set(rows[0]), {"level", "value", "self", "label"})
        self.assertEqual((rows[0]["level"], rows[0]["value"]), (0, facts["samples"]))
        paths, at = {}, []
        for r in rows:  # as Grafana reads them: the level says where a row hangs
            self.assertLessEqual(r["level"], len(at))
            at = at[:r["level"]] + [r["label"]]
            paths[tuple(at)] = paths.get(tuple(at), 0) + r["self"]
        want = {}
        for line in tap.perfcam("export", "folded", "--store", store, "--no-idle").stdout.decode().splitlines():
            stack, _, n = line.rpartition(" ")
            want[tuple(stack.split(";"))] = int(n)
        self.assertEqual({p[1:]: n for p, n in paths.items() if n}, want)
        few = server.json("/api/grafana/flame?nodes=20&comm=postgres")
        self.assertLessEqual(len(few), 20)
        self.assertEqual(server.ask("/api/grafana/flame?nodes=0")[0], 400)


tap.main()
