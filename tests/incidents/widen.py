#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Asks `perfcam why` about the incidents of a recording as if they had happened on a host of many CPUs: replayed, not
recorded.

    widen.py RECORDING [--cpus 96] [--seconds 600] [--incidents N]

Each host is made as text of perf script and imported: the incident with 8 s on either side, as it was; around it and on all
other CPUs what the recording has of quiet time, laid end to end and shifted by another amount for each pair of CPUs, under pids of
its own. So a culprit has 47 innocent namesakes, and a history of --seconds. Such copies are not independent hosts.
"""
import argparse
import bisect
import os
import random
import re
import subprocess
import sys
import tempfile

import judge
import support

HEAD = re.compile(rb"^(.*?)\s+(\d+)/(\d+)\s+\[(\d+)\]\s+(\d+\.\d+):(.*)$", re.S)
REFERENCE = re.compile(rb"# reference time: .*= (\d+\.\d+) \(TOD\) = (\d+\.\d+) \(monotonic\)")
AROUND_S = 8
PIDS = 1 << 16


class Text:
    """Samples of a recording as (seconds since 1970, comm, pid, tid, CPU, the rest)."""

    def __init__(self, recording):
        done = subprocess.run([support.BIN, "export", "perf-script", "--store", recording.store],
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
        head, *samples = done.stdout.split(b"\n\n")
        head, first = head.rsplit(b"#\n", 1)
        tod, monotonic = REFERENCE.search(head).groups()
        offset = float(tod) - float(monotonic)
        self.samples = []
        for sample in [first, *samples]:
            m = HEAD.match(sample)
            if m:
                self.samples.append((float(m[5]) + offset, m[1], int(m[2]), int(m[3]), int(m[4]), m[6]))
        self.samples.sort(key=lambda s: s[0])
        self.times = [s[0] for s in self.samples]

    def between(self, a, b):
        return self.samples[bisect.bisect_left(self.times, a):bisect.bisect_left(self.times, b)]


def quiet_tape(recording, text):
    """(samples with times from 0, its length): all quiet time, end to end."""
    kept = set(recording.without(recording.troubles()))
    tape, at = [], 0.0
    for name, a, b in recording.windows:
        if name in kept and a >= recording.truth["from"]:
            tape += [(s[0] - a + at, *s[1:]) for s in text.between(a, b)]
            at += b - a
    return tape, at


def host(tape, length, around, incident_at, cpus, seconds, rng):
    """Lines of perf script: a host with that incident in it."""
    samples = []
    start = incident_at - seconds / 2
    for copy in range(cpus // 2):
        shift = rng.uniform(0, length)
        for round_ in range(int(seconds / length) + 2):
            for t, comm, pid, tid, cpu, rest in tape:
                at = start + t - shift + round_ * length
                if start <= at < start + seconds and not (copy == 0 and around[0] <= at < around[1]):
                    samples.append((at, comm, pid + copy * PIDS, tid + copy * PIDS, cpu + 2 * copy, rest))
        if copy == 0:
            samples += around[2]
    samples.sort(key=lambda s: s[0])
    yield b"# ========\n# hostname : wide\n# nrcpus online : %d\n# reference time: x = %.6f (TOD) = %.6f (monotonic)\n" \
        b"# ========\n#\n" % (cpus, start, 1000)
    for at, comm, pid, tid, cpu, rest in samples:
        yield b"%s %d/%d [%03d] %.6f:%s\n\n" % (comm, pid, tid, cpu, at - start + 1000, rest)


def ask_wide(recording, text, tape, length, incident, args, rng):
    a, b = incident["start"] - AROUND_S, incident["end"] + AROUND_S
    around = (a, b, text.between(a, b))
    with tempfile.TemporaryDirectory(prefix="widen-") as place:
        store = os.path.join(place, "store")
        p = subprocess.Popen([support.BIN, "import", "--store", store, "-"], stdin=subprocess.PIPE,
                             stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for line in host(tape, length, around, incident["mark"]["time"], args.cpus, args.seconds, rng):
            p.stdin.write(line)
        p.stdin.close()
        if p.wait() not in (0, 3):
            raise RuntimeError("import failed")
        return judge.row_of(recording, store, incident["mark"]["time"], incident)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("recording")
    parser.add_argument("--cpus", type=int, default=96)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--incidents", type=int, default=10**6)
    args = parser.parse_args()
    recording = judge.Recording(args.recording, "store", False)
    text = Text(recording)
    tape, length = quiet_tape(recording, text)
    rng = random.Random(recording.truth["seed"])
    rows = []
    for incident in recording.truth["incidents"][:args.incidents]:
        rows.append(ask_wide(recording, text, tape, length, incident, args, rng))
        r = rows[-1]
        print(f"# {r['kind']} {r['length']} s: wanted {r['processes']}, place {r['place']} of {r['found']}, ranked "
              f"{r['ranked']}", flush=True)
    print(f"{args.cpus} CPUs, replayed; {args.seconds:.0f} s of history made of {length:.0f} s of quiet time")
    for line in judge.table(rows):
        print(line)
    sys.exit(0)


main()
