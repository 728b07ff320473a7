# SPDX-License-Identifier: Apache-2.0
"""Rows of the one table that `make bench` ends with (tools/bench-table prints it).

A row is a claim: perfcam and a peer did the same work in one run, and one of the two numbers is so many times the other. Every pair is
kept, so that the table can say how far they lie apart. And what several benches do: run a program, make a store of many hours.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BUILD = os.path.join(ROOT, "build")
PROGRAM = os.path.join(BUILD, "perfcam")
HOURS = 12
STORES = ("1 M", "10 M", f"{HOURS} h")


def run(*command, output=subprocess.DEVNULL):
    """CPU seconds and what it printed, if that is kept."""
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.DEVNULL)
    out = process.stdout.read() if process.stdout else b""
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode not in (0, 3):
        sys.exit(f"bench: exit status {process.returncode} of: {' '.join(command)}")
    return usage.ru_utime + usage.ru_stime, out


def line(what, value, unit, note=""):
    print(f"{what:<44} {value:>10} {unit:<22} {note}".rstrip(), flush=True)


def windows(store):
    return json.loads(run(PROGRAM, "ls", "--json", "--store", store, output=subprocess.PIPE)[1])


def stores(directory, seconds):
    """[(name, store)]: about a million samples, ten million, twelve hours. `make bench` names a place (BENCH_STORES) in which whoever comes first makes them, for all."""
    place = os.environ.get("BENCH_STORES") or os.path.join(directory, "stores")
    if not os.path.isdir(place):
        making = place + ".making"  # half of it is not taken for all
        shutil.rmtree(making, ignore_errors=True)
        os.makedirs(making)
        make_stores(making, seconds)
        os.rename(making, place)
    return [(name, os.path.join(place, name)) for name in STORES]


def tape_kind():
    import benchload
    kind = os.environ.get("BENCH_TAPE") or benchload.TAPES[0]
    if kind not in benchload.TAPES:
        sys.exit(f"bench: {kind} is no load of a tape: {', '.join(benchload.TAPES)}")
    return kind


def make_stores(directory, seconds):
    """Of 96 CPUs, one real window of this machine (as root) with a load of its own, re-based until they are full. BENCH_TAPE: which load. 96 CPUs that
    do nothing but compile have as many processes in 15 to 45 s as a window takes, so that twelve hours of them are thousands of windows."""
    replay, rebase = (os.path.join(BUILD, "tests", "bench", n) for n in ("replay", "rebase"))
    tape, one = (os.path.join(directory, n) for n in ("tape", "one"))
    os.mkdir(one)
    # A tape of a quiet machine has hardly a sample: it would be twelve hours of nothing.
    import benchload
    with tempfile.TemporaryDirectory(prefix="perfcam-load-") as place:
        load = benchload.Load(place, seconds + 1)
        load.start(tape_kind())
        run(replay, "record", tape, str(seconds))
        load.stop()
    run(replay, "play", tape, "96", "245", one)  # whatever its beginning, one whole window is in it
    run(replay, "seal", one)
    window = max(windows(one), key=lambda w: w["samples"])
    each = (window["end_ns"] - window["start_ns"]) / 1e9
    for name, n in zip(STORES, (1e6 / window["samples"], 1e7 / window["samples"], HOURS * 3600 / each)):
        place = os.path.join(directory, name)
        os.mkdir(place)
        run(rebase, os.path.join(one, window["name"]), str(max(1, round(n))), place)
    shutil.rmtree(one)
    os.unlink(tape)


def row(part, what, ours, theirs, peer, unit, aim=None, less=True, how="measured"):
    """ours, theirs: lists of equal length, one pair a run (theirs: None where there is no peer, one figure where it ran once beside all of ours). aim: how many times less (or, not less,
    more) it should be; without a peer: the most (or least) of ours. how: "measured", "replayed" or a word on why not."""
    path = os.environ.get("BENCH_ROWS")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"part": part, "what": what, "ours": ours, "theirs": theirs, "peer": peer, "unit": unit, "aim": aim,
                                "less": less, "how": how}) + "\n")


def point(chart, x, y, unit, what):
    """One point of a curve of how cost grows."""
    path = os.environ.get("BENCH_ROWS")
    if path:
        with open(path, "a", encoding="utf-8") as f:
            f.write(json.dumps({"chart": chart, "x": x, "y": y, "unit": unit, "what": what}) + "\n")
