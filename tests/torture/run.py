#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Torture: every call that may fail is made to, once and from then on, in every scenario of scenarios.py. As root.

    make torture [TORTURE='flame|serve'] [TORTURE_MOST=400] [TORTURE_SECONDS=N] [SEED=N]
    tests/torture/run.py --brief [SECONDS]        (TAP; what make test runs)

Each scenario is run undisturbed and its calls are counted (fail_nth.c); then once for each call, which fails alone, and once with
all of its kind failing from it on. Where there are more than TORTURE_MOST, the first one of each place in the program is taken, and of the
others as many as there is room for, by chance (SEED). With TORTURE_SECONDS a scenario ends after that time, with what it has done by then (in an order of chance). What
is found is said at once, so that a run that is broken off was not for nothing. After each run:

- nobody died of a signal, helpers included, and nothing took longer than PATIENCE;
- the exit status is 0, 1 or 3 (of a command that could not be started 126 or 127, as env(1) has it), and where it is not 0 something was said (what is incomplete, also by the result itself);
- where it is 0 the result is the same as undisturbed; where it is not, an output file is as it was before, or not there, or whole;
- `verify` finds nothing, and every window that was sealed before is there with all its samples.
"""
import argparse
import concurrent.futures
import functools
import json
import os
import random
import re
import shutil
import signal
import struct
import subprocess
import sys
import tempfile
import threading
import time

import scenarios
from scenarios import BUILD, OLD, support

KINDS = ("alloc", "map", "open", "read", "write", "sync", "name", "socket", "event", "perf", "bpf", "process")
FAIL_NTH = os.path.join(BUILD, "tests", "torture", "fail_nth")
FAIL_ALLOC = os.path.join(BUILD, "tests", "torture", "fail_alloc.so")
CALLS_AT, CALL = 192, struct.Struct("<B3xI4Q")
PATIENCE = 40
# Where libseccomp 2.5 gets no memory it ends the process, or makes a filter that lacks a rule, so that the C library ends it later (a futex that is
# not allowed, or the end of the process itself): a helper's end, which its starter expects at any time, or the server's, which is started again.
NOT_OURS = "src/helper/confine.c"
# Where glibc 2.36 gets no memory for the state of its name services (the first question for a group or user) it follows a null pointer.
NAME_SERVICES = "cam_control_group at "
FOR_EVER = 2**63


class Run:
    """One run of a scenario, with calls that fail or without."""

    def __init__(self, fixtures, scenario, place, kind=None, first=0, last=0):
        self.kind, self.once = kind, first == last
        self.what = f"{scenario.name}: " + (f"{kind} {first}{'' if self.once else ' and all after it'}" if kind else "undisturbed")
        command = scenario.prepare(fixtures, place)
        self.page = place + ".calls"
        order = (kind, str(first), str(last)) if kind else ()
        env = {**os.environ, "LD_PRELOAD": FAIL_ALLOC, "LC_ALL": "C.UTF-8", "TZ": "UTC", "HOME": place}
        p = subprocess.Popen([FAIL_NTH, self.page, *order, "--", *command], env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                             stderr=subprocess.PIPE)
        said = []
        threads = [threading.Thread(target=lambda: said.append(p.stderr.read()))]
        if scenario.beside:
            threads.append(threading.Thread(target=scenario.beside, args=(p.pid, p.stdout, place)))
        for thread in threads:
            thread.start()
        timer = threading.Timer(PATIENCE, p.kill)  # its tracees go with it
        timer.start()
        started = time.monotonic()
        for thread in threads[1:]:
            thread.join()
        self.out = p.stdout.read().replace(place.encode(), b"")
        p.wait()
        timer.cancel()
        self.seconds = time.monotonic() - started
        with open(self.page + ".json", "rb") as f:
            self.report = json.loads(f.read() or b"null")
        os.unlink(self.page + ".json")
        # What it started and left behind may hold the pipe: as long as that was told, and no longer.
        threads[0].join(5)
        self.err = b"".join(said).decode(errors="replace")
        self.files = {}
        for name in os.listdir(place):
            path = os.path.join(place, name)
            if os.path.isfile(path):
                with open(path, "rb") as f:
                    self.files[name] = f.read()

    def calls(self):
        """[(kind, order in its kind, place)] of all calls."""
        with open(self.page, "rb") as f:
            f.seek(CALLS_AT - 8)
            (n,) = struct.unpack("<Q", f.read(8))
            data = f.read(min(n, 1 << 19) * CALL.size)
        counted, found = [0] * len(KINDS), []
        for kind, number, *callers in CALL.iter_unpack(data):
            counted[kind] += 1
            found.append((KINDS[kind], counted[kind], (kind, number, *callers)))
        return found


def windows(store):
    """{name: samples} of what is sealed, undisturbed."""
    r = subprocess.run([support.BIN, "ls", "--json", "--store", store], stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, timeout=60)
    if r.returncode not in (0, 3):
        return {}
    return {w["name"]: w["samples"] for w in json.loads(r.stdout) if w["sealed"]}


def named(addresses):
    """Places in the program, for who mends what was found. Addresses are not random under fail_nth."""
    inside = [f"{int(a, 16) - 0x555555554000 - 1:#x}" for a in addresses if a.startswith("5555")]
    r = subprocess.run(["addr2line", "-fpe", support.BIN, *inside], stdout=-1, text=True) if inside else None
    return [re.sub(r"\S*/src/", "src/", row) for row in r.stdout.splitlines()] if r else []


@functools.lru_cache
def is_end_refused(where):
    """Whether this place ("PATH+OFFSET") is the C library's _exit() or abort(). Of SIGSEGV one dies there only beyond the call that ends a process: a filter of
    system calls lacks that, too."""
    path, _, offset = where.rpartition("+")
    r = subprocess.run(["nm", "-D", path], stdout=-1, stderr=-3, text=True)
    rows = sorted((int(row[0], 16), row[2]) for row in map(str.split, r.stdout.splitlines()) if len(row) == 3)
    before = [name for at, name in rows if at <= int(offset or "0", 16)]
    return bool(before) and before[-1].lower().startswith(("_exit@", "abort@"))


def faults_of_end(run, statuses=(0, 1, 3)):
    """What is wrong with how it ended."""
    report = run.report
    if report is None:
        return [f"it hung for {PATIENCE} s"]
    ours = run.kind not in ("alloc", "map") or not any(theirs in place for place in named(report["callers"]) for theirs in (NOT_OURS, NAME_SERVICES))
    wrong = [f"perfcam {d['who']} died of signal {d['signal']} in {d['where']}: {named(d['at'])}" for d in report["deaths"]
             if ours and (run.kind not in ("alloc", "map") or not ((d["signal"] == signal.SIGSEGV and is_end_refused(d["where"])) or (d["who"] == "helper" and
                                                                                               any(NOT_OURS in place for place in named(d["at"])))))]
    if report["signal"] and not report["deaths"]:
        wrong.append(f"it ended by signal {report['signal']}")
    if report["exit"] not in statuses and not report["signal"]:
        wrong.append(f"exit status {report['exit']}")
    if report["exit"] and not report["signal"] and not run.err.strip() and not (report["exit"] == 3 and run.out) and run.kind != "write":
        wrong.append(f"exit status {report['exit']}, and not a word")
    if re.search(r"\(null\)|Success|error 0\b|Unknown error", run.err):
        wrong.append("it said nonsense: " + run.err)
    return wrong


def faults_of_output(scenario, run, reference):
    """What is wrong with what it made."""
    good, wrong = run.report and run.report["exit"] == 0, []
    for name in scenario.makes:
        data = run.files.get(name)
        if good and scenario.same and data != reference.files[name]:
            wrong.append(f"{name} is not what it is undisturbed, and the exit status is 0")
        elif good and data in (None, OLD):
            wrong.append(f"{name} was not made, and the exit status is 0")
        elif not good and data not in (None, OLD, reference.files[name]) and run.report and run.report["exit"] != 3:
            wrong.append(f"{name} was replaced ({len(data)} bytes) by a run that failed")
    if good and scenario.same and run.out != reference.out and not scenario.makes:
        wrong.append("it did not print what it does undisturbed, and the exit status is 0")
    left = set(run.files) - set(scenario.makes) - set(reference.files)
    if left and run.kind != "name" and not run.report.get("deaths"):
        wrong.append(f"it left {sorted(left)}")
    return wrong


def faults_of_store(scenario, fixtures, place):
    """What is wrong with the store, as somebody sees it who comes later."""
    store = os.path.join(place, "store")
    if not scenario.store or not os.path.isdir(store):
        return []
    r = subprocess.run([support.BIN, "verify", "--store", store], stdin=subprocess.DEVNULL, stdout=-1, stderr=-1, text=True, timeout=60)
    wrong = [f"verify: {r.returncode}: {r.stdout}{r.stderr}"] if r.returncode else []
    if scenario.keeps:
        left = windows(store)
        gone = {n: c for n, c in fixtures.sealed[scenario.store].items() if left.get(n, -1) < c}
        if gone:
            wrong.append(f"sealed windows are gone or have fewer samples: {gone}, there are {left}")
    return wrong


def attempt(fixtures, scenario, number, reference, kind=None, first=0, last=0):
    """(the run, what was wrong)"""
    place = os.path.join(fixtures.place, f"run{number}")
    run = Run(fixtures, scenario, place, kind, first, last)
    wrong = faults_of_end(run, scenario.statuses)
    if run.report:
        wrong += faults_of_output(scenario, run, reference or run) + faults_of_store(scenario, fixtures, place)
    if reference:
        os.unlink(run.page)
    shutil.rmtree(place, ignore_errors=True)
    return run, wrong


def plan(calls, most, rng):
    """[(kind, first, last)]: each place once and from there on, however many there are; then others by chance, `most` in all."""
    places, chosen = {}, []
    for kind, order, place in calls:
        places.setdefault(place, (kind, order))
    firsts = list(places.values())
    rng.shuffle(firsts)
    for kind, order in firsts:
        chosen += [(kind, order, order), (kind, order, FOR_EVER)]
    if len(chosen) < most:
        others = [(kind, order) for kind, order, place in calls if places[place] != (kind, order)]
        rng.shuffle(others)
        for kind, order in others[:most - len(chosen)]:
            chosen.append((kind, order, rng.choice((order, FOR_EVER))))
    return chosen


class Torture:
    def __init__(self, seed, place):
        self.rng = random.Random(seed)
        self.fixtures = scenarios.Fixtures(place)
        self.fixtures.sealed = {s: windows(self.fixtures.path(s)) for s in ("full", "dead", "old", "live")}
        self.number, self.lock = 0, threading.Lock()

    def attempt(self, *args):
        with self.lock:
            self.number += 1
            number = self.number
        return attempt(self.fixtures, args[0], number, *args[1:])

    def scenario(self, scenario, most, workers=2, seconds=None, few=False, tell=lambda line: None):
        """(calls, places, runs, [what was found]); few: most runs in all; seconds: what is not begun by then is left out, but for one;
        tell: called with each that is found."""
        until = time.monotonic() + seconds if seconds else None
        reference, wrong = self.attempt(scenario, None)
        if wrong or reference.report["exit"]:
            return 0, 0, 0, [f"{reference.what}: {wrong} {reference.err}"]
        calls = reference.calls()
        os.unlink(reference.page)
        chosen, found, runs = plan(calls, most, self.rng), [], 0
        if few:
            chosen = chosen[:most]

        def one(what):
            if until and what is not chosen[0] and time.monotonic() > until:
                return None
            return self.attempt(scenario, reference, *what)

        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for result in pool.map(one, chosen):
                if result is None:
                    continue
                runs += 1
                run, wrong = result
                if wrong:
                    report = run.report or {"callers": [], "call": 0}
                    found.append(f"{run.what}: {'; '.join(wrong)}; call {report['call']} of {named(report['callers'])}; it said: {run.err[-600:]!r}")
                    tell(found[-1])
        return len(calls), len({place for _, _, place in calls}), runs, found


def brief(torture, seconds, chosen):
    """A few of each scenario, as TAP: as many as fit into that time."""
    print(f"1..{len(chosen)}")
    started, weights = time.monotonic(), sum(s.weight for s in chosen)

    def one(scenario):
        return torture.scenario(scenario, 5 * scenario.weight, 1, 2 * seconds * scenario.weight / weights, few=True)

    runs, failed = 0, 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for number, (scenario, (_, _, n, found)) in enumerate(zip(chosen, pool.map(one, chosen)), 1):
            runs, failed = runs + n, failed + bool(found)
            print(f"{'not ' if found else ''}ok {number} - {scenario.name}")
            for line in found:
                print("# " + line.replace("\n", "\n# "))
            sys.stdout.flush()
    print(f"# {runs} runs with a call that failed, {time.monotonic() - started:.0f} s")
    return 1 if failed else 0


def whole(torture, most, seconds, chosen):
    print(f"{'scenario':<26} {'calls':>8} {'places':>7} {'runs':>6} {'s':>5}  found")
    all_runs, all_found = 0, []
    for scenario in chosen:
        started = time.monotonic()
        calls, places, runs, found = torture.scenario(scenario, most, seconds=seconds, tell=lambda line: print("    " + line, flush=True))
        all_runs, all_found = all_runs + runs, all_found + found
        print(f"{scenario.name:<26} {calls:8,} {places:7,} {runs:6,} {time.monotonic() - started:5.0f}  {len(found) or 'nothing'}", flush=True)
        if found and not calls:  # it fails by itself
            print("    " + found[0], flush=True)
    print(f"{len(chosen)} scenarios, {all_runs} runs, {len(all_found)} found a fault")
    return 1 if all_found else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--brief", nargs="?", type=float, const=20)
    args = parser.parse_args()
    # The brief form judges a change: it does the same every time. Which calls it takes is chance in the whole one.
    seed = int(os.environ.get("SEED") or (1 if args.brief else time.time_ns() % 10**6))
    wanted = re.compile(os.environ.get("TORTURE") or ".")
    chosen = [s for s in scenarios.ALL if wanted.search(s.name)]
    place = tempfile.mkdtemp(prefix="perfcam-torture-")
    try:
        print(f"# seed {seed}", flush=True)
        torture = Torture(seed, place)
        if args.brief:
            return brief(torture, args.brief, chosen)
        return whole(torture, int(os.environ.get("TORTURE_MOST") or 400), float(os.environ.get("TORTURE_SECONDS") or 0), chosen)
    finally:
        shutil.rmtree(place, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
