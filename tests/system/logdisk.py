#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A disk that remembers every write and flush, in their order: one file of a FUSE mount, by the raw protocol.

    logdisk.py DIRECTORY IMAGE LOG

serves IMAGE as DIRECTORY/disk until it is unmounted; what is written goes to IMAGE and, with the time, to LOG. A loop device
over the file turns the file system's flushes into fsync, so the log has what a power cut could leave: all before the last
flush, and any of what came after it. read() gives a log back.
"""
import ctypes
import os
import stat
import struct
import sys
import time

LOOKUP, GETATTR, OPEN, READ, WRITE, RELEASE, FSYNC, FLUSH, INIT, OPENDIR, RELEASEDIR, FALLOCATE = 1, 3, 14, 15, 16, 18, 20, 25, 26, 27, 29, 43
SILENT = (2, 36, 42)  # forget, interrupt, many to forget: no answer is due
ROOT, DISK = 1, 2
FOREVER = 1000000
MOST = 1 << 20
ENTRY = struct.Struct("<dBQI")
WRITTEN, FLUSHED = 0, 1


def read(path):
    """[(time, kind, offset, bytes)]"""
    found = []
    with open(path, "rb") as f:
        while head := f.read(ENTRY.size):
            when, kind, offset, n = ENTRY.unpack(head)
            found.append((when, kind, offset, f.read(n)))
    return found


class Disk:
    def __init__(self, directory, image, log):
        self.image = os.open(image, os.O_RDWR)
        self.size = os.fstat(self.image).st_size
        self.log = open(log, "wb", buffering=1 << 20)
        self.fd = os.open("/dev/fuse", os.O_RDWR | os.O_CLOEXEC)
        options = f"fd={self.fd},rootmode=40000,user_id=0,group_id=0,allow_other,max_read={MOST}"
        if ctypes.CDLL(None, use_errno=True).mount(b"logdisk", directory.encode(), b"fuse", 0, options.encode()):
            raise OSError(ctypes.get_errno(), "mount")

    def note(self, kind, offset=0, data=b""):
        self.log.write(ENTRY.pack(time.time(), kind, offset, len(data)))
        self.log.write(data)

    def attributes(self, node):
        mode, size = (stat.S_IFDIR | 0o755, 0) if node == ROOT else (stat.S_IFREG | 0o600, self.size)
        return struct.pack("<6Q3I7I", node, size, size // 512, 0, 0, 0, 0, 0, 0, mode, 1, 0, 0, 0, 4096, 0)

    def answer(self, unique, body=b"", error=0):
        os.write(self.fd, struct.pack("<IiQ", 16 + len(body), error, unique) + body)

    def serve(self):
        """One request; False: it was unmounted."""
        try:
            request = os.read(self.fd, MOST + 8192)
        except OSError:
            return False
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode in SILENT:
            return True
        if opcode == INIT:
            self.answer(unique, struct.pack("<4IHHIIHH8I", 7, 31, 65536, 0, 64, 48, MOST, 1, 256, 0, *[0] * 8))
        elif opcode == LOOKUP and request[40:].startswith(b"disk\0"):
            self.answer(unique, struct.pack("<4Q2I", DISK, 0, FOREVER, FOREVER, 0, 0) + self.attributes(DISK))
        elif opcode == GETATTR:
            self.answer(unique, struct.pack("<Q2I", FOREVER, 0, 0) + self.attributes(node))
        elif opcode in (OPEN, OPENDIR):
            self.answer(unique, struct.pack("<Q2I", 0, 0, 0))
        elif opcode == READ:
            _, offset, size = struct.unpack_from("<QQI", request, 40)
            self.answer(unique, os.pread(self.image, size, offset))
        elif opcode == WRITE:
            _, offset, size = struct.unpack_from("<QQI", request, 40)
            data = request[80:80 + size]
            self.note(WRITTEN, offset, data)
            os.pwrite(self.image, data, offset)
            self.answer(unique, struct.pack("<2I", size, 0))
        elif opcode in (FSYNC, FLUSH, RELEASE, RELEASEDIR):
            if opcode == FSYNC:
                self.note(FLUSHED)
            self.answer(unique)
        else:
            self.answer(unique, error=-2 if opcode == LOOKUP else -95 if opcode == FALLOCATE else -38)
        return True


def main():
    disk = Disk(*sys.argv[1:])
    print("ready", flush=True)
    while disk.serve():
        pass
    disk.log.close()


if __name__ == "__main__":
    main()
