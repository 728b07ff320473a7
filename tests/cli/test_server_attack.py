#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The server against who wants more than an answer: requests whose end is disputed, paths that lead out, connections
that are held, floods. By raw bytes: a client library would correct them. After each the server still answers."""
import ctypes
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
CANARIES = ("store-secret/secret.txt", "secret.txt", "store/secret.txt")


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
    for place in CANARIES:
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
        cases = disputed()
        self.assertGreaterEqual(len(cases), 200)
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
        paths = ways_out()
        self.assertGreater(len(paths), 10000)
        with Watch(*(os.path.join(folder, place) for place in CANARIES)) as watch:
            s = connect()
            for path in paths:
                s.sendall(request(line=f"GET {path.encode().decode('latin-1')} HTTP/1.1"))
                got, last = one_answer(s)
                self.assertRegex(got, rb"^HTTP/1\.1 (404|400|414) ", path)
                self.assertNotIn(CANARY, got)
                self.assertNotIn(b"root:", got)
                if last:
                    s.close()
                    s = connect()
            s.close()
            self.assertEqual(watch.seen(), b"")
            with open(os.path.join(folder, "secret.txt"), "rb") as f:  # that it sees
                f.read()
            self.assertNotEqual(watch.seen(), b"")

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

    def test_one_address_has_half_of_the_places(self):
        """32 of 64: what it opens beyond them is closed at once, so that others need not wait until it is found to be silent."""
        held = [connect("127.0.0.11") for _ in range(40)]
        until = time.monotonic() + 5
        closed = 0
        while closed < 8 and time.monotonic() < until:
            closed = sum(receive(s, 0.01)[1] for s in held)
        self.assertEqual(closed, 8)
        with connect("127.0.0.7") as s:
            s.sendall(request("Connection: close\r\n"))
            self.assertEqual(answers(receive(s, 3)[0]), [200])
        for s in held:
            s.close()

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


def disputed():
    """Requests of which it is not beyond doubt where they end, each another."""
    inner = request().decode("latin-1")
    n = len(inner)
    no_number = (f"0, {n}", f"{n}, 0", f"{n},{n}", f"+{n}", "-1", "-0", "0x10", "", "1 2", "9" * 30, f"{n}.0", f"{n};", f"\"{n}\"", f"{n}e0", "%31",
                 f"0{'0' * 40}x", "18446744073709551616", "nan", "1_0", "0b1")
    spelt = ("Content-Length", "content-length", "CONTENT-LENGTH")
    lengths = [f"{name}: {value}\r\n" for name in spelt for value in no_number]
    lengths += [f"{one}: {a}\r\n{between}{other}: {b}\r\n" for one, other in itertools.product(spelt, spelt)
                for a, b in ((0, n), (n, 0), (n, n)) for between in ("", "X: y\r\n")]
    lengths += [f"Content-Length : {n}\r\n", f"Content-Length\t: {n}\r\n", f"X: a\rContent-Length: {n}\r\n", f"X: a\r\n Content-Length: {n}\r\n",
                f"X: a\r\n\tContent-Length: {n}\r\n"]
    coding = ("chunked", "\tchunked", "CHUNKED", "xchunked", "chunked, identity", "gzip, chunked", "identity", "chunked;q=1", "\"chunked\"", "chunked, chunked", "gzip")
    codings = [f"{name}:{space}{value}\r\n" for name in ("Transfer-Encoding", "transfer-encoding", "TRANSFER-ENCODING")
               for value in coding for space in ("", " ")]
    codings += ["Transfer-Encoding : chunked\r\n", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n",
                f"Content-Length: {n + 5}\r\nTransfer-Encoding: chunked\r\n", "Transfer-Encoding: chunked\r\nContent-Length: 5\r\n",
                "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n", "X: a\r\n Transfer-Encoding: chunked\r\n"]
    sizes = ("zz", "f" * 17, "-1", "0x0", "", "0;a=b", " 0", "+0", "0 ", "00000000000000000000", "1\r\n\r\n0", "\t0", "0\n")
    return ([request(h, inner) for h in lengths] + [request(h, "0\r\n\r\n" + inner) for h in codings] +
            [request("Transfer-Encoding: chunked\r\n", size + "\r\n" + inner) for size in sizes])


def ways_out():
    """Ten thousand and more, each another."""
    dots = ("..", "%2e%2e", ".%2e", "%2E.", "%252e%252e", "..;", "..%00", "%c0%ae%c0%ae", "．．", "..\\", "%5c..", "....", "..%09", "..%20", "%u002e.")
    slashes = ("/", "%2f", "//", "\\", "%5c", "%252f", "/./", "%c0%af", "/%2e/")
    tops = ("", "assets", "api", "api/store", "assets/page.js", "speedscope")
    targets = ("secret.txt", "store-secret/secret.txt", "store/secret.txt", "etc/passwd", "proc/self/environ", folder[1:] + "/secret.txt")
    paths = {f"/{top}{s}" + "".join(f"{d}{s}" for _ in range(k)) + target
             for top, s, d, k, target in itertools.product(tops, slashes, dots, (1, 2, 6), targets)}
    paths = sorted(paths)
    random.Random(3).shuffle(paths)
    return paths[:10000] + [folder + "/secret.txt", "file://" + folder + "/secret.txt", "//" + folder + "/secret.txt"]


def one_answer(s):
    """(all of it, whether it is the connection's last)"""
    got = b""
    while True:
        head, end, body = got.partition(b"\r\n\r\n")
        if end and b"\r\nConnection: close" in head:
            return got + receive(s, 5)[0], True
        if end and len(body) >= int(re.search(rb"(?i)\r\ncontent-length: (\d+)", head)[1]):
            return got, False
        more = s.recv(1 << 16)
        if not more:
            return got, True
        got += more


class Watch:
    """Says who opened one of the files (inotify(7))."""

    OPENED = 0x20

    def __init__(self, *paths):
        libc = ctypes.CDLL(None, use_errno=True)
        self.fd = libc.inotify_init1(os.O_NONBLOCK | os.O_CLOEXEC)
        for path in paths:
            if self.fd < 0 or libc.inotify_add_watch(self.fd, path.encode(), self.OPENED) < 0:
                raise OSError(ctypes.get_errno(), path)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        os.close(self.fd)

    def seen(self):
        try:
            return os.read(self.fd, 4096)
        except BlockingIOError:
            return b""


def after_the_end(data):
    """What comes when nothing more is said."""
    s = connect("127.0.0.5")
    with s:
        s.sendall(data)
        s.shutdown(socket.SHUT_WR)
        return answers(receive(s, .3)[0])


tap.main()
