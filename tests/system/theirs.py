# SPDX-License-Identifier: Apache-2.0
"""What perf says of the same seconds: recorded beside ours, read as dump.Store reads a store."""
import os
import re
import struct
import subprocess

import dump
import support


class Sample:
    """A sample of perf's, as dump.Sample has it: frames, root first."""

    def __init__(self, comm, pid, frames):
        self.comm, self.pid, self.frames = comm, int(pid), frames

    def has(self, name):
        return any(f.name == name for f in self.frames)


def start(case, data, *flags, hz=499):
    """Records all CPUs; it samples when this returns. To be ended by SIGTERM."""
    control, ack = data + ".control", data + ".ack"
    os.mkfifo(control)
    os.mkfifo(ack)
    perf = case.start("perf", "record", "-q", "-e", "cpu-clock", "-F", str(hz), "-a", "-g", "--no-bpf-event",
                      "-D", "-1", *flags, "--control", f"fifo:{control},{ack}", "-o", data,
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    with open(control, "wb", buffering=0) as say, open(ack, "rb", buffering=0) as hear:
        say.write(b"enable\n")
        if not hear.read(4).startswith(b"ack"):
            raise AssertionError("perf does not begin")
    return perf


def read(data, *flags):
    """Its samples, named as perf names them now."""
    quieten(data)
    r = subprocess.run(["perf", *flags, "script", "-F", "comm,pid,ip,sym,dso", "-i", data],
                       stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", timeout=120, check=False)
    if r.returncode:
        support.note(f"perf script: {r.returncode} {r.stderr[-300:]!r}")
    samples = []
    for record in r.stdout.split("\n\n"):
        head = re.match(r"\s*(.*?)\s+(\d+)\s*\n", record)
        rows = re.findall(r"^\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$", record, re.M)
        frames = [dump.Frame({"name": name, "is": None, "module": dso}) for name, dso in reversed(rows)]
        if head:
            samples.append(Sample(head[1], head[2], frames))
    return samples


def quieten(path):
    """perf 6.1 stops reading its own file where somebody loaded a BPF program: those records become ones that it passes over."""
    with open(path, "r+b") as f:
        data = bytearray(f.read())
        at, size = struct.unpack_from("<QQ", data, 40)
        end = at + size
        while at < end:
            kind, _, size = struct.unpack_from("<IHH", data, at)
            if kind == 17:
                struct.pack_into("<I", data, at, 65)
            at += size
        f.seek(0)
        f.write(data)
