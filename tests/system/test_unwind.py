#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Stacks of programs without frame pointers, complete: in the kernel by tables, of short-lived ones from copies
of their stacks; against what is known of them, and against perf's own walk of the same run."""
import collections
import json
import os
import re
import shutil
import struct
import subprocess
import time

import dump
import support

DEPTH = 60
SECOND = 10**9
OTHERS = ("unframed_moved", "unframed_anywhere")  # their addresses are reckoned otherwise
FRAME = re.compile(r"\s+[0-9a-f]+ (.*?)(?:\+0x[0-9a-f]+)? \((.*)\)$")


def narrow(path):
    """A program of 32 bits: it calls what follows, and stays there. No compiler for such is needed."""
    code, base, head = b"\xe8\0\0\0\0\xeb\xfe", 0x8048000, 84
    size = head + len(code)
    with open(path, "wb") as f:
        f.write(b"\x7fELF\1\1\1" + bytes(9))
        f.write(struct.pack("<HHIIIIIHHHHHH", 2, 3, 1, base + head, 52, 0, 0, 52, 32, 1, 0, 0, 0))
        f.write(struct.pack("<IIIIIIII", 1, 0, base, base, size, size, 5, 4096) + code)
    os.chmod(path, 0o755)
    return path


def chain_of(frames):
    """[(name, file)], root first, up to bottom(): of the program by name, of others by file."""
    chain = []
    for name, module in frames:
        own = os.path.basename(module).startswith("workload_")
        chain.append(name if own else os.path.basename(module))
        if own and name == "bottom":
            return tuple(chain)
    return None


class Unwind(support.Case):
    def ours(self, samples, program):
        """{chain up to bottom(): samples}; None: it is not on the stack."""
        found = collections.Counter()
        for s in samples:
            if s.exe == program:
                user = [(f.name, f.module) for f in s.frames if f.kind != "kernel"]
                cut = user and s.frames[0].kind == "mark"
                found["cut" if cut else chain_of(user)] += 1
        return found

    def perfs(self, path):
        text = subprocess.run(["perf", "script", "--no-inline", "-F", "comm,ip,sym,dso", "-i", path],
                              check=False,
                              stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              errors="replace", timeout=120).stdout
        found = collections.Counter()
        for record in text.split("\n\n"):
            frames = [FRAME.match(line) for line in record.splitlines()[1:]]
            if frames and all(frames):
                found[chain_of([(m[1], m[2]) for m in reversed(frames)])] += 1
        return found

    def known(self, chain, depth):
        """From main on it is exactly this; above is what started it."""
        return (chain and chain != "cut" and chain[0] == "_start" and
                chain[-depth - 2:] == ("main",) + ("recurse",) * depth + ("bottom",))

    def share(self, what, found, depth, least=50):
        """Of those that have a known chain: (how many, how many have it)."""
        judged = {c: n for c, n in found.items() if c is not None}
        total, right = sum(judged.values()), sum(n for c, n in judged.items() if self.known(c, depth))
        support.note(f"{what}: {right} of {total} are the known chain, {found['cut']} cut")
        self.assertGreater(total, least, what)
        # What is not cut is right: a wrong stack is worse than none.
        wrong = [c for c in judged if c != "cut" and not self.known(c, depth)]
        self.assertEqual(wrong, [], what)
        return total, right

    def check_workers(self, status, store, path, pid):
        """What the kernel does in a thread of a process's has no user stack, and a reason of its own."""
        workers = [s for s in store.of_pid(pid) if s.tid != pid and s.comm.startswith("iou-wrk-")]
        self.assertGreater(len(workers), 5)
        self.assertEqual([s for s in workers if any(f.kind != "kernel" for f in s.frames)], [])
        self.assertGreaterEqual(status["stacks"]["ends"]["io_worker"], len(workers))
        said = json.loads(support.perfcam("doctor", "--json", "--store", path).stdout)["stacks"]
        row = next(p for p in said["processes"] if p["pid"] == pid)
        self.assertEqual((row["io_worker"], row["samples"]), (len(workers), len(store.of_pid(pid))))

    def check_trapped(self, store):
        """What a signal interrupted at its first byte has its own name, not that of who is before it."""
        found = [s.names for s in store.samples if s.exe == support.workload("trapped") and s.has("on_trap") and s.frames[0].kind != "mark"]
        support.note(f"{len(found)} stacks of a signal handler")
        self.assertGreater(len(found), 5)
        # Between both is what the C library has for the kernel to return to.
        self.assertEqual({n[n.index("main"):n.index("on_trap") - 1] for n in found}, {("main", "trapped")})

    def check(self, *args, beside_perf=False):
        """One program that lives, perf beside it; then a storm of such that live for 50 ms."""
        path = os.path.join(self.dir, "perf.data")
        r = self.recorder(*args).ready()
        # Whoever runs everything has its tables by then.
        time.sleep(1)
        worker = self.start(support.workload("worker"), "0.4", stdout=subprocess.DEVNULL)
        self.assertEqual(worker.wait(support.PATIENCE), 0)
        self.load("trapped", share=20)
        perf = ["perf", "record", "-q", "-e", "cpu-clock:u", "-F", "97", "--call-graph", "dwarf,8192",
                "--no-bpf-event", "-o", path] if beside_perf else []
        self.assertEqual(self.start(*perf, support.workload("unframed"), "2.5", str(DEPTH),
                                    stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                         .wait(support.PATIENCE), 0)
        before = time.monotonic_ns()
        programs = " ".join(support.workload(name) for name in ("unframed", *OTHERS))
        storm = f'i=0; while [ $i -lt 20 ]; do for p in {programs}; do $p 0.05 20; done; i=$((i+1)); done'
        self.assertEqual(self.start("sh", "-c", storm).wait(support.PATIENCE), 0)
        thin = self.start(narrow(os.path.join(self.dir, "narrow")))
        support.let_run(thin.pid, 0.3)
        thin.kill()
        status = r.status()
        self.assertEqual(r.stop(), 0, r.said())
        self.check_narrow(r.store, thin.pid)
        store = dump.Store(r.store)
        program = support.workload("unframed")
        first = min(s.time for s in store.samples if s.exe == program)
        early, lives, short = (self.ours([s for s in store.samples if since <= s.time < until], program)
                               for since, until in ((first, first + 1e9), (first + 1e9, before), (before, 2 ** 63)))
        one, all_one = self.share("one that lives, but for its first second", lives, DEPTH)
        many, all_many = self.share("a storm of short ones", short, 20)
        young, all_young = self.share("its first second", early, DEPTH, -1)
        # A second after the first sample that needed them all tables are there. Until then copies stand in, as in the storm, and
        # with the other source for ever: these wait for a niced symboliser, and go without it after 400 ms.
        self.assertGreaterEqual(all_one / one, 0.99 if beside_perf else 0.9)
        self.assertGreaterEqual((all_young + all_many) / (young + many), 0.85)
        for name in OTHERS:
            found, whole = self.share(name, self.ours(store.samples, support.workload(name)), 20)
            self.assertGreaterEqual(whole / found, 0.7, name)
        if beside_perf:
            # perf's own walk of the same process: the same chain, frame by frame, up to the root.
            theirs = {c for c in self.perfs(path) if self.known(c, DEPTH)}
            self.assertEqual({c for c in lives if self.known(c, DEPTH)}, theirs)
        self.assertGreater(status["stacks"]["copies_unwound"], 0)
        self.check_workers(status, store, r.store, worker.pid)
        self.check_trapped(store)
        self.assertLess(status["processes"][0]["resident_bytes"], 64 << 20)
        return status, store

    def check_narrow(self, store, pid):
        """That it has 32 bits is the reason, of all its stacks."""
        said = json.loads(support.perfcam("doctor", "--json", "--last", "1m", "--store", store).stdout)
        row = next(p for p in said["stacks"]["processes"] if p["pid"] == pid)
        support.note(f"32 bits: {row['user']} stacks, {row['incomplete']}")
        self.assertGreater(row["user"], 5)
        self.assertEqual((row["complete"], row["incomplete"]), (0, {"compat": row["user"]}))

    def test_tables_in_the_kernel(self):
        status, store = self.check("--source", "bpf", beside_perf=True)
        self.assertTrue(store.facts["unwind"].startswith("tables ("), store.facts)
        self.assertIn("unwound in the kernel", status["stacks"]["how"])
        self.assertLess(status["stacks"]["table_bytes"], status["stacks"]["max_bytes"])
        self.assertIn("copies_denied", status["stacks"])

    def test_a_library_that_comes_late_is_covered_within_a_second(self):
        """Of the first sample in it, by the samples' own times. Copies are few at this rate: until its table is there, most
        of what is sampled is cut. Three times, since who makes the table is niced, and others run here, too."""
        r = self.recorder("--source", "bpf", "-F", "997", "--max-cpu", "none").ready()
        time.sleep(1)
        late = []
        for i in range(3):
            name = "late_library_linked.so" if i else "late_library.so"
            library = shutil.copy(support.workload(name), os.path.join(self.dir, f"late_{i}.so"))
            late.append((self.load("late", "0.4", library, share=25), library))
        for p, _ in late:
            self.assertEqual(p.wait(support.PATIENCE), 0)
        time.sleep(0.6)
        ends = r.status()["stacks"]["ends"]
        self.assertEqual(r.stop(), 0, r.said())
        store, took, cut = dump.Store(r.store), [], 0
        for _, library in late:
            inside = sorted((s for s in store.samples if s.frames and s.frames[-1].module == library), key=lambda s: s.time)
            self.assertGreater(len(inside), 150)
            pending = [s for s in inside if s.frames[0].kind == "mark"]
            cut += len(pending)
            took.append((pending[-1].time if pending else inside[0].time) - inside[0].time)
            # What is not cut is whole, from the first sample on.
            self.assertEqual([s for s in inside if s.frames[0].kind != "mark" and not s.has("main")], [])
            self.assertEqual([s for s in inside if s.names[-1] != "late_work"], [])
        support.note("a table came after " + ", ".join(f"{t / 1e6:.0f} ms" for t in took) + f"; {cut} samples were cut")
        self.assertLess(min(took), SECOND)
        self.assertGreaterEqual(ends["pending"], cut)

    def test_copies(self):
        _, store = self.check("--source", "perf", "--unwind", "dwarf")
        self.assertEqual(store.facts["unwind"], "copies")


if "bpf" not in support.sources():
    del Unwind.test_tables_in_the_kernel
    del Unwind.test_a_library_that_comes_late_is_covered_within_a_second
if shutil.which("perf") is None:
    support.not_run("stacks against perf's", "there is no perf")
    del Unwind
support.main()
