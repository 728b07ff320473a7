#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Compares `perfcam export folded` with stackcollapse-perf.pl on random perf script texts.

    PEERS=DIR tests/golden/differential.py [--texts N] [--seed N] [--keep DIR] [FILE...]

Each text is folded by both under every set of options; the outputs must be equal, byte for byte.
With FILEs those are compared instead. Texts are well formed, as perf prints them, and avoid only
what README.md lists as different on purpose. Prints TAP: one case per set of options.
tests/cli/test_folded_random.py uses the same texts where there is no peer.
"""
import argparse
import os
import random
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
PEER = os.path.join(os.environ.get("PEERS", ""), "stackcollapse-perf.pl")
BIN = os.environ.get("PERFCAM_BIN", os.path.join(HERE, "..", "..", "build", "perfcam"))

# ours, the peer's
SETS = [
    ([], []),
    (["--annotate"], ["--all"]),
    (["--annotate=kernel"], ["--kernel"]),
    (["--annotate=jit"], ["--jit"]),
    (["--with-pid"], ["--pid"]),
    (["--with-tid"], ["--tid"]),
    (["--addrs"], ["--addrs"]),
    (["--annotate", "--with-pid"], ["--all", "--pid"]),
    (["--annotate", "--with-pid", "--with-tid", "--addrs"], ["--all", "--pid", "--tid", "--addrs"]),
    (["--event-type", "cycles"], ["--event-filter=cycles"]),
]

NAMES = """main f g start_thread __libc_start_main _ZN3foo3barEv operator new operator->
    (anonymous namespace):: std::vector<int>:: net/http.(*conn).serve .(*T). {{closure}} <T as U>::
    Lorg/apache/A; Ljava/lang/String; ;.call( ->  -> const (int) (char const*, (void) [clone .cold]
    .part.0 @plt [unknown] [k] _[i] _[j] _[k] ; : " ' \\ / ( ) [ ] < > + +0x +0x10 0x - . .( ). ,
    $ L L/ \u00e9 \u65e5 # unknown vmlinux kernel java a b c 0 1 9 * & = ~ | ! ? @ % ^ ` { }""".split()
MODULES = ["[kernel.kallsyms]", "[unknown]", "[nf_conntrack]", "[vdso]", "[heap]", "[stack]", "//anon",
           "/usr/lib/x86_64-linux-gnu/libc.so.6", "/bin/app", "/tmp/perf-123.map", "/tmp/perf-9.map.old",
           "/tmp/jitted-1-2.so", "/lib/modules/6.1.0/build/vmlinux", "/boot/vmlinux-6.1", "inlined",
           "/memfd:x (deleted)", "/usr/bin/gone (deleted)", "/opt/my app/bin", "/a;b", "/a'b\"", "/a(b)",
           "/a (b) c", "[guest.kernel.kallsyms]", "/x/[y]", "/a->b", "/unknown/vmlinux", "/proc/1/root/tmp/perf-1.map"]
COMMS = ["swapper", "java", "javac", "node", "Web Content", "C2 CompilerThre", "kworker/0:1-eve", "(sd-pam)",
         "perf-exec", "pool 7", "a;b", "x", "dd", "[kthreadd]", "rcu: gp", "-bash", "12", "1/2", "tab\tx", "G1 Young"]
EVENTS = ["cycles", "cycles:u", "cpu-clock:pppH", "instructions", "cpu/event=0x3c/", "page-faults", "cycles"]
DETAILS = ["prev_comm=a prev_pid=1 ==> next_comm=b", "(ffffffff81704e60)", "259,0 W 4096 () 52 + 8 [dd]", "a: 5 cycles:",
           "dfd: 0x9c, flags: 0x0", "x:", "1 x:", "y: cycles: ", "n=1 cycles:"]


def some(r, parts, least, most):
    return "".join(r.choice(parts) + r.choice(["", "", "", " "]) for _ in range(r.randint(least, most)))


def random_name(r):
    kind = r.random()
    if kind < 0.1:
        return "[unknown]"
    if kind < 0.4:
        return r.choice(["main", "f", "g(int)", "h", "Lorg/A;::b", "a->b", "x.(*T).y"])
    return some(r, NAMES, 1, 6).strip() or "f"


def random_frame(r):
    name = random_name(r)
    if r.random() < 0.7:
        name += "+0x%x" % r.choice([0, 1, 16, r.getrandbits(12), r.getrandbits(48)])
    return "\t%16x %s (%s)" % (r.choice([0, 16, r.getrandbits(24), r.getrandbits(47), 2**64 - r.getrandbits(31) - 1]),
                               name, r.choice(MODULES))


def random_comm(r):
    if r.random() < 0.6:
        return r.choice(COMMS)
    comm = some(r, NAMES, 1, 4)[:15].strip(" #")
    return comm if len(comm) > 1 else "cc"


class Shape:
    """What perf prints of every sample of one file."""

    def __init__(self, r):
        self.timed = r.random() < 0.9
        self.cpu = r.random() < 0.6
        self.pid = r.random() < 0.5
        self.period = r.choice(["always", "always", "never", "mixed"])
        self.width = r.choice([5, 7])
        self.details = r.random() < 0.3
        self.events = r.sample(EVENTS, r.randint(1, 3))
        self.time = r.randint(0, 10**6)


def random_head(r, s):
    comm = random_comm(r)
    if not s.timed:
        comm = comm.rstrip(": ") or "cc"
    top = 10**4 if len(comm) == 1 else 4194304
    pid, tid = (r.choice([0, r.randrange(top), r.randrange(min(top, 5000))]) for _ in range(2))
    line = comm + " " + ("%*d/%-*d" % (s.width, pid, s.width, tid) if s.pid else "%*d" % (s.width, tid))
    if s.cpu:
        line += " [%03d]" % r.randrange(8)
    if s.timed:
        s.time += r.choice([1, 1000, 123456])
        line += " %5d.%06d:" % divmod(s.time, 10**6)
        if s.period == "always" or (s.period == "mixed" and r.random() < 0.5):
            line += " %10d" % r.choice([0, 1, 1003009, r.getrandbits(30)])
    detail = r.choice(DETAILS) if s.details and r.random() < 0.5 else ""
    if not s.timed:
        detail = detail.rstrip(": ")
    event = "sched:sched_switch" if detail else r.choice(s.events)
    return line + " " + event + ": " + detail


def random_text(r):
    pool = [random_frame(r) for _ in range(r.randint(3, 40))]
    shape = Shape(r)
    lines = ["# ========", "# cmdline : /usr/bin/perf record -g", "#"] if r.random() < 0.3 else []
    for number in range(r.randint(1, 40)):
        frames = [r.choice(pool) for _ in range(r.choice([0, 1, 2, 5, 12]))]
        if not shape.timed and not number:
            frames = frames or pool[:1]
        lines += [random_head(r, shape), *frames, ""]
    return ("\n".join(lines) + "\n").encode()


def run(command, text):
    done = subprocess.run(command, input=text, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    return done.returncode, done.stdout, done.stderr


def compare(text, ours, peers):
    """None, or what is different."""
    code, out, err = run([BIN, "export", "folded", "-i", "-", *ours], text)
    _, expected, _ = run(["perl", PEER, *peers], text)
    expected = b"".join(line + b"\n" for line in sorted(expected.split(b"\n")[:-1]))
    if out == expected:
        return None
    mine, theirs = set(out.split(b"\n")), set(expected.split(b"\n"))
    lines = ["exit %d %s" % (code, err.decode(errors="replace").strip())]
    lines += ["peer: %r" % line for line in sorted(theirs - mine)[:3]]
    lines += ["ours: %r" % line for line in sorted(mine - theirs)[:3]]
    return "\n".join(lines)


def texts(options):
    if options.files:
        for path in options.files:
            with open(path, "rb") as f:
                yield os.path.basename(path), f.read()
        return
    for number in range(options.texts):
        seed = f"{options.seed}.{number}"
        yield "text " + seed, random_text(random.Random(seed))


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--texts", type=int, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--keep", help="write texts that differ into this directory")
    parser.add_argument("files", nargs="*")
    options = parser.parse_args()
    if not os.path.exists(PEER):
        sys.exit("PEERS=DIR must name a directory that holds stackcollapse-perf.pl")
    wrong = [[] for _ in SETS]
    count = 0
    for name, text in texts(options):
        count += 1
        for number, (ours, peers) in enumerate(SETS):
            difference = compare(text, ours, peers)
            if difference is None:
                continue
            wrong[number].append((name, difference))
            if options.keep:
                with open(os.path.join(options.keep, re.sub(r"\W", "-", name)), "wb") as f:
                    f.write(text)
    for number, (ours, _) in enumerate(SETS):
        failed = wrong[number]
        print(f"{'not ok' if failed else 'ok'} {number + 1} - {count} texts with {' '.join(ours) or 'no options'}")
        for name, difference in failed[:5]:
            print(f"# {name}")
            for line in difference.split("\n"):
                print(f"#   {line}")
        if failed:
            print(f"# {len(failed)} of {count} texts differ")
    print(f"1..{len(SETS)}")
    sys.exit(1 if any(wrong) else 0)


if __name__ == "__main__":
    main()
