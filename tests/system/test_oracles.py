#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs as people run them, without frame pointers: Debian's redis-server, postgres, python3
and nginx, and a C++ and a Rust program at -O2; and of files that are unlike most: one of more than 1 GiB, static
C, static Go, stripped Go, static musl, one with .debug_frame alone. Walked in the kernel by perfcam, and by perf from
copies of stacks (--call-graph dwarf; by frame pointers where Go was stripped) at the same time.

Frame by frame, too: the usual programs are stopped at work, some dozens of times each. Every thread's stack is walked
over its memory by the step that the kernel runs, compiled as C (walk_stopped.c), and by eu-stack (elfutils) in the same stop.

Both recordings are samples of the same seconds, taken at other instants, so stacks are compared as what each call
looks like: an edge is (caller's file and address, callee's file), and of perf's edges, each as often as
perf saw it, the share that perfcam saw too is asked for. Two runs of perf would not agree wholly either: an
edge that is seen once in N samples by one is missed by the other as often as not. Of the unlike files, and of C++ and Rust, the
names are compared, too, address by address.
"""
import collections
import os
import re
import shutil
import pwd
import random
import signal
import socket
import struct
import subprocess
import threading
import time

import support

SECONDS = 6
HZ = 499
COMPLETE = 0.95
SAME_EDGES = 0.90
SAME_FRAMES = 0.95  # of the stops
STOPS = 24  # of each program
LEAST = 20  # samples of perf's below which nothing is compared
FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((.*)\)$")
OFFSET = re.compile(r"\+0x[0-9a-f]+$")
THREAD = re.compile(r"TID (\d+)(.*)")
POINTER = re.compile(r"#\d+\s+0x([0-9a-f]+)")
WALK = os.path.join(os.path.dirname(support.WORKLOADS), "system", "walk_stopped")
HEAD = re.compile(r"(\S.*?)\s+(?:\d+/)?(\d+)\s+(?:\[\d+\]\s+)?(\d+)\.(\d+):")

CXX = """
#include <algorithm>
#include <map>
#include <string>
#include <vector>
#include <cstdio>
#include <cstdlib>
template <class T> struct Counter { std::map<T, int> seen; void add(const T &t) { seen[t]++; } };
__attribute__((noinline)) static int compare(const void *a, const void *b)
{ return ((const std::string *)a)->compare(*(const std::string *)b); }
__attribute__((noinline)) static size_t once(unsigned seed)
{
	std::vector<std::string> words;
	for (unsigned i = 0; i < 4000; i++) { seed = seed * 1103515245 + 12345; words.push_back(std::to_string(seed)); }
	std::sort(words.begin(), words.end(), [](const std::string &a, const std::string &b) { return a < b; });
	qsort(words.data(), words.size(), sizeof(words[0]), compare);
	Counter<std::string> c;
	for (auto &w : words) c.add(w.substr(0, 3));
	return c.seen.size();
}
int main() { size_t n = 0; for (unsigned i = 0;; i++) n += once(i); return (int)n; }
"""
RUST = """
use std::collections::HashMap;
#[inline(never)]
fn words(seed: u32) -> Vec<String> {
    let mut s = seed;
    (0..4000).map(|_| { s = s.wrapping_mul(1103515245).wrapping_add(12345); s.to_string() }).collect()
}
#[inline(never)]
fn count(words: &[String]) -> usize {
    let mut m: HashMap<String, usize> = HashMap::new();
    for w in words { *m.entry(w.chars().take(3).collect()).or_insert(0) += 1; }
    m.len()
}
fn main() {
    let mut n = 0usize;
    for i in 0.. { let mut w = words(i); w.sort_by(|a, b| b.cmp(a)); n = n.wrapping_add(count(&w)); }
    println!("{}", n);
}
"""
# With -DOWN nothing is called but its own functions: those of musl's libc have no rules.
C = """
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#define APART static __attribute__((noinline, noclone))
typedef char word[16];
APART int less(const void *a, const void *b)
{ const unsigned char *p = a, *q = b; while (*p && *p == *q) p++, q++; return *p - *q; }
APART void swap(word *a, word *b) { word t; memcpy(t, *a, 16); memcpy(*a, *b, 16); memcpy(*b, t, 16); }
APART void shell(word *w, int n)
{ for (int gap = n / 2; gap; gap /= 2) for (int i = gap; i < n; i++)
	for (int j = i - gap; j >= 0 && less(w[j], w[j + gap]) > 0; j -= gap) swap(w + j, w + j + gap); }
APART unsigned fill(word *w, int n, unsigned seed)
{ for (int i = 0; i < n; i++) { seed = seed * 1103515245 + 12345; char *p = w[i];
	for (unsigned s = seed; s; s /= 10) *p++ = '0' + s % 10; *p = 0; } return seed; }
APART unsigned once(unsigned seed)
{ static word w[4000]; seed = fill(w, 4000, seed); shell(w, 4000);
#ifndef OWN
	fill(w, 4000, seed); qsort(w, 4000, 16, less);
#endif
	return seed + (unsigned char)w[7][2]; }
int main(void) { for (unsigned s = 1;;) s = once(s); }
"""
GO = """
package main

import ("sort"; "strconv")

//go:noinline
func words(seed uint32) []string {
	w := make([]string, 4000)
	for i := range w { seed = seed*1103515245 + 12345; w[i] = strconv.Itoa(int(seed)) }
	return w
}

//go:noinline
func count(w []string) int {
	m := map[string]int{}
	for _, s := range w { m[s[:2]]++ }
	return len(m)
}

func work(from uint32, done chan int) {
	n := 0
	for i := from; n >= 0; i++ { w := words(i); sort.Strings(w); n += count(w) }
	done <- n
}

func main() { done := make(chan int); go work(1, done); <-done }
"""
# What perf walks by frame pointers.
BY_POINTER = ("musl", "go", "go_stripped")
# Where Go goes on on another stack (its collector does, the more the less the host has time for it), nothing says so.
COMPLETE_OF = {"go": 0.7, "go_stripped": 0.7}
PYTHON = """
import re, json
def walk(n): return json.dumps({str(i): [i] * 3 for i in range(50)}) if n == 0 else walk(n - 1)
while True:
    re.sub(r"(\\d+)", lambda m: m[1] * 2, walk(12)); sorted(walk(5), key=lambda c: -ord(c))
"""


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


PATH = os.environ.get("PATH", os.defpath).split(os.pathsep) + ["/usr/sbin", os.path.expanduser("~/.cargo/bin")]
POSTGRES = [f"/usr/lib/postgresql/{v}/bin" for v in range(20, 12, -1)]


def need(program, path=PATH):
    """Where it is. None is left out: what is compared is what is promised."""
    found = shutil.which(program, path=os.pathsep.join(path))
    if not found:
        raise AssertionError(f"no {program}: run tools/setup test programs")
    return found


def as_user(name):
    """Postgres refuses to be root."""
    entry = pwd.getpwnam(name)

    def change():
        os.setgroups([])
        os.setgid(entry.pw_gid)
        os.setuid(entry.pw_uid)
    return entry, change


class Programs:
    """Starts what there is; {name: pids} and what is not here, with why."""

    def __init__(self, case):
        self.case, self.dir = case, case.dir
        self.pids, self.stop, self.started = {}, threading.Event(), []

    def usual(self):
        for start in (self.redis, self.postgres, self.python, self.nginx, self.cxx, self.rust):
            start()

    def unlike(self):
        for start in (self.frames, self.big, self.static, self.musl, self.go):
            start()

    def run(self, *command, **options):
        self.started.append(self.case.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, **options))
        return self.started[-1]

    def end(self):
        """Reading what was recorded takes CPUs of its own."""
        self.stop.set()
        for p in self.started:
            p.kill()
            p.wait()

    def build(self, name, suffix, text, *command):
        source, program = os.path.join(self.dir, name + suffix), os.path.join(self.dir, name)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([*command, "-o", program, source], check=True)
        return program

    def build_and_run(self, name, *how):
        self.pids[name] = [self.run(self.build(name, *how)).pid]

    def redis(self):
        port = str(free_port())
        server = self.run(need("redis-server"), "--port", port, "--bind", "127.0.0.1", "--save", "",
                          "--dir", self.dir)
        time.sleep(0.3)
        self.run(need("redis-benchmark"), "-p", port, "-c", "8", "-P", "16", "-r", "100000", "-n", "100000000",
                 "-t", "mset")
        self.pids["redis"] = [server.pid]

    def postgres(self):
        tools = os.path.dirname(need("pgbench", POSTGRES))
        entry, change = as_user("postgres")
        place, port = os.path.join(self.dir, "pg"), str(free_port())
        os.mkdir(place)
        os.chown(place, entry.pw_uid, entry.pw_gid)
        os.chmod(self.dir, 0o755)
        quiet = {"preexec_fn": change, "cwd": place, "stdout": subprocess.DEVNULL,
                 "stderr": subprocess.DEVNULL, "check": True}
        subprocess.run([tools + "/initdb", "-D", place + "/data", "-N"], **quiet)
        self.run(tools + "/postgres", "-D", place + "/data", "-p", port, "-k", place, "-F",
                 "-c", "listen_addresses=", preexec_fn=change, cwd=place)
        ready = lambda: subprocess.run([tools + "/pg_isready", "-q", "-h", place, "-p", port],
                                       check=False).returncode == 0
        self.case.assertTrue(support.wait_until(ready))
        ask = [tools + "/pgbench", "-h", place, "-p", port]
        subprocess.run([*ask, "-i", "-q", "postgres"], **quiet)
        query = os.path.join(place, "q.sql")
        with open(query, "w", encoding="utf-8") as f:
            f.write("select bid, count(*), avg(abalance) from pgbench_accounts group by bid;\n"
                    "select aid from pgbench_accounts order by filler, aid desc limit 5;\n")
        self.run(*ask, "-n", "-f", query, "-c", "1", "-T", "600", "postgres", preexec_fn=change,
                 cwd=place)
        backend = support.wait_until(lambda: [
            int(p) for p in os.listdir("/proc") if p.isdigit() and
            "[local] SELECT" in read(f"/proc/{p}/cmdline") and place_of(p) == place + "/data"])
        self.pids["postgres"] = backend

    def python(self):
        self.pids["python"] = [self.run("/usr/bin/python3", "-c", PYTHON).pid]

    def nginx(self):
        port, place = free_port(), os.path.join(self.dir, "nginx")
        os.makedirs(place + "/logs")
        os.chmod(self.dir, 0o755)
        with open(place + "/page.txt", "w", encoding="utf-8") as f:
            f.write("".join(f"line {i * 7919 % 10007} of a page\n" for i in range(40000)))
        with open(place + "/nginx.conf", "w", encoding="utf-8") as f:
            f.write(f"daemon off; master_process off; pid {place}/pid; error_log {place}/error;\n"
                    "events {}\n"
                    f"http {{ access_log off; gzip on; gzip_types text/plain; gzip_comp_level 6;\n"
                    f"client_body_temp_path {place}/1; proxy_temp_path {place}/2;\n"
                    f"fastcgi_temp_path {place}/3; uwsgi_temp_path {place}/4; scgi_temp_path {place}/5;\n"
                    f"server {{ listen 127.0.0.1:{port}; root {place}; default_type text/plain; }} }}\n")
        server = self.run(need("nginx"), "-p", place, "-c", place + "/nginx.conf")
        threading.Thread(target=self.fetch, args=(port,), daemon=True).start()
        self.pids["nginx"] = [server.pid]

    def fetch(self, port):
        # What asks for HTTP/1.0 gets nothing compressed.
        request = b"GET /page.txt HTTP/1.1\r\nHost: a\r\nConnection: close\r\nAccept-Encoding: gzip\r\n\r\n"
        while not self.stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as s:
                    s.sendall(request)
                    while s.recv(1 << 16):
                        pass
            except OSError:
                time.sleep(0.1)

    def cxx(self):
        self.build_and_run("cxx", ".cc", CXX, need("g++"), "-O2", "-fomit-frame-pointer")

    def rust(self):
        self.build_and_run("rust", ".rs", RUST, need("rustc"), "-C", "opt-level=2", "-C",
                           "force-frame-pointers=no")

    def frames(self):
        self.build_and_run("frames", ".c", C, "gcc", "-O2", "-g", "-fno-asynchronous-unwind-tables",
                           "-fno-unwind-tables")

    def big(self):
        big = os.path.join(self.dir, "big")
        grow(self.build("small", ".c", C, "gcc", "-O2"), big, 1200 << 20)
        self.case.assertGreater(os.path.getsize(big), 1 << 30)
        self.pids["big"] = [self.run(big).pid]

    def static(self):
        """With libc.a in it; the index of its .eh_frame, which gcc leaves out there, is for perf."""
        self.build_and_run("static", ".c", C, "gcc", "-O2", "-static", "-Wl,--eh-frame-hdr")

    def musl(self):
        """Static, with frame pointers for perf, which finds no .eh_frame there."""
        self.build_and_run("musl", ".c", C, need("musl-gcc"), "-O2", "-static", "-DOWN",
                           "-fno-omit-frame-pointer")

    def go(self):
        os.environ.update(CGO_ENABLED="0", GOCACHE=os.path.join(self.dir, "go-cache"))
        self.build_and_run("go", ".go", GO, need("go"), "build")
        self.build_and_run("go_stripped", ".go", GO, need("go"), "build", "-ldflags=-s -w")


def grow(small, big, by):
    """The program with a hole before its code: headers and what is in the first page stay, all else moves."""
    page = 4096
    with open(small, "rb") as f:
        data = bytearray(f.read())
    segments, sections = struct.unpack_from("<QQ", data, 0x20)
    n_segments, = struct.unpack_from("<H", data, 0x38)
    n_sections, = struct.unpack_from("<H", data, 0x3c)
    places = [segments + 56 * i + 8 for i in range(n_segments)]
    places += [sections + 64 * i + 24 for i in range(n_sections)]
    for at in places:
        offset, = struct.unpack_from("<Q", data, at)
        if offset >= page:
            struct.pack_into("<Q", data, at, offset + by)
    struct.pack_into("<Q", data, 0x28, sections + by)
    with open(big, "wb") as f:
        f.write(data[:page])
        f.seek(page + by)
        f.write(data[page:])
    os.chmod(big, 0o755)


def read(path):
    try:
        with open(path, "rb") as f:
            return f.read().decode(errors="replace").replace("\0", " ")
    except OSError:
        return ""


def place_of(pid):
    try:
        return os.readlink(f"/proc/{pid}/cwd")
    except OSError:
        return ""


def stacks(lines, back=0):
    """[(pid, time, frames)] of perf script text; a frame: (file, address), leaf first, user half only.
    back: how far behind the call a caller's address is."""
    found, frames = [], None
    for line in lines:
        m = HEAD.match(line)
        if m:
            frames = []
            found.append((int(m[2]), int(m[3]) + int(m[4]) / 10 ** len(m[4]), frames))
            continue
        m = FRAME.match(line)
        # What was inlined is at the address of the function it is in, which follows; perf is asked for without.
        if m and frames is not None and m[3] != "inlined" and not int(m[1], 16) >> 63:
            frames.append((m[2] if m[3] == "[unknown]" and m[2].startswith("[") else
                           os.path.basename(m[3]), int(m[1], 16) - (back if frames else 0)))
    return found


def names(lines, file):
    """{address: name} of a file's own functions, in perf script text."""
    found = {}
    for line in lines:
        m = FRAME.match(line)
        if m and os.path.basename(m[3]) == file and not m[2].startswith("["):
            found[int(m[1], 16)] = OFFSET.sub("", m[2])
    return found


def edges(samples):
    """Each call: from where (file, address) into which file."""
    seen = collections.Counter()
    for _, _, frames in samples:
        for callee, caller in zip(frames, frames[1:]):
            seen[caller, callee[0]] += 1
    return seen


def threads_of(text):
    """{tid: (what is said of it, [addresses, leaf first])} of what eu-stack and walk_stopped print."""
    found, frames = {}, []
    for line in text.splitlines():
        m = THREAD.match(line)
        if m:
            frames = []
            found[int(m[1])] = (m[2].strip(), frames)
            continue
        m = POINTER.match(line)
        if m:
            frames.append(int(m[1], 16))
    return found


def wait_stopped(pid):
    place, until = f"/proc/{pid}/task", time.monotonic() + support.PATIENCE
    while any(read(f"{place}/{t}/stat").rpartition(")")[2].split()[:1] != ["T"] for t in os.listdir(place)):
        if time.monotonic() > until:
            raise AssertionError(f"{pid} does not stop")
        time.sleep(0.001)


def answer(walker):
    """What walk_stopped says of the stop."""
    walker.stdin.write("\n")
    walker.stdin.flush()
    said = []
    for line in iter(walker.stdout.readline, ""):
        if line == ".\n":
            return "".join(said)
        said.append(line)
    raise AssertionError("walk_stopped has ended")


def stop_often(case, pid, chance):
    """Of each stop of a process: what we find of its threads, and what eu-stack does."""
    found = []
    walker = case.start(WALK, str(pid), stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    for _ in range(STOPS):
        support.let_run(pid, chance.uniform(0.0005, 0.004), 0.5)
        os.kill(pid, signal.SIGSTOP)
        try:
            wait_stopped(pid)
            ours = answer(walker)
            r = subprocess.run([need("eu-stack"), "-q", "-n", "0", "-p", str(pid)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True, timeout=60, check=False)
        finally:
            os.kill(pid, signal.SIGCONT)
        found.append((threads_of(ours), threads_of(r.stdout), r.stderr))
    walker.stdin.close()
    case.assertEqual(walker.wait(support.PATIENCE), 0)
    return found


def share(samples, what):
    return sum(what(frames) for _, _, frames in samples) / max(1, len(samples))


def is_cut(frames):
    return bool(frames) and frames[-1][0] in ("[truncated]", "[unmapped]")


class Oracle(support.Case):
    def record(self, programs, seconds):
        """Both at the same time; {name: perf's file}."""
        self.assertIn("bpf", support.sources())
        recorder = self.recorder("--source", "bpf", "-F", str(HZ), "--addresses").ready()
        time.sleep(2)  # the tables are there a second after a sample needed them
        perf = {}
        for name, pids in programs.pids.items():
            path = os.path.join(self.dir, name + ".perf")
            perf[name] = (path, self.start(
                need("perf"), "record", "-q", "-F", str(HZ), "-m", "1024", "-e", "cpu-clock", "--call-graph",
                "fp" if name in BY_POINTER else "dwarf,16384",
                "-p", ",".join(map(str, pids)), "-o", path, "--", "sleep", str(seconds),
                stderr=subprocess.DEVNULL))
        for _, p in perf.values():
            p.wait(60)
        self.assertEqual(recorder.stop(), 0)
        return {name: path for name, (path, _) in perf.items()}

    def read(self, programs, paths):
        """{name: (perfcam's samples, perf's)} of the seconds both were there."""
        both, self.names = {}, {}
        for name, pids in programs.pids.items():
            text = subprocess.run(["perf", "script", "--no-inline", "-F", "comm,pid,tid,time,ip,sym,dso",
                                   "-i", paths[name]], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, errors="replace",
                                  timeout=120, check=False).stdout
            # Of callers by frame pointer perf shows where they return to, else the call.
            theirs = stacks(text.splitlines(), int(name in BY_POINTER))
            self.names[name] = [names(text.splitlines(), name)]
            r = support.perfcam("export", "perf-script", "--store", self.store, "--pid",
                                ",".join(map(str, pids)))
            self.names[name].append(names(r.stdout.splitlines(), name))
            ours = [s for s in stacks(r.stdout.splitlines()) if s[2]]
            if theirs:
                first, last = theirs[0][1], theirs[-1][1]
                ours = [s for s in ours if first - 0.1 <= s[1] <= last + 0.1]
            both[name] = (ours, theirs)
        return both

    def check(self, name, ours, theirs, whole):
        ours_edges, their_edges = edges(ours), edges([s for s in theirs if len(s[2]) > 1])
        total = sum(their_edges.values())
        same = sum(n for e, n in their_edges.items() if e in ours_edges) / max(1, total)
        depth = [sum(len(s[2]) for s in k) / max(1, len(k)) for k in (ours, theirs)]
        support.note(f"{name}: {len(ours)} samples, {100 * whole:.1f} % complete, depth {depth[0]:.1f}; "
                     f"perf {len(theirs)}, depth {depth[1]:.1f}, {100 * same:.1f} % of its calls seen")
        self.assertGreaterEqual(whole, COMPLETE_OF.get(name, COMPLETE), name)
        self.assertGreaterEqual(len(theirs), LEAST, name)
        self.assertGreater(total, len(theirs) / 2, name)
        self.assertGreaterEqual(same, SAME_EDGES, name)

    def check_names(self, name, theirs, ours):
        """Each address that both saw; of callers found by pointer perf's are one further."""
        common = set(theirs) & set(ours)
        wrong = [(theirs[a], ours[a]) for a in common if theirs[a] != ours[a]]
        support.note(f"{name}: {len(common)} addresses named by both, {len(wrong)} otherwise")
        if name == "go_stripped":
            # perf has none; ours are of the table that Go's runtime has: those of the same program with symbols.
            r = subprocess.run(["nm", os.path.join(self.dir, "go")], stdout=subprocess.PIPE, text=True, check=True)
            known = {line.split(None, 2)[2].removesuffix(".abi0") for line in r.stdout.splitlines()}
            self.assertIn("main.work", ours.values())
            self.assertEqual(set(ours.values()) - known, set())
        else:
            self.assertGreater(len(common), 5, name)
            self.assertEqual(wrong, [], name)


class Usual(Oracle):
    """The programs are started once; both comparisons are of what they do then."""
    made = None

    def setUp(self):
        super().setUp()
        if Usual.made is None:
            Usual.made = False
            Usual.made = self.made_once(Usual.make)
        self.assertTrue(Usual.made, "the programs could not be started or watched")
        self.both, self.stops, self.names = Usual.made

    def make(self):
        programs, chance = Programs(self), random.Random(4)
        programs.usual()
        was = os.getpriority(os.PRIO_PROCESS, 0)
        try:
            paths = self.record(programs, SECONDS)
            os.setpriority(os.PRIO_PROCESS, 0, -15)  # others need not wait for who looks
            stops = {name: stop_often(self, pids[0], chance) for name, pids in programs.pids.items()}
        finally:
            os.setpriority(os.PRIO_PROCESS, 0, was)
            programs.end()
        return self.read(programs, paths), stops, self.names

    def test_stacks_are_complete_and_those_that_perf_finds(self):
        for name, (ours, theirs) in self.both.items():
            with self.subTest(name):
                self.check(name, ours, theirs, whole=1 - share(ours, is_cut))

    def test_names_of_mangled_functions_are_those_that_perf_finds(self):
        for name, one in (("cxx", "once"), ("rust", "rust::count")):
            with self.subTest(name):
                self.check_names(name, *self.names[name])
                self.assertIn(one, self.names[name][1].values())

    def test_every_frame_is_what_eu_stack_finds(self):
        for name, stops in self.stops.items():
            with self.subTest(name):
                self.check_frames(name, stops)

    def check_frames(self, name, stops):
        pairs = [(ours[tid], theirs.get(tid, ("", [])), said) for ours, theirs, said in stops for tid in ours]
        other = [p for p in pairs if p[0][1] != p[1][1]]
        whole = sum(ours[0] == "complete" for ours, _, _ in pairs) / max(1, len(pairs))
        busiest = [max(ours.values(), key=lambda t: len(t[1]))[1] for ours, _, _ in stops]
        leaves = {frames[0] for frames in busiest}
        support.note(f"{name}: {len(stops)} stops, {len(pairs)} stacks, {len(other)} other than eu-stack's, "
                     f"{100 * whole:.1f} % complete, {len(leaves)} places, deepest {max(map(len, busiest))}")
        for (end, ours), (_, theirs), said in other:
            support.note(f"{name}: ended {end}: {' '.join(map(hex, ours))}; eu-stack: {' '.join(map(hex, theirs))} {said}")
        self.assertEqual([set(ours) for ours, _, _ in stops], [set(theirs) for _, theirs, _ in stops])
        self.assertLessEqual(len(other), (1 - SAME_FRAMES) * len(stops), name)
        self.assertGreaterEqual(whole, COMPLETE, name)
        self.assertGreater(len(leaves), 3, name)
        self.assertGreater(max(map(len, busiest)), 4, name)


class Unlike(Oracle):
    def test_files_that_are_unlike_most(self):
        programs = Programs(self)
        programs.unlike()
        paths = self.record(programs, SECONDS / 2)
        programs.end()
        both = self.read(programs, paths)
        for name, (ours, theirs) in both.items():
            with self.subTest(name):
                whole = 1 - share(ours, is_cut)
                if name == "musl":
                    # What calls main() has no rules there: such a stack is cut, and says so.
                    self.assertEqual(whole, 0)
                    main = {a for a, n in self.names[name][1].items() if n == "main"}
                    whole = share(ours, lambda frames: any(f[1] in main for f in frames))
                self.check(name, ours, theirs, whole)
                self.check_names(name, *self.names[name])


if __name__ == "__main__":
    support.main()
