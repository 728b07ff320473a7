# SPDX-License-Identifier: Apache-2.0
"""What the tests of the program share: run it under watch, read what it printed, make inputs.

Nothing here knows perfcam's code: formats are read by other means (gzip, xml.etree, json, libzstd
through ctypes), and expectations come from the texts themselves.
"""
import collections
import ctypes
import gzip
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
import xml.etree.ElementTree as ElementTree

import tap

SOURCE = os.environ.get("PERFCAM_SOURCE") or os.path.dirname(
    os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
)
DATA = tap.DATA or os.path.join(SOURCE, "tests", "data")
BIN = os.path.abspath(tap.BIN)
FIXTURES = ("nginx-997", "gcc-compile", "java", "redis-pid", "tmpl", "pg-sched")

with open(BIN, "rb") as _program:
    SANITIZED = b"__asan_init" in _program.read()
RSS_LIMIT = 3_000_000_000 if SANITIZED else 200_000_000
SECONDS = 20

# Of a child made by vfork the kernel counts this program's own peak of memory as the child's.
subprocess._USE_VFORK = False

Result = collections.namedtuple("Result", "code out err rss seconds cpu")


class Child:
    """The program, running. Feed it, then call finish(). What it printed is kept as bytes."""

    def __init__(self, *args, stdin=None, env=None, cwd=None, user=None, program=None, stdout=None):
        self.started = time.monotonic()
        self.p = subprocess.Popen(
            [program or BIN, *args],
            stdin=subprocess.DEVNULL if stdin is None else stdin,
            stdout=stdout or subprocess.PIPE,
            stderr=subprocess.PIPE,
            cwd=cwd,
            env={**os.environ, "LC_ALL": "C.UTF-8", "TZ": "UTC", **(env or {})},
            **({"user": user, "group": user, "extra_groups": []} if user else {}),
        )
        self.pid = self.p.pid
        if not SANITIZED:
            # What must stay below 200 MB gets nowhere near this; the machine is safe from bugs.
            try:
                resource.prlimit(self.pid, resource.RLIMIT_AS, (4 << 30, 4 << 30))
            except (ProcessLookupError, PermissionError):
                pass
        self.kept = {}
        self.threads = [self._keep(n) for n in ("stdout", "stderr") if getattr(self.p, n)]

    def _keep(self, name):
        def read():
            self.kept[name] = getattr(self.p, name).read()

        thread = threading.Thread(target=read, daemon=True)
        thread.start()
        return thread

    def feed(self, chunks):
        """Writes to its standard input, from a thread; stops when it stops listening."""

        def write():
            try:
                for chunk in chunks:
                    self.p.stdin.write(chunk)
                self.p.stdin.close()
            except (BrokenPipeError, ValueError):
                pass

        thread = threading.Thread(target=write, daemon=True)
        thread.start()
        self.threads.append(thread)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)

    def finish(self, timeout=SECONDS):
        late = threading.Event()

        def stop():
            late.set()
            os.kill(self.pid, signal.SIGKILL)

        timer = threading.Timer(timeout * (10 if SANITIZED else 1), stop)
        timer.start()
        _, status, usage = os.wait4(self.pid, 0)
        timer.cancel()
        self.p.returncode = os.waitstatus_to_exitcode(status)
        for thread in self.threads:
            thread.join(10)
        for stream in (self.p.stdin, self.p.stdout, self.p.stderr):
            if stream:
                try:
                    stream.close()
                except BrokenPipeError:
                    pass
        if late.is_set():
            raise AssertionError(f"{self.p.args}: still running after {timeout} s")
        return Result(
            self.p.returncode,
            self.kept.get("stdout", b""),
            self.kept.get("stderr", b""),
            usage.ru_maxrss * 1024,
            time.monotonic() - self.started,
            usage.ru_utime + usage.ru_stime,
        )


def run(*args, stdin=None, timeout=SECONDS, **options):
    """Runs the program to its end. stdin: bytes, or an iterable of bytes."""
    child = Child(*args, stdin=None if stdin is None else subprocess.PIPE, **options)
    if stdin is not None:
        child.feed([stdin] if isinstance(stdin, bytes) else stdin)
    return child.finish(timeout)


class Case(unittest.TestCase):
    """A directory of its own, and the checks every test needs."""

    def setUp(self):
        self.dir = tempfile.mkdtemp(prefix="perfcam-test-")
        os.chmod(self.dir, 0o755)
        self.addCleanup(self._remove)
        self.store = os.path.join(self.dir, "store")

    def _remove(self):
        for path, dirs, _ in os.walk(self.dir):
            for name in dirs:
                os.chmod(os.path.join(path, name), 0o700, follow_symlinks=True)
        shutil.rmtree(self.dir)

    def path(self, name, content=None):
        path = os.path.join(self.dir, name)
        if content is not None:
            with open(path, "wb") as f:
                f.write(content)
        return path

    def good(self, *args, code=0, **options):
        """Runs it and expects this exit status; answers what it printed."""
        r = run(*args, **options)
        self.assertEqual(r.code, code, f"{args}: {r.err.decode(errors='replace')}")
        self.check_messages(r)
        if code == 0:
            self.assertNotRegex(r.err, rb"(?i)\b(error|failed|damaged)\b")
        return r.out

    def check_messages(self, r):
        """Lines on stderr, each signed, fit for a terminal; and no end by a signal."""
        self.assertGreaterEqual(r.code, 0, f"died of signal {-r.code}: {r.err[-500:]}")
        self.assertIn(r.code, (0, 1, 2, 3), r.err[-500:])
        self.check_terminal(r.err)
        if r.err:
            self.assertTrue(r.err.endswith(b"\n"), r.err)
        for line in r.err.splitlines():
            self.assertTrue(line.startswith(b"perfcam: "), line)
            self.assertGreater(len(line), len(b"perfcam: ") + 5, line)

    def bad(self, *args, code=1, names=(), **options):
        """Expects a failure: this status, one line that names the culprit, nothing on stdout."""
        r = run(*args, **options)
        self.assertEqual(r.code, code, f"{args}: {r.err.decode(errors='replace')}")
        self.check_messages(r)
        self.assertEqual(r.out, b"", args)
        self.assertEqual(r.err.count(b"\n"), 1, r.err)
        for name in [names] if isinstance(names, str) else names:
            self.assertIn(name.encode(), r.err)
        return r

    def check_terminal(self, data):
        """No byte that a terminal would obey: C0 but newline, DEL, C1; and whole UTF-8."""
        text = data.decode("utf-8")
        found = re.findall("[\x00-\x09\x0b-\x1f\x7f-\x9f]", text)
        self.assertEqual(found, [], text[:300])

    def check_bounds(self, r):
        self.assertLess(r.rss, RSS_LIMIT, "memory")
        self.assertLess(r.seconds, SECONDS * (10 if SANITIZED else 1))

    def ls(self, *args, code=0, **options):
        return json.loads(self.good("ls", "--json", *args, code=code, **options))

    def samples(self, *args, **options):
        return sum(w["samples"] for w in self.ls(*args, **options))

    def verify(self, store=None, code=0):
        out = self.good("verify", "--store", store or self.store, "--json", code=code)
        return json.loads(out)

    def windows(self, store=None):
        return sorted(n for n in os.listdir(store or self.store) if n.endswith(".pcw"))

    def export(self, *args, code=0, **options):
        return folded(self.good("export", "folded", *args, code=code, **options))

    def svg(self, *args, code=0, **options):
        """The picture, parsed."""
        path = self.path("picture.svg")
        if os.path.exists(path):
            os.unlink(path)
        self.good("flame", *args, "-o", path, code=code, **options)
        return ElementTree.parse(path).getroot()


def folded(data):
    """Folded stacks as {stack: count}; a line that appears twice is an error."""
    lines = {}
    for line in data.split(b"\n"):
        if line:
            stack, _, count = line.rpartition(b" ")
            if stack in lines:
                raise AssertionError(f"twice: {stack[:200]}")
            lines[stack] = int(count)
    return lines


def fixture_path(name):
    return os.path.join(DATA, name + ".stacks.gz")


def fixture(name):
    with gzip.open(fixture_path(name)) as f:
        return f.read()


def oracle(name):
    """What stackcollapse-perf.pl printed for a fixture."""
    with gzip.open(os.path.join(DATA, "oracle", name + ".folded.gz")) as f:
        return folded(f.read())


def heads(text):
    """The sample headers of a perf script text: what is neither comment, frame nor empty."""
    return [line for line in text.split(b"\n") if line and line[:1] not in b"# \t"]


def texts_of(root):
    """All text of an SVG: contents of elements and of title, aria-label and data- attributes."""
    found = []
    for element in root.iter():
        if not element.tag.endswith("script") and not element.tag.endswith("style"):
            found += [element.text or "", element.tail or ""]
            found += [v for k, v in element.attrib.items() if k not in ("d", "transform")]
    return ungroup("\n".join(found))


def ungroup(text):
    """Numbers as people group them, 12\u202f345 or 12,345, as plain digits."""
    return re.sub(r"(?<=\d)[\u202f,](?=\d{3})", "", text)


class _Buffer(ctypes.Structure):
    _fields_ = [("p", ctypes.c_void_p), ("size", ctypes.c_size_t), ("pos", ctypes.c_size_t)]


def _libzstd():
    z = ctypes.CDLL("libzstd.so.1")
    for name in ("ZSTD_compress", "ZSTD_compressBound", "ZSTD_decompressStream"):
        getattr(z, name).restype = ctypes.c_size_t
    z.ZSTD_createDStream.restype = ctypes.c_void_p
    z.ZSTD_compressBound.argtypes = [ctypes.c_size_t]
    z.ZSTD_compress.argtypes = [
        ctypes.c_void_p, ctypes.c_size_t, ctypes.c_char_p, ctypes.c_size_t, ctypes.c_int,
    ]
    z.ZSTD_decompressStream.argtypes = [
        ctypes.c_void_p, ctypes.POINTER(_Buffer), ctypes.POINTER(_Buffer),
    ]
    z.ZSTD_freeDStream.argtypes = [ctypes.c_void_p]
    z.ZSTD_isError.argtypes = [ctypes.c_size_t]
    return z


def zstd(data, level=3):
    z = _libzstd()
    room = ctypes.create_string_buffer(z.ZSTD_compressBound(len(data)))
    n = z.ZSTD_compress(room, len(room), data, len(data), level)
    assert not z.ZSTD_isError(n)
    return room.raw[:n]


def unzstd(data):
    """The content of whole zstd frames; anything else raises."""
    z = _libzstd()
    stream = z.ZSTD_createDStream()
    source = ctypes.create_string_buffer(data, len(data))
    room = ctypes.create_string_buffer(1 << 17)
    in_ = _Buffer(ctypes.addressof(source), len(data), 0)
    found, left = [], 1
    try:
        while in_.pos < in_.size or left:
            out = _Buffer(ctypes.addressof(room), len(room), 0)
            before = in_.pos
            left = z.ZSTD_decompressStream(stream, ctypes.byref(out), ctypes.byref(in_))
            if z.ZSTD_isError(left) or (in_.pos == before and out.pos == 0 and left):
                raise ValueError("not whole zstd frames")
            found.append(room.raw[: out.pos])
            if in_.pos == in_.size and left == 0:
                break
    finally:
        z.ZSTD_freeDStream(stream)
    return b"".join(found)


def _crc_table():
    table = []
    for i in range(256):
        for _ in range(8):
            i = (i >> 1) ^ (0x82F63B78 if i & 1 else 0)
        table.append(i)
    return table


_CRC = _crc_table()


def crc32c(data, crc=0):
    crc ^= 0xFFFFFFFF
    for byte in data:
        crc = (crc >> 8) ^ _CRC[(crc ^ byte) & 0xFF]
    return crc ^ 0xFFFFFFFF
