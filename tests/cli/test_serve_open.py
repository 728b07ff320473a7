#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Several recordings at one server: those given at the start, and files that are sent to be opened, of which many mean no good."""
import json
import os
import shutil
import sys
import tempfile
import unittest

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


tap.main()
