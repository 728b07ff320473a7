# SPDX-License-Identifier: Apache-2.0
"""Recordings with known content, in perf script's words; the same seed gives the same bytes."""
import random
import re

import support

FUNCTIONS = (
    "main", "parse_request", "read_socket", "memcpy_fast", "hash_lookup", "write_log", "compress",
    "schedule_work", "lock_wait", "tree_insert",
)


class Sample:
    def __init__(self, comm, pid, cpu, time_us, frames, period=1003009, event="cpu-clock:pppH"):
        self.comm, self.pid, self.cpu, self.time_us = comm, pid, cpu, time_us
        self.frames, self.period, self.event = frames, period, event

    def head(self):
        return b"%s %5d [%03d] %5d.%06d: %10d %s: \n" % (
            self.comm, self.pid, self.cpu, self.time_us // 1000000, self.time_us % 1000000,
            self.period, self.event.encode(),
        )

    def text(self):
        """Frames are printed leaf first, and an empty line ends the sample."""
        lines = [self.head()]
        for i, name in enumerate(self.frames):
            lines.append(b"\t%16x %s+0x%x (/usr/bin/synth)\n" % (0x401000 + 16 * i, name, i))
        lines.append(b"\n")
        return b"".join(lines)

    def stack(self):
        """As a folded line, root first."""
        return b";".join((self.comm, *self.frames[::-1]))


def header(host="synth-host", captured="Sun Nov 15 02:45:41 2026", last_us=None):
    times = f"# time of last sample : {last_us / 1e6:.6f}\n" if last_us else ""
    return (
        f"# ========\n# captured on    : {captured}\n# header version : 1\n"
        f"# hostname : {host}\n# os release : 6.1.0\n# perf version : 6.1.190\n"
        f"# arch : x86_64\n# nrcpus online : 2\n# nrcpus avail : 2\n{times}# ========\n#\n"
    ).encode()


def recording(seed, seconds, hz, start_us=1_000_000_000, jitter_us=0):
    """`hz` samples a second, on two CPUs, in the order of a perf script text."""
    rng = random.Random(seed)
    samples = []
    for i in range(seconds * hz):
        depth = rng.randint(1, 6)
        frames = [rng.choice(FUNCTIONS).encode() for _ in range(depth)] + [b"_start"]
        comm = rng.choice((b"nginx", b"redis-server", b"worker-7"))
        at = start_us + i * 1_000_000 // hz + rng.randint(-jitter_us, jitter_us)
        samples.append(Sample(comm, 100 + len(comm), i % 2, at, frames))
    return samples


def text_of(samples, **facts):
    last = max(s.time_us for s in samples)
    return header(last_us=last, **facts) + b"".join(s.text() for s in samples)


def fold(samples, weight=lambda s: 1):
    lines = {}
    for s in samples:
        lines[s.stack()] = lines.get(s.stack(), 0) + weight(s)
    return lines


class Repeated:
    """A fixture's text again and again, each time later: large, with a known number of samples.

    Made piece by piece, so that neither this program nor the disk holds it.
    """

    TIME = re.compile(rb"(?m)^(\S.*?\s)(\d+)\.(\d{6}): ")

    def __init__(self, name, bytes_wanted):
        text = support.fixture(name)
        comments = re.match(rb"(?:#.*\n|\n)*", text).group()
        body = text[len(comments):]
        self.comments = comments
        self.fixed, self.times, at = [], [], 0
        for m in self.TIME.finditer(body):
            self.fixed.append(body[at : m.start(2)])
            self.times.append(int(m.group(2)) * 1000000 + int(m.group(3)))
            at = m.end(3)
        self.tail = body[at:]
        self.each = len(self.times)
        self.span = max(self.times) - min(self.times) + 1000
        self.rounds = -(-bytes_wanted // len(body))
        self.samples = self.rounds * self.each

    def __iter__(self):
        yield self.comments
        for i in range(self.rounds):
            pieces = []
            for fixed, time in zip(self.fixed, self.times):
                later = time + i * self.span
                pieces.append(fixed)
                pieces.append(b"%d.%06d" % (later // 1000000, later % 1000000))
            pieces.append(self.tail)
            yield b"".join(pieces)
