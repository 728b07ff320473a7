#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server against who wants more than an answer: requests whose end is disputed, paths that lead out, connections
that are held, floods. By raw bytes: a client library would correct them. After each the server still answers."""
import itertools
import os
import random
import re
import select
import shutil
import socket
import subprocess
import tempfile
import threading
import time
import unittest
import urllib.parse

import tap

CANARY = b"canary-that-nobody-may-see"


def setUpModule():
    global folder, store, process, port, own
    folder = tempfile.mkdtemp(prefix="perfcam-attack-")
    os.chmod(folder, 0o755)
    store = os.path.join(folder, "store")
    tap.perfcam("import", "--store", store, "-", stdin=b"a;b;c 100\n")
    for root, _, files in os.walk(store):  # the server is somebody else
        os.chmod(root, 0o755)
        for f in files:
            os.chmod(os.path.join(root, f), 0o644)
    os.mkdir(os.path.join(folder, "store-secret"), 0o755)
    for place in ("store-secret/secret.txt", "secret.txt", "store/secret.txt"):
        with open(os.path.join(folder, place), "wb") as f:
            f.write(CANARY)
    process, port, own = serve()


def serve(*wrap):
    """A server of the store; its port; the headers that it wants."""
    p = subprocess.Popen([*wrap, tap.BIN, "serve", "--store", store, "--listen", "127.0.0.1:0"], text=True,
                         stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
    url = urllib.parse.urlsplit(p.stdout.readline().strip())
    token = urllib.parse.parse_qs(url.query).get("token", [""])[0]
    return p, url.port, f"Host: 127.0.0.1\r\nAuthorization: Bearer {token}\r\n"


def tearDownModule():
    process.terminate()
    process.communicate()
    shutil.rmtree(folder)


def connect(source="127.0.0.1", to=None):
    s = socket.create_connection(("127.0.0.1", to or port), timeout=10, source_address=(source, 0))
    s.settimeout(10)
    return s


def receive(s, quiet=.4):
    """(what comes until it is quiet, whether the connection was closed)"""
    got = b""
    s.settimeout(quiet)
    try:
        while True:
            more = s.recv(1 << 16)
            if not more:
                return got, True
            got += more
    except socket.timeout:
        return got, False
    except ConnectionError:
        return got, True


def answers(got):
    """The status of each answer, told apart by their lengths."""
    found = []
    while got:
        head, _, rest = got.partition(b"\r\n\r\n")
        found.append(int(head.split(b" ")[1]))
        if b"\r\nConnection: close" in head:  # the last; libmicrohttpd 0.9.75 writes the head of its own errors twice
            return found + [200] * got.count(b"HTTP/1.1 200 ", 1)
        length = re.search(rb"(?i)\r\ncontent-length: (\d+)", head)
        got = rest[int(length[1]) if length else 0:]
    return found


def request(headers="", body="", line="GET /healthz HTTP/1.1"):
    return f"{line}\r\n{own}{headers}\r\n{body}".encode("latin-1")


class Attack(unittest.TestCase):
    def tearDown(self):
        s = connect("127.0.0.9")
        s.sendall(request("Connection: close\r\n"))
        self.assertEqual(answers(receive(s, 10)[0]), [200])
        self.assertIsNone(process.poll())
        s.close()

    def tell(self, data):
        s = connect()
        with s:
            s.sendall(data)
            got, closed = receive(s)
            return answers(got), closed

    def test_what_is_in_order_is_answered_on_one_connection(self):
        """The other tests would pass on a server that refuses everything."""
        self.assertEqual(self.tell(request() * 3), ([200] * 3, False))
        self.assertEqual(self.tell(request("Content-Length: 5\r\n", "abcde") + request()), ([200] * 2, False))
        for _ in range(100):  # one after the other: three times as many as one address may have at a time
            self.assertEqual(self.tell(request("Connection: close\r\n")), ([200], True))

    def test_a_request_whose_end_is_disputed_ends_the_connection(self):
        """Each hides a second request where another reader may see a body: never are both answered."""
        inner = request().decode("latin-1")
        n = len(inner)
        lengths = (f"Content-Length: 0\r\nContent-Length: {n}\r\n", f"Content-Length: {n}\r\nContent-Length: 0\r\n",
                   "Content-Length: 0\r\nContent-Length: 0\r\n", f"Content-Length: 0, {n}\r\n",
                   f"Content-Length: +{n}\r\n", "Content-Length: -1\r\n", "Content-Length: 0x10\r\n",
                   "Content-Length: \r\n", "Content-Length: 1 2\r\n", f"Content-Length: {'9' * 30}\r\n",
                   f"Content-Length : {n}\r\n", f"Content-Length\t: {n}\r\n", f"X: a\rContent-Length: {n}\r\n",
                   f"X: a\r\n Content-Length: {n}\r\n", f"content-length: 0\r\nCONTENT-LENGTH: {n}\r\n")
        codings = ("Transfer-Encoding: chunked\r\n", "Transfer-Encoding:\tchunked\r\n",
                   "Transfer-Encoding: xchunked\r\n", "Transfer-Encoding: gzip, chunked\r\n",
                   "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n", "Transfer-Encoding : chunked\r\n",
                   "transfer-encoding: CHUNKED\r\n", f"Content-Length: {n + 5}\r\nTransfer-Encoding: chunked\r\n",
                   "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n", "Transfer-Encoding: identity\r\n")
        cases = [request(h, inner) for h in lengths] + [request(h, "0\r\n\r\n" + inner) for h in codings]
        cases += [request("Transfer-Encoding: chunked\r\n", size + "\r\n" + inner)
                  for size in ("zz", "f" * 17, "-1", "0x0", "")]
        for case in cases:
            with self.subTest(case[:200]):
                statuses, closed = self.tell(case)
                self.assertTrue(closed, statuses)
                self.assertEqual(len(statuses), 1, statuses)
                self.assertIn(statuses[0], (400, 413))

    def test_two_hosts_are_none(self):
        for hosts in ("Host: evil.example\r\n" + own, own + "Host: evil.example\r\n", own + "hOST: 127.0.0.1\r\n"):
            self.assertEqual(self.tell(f"GET /api/store HTTP/1.1\r\n{hosts}\r\n".encode()), ([400], True))

    def test_what_is_not_http_gets_no_answer_of_ours(self):
        for data in (b"GET /api/store\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", b"\x16\x03\x01\x02\x00\x01\x00",
                     b"GET /api/store HTTP/1.1\r\n\r\n", request(line="GET\t/api/store\tHTTP/1.1"),
                     request("no colon\r\n", line="GET /api/store HTTP/1.1"),
                     request("X: " + "a" * 40000 + "\r\n"), request(line=f"GET /{'a' * 40000} HTTP/1.1"),
                     request("".join(f"A{i}: b\r\n" for i in range(3000)))):
            with self.subTest(data[:60]):
                self.assertNotIn(200, self.tell(data)[0])
        rng = random.Random(7)
        for _ in range(40):
            noise = bytes(rng.choices(b"\r\n :GETHTP/1.0\0\xff", k=rng.randint(1, 300)))
            self.assertNotIn(200, after_the_end(noise))

    def test_paths_that_lead_out(self):
        dots = ("..", "%2e%2e", ".%2e", "%252e%252e", "..;", "..%00", "%c0%ae%c0%ae", "．．", "..\\", "%5c..")
        slashes = ("/", "%2f", "//", "\\", "%5c", "%252f", "/./")
        tops = ("", "assets", "api", "api/store", "assets/page.js")
        targets = ("secret.txt", "store-secret/secret.txt", "store/secret.txt", "etc/passwd", "proc/self/environ")
        paths = [f"/{top}{s}" + "".join(f"{d}{s}" for _ in range(k)) + target
                 for top, s, d, k, target in itertools.product(tops, slashes, dots, (1, 5), targets)]
        paths += [folder + "/secret.txt", "file://" + folder + "/secret.txt", "//" + folder + "/secret.txt"]
        random.Random(3).shuffle(paths)
        s, asked = connect(), 0
        for path in paths[:1200]:
            s.sendall(request(line=f"GET {path.encode().decode('latin-1')} HTTP/1.1"))
            got = s.recv(1 << 16)
            self.assertRegex(got, rb"^HTTP/1\.1 (404|400|414) ", path)
            self.assertNotIn(CANARY, got)
            self.assertNotIn(b"root:", got)
            asked += 1
            if b"Connection: close" in got:
                s.close()
                s = connect()
        s.close()
        self.assertEqual(asked, 1200)

    def test_silent_and_dripping_connections_hold_up_nobody_else_and_end(self):
        drips = [(connect("127.0.0.9"), text) for text in (b"GET /healthz HTTP/1.1\r\nX: " + b"x" * 99,
                                                             b"POST /api/mark HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99\r\n\r\n" + b"x" * 99)]
        ended = []
        def drip(s, text):
            began = time.monotonic()
            try:
                s.sendall(text[:-60])
                for i in range(len(text) - 60, len(text)):
                    time.sleep(0.5)
                    s.sendall(text[i:i + 1])
                    if select.select([s], [], [], 0)[0] and not s.recv(4096):
                        break
            except OSError:
                pass
            ended.append(time.monotonic() - began)
        threads = [threading.Thread(target=drip, args=d) for d in drips]
        for t in threads:
            t.start()
        held = [connect() for _ in range(58)]
        for s in held:
            s.sendall(b"GET /healthz HTT")
        began = time.monotonic()
        other = connect("127.0.0.7")
        other.sendall(request("Connection: close\r\n"))
        self.assertEqual(answers(receive(other, 3)[0]), [200])
        self.assertLess(time.monotonic() - began, 3)
        self.assertTrue(all(receive(s, 14)[1] for s in held))
        self.assertLess(time.monotonic() - began, 14)
        for t in threads:
            t.join()
        self.assertTrue(all(14 < e < 20 for e in ended), ended)

    def test_silent_connections_of_many_addresses_give_way(self):
        """Each may have 32, all of them 64: those who said nothing for longest go."""
        held = [connect(f"127.0.0.{i % 6 + 10}") for i in range(200)]
        for _ in range(3):
            with connect("127.0.0.7") as s:
                s.sendall(request("Connection: close\r\n"))
                self.assertEqual(answers(receive(s, 3)[0]), [200])
        for s in held:
            s.close()

    def test_without_descriptors_it_waits_and_takes_no_cpu(self):
        """More wait than there are descriptors for: accept() fails for as long as they stay."""
        p, to, headers = serve("prlimit", "--nofile=12:12")
        clock = ~p.pid << 3 | 2  # clock_getcpuclockid(3), as the kernel has it
        try:
            held = [connect(to=to) for _ in range(20)]
            for s in held:
                s.sendall(b"GET /healthz HTT")
            time.sleep(.3)
            self.assertEqual(len(os.listdir(f"/proc/{p.pid}/fd")), 12)
            before = time.clock_gettime(clock)
            time.sleep(1.5)
            self.assertLess(time.clock_gettime(clock) - before, .03)
            for s in held:
                s.close()
            with connect(to=to) as s:
                s.sendall(f"GET /api/store HTTP/1.1\r\n{headers}Connection: close\r\n\r\n".encode())
                self.assertEqual(answers(receive(s, 10)[0]), [200])
        finally:
            p.terminate()
            p.communicate()
        self.assertEqual(p.returncode, 0)


def after_the_end(data):
    """What comes when nothing more is said."""
    s = connect("127.0.0.5")
    with s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return answers(receive(s, .3)[0])


tap.main()
