#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes the expected outputs of this directory anew, from the program they must be equal to.

    PEERS=DIR tests/golden/regenerate.py [--check]

DIR holds stackcollapse-perf.pl (FlameGraph, commit 41fee1f); perl runs it. With --check nothing
is written and the exit status says whether anything would change. See README.md.
"""
import os
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PEER = os.path.join(os.environ.get("PEERS", ""), "stackcollapse-perf.pl")

# name: the peer's options
SETS = {
    "plain": [],
    "all": ["--all"],
    "kernel": ["--kernel"],
    "jit": ["--jit"],
    "pid": ["--pid"],
    "tid": ["--tid"],
    "addrs": ["--addrs"],
    "all-pid": ["--all", "--pid"],
    "all-tid-addrs": ["--all", "--tid", "--addrs"],
}
changed = []


def peer(text, options):
    """What the peer prints for a text, in the order of LC_ALL=C sort."""
    done = subprocess.run(["perl", PEER, *options], input=text, check=True,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return b"".join(line + b"\n" for line in sorted(done.stdout.split(b"\n")[:-1]))


def keep(path, content):
    old = b""
    if os.path.exists(path):
        with open(path, "rb") as f:
            old = f.read()
    if old == content:
        return
    changed.append(path)
    if "--check" not in sys.argv:
        with open(path, "wb") as f:
            f.write(content)


def texts():
    """folded/NAME.txt → folded/NAME.SET"""
    folder = os.path.join(HERE, "folded")
    for name in sorted(os.listdir(folder)):
        base, ext = os.path.splitext(name)
        if ext != ".txt":
            continue
        with open(os.path.join(folder, name), "rb") as f:
            text = f.read()
        for label, options in SETS.items():
            keep(os.path.join(folder, base + "." + label), peer(text, options))


def table(name, line_of):
    """A table of cases: the last column becomes what the peer says, the others stay."""
    path = os.path.join(HERE, "collapse", name)
    out = []
    with open(path, "rb") as f:
        for row in f.read().split(b"\n")[:-1]:
            if row and not row.startswith(b"#"):
                fields = row.split(b"\t")[:-1]
                text, options, start = line_of(fields)
                printed = peer(text, options)
                value = b"(none)"
                if printed:
                    value = printed.rsplit(b" ", 1)[0][len(start):].replace(b"\t", b"\\t")
                row = b"\t".join([*fields, value])
            out.append(row + b"\n")
    keep(path, b"".join(out))


def frame(fields):
    comm, options, address, symbol, module, _ = [*fields, b""]
    text = b"%s 4242 [001] 1.000000: 1 cycles: \n\t%s %s (%s)\n\n" % (comm, address, symbol, module)
    # What follows the root, with its ';': empty where the frame is left out.
    return text, options.decode().split(), comm


def task(fields):
    comm, ids, options, _ = [*fields, b""]
    comm = comm.replace(b"\\t", b"\t")
    pad = b" " * (8 - len(ids.split(b"/")[0]))
    text = b"%s%s%s [001] 1.000000: 1 cycles: \n\n" % (comm, pad, ids)
    return text, options.decode().split(), b""


if not os.path.exists(PEER):
    sys.exit("PEERS=DIR must name a directory that holds stackcollapse-perf.pl")
texts()
table("frames.tsv", frame)
table("tasks.tsv", task)
for path in changed:
    print("changed:", os.path.relpath(path, HERE))
sys.exit(1 if changed and "--check" in sys.argv else 0)
