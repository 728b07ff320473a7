#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A FUSE mount whose server stops answering, and two programs that depend on it; by the raw protocol.

    unshare -m fuse.py PROGRAM SECONDS JIT SECONDS [flush]

mounts it over /tmp, in this mount namespace; runs its file prog, which is PROGRAM's bytes, and JIT (with
"none": code in anonymous memory), whose /tmp/perf-PID.map is another of its files. Prints both pids, and "read" when that file is. After
a line on stdin no request is answered any more, and after its end the server ends, and all of this with it. Who
waits for an answer meanwhile cannot be killed. With "flush" it wants to hear of each descriptor that is closed.
"""
import ctypes
import os
import select
import signal
import stat
import struct
import sys

LOOKUP, GETATTR, OPEN, READ, RELEASE, FLUSH, INIT = 1, 3, 14, 15, 18, 25, 26
SILENT = (2, 36, 42)  # forget, interrupt, many to forget: no answer is due
ROOT, PROG, MAP = 1, 2, 3
FOREVER = 1000000
SHORT = 1  # second: what is known of files is asked for again and again, as most servers have it


class Server:
    def __init__(self, data, flush):
        self.data = {PROG: data, MAP: b""}
        self.jit = 0
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        self.hanging = False
        self.flush = flush
        libc = ctypes.CDLL(None, use_errno=True)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other"
        if libc.mount(b"none", b"/tmp", b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")

    def make_map(self):
        """A name for all of the code in anonymous memory, once there is some."""
        with open(f"/proc/{self.jit}/maps") as f:
            lines = [line.split() for line in f]
        for fields in lines:
            if lines[0][-1].endswith("_jit") and "x" in fields[1] and fields[4] == "0" and len(fields) == 5:
                start, end = (int(n, 16) for n in fields[0].split("-"))
                self.data[MAP] += f"{start:x} {end - start:x} from_the_map\n".encode()

    def attributes(self, node):
        if node == MAP and self.jit and not self.data[MAP]:
            self.make_map()
        size = len(self.data.get(node, b""))
        mode = stat.S_IFDIR | 0o755 if node == ROOT else stat.S_IFREG | 0o755
        return struct.pack("<6Q3I7I", node, size, 0, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, unique, body=b"", error=0):
        os.write(self.fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

    def serve(self):
        """One request."""
        request = os.read(self.fd, 1 << 18)
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if self.hanging or opcode in SILENT:
            return
        if opcode == INIT:
            self.answer(unique, struct.pack("<4IHHIIHH8I", 7, 31, 65536, 0, 64, 48, 65536, 1, 0, 0,
                                            *[0] * 8))
        elif opcode == LOOKUP:
            node = PROG if request[40:].startswith(b"prog\0") else MAP
            self.answer(unique, struct.pack("<4Q2I", node, 0, FOREVER, SHORT, 0, 0) +
                        self.attributes(node))
        elif opcode == GETATTR:
            self.answer(unique, struct.pack("<Q2I", SHORT, 0, 0) + self.attributes(node))
        elif opcode == OPEN:
            self.answer(unique, struct.pack("<Q2I", 0, 2, 0))  # what is cached may be kept
        elif opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", request, 40)
            self.answer(unique, self.data[node][offset:offset + size])
            if node == MAP and offset == 0:
                print("read", flush=True)
        elif opcode == RELEASE or (opcode == FLUSH and self.flush):
            self.answer(unique)
        else:
            self.answer(unique, error=-38)


def run(program, *arguments):
    """A child with another program: a path, or a descriptor."""
    pid = os.fork()
    if pid == 0:
        try:
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # with its parent, whatever ends that
            os.nice(5)  # it spins all the while: the rest of the scene need not wait for it
            if isinstance(program, int):
                os.stat(f"/tmp/perf-{os.getpid()}.map")  # where it lies is known from now on
            os.dup2(os.open("/dev/null", os.O_WRONLY), 1)
            os.execve(program, arguments, os.environ)
        finally:
            os._exit(1)
    return pid


def main():
    program, seconds, jit, jit_seconds = sys.argv[1:5]
    jit_fd = os.open(jit, os.O_RDONLY)
    with open(program, "rb") as f:
        server = Server(f.read(), "flush" in sys.argv[5:])
    children = run("/tmp/prog", "prog", seconds), run(jit_fd, "jit", "none", jit_seconds, "lost")
    server.jit = children[1]
    print(*children, flush=True)
    while True:
        ready, _, _ = select.select([server.fd, 0], [], [])
        if server.fd in ready:
            server.serve()
        if 0 in ready:
            if not os.read(0, 100):
                break
            server.hanging = True
    for pid in children:
        os.kill(pid, signal.SIGKILL)


main()
