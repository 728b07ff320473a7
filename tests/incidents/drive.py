#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes an ordinary load with incidents in it, and writes down what it did: the truth that `perfcam why` is judged by.

    drive.py DIRECTORY TRUTH.json --seed N --incidents N --gap SECONDS [--kinds KIND,…] [--lengths S,…] [--where at,…]

Started by record.py inside of the load's own control groups. Kinds, each with its culprit:

    proc cgroup walk    a daemon that reads too many files of /proc, of cgroups, of /usr: kernel work on one core
    spin                a program nobody saw before burns one core
    lock                eight threads of a daemon fight for one mutex
    fork fault          a program starts others, or touches new pages, as fast as it can
    reclaim             a program reads more than its memory group holds
    query               redis or PostgreSQL answers one heavy question
    more                redis or nginx gets more of the requests that it always gets: service or client is the culprit
    coincide            proc, at the very moment of the periodic gzip
    stop                a service is held (SIGSTOP): it is missing
    innocent            nothing but the periodic gzip at the time of the log line: there is no culprit

Three of four incidents have a line in the kernel's log, at, before or after; the time of that line is what `why` is
asked about. Times are seconds since 1970. One incident begins when the one before it, its line included, is over and
--gap seconds, a fifth more or less, have passed: no two can coincide, however long one waits for the gzip.
"""
import argparse
import ctypes
import json
import os
import random
import signal
import subprocess
import sys
import time

import groups
import services
from loop import Loop

KINDS = ("proc", "cgroup", "walk", "spin", "lock", "fork", "fault", "reclaim", "query", "more", "coincide", "stop",
         "innocent")
LENGTHS = (0.3, 0.5, 1.0, 1.5, 2.0, 3.0)
STRANGERS = {"spin": ("rollup", "etl-job", "batchd"), "fork": ("healthcheck",), "fault": ("loader",),
             "reclaim": ("archiver",)}
KMSG = "/dev/kmsg"
COLD_BYTES = 128 << 20
MOST_DELAY_S = 2  # between a line and its incident
LEAST_GAP_S = 15  # so that judge.py can cut one out and leave the next whole
PR_SET_NAME = 15


def median(values):
    return sorted(values)[len(values) // 2]


class Driver:
    def __init__(self, args):
        self.args = args
        self.rng = random.Random(args.seed)
        self.loop = Loop()
        self.services = services.Services(self.loop, random.Random(args.seed + 1), args.directory,
                                          os.path.abspath(args.culprit))
        self.truth = {"seed": args.seed, "incidents": []}
        self.rates = {}
        self.deck = []  # kinds to come

    def kinds(self):
        """A deck of all kinds, shuffled, as often as needed; without those that cannot be had here."""
        needs = {"reclaim": (self.args.small, "a control group of version 1 that bounds memory"),
                 "query": (self.rates, "redis or PostgreSQL"), "more": (self.services.clients, "redis or nginx, and their clients")}
        kinds = [k for k in self.args.kinds if k not in needs or needs[k][0]]
        self.truth["missing"] = [f"incidents of the kind {k} (they need {needs[k][1]})" for k in self.args.kinds if k not in kinds]
        deck = []
        while len(deck) < self.args.incidents:
            self.rng.shuffle(kinds)
            deck += kinds
        return deck[:self.args.incidents]

    def calibrate(self):
        """How much of a question keeps redis or PostgreSQL busy for a second."""
        for name, command in (("redis-server", self.redis_command), ("postgres", self.postgres_command)):
            if not (self.services.redis if name == "redis-server" else self.services.postgres):
                continue
            took = []
            for _ in range(3):
                began = time.monotonic()
                subprocess.run(command(1_000_000), cwd="/", stdout=subprocess.DEVNULL, check=True)
                took.append(time.monotonic() - began)
            self.rates[name] = 1_000_000 / max(median(took) - .02, .005)

    def redis_command(self, n):
        return ["redis-cli", "-s", self.services.path("redis.sock"), "eval",
                f"local x=0 for i=1,{n} do x=x+i end return 1", "0"]

    def postgres_command(self, n):
        return self.services.psql_command(f"select sum(sqrt(g)) from generate_series(1,{n}) g")

    def record(self, incident, began, ended, cpu_s=None):
        incident.update(start=began, end=ended, cpu_s=cpu_s)
        where = incident["mark"]["where"]
        if where == "after":
            self.loop.after(incident["mark"].pop("delay"), self.mark, incident)
        elif where == "none":
            incident["mark"]["time"] = began + (ended - began) * self.rng.random()
        self.truth["incidents"].append(incident)
        self.loop.after(MOST_DELAY_S + self.args.gap * self.rng.uniform(.8, 1.2), self.begin_next)

    def mark(self, incident):
        incident["mark"]["time"] = time.time()
        try:
            with open(KMSG, "w", encoding="ascii") as f:
                f.write(f"perfcam-incidents {self.args.seed}: eth9: Tx timeout, reset {incident['number']}\n")
        except OSError:
            incident["mark"]["written"] = False

    def begin_next(self):
        if self.deck:
            self.begin(len(self.truth["incidents"]) + 1, self.deck.pop(0))

    def begin(self, number, kind):
        length = self.rng.choice(self.args.lengths)
        where = self.rng.choice(self.args.where)
        incident = {"number": number, "kind": kind, "length": length, "cpu": self.rng.randrange(os.cpu_count()),
                    "mark": {"where": where}, "load": os.getloadavg()[0]}
        start = time.monotonic() + .1
        if kind in ("coincide", "innocent"):
            start = self.services.next_gzip + .02
        if where == "before":
            self.loop.at(start, self.mark, incident)
            start += self.rng.uniform(0, MOST_DELAY_S)
        elif where == "at":
            self.loop.at(start + length * self.rng.random(), self.mark, incident)
        elif where == "after":
            incident["mark"]["delay"] = self.rng.uniform(0, MOST_DELAY_S)
        self.loop.at(start, getattr(self, "kind_" + kind, self.kind_stranger), incident)

    def kind_daemon(self, incident, name):
        daemon = self.services.daemons[name]
        incident["processes"], incident["pid"] = [name], daemon.pid
        if incident["kind"] == "lock":
            incident["cpu"] = -1
        daemon.stdin.write(f"{incident['length']} {incident['cpu']}\n".encode())
        daemon.stdin.flush()
        self.loop.after(incident["length"] + .1, self.hear, daemon, incident, b"")

    def hear(self, daemon, incident, so_far):
        """What a daemon says about its burst, when it has come to the end of it."""
        os.set_blocking(daemon.stdout.fileno(), False)
        so_far += daemon.stdout.read() or b""
        if so_far.endswith(b"\n"):
            self.record(incident, *map(float, so_far.split()))
        elif daemon.poll() is not None:
            raise RuntimeError(f"incident {incident['number']}: its daemon ended with {daemon.returncode}")
        else:
            self.loop.after(.05, self.hear, daemon, incident, so_far)

    def kind_proc(self, incident):
        self.kind_daemon(incident, "nodeagent")

    kind_coincide = kind_proc

    def kind_cgroup(self, incident):
        self.kind_daemon(incident, "statsd")

    def kind_walk(self, incident):
        self.kind_daemon(incident, "indexer")

    def kind_lock(self, incident):
        self.kind_daemon(incident, "lockd")

    def kind_stranger(self, incident):
        """A program that starts, does its harm and ends."""
        kind = incident["kind"]
        name = self.rng.choice(STRANGERS[kind])
        incident["processes"] = [name, "true"] if kind == "fork" else [name]
        command = [self.services.named(name), kind, str(incident["length"]), str(incident["cpu"])]
        options = {}
        if kind == "reclaim":
            options = {"env": {**os.environ, "CULPRIT_FILE": self.services.path("cold")},
                       "preexec_fn": lambda: groups.join(self.args.small)}
        p = self.loop.start(command, lambda said: self.record(incident, *map(float, said.split())), **options)
        incident["pid"] = p.pid

    def kind_query(self, incident):
        name = self.rng.choice(sorted(self.rates))
        command = self.redis_command if name == "redis-server" else self.postgres_command
        began = time.time()
        incident["processes"] = [name]
        self.loop.start(command(int(self.rates[name] * incident["length"])),
                        lambda _: self.record(incident, began, time.time()), cwd="/")

    def kind_more(self, incident):
        """A client like all others, that goes on for longer."""
        name = self.rng.choice(sorted(self.services.clients))
        client, command = self.services.clients[name]
        incident["processes"] = [name, client]
        began = time.time()
        p = self.loop.start(command(10**7), lambda _: self.record(incident, began, time.time()))
        self.loop.after(incident["length"], p.terminate)

    def kind_stop(self, incident):
        stoppable = {**{n: self.services.daemons[n] for n in ("encoder", "mixer")}, "redis-server": self.services.redis}
        name = self.rng.choice(sorted(n for n, p in stoppable.items() if p))
        incident["processes"] = [name]
        incident["length"] = max(incident["length"], 0.5)
        began = time.time()
        stoppable[name].send_signal(signal.SIGSTOP)

        def go_on():
            stoppable[name].send_signal(signal.SIGCONT)
            self.record(incident, began, time.time())
        self.loop.after(incident["length"], go_on)

    def kind_innocent(self, incident):
        incident["processes"] = []
        began = time.time()
        self.loop.after(incident["length"], lambda: self.record(incident, began, time.time()))

    def run(self):
        with open(self.services.path("cold"), "wb") as f:
            f.truncate(COLD_BYTES)
        self.services.start()
        self.loop.run(time.monotonic() + 5)
        self.calibrate()
        print("ready", flush=True)
        self.loop.run(time.monotonic() + 3)
        self.truth["from"] = time.time()
        self.deck = self.kinds()
        self.loop.after(self.args.quiet, self.begin_next)
        while len(self.truth["incidents"]) < self.args.incidents:
            self.loop.run(time.monotonic() + 1)
        self.loop.run(time.monotonic() + MOST_DELAY_S + self.args.tail)
        self.truth["to"] = time.time()
        self.truth["missing"] += self.services.missing
        self.truth["incidents"].sort(key=lambda i: i["number"])
        with open(self.args.truth, "w", encoding="utf-8") as f:
            json.dump(self.truth, f, indent=1)
            f.write("\n")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("directory")
    parser.add_argument("truth")
    parser.add_argument("--seed", type=int, required=True)
    parser.add_argument("--culprit", required=True)
    parser.add_argument("--small", help="a control group with little memory")
    parser.add_argument("--incidents", type=int, default=10)
    parser.add_argument("--gap", type=float, default=40, help="seconds from the end of one to the next, on average")
    parser.add_argument("--quiet", type=float, default=40, help="seconds before the first")
    parser.add_argument("--tail", type=float, default=10, help="seconds after the last")
    parser.add_argument("--kinds", type=lambda s: s.split(","), default=list(KINDS))
    parser.add_argument("--lengths", type=lambda s: [float(n) for n in s.split(",")], default=list(LENGTHS))
    parser.add_argument("--where", type=lambda s: s.split(","), default=["at", "before", "after", "none"],
                        help="the log line beside an incident")
    args = parser.parse_args()
    if args.gap < LEAST_GAP_S:
        parser.error(f"--gap: less than {LEAST_GAP_S} s would let incidents coincide")
    # Not one of the python jobs of the load.
    ctypes.CDLL(None).prctl(PR_SET_NAME, b"driver", 0, 0, 0)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    driver = Driver(args)
    try:
        driver.run()
    finally:
        driver.loop.end()


main()
