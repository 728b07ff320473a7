#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server by itself: who may ask, what is refused and how, and that it lives on."""
import errno
import http.client
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "browser"))
import fake_recorder
import scene
import served
import support
import tap

SECONDS, CPUS = 20, 4
# Each has brought glibc to its knees: by stack, by memory, by time.
COSTLY = ("(" * 1000, "((a?){255}){40}", "((a{1,255}){1,255}){1,255}", "(.*)(.*)\\1\\2x", "(" * 11 + "a" + "+)" * 11)
EVIL = ("<script>alert(1)</script>", "\"}],\"x\":[{\"", "\\u0022\x1b[31m", "a\x7fb", "\u202egnirts", "\udcff\udcfe")


def setUpModule():
    global folder, store, text, facts, server
    folder = tempfile.mkdtemp(prefix="perfcam-serve-")
    os.chmod(folder, 0o755)
    text, facts = scene.make(seed=5, seconds=SECONDS, cpus=CPUS)
    store = served.make_store(os.path.join(folder, "store"), text)
    server = served.Server(store)


def tearDownModule():
    server.stop()
    shutil.rmtree(folder)


def quoted(s):
    return urllib.parse.quote(s, safe="")


class Answers(unittest.TestCase):
    """The server by itself."""

    def test_guards(self):
        self.assertEqual(server.ask("/api/store")[0], 200)
        self.assertEqual(server.ask("/api/store", Host="evil.example")[0], 421)
        self.assertEqual(server.ask("/api/store", method="POST")[0], 405)
        self.assertEqual(server.ask("/api/store", Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(server.ask("/api/store", Origin="http://evil.example")[0], 403)
        if server.token:
            self.assertEqual(server.ask("/api/store", Authorization=None)[0], 401)
            status, headers, _ = server.ask("/?token=" + server.token, Authorization=None)
            self.assertEqual((status, headers["location"]), (303, "/"))
            self.assertRegex(headers["set-cookie"], r"^perfcam-\d+=\w{32}; Path=/; HttpOnly; SameSite=Strict$")

    def test_what_a_link_says_besides_the_token_stays(self):
        for more, left in (("", "/"), ("&event=ev-1&a=1~2~3-4", "/?event=ev-1&a=1%7E2%7E3-4"), ("&q=%0d%0aX:%20%26%C3%A9&x", "/?q=%0D%0AX%3A%20%26%C3%A9&x="), ("&q=" + "x" * 5000, "/")):
            status, headers, _ = server.ask(f"/?token={server.token}{more}", Authorization=None)
            self.assertEqual((status, headers.get("location")), (303, left) if server.token else (200, None), more)

    def test_how_long_a_stream_is_is_not_said_before(self):
        """Of a HEAD: no length where the body has none, and that of the body where it has."""
        for path in ("/api/live", "/api/export?format=folded", "/api/export?format=pprof"):
            status, headers, body = server.ask(path, "HEAD")
            self.assertEqual((status, headers.get("content-length"), body), (200, None, b""), path)
        for path in ("/", "/api/windows", "/api/flame", "/api/export?format=svg"):
            self.assertEqual(server.ask(path, "HEAD")[1]["content-length"], str(len(server.ask(path)[2])), path)

    def test_another_time_takes_the_place_of_any(self):
        """before-from and before-to, however the time itself is chosen."""
        a, b = scene.START + 2, scene.START + 4
        want = server.columns(f"/api/diff?from=@{a}&to=@{b}&before-from=@{scene.START}&before-to=@{a}")[0]["diff"]["before_samples"]
        self.assertGreater(want, 0)
        for chosen in ("time=20%25/2", f"at=@{a + 1}&around=2s"):
            self.assertEqual(server.columns(f"/api/diff?{chosen}&before-from=@{scene.START}&before-to=@{a}")[0]["diff"]["before_samples"], want, chosen)

    def test_rows_of_a_second_are_of_no_cpu(self):
        for mode, cpus in (("subsecond", 0), ("cores", server.json("/api/store")["cpus"])):
            about = server.columns(f"/api/heatmap?mode={mode}")[0]
            self.assertEqual((len(about["cpus"]), about["nodes"]), (cpus, None), mode)

    def test_every_route_is_behind_the_guards(self):
        """All that the documentation has, and some that are not there: who may not ask is told the same of each."""
        with open(os.path.join(os.environ["PERFCAM_SOURCE"], "docs", "http-api.md"), encoding="utf-8") as f:
            routes = set(re.findall(r"`(/[a-z][a-z/-]*)", f.read())) | {"/", "/assets/page.js", "/api/nothing", "/x"}
        self.assertGreater(len(routes), 25)
        token = os.path.join(folder, "guards-token")
        with open(token, "w", encoding="ascii") as f:
            f.write("correct-horse-battery\n")
        os.chmod(token, 0o600)
        own = served.Server(store, "--token", token)
        self.addCleanup(own.stop)
        told = {}
        for path, method in itertools.product(sorted(routes), ("GET", "HEAD", "POST")):
            for wrong, status in (({"Host": "evil.example"}, 421), ({"Authorization": None}, 401), ({"Authorization": "Bearer correct-horse-batterz"}, 401),
                                  ({"Authorization": "Basic Og=="}, 401), ({"Authorization": None, "Cookie": "perfcam-1=x"}, 401)):
                if status == 401 and path == "/healthz":
                    continue  # asks for no token
                with self.subTest(path=path, method=method, wrong=wrong):
                    got, _, body = own.ask(path, method=method, **wrong)
                    self.assertEqual(got, status, body[:100])
                    self.assertEqual(body, told.setdefault((status, method == "HEAD"), body))
        self.assertEqual(own.ask("/api/store")[0], 200)

    def test_the_server_is_nobody_in_a_cell(self):
        with open(f"/proc/{server.process.pid}/status", encoding="ascii") as f:
            status = dict(line.rstrip().split(":\t", 1) for line in f if ":\t" in line)
        self.assertEqual(status["Seccomp"], "2")
        self.assertEqual(status["NoNewPrivs"], "1")
        self.assertEqual({int(status[c], 16) for c in ("CapInh", "CapPrm", "CapEff", "CapAmb")}, {0})
        if os.geteuid() == 0:
            self.assertNotIn("0", status["Uid"].split())

    def test_beyond_this_machine_only_with_thought(self):
        token = os.path.join(folder, "token")
        with open(token, "w", encoding="ascii") as f:
            f.write("correct-horse-battery\n")
        os.chmod(token, 0o600)
        r = tap.perfcam("serve", "--store", store, "--listen", "0.0.0.0:0", timeout=20)
        self.assertEqual(r.returncode, 1)
        self.assertIn(b"--token", r.stderr)
        for mode in (0o604, 0o602):
            os.chmod(token, mode)
            r = tap.perfcam("serve", "--store", store, "--listen", "127.0.0.1:0", "--token", token, timeout=20)
            self.assertEqual(r.returncode, 1)
            self.assertIn(b"chmod 600", r.stderr)
        os.chmod(token, 0o600)
        own = served.Server(store, "--token", token, "--behind-tls", "perfcam.example.org")
        self.addCleanup(own.stop)
        self.assertEqual(own.token, "correct-horse-battery")
        self.assertEqual(own.ask("/api/store", Host="perfcam.example.org")[0], 200)
        self.assertEqual(own.ask("/api/store", Host="perfcam.example.com")[0], 421)
        self.assertIn("; Secure", own.ask("/?token=" + own.token, Authorization=None)[1]["set-cookie"])

    def test_headers_of_every_answer(self):
        for path in ("/", "/assets/page.js", "/api/store", "/nothing", "/api/flame?pid=x"):
            _, headers, _ = server.ask(path)
            policy = headers["content-security-policy"]
            self.assertIn("default-src 'none'", policy)
            self.assertIn("script-src 'self'", policy)
            self.assertNotIn("unsafe", policy)
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertNotIn("access-control-allow-origin", headers)

    def test_what_is_wrong_is_said(self):
        for path, words in (
                ("/api/flame?from=03:99", "03:99"), ("/api/flame?pid=x", "pid"), ("/api/flame?nonsense=1", "nonsense"),
                ("/api/heatmap?rows=5", "rows"), ("/api/heatmap?step=10ms", "step"), ("/api/heatmap?mode=cores&step=1us", "step"), ("/api/heatmap?mode=x", "mode"), ("/api/timeline?from=@1&to=@2&bins=99999", "bins"),
                ("/api/counters?from=@1&to=@2&bins=99999", "bins"),
                ("/api/events?severity=9", "severity"), ("/api/events?most=0", "most"), ("/api/events?color=red", "color"),
                ("/api/counters?from=@1&to=@2&color=red", "color"), ("/api/time?at=never", "never"), ("/api/time", "at"), ("/api/flame?match=(", "match"),
                ("/api/flame?recursion=yes", "recursion"), ("/api/diff?before-from=@1&before-to=@2&show=all", "show"), ("/api/store?x=1", "x"),
                ("/api/windows?last=5m", "last"), ("/api/timeline?from=@1&to=@2&comm=a", "comm"), ("/api/time?at=now&zone=utc", "zone")):
            status, _, body = server.ask(path)
            self.assertEqual(status, 400, path)
            self.assertIn(words, json.loads(body)["error"], path)
        self.assertEqual(server.ask("/api/flame?" + "&".join(f"pid={i}" for i in range(100)))[0], 400)
        self.assertEqual(server.ask("/../../etc/passwd")[0], 404)
        self.assertEqual(server.ask("/assets/..%2f..%2fetc/passwd")[0], 404)

class Names(unittest.TestCase):
    """Whatever a process, a function or a host calls itself arrives as it is, and breaks nothing."""

    def test_hostile_names(self):
        rows = []
        for i, evil in enumerate(EVIL):
            row = scene.sample("PROCESS", 100 + i, i % 2, 5_000_000_000 + i * 10309, [("FUNCTION", "/bin/x"), ("f" + str(i), None)])
            rows.append(row.replace("PROCESS", evil).replace("FUNCTION", evil))
        head = text[:text.index(b"# ========\n#\n") + len(b"# ========\n#\n")]
        host = "<img src=x onerror=alert(1)>"
        bytes_ = (head.decode().replace("db-prod-17", host) + "".join(rows)).encode(errors="surrogateescape")
        mean = served.Server(served.make_store(os.path.join(folder, "mean"), bytes_))
        self.addCleanup(mean.stop)
        self.assertEqual(mean.json("/api/store")["host"], host)
        self.assertEqual({w["host"] for w in mean.json("/api/windows")["windows"]}, {host})
        about, columns = mean.columns("/api/flame")
        self.assertEqual(about["seen"]["samples"], len(EVIL))
        names, ends = bytes(columns["names"]), (0, *columns["name_ends"])
        got = [names[a:b] for a, b in zip(ends, ends[1:])]
        for evil in EVIL:
            self.assertIn(evil.encode(errors="surrogateescape"), got)
            pattern = re.sub(r"([\\\[\]*?])", r"\\\1", evil).encode(errors="surrogateescape")
            self.assertEqual(mean.columns("/api/flame?comm=" + quoted(pattern))[0]["seen"]["samples"], 1, evil)


class Samples(unittest.TestCase):
    """Each sample by itself, and how good its stack is: against the text that was imported."""

    def test_chart(self):
        about, c = server.columns("/api/chart?idle=1")
        heads = re.findall(rb"^(\S.*?) +(\d+)/\d+ \[(\d+)\] (\d+)\.(\d+): .*\n((?:\t.*\n)+)", text, re.M)
        want = sorted((int(s) * 1000000 + int(us), int(cpu), stack.split(b"\n")[0].split()[1].split(b"+")[0]) for _, _, cpu, s, us, stack in heads)
        ends = (0, *c["name_ends"])
        names = [bytes(c["names"])[a:b] for a, b in zip(ends, ends[1:])]
        got = [(t / 1000, cpu, names[c["frame"][node]]) for t, cpu, node in zip(c["time"], c["cpu"], c["node"])]
        self.assertEqual(len(got), len(want))
        self.assertEqual([g[0] for g in got], sorted(g[0] for g in got))
        self.assertEqual(sorted((round(t + want[0][0]), cpu, name) for t, cpu, name in got), want)
        # The order is that of time alone: of the tree the children follow their parents.
        self.assertEqual(c["end"][0], len(c["frame"]))
        about_short, short = server.columns("/api/chart?idle=1&from=@%s&to=@%s&cpu=1" % (float(about["from"]) + 1, float(about["from"]) + 2))
        self.assertEqual(set(short["cpu"]), {1})
        self.assertEqual(len(short["time"]), sum(w[1] == 1 and 1e6 <= w[0] - want[0][0] < 2e6 for w in want))
        self.assertEqual(about_short["seen"]["samples"], len(short["time"]))

    def test_a_chart_is_of_a_short_time(self):
        status, _, body = server.ask("/api/chart?most=100")
        self.assertEqual((status, "shorter time" in json.loads(body)["error"]), (413, True))
        for most in ("0", "200001", "x"):
            self.assertEqual(server.ask("/api/chart?most=" + most)[0], 400)
        self.assertEqual(server.ask("/api/chart?by=cpu&hide=a")[0], 200)

    def test_quality(self):
        q = server.json("/api/quality")
        self.assertEqual(q["samples"], q["user"] + q["no_user"] + q["io_worker"])
        self.assertEqual(q["samples"], server.columns("/api/flame")[0]["seen"]["samples"])
        self.assertEqual(sum(q["frames"].values()), len(re.findall(rb"^\t", text, re.M)))
        self.assertEqual(q["frames"]["kernel"], len(re.findall(rb"^\t.*\(\[kernel", text, re.M)))
        self.assertEqual((q["incomplete"], q["unnamed"]), ([], {"user": 0, "jit": 0, "kernel": 0}))
        bad = served.make_store(os.path.join(folder, "bad"), text[:text.index(b"# ========\n#\n") + len(b"# ========\n#\n")] +
                                b"".join(scene.sample("cut", 7, 0, 5_000_000_000 + i * 10309, [("[unknown]", "/bin/cut")]).encode() for i in range(5)))
        own = served.Server(bad)
        self.addCleanup(own.stop)
        q = own.json("/api/quality")
        self.assertEqual((q["user"], q["complete"]), (5, 0))
        self.assertEqual([(i["key"], i["samples"]) for i in q["incomplete"]], [("broken", 5)])
        self.assertEqual(q["processes"], [{"comm": "cut", "pid": 7, "user": 5, "complete": 0, "guessed": 0}])
        self.assertEqual((q["no_user"], q["io_worker"]), (0, 0))


class Live(unittest.TestCase):
    """/api/live, read line by line as a browser does."""

    def listen(self, own):
        c, r = own.begin("/api/live")
        self.addCleanup(c.close)
        self.assertEqual((r.status, r.getheader("content-type")), (200, "text/event-stream"))
        return c, r

    def event(self, r):
        lines = []
        while True:
            line = r.readline().decode()
            self.assertTrue(line, "the stream has ended")
            if line == "\n" and lines:
                break
            if line != "\n" and not line.startswith(":"):
                lines.append(line.rstrip("\n"))
        self.assertEqual(lines[0], "event: store")
        self.assertTrue(lines[1].startswith("data: ") and len(lines) == 2, lines)
        return json.loads(lines[1][6:])

    def test_what_is_added_is_told_at_once(self):
        growing = served.make_store(os.path.join(folder, "growing"), text)
        own = served.Server(growing)
        self.addCleanup(own.stop)
        streams = [self.listen(own)[1] for _ in range(3)]
        facts_now = own.json("/api/store")
        for r in streams:
            e = self.event(r)
            self.assertEqual({k: e[k] for k in ("from", "to", "windows", "samples", "bytes")}, {k: facts_now[k] for k in ("from", "to", "windows", "samples", "bytes")})
            self.assertEqual(e["sealed"], 1)
        later, _ = scene.make(seed=6, seconds=5, cpus=2)
        begun = time.monotonic()
        served.make_store(growing, later.replace(str(scene.START).encode(), str(scene.START + 3600).encode()))
        for r in streams:
            e = self.event(r)
            # Its journal may be seen before it has samples.
            while e["windows"] < 2 or e["samples"] == facts_now["samples"]:
                e = self.event(r)
            self.assertGreater(e["samples"], facts_now["samples"])
        self.assertLess(time.monotonic() - begun, 4)

    def test_listeners_are_few_and_let_go(self):
        own = served.Server(store)
        streams = [self.listen(own) for _ in range(16)]
        self.event(streams[15][1])
        status, headers, body = own.ask("/api/live")
        self.assertEqual((status, headers["retry-after"]), (503, "2"))
        self.assertIn("too many", json.loads(body)["error"])
        self.assertEqual(own.ask("/api/live", method="HEAD")[0], 200)
        self.assertEqual(own.ask("/api/store")[0], 200)  # they hold none of the four places
        for c, r in streams[:8]:
            r.close()
            c.close()
        until = time.monotonic() + 15
        while time.monotonic() < until:
            c, r = own.begin("/api/live")
            c.close()
            if r.status == 200:
                break
            time.sleep(0.2)
        self.assertEqual(r.status, 200)
        begun = time.monotonic()
        own.stop()  # whoever listens does not hold it up
        self.assertLess(time.monotonic() - begun, 3)


class Metrics(unittest.TestCase):
    def test_what_is_counted(self):
        own = served.Server(store)
        self.addCleanup(own.stop)
        known = own.json("/api/store")
        own.ask("/api/flame?pid=x")
        own.ask("/nothing/../of/that?name")
        own.ask("/api/flame", Host="evil.example")
        for _ in range(3):
            own.ask("/api/flame")
        status, headers, body = own.ask("/metrics")
        self.assertEqual((status, headers["content-type"]), (200, "text/plain; version=0.0.4; charset=utf-8"))
        m = served.read_metrics(body.decode())
        for name in ("windows", "samples", "bytes"):
            self.assertEqual(m["perfcam_store_" + name, ()], known[name])
        self.assertEqual(m["perfcam_recorder_up", ()], 0)
        self.assertAlmostEqual(m["perfcam_store_newest_timestamp_seconds", ()], float(known["to"]), places=2)
        def requests(path, code):
            return m.get(("perfcam_http_requests_total", (("code", str(code)), ("path", path))), 0)
        self.assertEqual([requests("/api/flame", c) for c in (200, 400, 421)], [3, 1, 1])
        self.assertEqual(requests("other", 404), 1)
        self.assertEqual(m["perfcam_http_request_seconds_count", (("path", "/api/flame"),)], 5)
        self.assertGreater(m["perfcam_server_cpu_seconds_total", ()], 0)
        self.assertGreater(m["perfcam_server_peak_resident_bytes", ()], 1 << 20)
        again = served.read_metrics(own.ask("/metrics")[2].decode())
        self.assertEqual(again["perfcam_http_requests_total", (("code", "200"), ("path", "/metrics"))], 1)
        if own.token:
            self.assertEqual(own.ask("/metrics", Authorization=None)[0], 401)

    def test_a_recorder_that_says_nonsense(self):
        for said in (b"[1,2", b"{}", b'{"processes":[{"name":"a\\"b{} 1\\n"},7],"by_cause":[],"samples":-3}', b"\xff"):
            odd = served.make_store(tempfile.mkdtemp(dir=folder), text)
            with fake_recorder.FakeRecorder(odd, lambda *a, said=said: (0, said)) as r:
                os.chmod(r.path, 0o666)
                own = served.Server(odd)
                m = served.read_metrics(own.ask("/metrics")[2].decode(errors="replace"))
                own.stop()
            self.assertEqual(m["perfcam_recorder_up", ()], said[:1] == b"{")

    def test_health_is_looked_at(self):
        gone = served.make_store(os.path.join(folder, "gone"), text)
        own = served.Server(gone)
        self.addCleanup(own.stop)
        self.assertEqual(own.json("/healthz"), {"ok": True})
        os.chmod(gone, 0)  # not for the server, who is nobody
        if os.geteuid() == 0:
            status, _, body = own.ask("/healthz", Authorization=None)
            self.assertEqual((status, "error" in json.loads(body)), (503, True))
        os.chmod(gone, 0o755)
        self.assertEqual(own.ask("/healthz", Authorization=None)[0], 200)


class Unchanged(unittest.TestCase):
    """What is about sealed windows only need not be sent twice."""

    def test_tags(self):
        times = f"from=@{scene.START + 3}&to=@{scene.START + 9}"
        own = served.Server(served.make_store(os.path.join(folder, "tags"), text))
        self.addCleanup(own.stop)
        paths = (f"/api/flame?{times}", f"/api/flame?{times}&comm=zstd", f"/api/heatmap?{times}", f"/api/timeline?{times}&bins=10",
                 f"/api/diff?{times}&before-from=@{scene.START}&before-to=@{scene.START + 3}", "/api/flame", f"/api/chart?{times}", f"/api/quality?{times}",
                 f"/api/grafana/flame?{times}", f"/api/export?{times}&format=svg")
        with open(os.path.join(support.SOURCE, "docs", "http-api.md"), encoding="utf-8") as f:
            said = re.search(r"An answer of (.*) that is about sealed windows", f.read()).group(1)
        self.assertEqual(set(re.findall(r"`(/api/[\w/]+)`", said)), {p.partition("?")[0] for p in paths})
        self.assertNotIn("etag", own.ask(paths[0])[1])  # the store is too new: it might change in the same tick
        time.sleep(2.1)
        tags = {}
        for path in paths:
            status, headers, body = own.ask(path)
            self.assertEqual((status, headers["cache-control"]), (200, "private, no-cache"), path)
            tags[path] = headers["etag"]
            for sent in (headers["etag"], 'W/"x", ' + headers["etag"] + " ", "W/" + headers["etag"]):
                status, headers, body = own.ask(path, If_None_Match=sent)
                self.assertEqual((status, body, headers["etag"]), (304, b"", tags[path]), (path, sent))
            self.assertEqual(own.ask(path, If_None_Match='"0123456789abcdef"')[0], 200)
        self.assertEqual(len(set(tags.values())), len(paths))
        for path in ("/api/store", "/api/windows", "/api/flame?pid=x", f"/api/events?{times}", f"/api/counters?{times}", f"/api/why?{times}", "/api/sources", "/metrics", "/healthz",
                     f"/api/export?{times}&format=folded"):
            headers = own.ask(path)[1]
            self.assertEqual((headers["cache-control"], headers.get("etag")), ("no-store", None))
        later, _ = scene.make(seed=6, seconds=5, cpus=2)
        served.make_store(os.path.join(folder, "tags"), later.replace(f"= {scene.START}.".encode(), f"= {scene.START + 3600}.".encode()))
        time.sleep(2.1)
        for path in paths:
            status, headers, _ = own.ask(path, If_None_Match=tags[path])
            self.assertEqual(status, 200, path)
            self.assertNotEqual(headers["etag"], tags[path])

    def test_the_page_itself(self):
        for path in ("/", "/assets/page.js"):
            status, headers, _ = server.ask(path)
            self.assertEqual(server.ask(path, If_None_Match=headers["etag"])[::2], (304, b""))


class Changes(unittest.TestCase):
    """Marks and pins: handed to the recorder, by whoever has the token."""

    def setUp(self):
        token = os.path.join(folder, "change-token")
        with open(token, "w", encoding="ascii") as f:
            f.write("correct-horse-battery\n")
        os.chmod(token, 0o600)
        self.options = ("--token", token)
        self.store = served.make_store(tempfile.mkdtemp(dir=folder), text)
        self.own = served.Server(self.store, *self.options)
        self.addCleanup(self.own.stop)

    def post(self, path, what, **headers):
        status, _, body = self.own.ask(path, "POST", what if isinstance(what, bytes) else json.dumps(what).encode(),
                                       **{"Content_Type": "application/json", **headers})
        return status, json.loads(body)

    def test_what_the_recorder_hears(self):
        with fake_recorder.FakeRecorder(self.store, lambda *a: (0, b"")) as r:
            os.chmod(r.path, 0o666)
            self.assertEqual(self.post("/api/mark", {"text": "deploy 42 \u00e9\n\"x\""}), (200, {"time": None}))
            self.assertEqual(self.post("/api/mark", {"text": "x" * 4096, "at": f"@{scene.START}.25"}), (200, {"time": f"{scene.START}.250000000"}))
            self.assertEqual(self.post("/api/pin", {"from": f"@{scene.START}", "to": f"@{scene.START + 9}", "note": "why"}, Origin=f"http://127.0.0.1:{self.own.port}",
                                       Sec_Fetch_Site="same-origin"), (200, {"from": f"{scene.START}.000000000", "to": f"{scene.START + 9}.000000000"}))
            self.assertEqual(self.post("/api/unpin", {"from": f"@{scene.START}", "to": f"@{scene.START + 9}"})[0], 200)
            ns = scene.START * 10**9
            self.assertEqual([a[:2] + a[3:] for a in r.asked], [
                (fake_recorder.MARK, fake_recorder.NOW, "deploy 42 \u00e9\n\"x\"".encode()), (fake_recorder.MARK, ns + 250000000, b"x" * 4096),
                (fake_recorder.PIN, ns, b"why"), (fake_recorder.UNPIN, ns, b"")])
            self.assertEqual([a[2] for a in r.asked[2:]], [ns + 9 * 10**9] * 2)

    def test_what_is_refused(self):
        good = {"text": "x"}
        with fake_recorder.FakeRecorder(self.store, lambda *a: (0, b"")) as r:
            os.chmod(r.path, 0o666)
            for status, path, what, headers in (
                    (401, "/api/mark", good, {"Authorization": None}), (403, "/api/mark", good, {"Origin": "http://evil.example"}),
                    (403, "/api/mark", good, {"Sec_Fetch_Site": "cross-site"}), (403, "/api/mark", good, {"Sec_Fetch_Site": "same-site"}),
                    (421, "/api/mark", good, {"Host": "evil.example"}), (415, "/api/mark", good, {"Content_Type": "text/plain"}),
                    (415, "/api/mark", good, {"Content_Type": None}), (415, "/api/mark", good, {"Content_Type": "application/jsonp"}),
                    (400, "/api/mark", b"text=x", {}), (400, "/api/mark", b"", {}), (400, "/api/mark", [], {}), (400, "/api/mark", {}, {}),
                    (400, "/api/mark", {"text": 7}, {}), (400, "/api/mark", {"text": "x" * 4097}, {}), (400, "/api/mark", {"text": "x", "at": "never"}, {}),
                    (413, "/api/mark", {"text": "x" * 20000}, {}), (400, "/api/pin", {"from": "@5"}, {}), (400, "/api/pin", {"from": "@9", "to": "@5"}, {}),
                    (400, "/api/pin", {"from": "@5", "to": "@9", "note": "x" * 64}, {}), (400, "/api/mark?x=1", good, {}), (405, "/api/store", good, {})):
                got, body = self.post(path, what, **headers)
                self.assertEqual(got, status, (path, what if len(str(what)) < 99 else "long", headers, body))
                self.assertTrue(body["error"])
            status, headers, _ = self.own.ask("/api/mark")
            self.assertEqual((status, headers["allow"]), (405, "POST"))
            self.assertEqual(self.own.ask("/api/store", "POST")[1]["allow"], "GET, HEAD")
            self.assertEqual(r.asked, [])

    def test_alerts_of_alertmanager(self):
        """As its documentation has them: https://prometheus.io/docs/alerting/latest/configuration/#webhook_config."""
        def alert(status, starts, ends="0001-01-01T00:00:00Z", **labels):
            return {"status": status, "labels": {"alertname": "HighLatency", "severity": "critical", **labels},
                    "annotations": {"summary": "p99 is 3 s"}, "startsAt": starts, "endsAt": ends,
                    "generatorURL": "http://prometheus:9090/graph?g0.expr=x", "fingerprint": "c5f0ed6e6e7e8e4d"}

        def payload(*alerts):
            return {"version": "4", "groupKey": "{}:{alertname=\"HighLatency\"}", "truncatedAlerts": 0, "status": alerts[0]["status"] if alerts else "",
                    "receiver": "perfcam", "groupLabels": {}, "commonLabels": {}, "commonAnnotations": {},
                    "externalURL": "http://alertmanager:9093", "alerts": alerts}

        seen = set()

        def answer(verb, start, end, words):
            known = (start, words) in seen
            seen.add((start, words))
            return (17, b"") if known else (11, b"slowly") if b"flood" in words else (0, b"")

        firing = alert("firing", "2026-04-15T05:14:07.254266876+02:00", instance="db1:9100", job="node")
        resolved = alert("resolved", "2026-04-15T03:14:07Z", "2026-04-15T03:20:00.5Z")
        with fake_recorder.FakeRecorder(self.store, answer) as r:
            os.chmod(r.path, 0o666)
            self.assertEqual(self.post("/api/alerts", payload(firing, resolved)), (200, {"kept": 2, "known": 0, "left_out": 0}))
            self.assertEqual(self.post("/api/alerts", payload(firing)), (200, {"kept": 0, "known": 1, "left_out": 0}))
            self.assertEqual(r.asked[:2], [
                (fake_recorder.ALERT, 1776222847254266876, 2, b"firing: HighLatency instance=db1:9100 job=node: p99 is 3 s"),
                (fake_recorder.ALERT, 1776223200500000000, 5, b"resolved: HighLatency: p99 is 3 s")])
            many = payload(*(alert("firing", "2026-04-15T03:14:07Z", pod=f"p{i}" + "x" * 600) for i in range(300)))
            self.assertEqual(self.post("/api/alerts", many), (200, {"kept": 256, "known": 0, "left_out": 44}))
            self.assertEqual(self.post("/api/alerts", payload(alert("firing", "2026-04-15T03:14:07Z", job="flood")))[0], 429)
            asked = len(r.asked)
            for wrong in (payload(alert("firing", "when?")), payload(alert("", "2026-04-15T03:14:07Z")), {"alerts": []},
                          {**payload(firing), "version": "5"}, {**payload(firing), "alerts": [7]}):
                status, body = self.post("/api/alerts", wrong)
                self.assertEqual(status, 400, body)
                self.assertTrue(body["error"])
            self.assertEqual(self.post("/api/alerts", payload(firing), Authorization=None)[0], 401)
            self.assertEqual(self.post("/api/alerts", payload(alert("firing", "2026-04-15T03:14:07Z", job="x" * 600000)))[0], 413)
            self.assertEqual(self.own.ask("/api/alerts")[0], 405)
            self.assertEqual(len(r.asked), asked)
        self.assertEqual(self.post("/api/alerts", payload(firing))[0], 503)

    def test_without_a_token_nothing_is_changed(self):
        if os.geteuid() == 0:
            own = served.Server(self.store, before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups"))
        else:
            own = served.Server(self.store)
        self.addCleanup(own.stop)
        status, _, body = own.ask("/api/mark", "POST", b'{"text": "x"}', Content_Type="application/json")
        self.assertEqual(status, 403)
        self.assertIn("--token", json.loads(body)["error"])

    def test_what_the_recorder_says(self):
        self.assertEqual(self.post("/api/mark", {"text": "x"})[0], 503)
        for number, status in ((errno.EDQUOT, 409), (errno.ENOENT, 404), (errno.EROFS, 409)):
            with fake_recorder.FakeRecorder(self.store, lambda *a, number=number: (number, b"the pins' budget is used up")) as r:
                os.chmod(r.path, 0o666)
                got, body = self.post("/api/pin", {"from": "@5", "to": "@9"})
            self.assertEqual(got, status)
            self.assertIn("the pins' budget is used up", body["error"])


class Documented(unittest.TestCase):
    """Each example of docs/http-api.md is run as it stands there, on another port; what it shows as its output comes."""

    def test_examples(self):
        own = served.Server(store, before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups") if os.geteuid() == 0 else ())
        self.addCleanup(own.stop)
        token = os.path.join(folder, "example-token")
        with open(token, "w", encoding="ascii") as f:
            f.write("correct-horse-battery\n")
        os.chmod(token, 0o600)
        told = served.make_store(tempfile.mkdtemp(dir=folder), text)
        changing = served.Server(told, "--token", token)
        self.addCleanup(changing.stop)
        r = fake_recorder.FakeRecorder(told, lambda *a: (0, b""))
        os.chmod(r.path, 0o666)
        self.addCleanup(r.socket.close)
        with open(os.path.join(support.SOURCE, "docs", "http-api.md"), encoding="utf-8") as f:
            blocks = re.findall(r"^```(sh|python)\n(.*?)^```$", f.read(), re.M | re.S)
        self.assertGreater(len(blocks), 1)
        for language, block in blocks:
            block = block.replace("127.0.0.1:9797", f"127.0.0.1:{(changing if 'TOKEN' in block else own).port}")
            program = ("sh", "-e", "-c", block) if language == "sh" else (sys.executable, "-c", block)
            r = subprocess.run(program, cwd=self.scratch(), stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=30, check=False, env={**os.environ, "TOKEN": changing.token})
            self.assertEqual(r.returncode, 0, (block, r.stderr))
            got = r.stdout.decode()
            for line in re.findall(r"^# (.*)$", block, re.M):
                # Numbers are other ones here, and what is behind … is left out.
                want = re.sub(r"\d+", r"\\d+", re.escape(line.split("…")[0]).replace("\\-", "-"))
                self.assertRegex(got, re.compile("^" + want, re.M), block)

    def test_each_path_is_described_and_there(self):
        with open(os.path.join(support.SOURCE, "docs", "http-api.md"), encoding="utf-8") as f:
            described = set(re.findall(r"(?:`|POST )(/(?:api/[a-z/]+[a-z]|healthz|metrics))(?=[`?])", f.read()))
        with open(os.path.join(support.SOURCE, "src", "serve", "routes.c"), encoding="utf-8") as f:
            there = set(re.findall(r'^\t\{"(/[a-z/]+)", ', f.read(), re.M))
        self.assertGreater(len(there), 20)
        self.assertEqual(described, there)
        for path in there:
            self.assertNotEqual(server.ask(path, method="HEAD")[0], 404, path)

    def scratch(self):
        d = tempfile.mkdtemp(dir=folder)
        return d


class NotRoot(unittest.TestCase):
    """Without root there is no token, and nobody else to become; all other guards are the same."""

    def test_guards(self):
        own = served.Server(store, before=("setpriv", "--reuid=65534", "--regid=65534", "--clear-groups")) if os.geteuid() == 0 else server
        if own is not server:
            self.addCleanup(own.stop)
        self.assertEqual(own.token, "")
        self.assertEqual(own.ask("/api/store")[0], 200)
        self.assertEqual(own.ask("/api/store", Host="evil.example")[0], 421)
        self.assertEqual(own.ask("/api/store", Host="localhost.evil.example")[0], 421)
        self.assertEqual(own.ask("/api/store", method="POST")[0], 405)
        self.assertEqual(own.ask("/api/store", Sec_Fetch_Site="cross-site")[0], 403)
        self.assertEqual(own.ask("/", Sec_Fetch_Site="cross-site", Sec_Fetch_Mode="navigate")[0], 200)
        self.assertEqual(own.ask("/api/store", Origin="http://evil.example")[0], 403)
        self.assertEqual(own.ask("/api/store", Origin=f"http://127.0.0.1:{own.port}")[0], 200)
        with open(f"/proc/{own.process.pid}/status", encoding="ascii") as f:
            status = dict(line.rstrip("\n").split(":\t", 1) for line in f if ":\t" in line)
        self.assertEqual((status["Seccomp"], status["NoNewPrivs"]), ("2", "1"))


class Limits(unittest.TestCase):
    def test_expressions_that_cost_too_much(self):
        for bad in COSTLY:
            for path in ("/api/flame?match=", "/api/flame?hide=", "/api/heatmap?paint=", "/api/heatmap?exclude="):
                begun = time.monotonic()
                status, _, body = server.ask(path + quoted(bad))
                self.assertEqual(status, 400, (path, bad[:40]))
                self.assertRegex(json.loads(body)["error"], r"deep|repetitions|back-references")
                self.assertLess(time.monotonic() - begun, 2, bad[:40])
        self.assertIsNone(server.process.poll())
        self.assertLess(served.memory_mb(server.process.pid), 200)
        r = tap.perfcam("flame", "--text", "--store", store, "--match", COSTLY[1])
        self.assertEqual(r.returncode, 2)
        self.assertIn(b"repetitions", r.stderr)

    def test_what_may_be_allocated_is_bounded(self):
        with open(f"/proc/{server.process.pid}/limits", encoding="ascii") as f:
            data = next(line for line in f if line.startswith("Max data size")).split()
        if not support.SANITIZED:  # which needs more by itself
            self.assertEqual(data[3:5], [str(448 << 20)] * 2)

    def test_memory_that_is_short_is_said(self):
        """Sizes of memory, from what suffices down to what it cannot start with: an answer or a refusal, and the server lives."""
        fresh = served.Server(store)
        fresh.ask("/api/flame")
        with open(f"/proc/{fresh.process.pid}/status", encoding="ascii") as f:
            now = int(next(line for line in f if line.startswith("VmData")).split()[1])
        fresh.stop()
        got = set()
        for size in range(now + 3000, 0, -500):
            try:
                own = served.Server(store, before=("prlimit", f"--data={size << 10}"))
            except RuntimeError:
                break
            self.addCleanup(own.stop)
            for path in ("/api/flame", "/api/heatmap", "/api/windows"):
                try:
                    status, headers, body = own.ask(path)
                except (OSError, http.client.HTTPException):  # no memory for a connection
                    continue
                got.add(status)
                self.assertIn("content-security-policy", headers, status)
                if status == 503:
                    self.assertEqual(headers["retry-after"], "2")
                    self.assertTrue(not body or "memory" in json.loads(body)["error"], body)
            self.assertIsNone(own.process.poll())
        self.assertEqual(got, {200, 503})

    def test_overload_is_refused_and_the_server_lives(self):
        """Four questions wait for a recorder that says nothing, and hold the four places: whoever comes then
        is told to come again, at once or after two seconds."""
        busy = served.make_store(os.path.join(folder, "busy"), text)
        recorder = fake_recorder.FakeRecorder(busy, lambda *a: None)
        os.chmod(recorder.path, 0o666)
        self.addCleanup(recorder.socket.close)
        own = served.Server(busy)
        self.addCleanup(own.stop)
        stuck = [threading.Thread(target=lambda: own.ask("/api/status")) for _ in range(4)]
        for t in stuck:
            t.start()
        until = time.monotonic() + 5
        while len(recorder.asked) < 4 and time.monotonic() < until:
            time.sleep(0.02)
        self.assertEqual(len(recorder.asked), 4)
        begun = time.monotonic()
        self.assertEqual([own.ask(path)[0] for path in ("/healthz", "/", "/assets/page.js")], [200] * 3)
        self.assertLess(time.monotonic() - begun, 1.5)  # these wait for nobody
        got = []
        def ask():
            begun = time.monotonic()
            status, headers, body = own.ask("/api/windows")
            got.append((status, headers.get("retry-after"), json.loads(body).get("error"), time.monotonic() - begun))
        later = [threading.Thread(target=ask) for _ in range(20)]
        for t in later:
            t.start()
        for t in later:
            t.join()
        self.assertEqual({g[:3] for g in got}, {(503, "2", "too many questions at a time")})
        self.assertEqual(sum(g[3] < 1 for g in got), 4)  # 16 may wait
        self.assertTrue(all(g[3] < 1 or 1.8 < g[3] < 4 for g in got), got)
        for t in stuck:
            t.join()
        self.assertEqual(own.ask("/api/windows")[0], 200)

    def test_a_dead_parent_takes_the_server_of_files_along(self):
        raw = os.path.join(folder, "raw.perf-script")
        with open(raw, "wb") as f:
            f.write(text)
        own = served.Server(None, raw)
        with open(f"/proc/{own.process.pid}/task/{own.process.pid}/children", encoding="ascii") as f:
            (child,) = f.read().split()
        os.kill(own.process.pid, signal.SIGKILL)
        own.process.communicate()
        until = time.monotonic() + 5
        while os.path.exists(f"/proc/{child}") and time.monotonic() < until:
            time.sleep(0.05)
        self.assertFalse(os.path.exists(f"/proc/{child}"))


tap.main()
