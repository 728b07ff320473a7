#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""`perfcam run`: a recorder and, as another user, a server that answers who has its token."""
import http.client
import json
import os
import re
import select
import shutil
import signal
import socket
import subprocess
import tempfile
import threading
import time

import dump
import support
import served


class Run(support.Case):
    def test_the_url_comes_when_both_are_up(self):
        """What it says first is good for use: the status is the recorder's."""
        status, body = self.ask("/api/status")
        self.assertEqual((status, json.loads(body)["store"]), (200, self.store), self.said())

    def setUp(self):
        super().setUp()
        self.out = tempfile.TemporaryFile("w+")
        self.p = self.start(support.BIN, "run", "--store", self.store, "--control",
                            self.store + ".control", "--listen", "127.0.0.1:0", "--window", "1s",
                            stdout=self.out, stderr=subprocess.STDOUT)
        self.assertTrue(support.wait_until(lambda: re.search(r"http://\S+", self.said())),
                        self.said())
        url = re.search(r"http://([^/\s]+)(/\S*)?", self.said())
        self.host, self.path = url.group(1), url.group(2) or "/"
        token = re.search(r"[?&/#]token=([^&\s]+)", url.group(0))
        self.token = token.group(1) if token else ""

    def said(self):
        self.out.seek(0)
        return self.out.read()

    def ask(self, path, method="GET", token=True, host=None):
        c = http.client.HTTPConnection(self.host, timeout=20)
        headers = {"Host": host} if host else {}
        if token:
            path += ("&" if "?" in path else "?") + "token=" + self.token
        c.request(method, path, headers=headers)
        answer = c.getresponse()
        body = answer.read()
        c.close()
        return answer.status, body

    def server(self, patience=support.PATIENCE):
        def ask():
            r = support.perfcam("status", "--json", "--store", self.store, "--control",
                                self.store + ".control")
            processes = json.loads(r.stdout)["processes"] if r.returncode == 0 else []
            return next((p["pid"] for p in processes if p["name"] == "server"), 0)
        return support.wait_until(ask, patience)

    def test_it_answers_with_the_token_only(self):
        self.assertTrue(self.token, self.said())
        for path in ("/api/windows", "/api/status"):
            status, body = self.ask(path)
            self.assertEqual(status, 200, body)
            json.loads(body)
            status, body = self.ask(path, token=False)
            self.assertIn(status, (401, 403), path)
            self.assertNotIn(b"windows\":[{", body)
        self.assertIn(self.ask("/api/windows?token=" + "x" * len(self.token), token=False)[0],
                      (401, 403))

    def test_metrics(self):
        def read():
            return served.read_metrics(self.ask("/metrics")[1].decode())
        first = read()
        self.assertEqual(first["perfcam_recorder_up", ()], 1)
        self.assertTrue(support.wait_until(lambda: read()["perfcam_recorder_samples_total", ()] > first["perfcam_recorder_samples_total", ()]))
        causes = {dict(labels)["cause"] for name, labels in first if name == "perfcam_recorder_missed_samples_total"}
        self.assertLessEqual({"idle", "shed", "disk_full"}, {c.replace("-", "_") for c in causes})
        self.assertGreater(read()["perfcam_process_resident_bytes", (("process", "recorder"),)], 1 << 20)

    def test_marks_and_pins_go_to_the_recorder(self):
        def post(path, what):
            c = http.client.HTTPConnection(self.host, timeout=20)
            c.request("POST", path, json.dumps(what), {"Authorization": "Bearer " + self.token, "Content-Type": "application/json"})
            r = c.getresponse()
            body = r.read()
            c.close()
            return r.status, json.loads(body)
        self.assertEqual(post("/api/mark", {"text": "deploy 42"})[0], 200)
        self.assertTrue(support.wait_until(lambda: any(e["text"] == "deploy 42" and e["source"] == "mark" for e in json.loads(self.ask("/api/events")[1])["events"]), 10))
        now = int(time.time())
        self.assertEqual(post("/api/pin", {"from": f"@{now - 2}", "to": f"@{now + 60}", "note": "by the page"})[0], 200)
        def pins():
            return json.loads(support.perfcam("pin", "--json", "--store", self.store, "--control", self.store + ".control").stdout)
        self.assertEqual([p["note"] for p in pins()], ["by the page"])
        self.assertEqual(post("/api/unpin", {"from": f"@{now - 2}", "to": f"@{now + 50}"})[0], 404)
        self.assertEqual(post("/api/unpin", {"from": f"@{now - 2}", "to": f"@{now + 60}"})[0], 200)
        self.assertEqual(pins(), [])

    def test_it_answers_its_own_name_only(self):
        self.assertEqual(self.ask("/api/windows", host="evil.example")[0], 421)
        self.assertEqual(self.ask("/api/windows", method="POST")[0], 405)

    def check_server(self, pid):
        """It is somebody else, who may do nothing, and gives way to others' work."""
        with open(f"/proc/{pid}/stat") as f:
            self.assertEqual(f.read().rpartition(")")[2].split()[16], "5")
        self.assertTrue(pid, self.said())
        with open(f"/proc/{pid}/status") as f:
            status = f.read()
        uids = re.search(r"^Uid:\s+(.*)$", status, re.M).group(1).split()
        self.assertNotIn("0", uids)
        self.assertEqual(re.search(r"^CapEff:\s+(\w+)", status, re.M).group(1), "0" * 16)

    def stop(self):
        """What is in the store, of which nothing was lost."""
        self.assertIsNone(self.p.poll(), self.said())
        self.p.send_signal(signal.SIGTERM)
        self.assertEqual(self.p.wait(10), 0, self.said())
        self.verify()
        store = dump.Store(self.store)
        self.assertEqual(store.losses(), {})
        return store

    def test_the_server_is_somebody_else_and_may_die(self):
        """Another one takes its place, at the same address and with the same token; the recorder loses nothing."""
        pid = self.server()
        self.check_server(pid)
        os.kill(pid, signal.SIGKILL)
        # Who connects in between waits.
        status, body = self.ask("/api/status")
        self.assertEqual((status, json.loads(body)["store"]), (200, self.store), self.said())
        self.assertEqual(self.ask("/api/windows", token=False)[0], 401)
        # Once a second it looks who is there.
        self.check_server(support.wait_until(lambda: self.server() != pid and self.server()))
        self.stop()

    def test_a_server_that_hangs_does_not_hold_up_the_end(self):
        """Also where it had not begun to answer: the new one is stopped as soon as it is there."""
        def children(pid):
            with open(f"/proc/{pid}/task/{pid}/children") as f:
                return [int(p) for p in f.read().split()]

        pid = self.server()
        with open(f"/proc/{pid}/stat") as f:
            attendant = int(f.read().rpartition(")")[2].split()[1])
        os.kill(pid, signal.SIGKILL)
        until = time.monotonic() + support.PATIENCE
        while not (new := [p for p in children(attendant) if p != pid]):
            self.assertLess(time.monotonic(), until, self.said())
        os.kill(new[0], signal.SIGSTOP)
        self.stop()
        self.assertFalse(os.path.exists(f"/proc/{new[0]}"))

    def test_a_server_that_dies_again_and_again_is_given_up(self):
        def kill():
            try:
                os.kill(self.server(1) or 1 << 22, signal.SIGKILL)
            except ProcessLookupError:
                pass  # it looks who is there once a second
            return "it is not started again" in self.said()

        self.assertTrue(support.wait_until(kill), self.said())
        self.assertEqual(self.said().count("another one is started"), 5)
        self.assertTrue(support.wait_until(lambda: "the server has ended; recording goes on" in self.said()))
        with self.assertRaises(ConnectionRefusedError):
            self.ask("/api/status")
        before = sum(w["samples"] for w in self.windows())
        self.assertTrue(support.wait_until(lambda: sum(w["samples"] for w in self.windows()) > before))
        self.stop()

    def test_a_flood_of_questions_costs_no_sample(self):
        """200 connections that ask for the dearest there is, for three seconds."""
        address = (self.host.rsplit(":", 1)[0], int(self.host.rsplit(":", 1)[1]))
        question = (f"GET /api/flame?from=@0&token={self.token} HTTP/1.1\r\nHost: {self.host}\r\n\r\n").encode()
        asked, answered, open_ones = 0, 0, []
        until = time.monotonic() + 3
        while time.monotonic() < until:
            while len(open_ones) < 200:
                c = socket.socket()
                c.setblocking(False)
                c.connect_ex(address)
                open_ones.append(c)
            readable, writable, _ = select.select(open_ones, open_ones, [], 0.1)
            for c in {*readable, *writable}:
                try:
                    if c in readable:
                        got = c.recv(1 << 16)
                        answered += got.startswith(b"HTTP/1.1 ")
                        if not got:
                            raise ConnectionError
                    if c in writable:
                        asked += c.send(question) == len(question)
                except BlockingIOError:
                    pass
                except OSError:
                    c.close()
                    open_ones.remove(c)
        for c in open_ones:
            c.close()
        support.note(f"{asked} asked, {answered} answered")
        self.assertGreater(answered, 20)
        self.assertGreater(len(self.stop().samples), 0)

    def test_a_killed_recorder_takes_its_server_along(self):
        pid = self.server()
        self.p.kill()
        self.p.wait()
        self.assertTrue(support.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 5))

    def test_only_the_server_listens(self):
        """And who would start it again. So the port is free once those are gone; and a recorder holds no socket that the world can reach."""
        port = int(self.host.rsplit(":", 1)[1])
        with open("/proc/net/tcp", encoding="ascii") as f:
            (inode,) = [w[9] for w in map(str.split, f) if w[1].endswith(f":{port:04X}") and w[3] == "0A"]
        def holds(pid):
            found = set()
            for fd in os.listdir(f"/proc/{pid}/fd"):
                try:
                    found.add(os.readlink(f"/proc/{pid}/fd/{fd}"))
                except FileNotFoundError:
                    pass
            return f"socket:[{inode}]" in found
        self.assertTrue(holds(self.server()))
        self.assertFalse(holds(self.p.pid))

    def test_a_recorder_that_was_held_up_answers_for_now(self):
        """What it said too late is nobody's answer any more; and while it is silent the store is still served."""
        os.kill(self.p.pid, signal.SIGSTOP)
        begun = time.monotonic()
        late = threading.Thread(target=lambda: self.ask("/api/status"))
        late.start()
        time.sleep(0.3)
        self.assertEqual(self.ask("/api/windows")[0], 200)
        self.assertLess(time.monotonic() - begun, 3)
        late.join()
        os.kill(self.p.pid, signal.SIGCONT)
        time.sleep(2)
        status, body = self.ask("/api/status")
        self.assertEqual(status, 200, body)
        r = support.perfcam("status", "--json", "--store", self.store, "--control", self.store + ".control")
        self.assertLess(json.loads(r.stdout)["uptime_ns"] - json.loads(body)["uptime_ns"], 10**9)

    def test_each_second_is_told(self):
        c = http.client.HTTPConnection(self.host, timeout=20)
        c.request("GET", "/api/live?token=" + self.token)
        r = c.getresponse()
        told = []
        while len(told) < 4:
            line = r.readline()
            self.assertTrue(line)
            if line.startswith(b"data: ") and json.loads(line[6:])["to"]:  # it begins with nothing
                told.append((time.monotonic(), json.loads(line[6:])))
        c.close()
        c.request("GET", "/api/flame?token=" + self.token)
        r = c.getresponse()
        r.read()
        self.assertEqual((r.status, r.getheader("etag")), (200, None))  # it still changes
        c.close()
        self.assertLess(told[3][0] - told[0][0], 6)
        self.assertGreater(told[3][1]["samples"], told[0][1]["samples"])
        self.assertGreater(float(told[3][1]["to"]), float(told[0][1]["to"]) + 1)
        self.assertLess(abs(time.time() - float(told[3][1]["to"])), 4)

    def test_a_store_that_is_deleted_is_made_anew_and_served(self):
        os.chmod(self.dir, 0o711)  # the server is somebody else
        shutil.rmtree(self.store)
        self.assertTrue(support.wait_until(
            lambda: json.loads(self.ask("/api/windows")[1])["windows"], 10), self.said())
        self.assertIn("was deleted or moved away", self.said())

    def test_both_end_together(self):
        pid = self.server()
        self.p.send_signal(signal.SIGTERM)
        self.assertEqual(self.p.wait(10), 0, self.said())
        self.assertTrue(support.wait_until(lambda: not os.path.exists(f"/proc/{pid}"), 5))


class Dropped(support.Case):
    def test_the_server_is_user_perfcam_where_there_is_one(self):
        """A passwd of ours in its place, in a mount namespace."""
        users = os.path.join(self.dir, "passwd")
        with open(users, "w", encoding="utf-8") as f:
            f.write("root:x:0:0::/root:/bin/sh\nnobody:x:65534:65534::/:/bin/false\n"
                    "perfcam:x:64123:64123::/:/bin/false\n")
        os.chmod(self.dir, 0o755)
        self.start("unshare", "-m", "sh", "-c", 'mount --bind "$0" /etc/passwd && exec "$@"', users,
                   support.BIN, "run", "--store", self.store, "--control", self.store + ".control",
                   "--listen", "127.0.0.1:0", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

        def server():
            r = support.perfcam("status", "--json", "--store", self.store, "--control", self.store + ".control")
            processes = json.loads(r.stdout)["processes"] if r.returncode == 0 else []
            return next((p["pid"] for p in processes if p["name"] == "server"), 0)

        pid = support.wait_until(server)
        self.assertTrue(pid)

        def uids():
            with open(f"/proc/{pid}/status", encoding="utf-8") as f:
                return re.search(r"^Uid:\s+(.*)$", f.read(), re.M).group(1).split()

        self.assertTrue(support.wait_until(lambda: uids() == ["64123"] * 4), uids())


class Refused(support.Case):
    def test_a_start_that_fails_prints_no_url(self):
        """Not by the recorder's fault, and not by the server's: nobody may be become."""
        for what, wrap, more in (
                ("the recorder", (), ("-p", "4194303")),
                ("the server", ("setpriv", "--bounding-set", "-setuid", "--inh-caps", "-setuid"),
                 ())):
            r = subprocess.run([*wrap, support.BIN, "run", "--store", self.store, "--control",
                                self.store + ".control", "--listen", "127.0.0.1:0", "-d", "1s",
                                *more], stdout=-1, stderr=-1, text=True, timeout=60)
            self.assertEqual(r.returncode, 1, what + r.stderr)
            self.assertEqual(r.stdout, "", what)
            self.assertTrue(r.stderr, what)


support.main()
