#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs as people run them, without frame pointers: Debian's redis-server, postgres, python3
and nginx, and a C++ and a Rust program at -O2; walked in the kernel by perfcam, and by perf from copies
of stacks (--call-graph dwarf) at the same time.

Both are samples of the same seconds, taken at other instants, so stacks are compared as what each call
looks like: an edge is (caller's file and address, callee's file), and of perf's edges, each as often as
perf saw it, the share that perfcam saw too is asked for. Two runs of perf would not agree wholly either: an
edge that is seen once in N samples by one is missed by the other as often as not.
"""
import collections
import os
import re
import shutil
import pwd
import socket
import subprocess
import threading
import time

import support

SECONDS = 6
HZ = 499
COMPLETE = 0.95
SAME_EDGES = 0.90
LEAST = 20  # samples of perf's below which nothing is compared
FRAME = re.compile(r"\s+([0-9a-f]+) (.*) \((.*)\)$")
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
        self.pids, self.stop = {}, threading.Event()
        for start in (self.redis, self.postgres, self.python, self.nginx, self.cxx, self.rust):
            start()

    def run(self, *command, **options):
        return self.case.start(*command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                               **options)

    def build(self, name, suffix, text, *command):
        source, program = os.path.join(self.dir, name + suffix), os.path.join(self.dir, name)
        with open(source, "w", encoding="utf-8") as f:
            f.write(text)
        subprocess.run([*command, "-o", program, source], check=True)
        self.pids[name] = [self.run(program).pid]

    def redis(self):
        if not shutil.which("redis-server"):
            support.not_run("redis", "no redis-server")
            return
        port = str(free_port())
        server = self.run("redis-server", "--port", port, "--bind", "127.0.0.1", "--save", "",
                          "--dir", self.dir)
        time.sleep(0.3)
        self.run("redis-benchmark", "-p", port, "-c", "8", "-n", "100000000", "-t", "lrange_600,mset")
        self.pids["redis"] = [server.pid]

    def postgres(self):
        tools = next((p for p in (f"/usr/lib/postgresql/{v}/bin" for v in range(20, 12, -1))
                      if os.path.exists(p + "/pgbench")), None)
        if not tools:
            support.not_run("postgres", "no /usr/lib/postgresql")
            return
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
        if not shutil.which("nginx"):
            support.not_run("nginx", "no nginx")
            return
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
        server = self.run("nginx", "-p", place, "-c", place + "/nginx.conf")
        threading.Thread(target=self.fetch, args=(port,), daemon=True).start()
        self.pids["nginx"] = [server.pid]

    def fetch(self, port):
        request = b"GET /page.txt HTTP/1.0\r\nAccept-Encoding: gzip\r\n\r\n"
        while not self.stop.is_set():
            try:
                with socket.create_connection(("127.0.0.1", port), 5) as s:
                    s.sendall(request)
                    while s.recv(1 << 16):
                        pass
            except OSError:
                time.sleep(0.1)

    def cxx(self):
        if not shutil.which("g++"):
            support.not_run("c++", "no g++")
            return
        self.build("cxx", ".cc", CXX, "g++", "-O2", "-fomit-frame-pointer")

    def rust(self):
        if not shutil.which("rustc"):
            support.not_run("rust", "no rustc")
            return
        self.build("rust", ".rs", RUST, "rustc", "-C", "opt-level=2", "-C", "force-frame-pointers=no")


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


def stacks(lines):
    """[(pid, time, frames)] of perf script text; a frame: (file, address), leaf first, user half only."""
    found, frames = [], None
    for line in lines:
        m = HEAD.match(line)
        if m:
            frames = []
            found.append((int(m[2]), int(m[3]) + int(m[4]) / 10 ** len(m[4]), frames))
            continue
        m = FRAME.match(line)
        if m and frames is not None and not m[3].startswith(("[kernel", "[guest")):
            frames.append((m[2] if m[3] == "[unknown]" and m[2].startswith("[") else
                           os.path.basename(m[3]), int(m[1], 16)))
    return found


def edges(samples):
    """Each call: from where (file, address) into which file."""
    seen = collections.Counter()
    for _, _, frames in samples:
        for callee, caller in zip(frames, frames[1:]):
            seen[caller, callee[0]] += 1
    return seen


def is_cut(frames):
    return bool(frames) and frames[-1][0] in ("[truncated]", "[unmapped]")


class Oracles(support.Case):
    def record(self):
        """Both at the same time; {name: (perfcam's samples, perf's)} of the seconds both were there."""
        programs = Programs(self)
        recorder = self.recorder("--source", "bpf", "-F", str(HZ), "--addresses").ready()
        time.sleep(2)  # the tables are there a second after a sample needed them
        perf = {}
        for name, pids in programs.pids.items():
            path = os.path.join(self.dir, name + ".perf")
            perf[name] = (path, self.start(
                "perf", "record", "-q", "-F", str(HZ), "-e", "cpu-clock:u", "--call-graph", "dwarf,16384",
                "-p", ",".join(map(str, pids)), "-o", path, "--", "sleep", str(SECONDS),
                stderr=subprocess.DEVNULL))
        for _, p in perf.values():
            p.wait(60)
        self.assertEqual(recorder.stop(), 0)
        programs.stop.set()
        both = {}
        for name, pids in programs.pids.items():
            text = subprocess.run(["perf", "script", "--no-inline", "-F", "comm,pid,tid,time,ip,sym,dso",
                                   "-i", perf[name][0]], stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True, errors="replace",
                                  timeout=120, check=False).stdout
            theirs = stacks(text.splitlines())
            r = support.perfcam("export", "perf-script", "--store", self.store, "--pid",
                                ",".join(map(str, pids)))
            ours = [s for s in stacks(r.stdout.splitlines()) if s[2]]
            if theirs:
                first, last = theirs[0][1], theirs[-1][1]
                ours = [s for s in ours if first - 0.1 <= s[1] <= last + 0.1]
            both[name] = (ours, theirs)
        return both

    def test_stacks_are_complete_and_those_that_perf_finds(self):
        self.assertIn("bpf", support.sources())
        if not shutil.which("perf"):
            self.fail("no perf here")
        both = self.record()
        self.assertGreaterEqual(len(both), 2)
        for name, (ours, theirs) in both.items():
            with self.subTest(name):
                whole = sum(not is_cut(frames) for _, _, frames in ours) / max(1, len(ours))
                theirs_whole = [s for s in theirs if len(s[2]) > 1]
                ours_edges, their_edges = edges(ours), edges(theirs_whole)
                total = sum(their_edges.values())
                same = sum(n for e, n in their_edges.items() if e in ours_edges) / max(1, total)
                depth = [sum(len(s[2]) for s in k) / max(1, len(k)) for k in (ours, theirs)]
                support.note(f"{name}: {len(ours)} samples, {100 * whole:.1f} % complete, depth "
                             f"{depth[0]:.1f}; perf {len(theirs)}, depth {depth[1]:.1f}, "
                             f"{100 * same:.1f} % of its calls seen")
                self.assertGreaterEqual(whole, COMPLETE, name)
                self.assertGreaterEqual(len(theirs), LEAST, name)
                self.assertGreaterEqual(same, SAME_EDGES, name)


if __name__ == "__main__":
    support.main()
