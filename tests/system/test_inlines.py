#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Inlined functions of programs built with -g -O2: with the debug information in the file, in a file that its
.gnu_debuglink names, compressed, and made smaller by dwz, which moves what is common to a third file; and none where that file belongs to somebody else. One recording, and perf's
own of the same seconds, which expands inlined functions by addr2line. Then that file is given to resymbolise: leaves get what addr2line -i says of
their addresses.

A chain is what is on the stack from the last function on that has code of its own. Of perf's samples the share whose chain perfcam has, too,
is asked for, and that each chain has about the same share of both."""
import collections
import json
import os
import re
import signal
import subprocess

import support

SECONDS = 4
SOURCE = os.path.join(os.environ["PERFCAM_SOURCE"], "tests", "workloads", "inlines.c")
FRAME = re.compile(r"\s+[0-9a-f]+ (.*?) \((.*)\)$")

SPLIT = "objcopy --only-keep-debug $f $d && strip $f && objcopy --add-gnu-debuglink=$d $f"
PROGRAMS = {
    "whole": "true",
    "split": "d=$f.debug; " + SPLIT,
    "packed": "mkdir .debug; d=.debug/packed.debug; " + SPLIT + " && objcopy --compress-debug-sections $d $d.z"
              " && objcopy --remove-section .gnu_debuglink $f && mv $d.z $d && objcopy --add-gnu-debuglink=$d $f",
    "shared": "d=$f.debug; objcopy --only-keep-debug $f $d && cp $d other && dwz -m common.debug $d other && strip $f"
              " && objcopy --add-gnu-debuglink=$d $f && rm other",
    "forged": "d=$f.debug; " + SPLIT + " && chown 12345 $d",
}


def chain_of(names):
    """From the last of the program's functions that are never inlined; None: there is none, or others below it."""
    at = [i for i, name in enumerate(names) if name in ("main", "spin", "fill", "sum")]
    chain = tuple(names[at[-1]:]) if at else ()
    return chain if set(chain[1:]) <= {"turn", "mix", "hash", "place", "make", "count"} and chain else None


class Inlines(support.Case):
    def build(self, name, after):
        path = os.path.join(self.dir, name)
        subprocess.run(["gcc", "-g", "-O2", SOURCE, "-o", path], check=True)
        subprocess.run(["sh", "-ec", f"cd {self.dir}; f={name}; {after}"], check=True)
        return path

    def perfs(self, path):
        """{chain: samples} of perf's."""
        text = subprocess.run(["perf", "script", "--inline", "-F", "comm,ip,sym,dso", "-i", path],
                              check=False, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
                              errors="replace", timeout=120).stdout
        found = collections.Counter()
        for record in text.split("\n\n"):
            frames = [FRAME.match(line) for line in record.splitlines()[1:]]
            names = [m[1] for m in reversed(frames) if m and not m[2].startswith("[kernel")]
            found[chain_of(names)] += 1
        del found[None]
        return found

    def ours(self, name):
        """{chain: samples} of perfcam's."""
        found = collections.Counter()
        for stack, n in self.folded("--comm", name, "--user-only").items():
            found[chain_of(stack)] += n
        del found[None]
        return found

    def check_lines(self, name):
        """Source lines of leaves lie inside of their functions, as the source has these."""
        extents, at = {}, None
        with open(SOURCE, encoding="utf-8") as source:
            for number, line in enumerate(source, 1):
                head = re.match(r"(?:[A-Za-z].* \**)(\w+)\(.*\)$", line)
                at = head[1] if head else at
                if at and line == "}\n":
                    extents[at], at = (extents.get(at, number), number), None
                elif head:
                    extents[at] = number
        r = support.perfcam("script", "-F", "comm,ip,sym,srcline", "--store", self.store, "--comm", name,
                            "--user-only")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        leaves = re.findall(r"(\w+)(?: \(.*\))?\n  (\S+):(\d+)\n", r.stdout)
        lines = [(sym, int(line)) for sym, file, line in leaves
                 if sym in ("spin", "mix", "turn") and file == "inlines.c"]
        inside = [1 for sym, line in lines if extents[sym][0] <= line <= extents[sym][1]]
        support.note(f"{name}: {len(inside)} of {len(lines)} lines lie inside of their functions")
        self.assertGreater(len(lines), 30)
        # A table by lines counts the same samples.
        r = support.perfcam("top", "--sort", "srcline", "--store", self.store, "--comm", name, "--user-only", "--json",
                            "-n", "1000")
        counted = {row["srcline"]: row["self"]["samples"] for row in json.loads(r.stdout)["rows"]}
        known = collections.Counter(f"{file}:{line}" for _, file, line in leaves)
        self.assertEqual({k: n for k, n in counted.items() if k != "[unknown]"}, known)
        self.assertGreaterEqual(len(inside) / len(lines), 0.99)

    def check_dump(self):
        """Every part of a window of the recorder's own has a name, the source lines among them."""
        parts = set()
        for name in sorted(os.listdir(self.store)):
            if name.endswith(".pcw"):
                r = support.perfcam("verify", "--dump", os.path.join(self.store, name), "--json")
                parts |= {p["part"] for p in json.loads(r.stdout)}
        self.assertIn("lines", parts)
        self.assertFalse(parts & {None, "", "(null)"}, parts)

    def leaves(self, name):
        """Leaves in the program's own code, each as the lines of its sample: where, and what hangs below."""
        r = support.perfcam("script", "-F", "comm,ip,sym,dso,srcline", "--store", self.store, "--comm", name, "--user-only")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        for record in r.stdout.split("\n\n"):
            lines = record.splitlines()[1:]
            own = [line for line in lines if line.startswith("\t") and not line.endswith("(inlined)")]
            if own and own[0].endswith(f"/{name})"):
                yield lines

    def said_by_addr2line(self, debug, addresses):
        """{address: (chain, the outermost first; file:line of the innermost)}"""
        text = subprocess.run(["addr2line", "-a", "-i", "-f", "-s", "-e", debug, *addresses], check=True,
                              stdout=subprocess.PIPE, text=True).stdout
        said = {}
        for part in re.split(r"^0x", text, flags=re.M)[1:]:
            at, *lines = part.splitlines()
            said[int(at, 16)] = tuple(reversed(lines[::2])), lines[1].split(" (disc")[0]
        return said

    def check_late(self, name):
        """What resymbolise says of leaves is what addr2line -i says of their addresses."""
        build_id = re.search(r"Build ID: (\w+)", subprocess.run(
            ["readelf", "-nW", os.path.join(self.dir, name)], check=True, stdout=subprocess.PIPE, text=True).stdout)[1]
        symfs = os.path.join(self.dir, "symfs")
        where = os.path.join(symfs, ".build-id", build_id[:2], build_id[2:] + ".debug")
        os.makedirs(os.path.dirname(where))
        os.rename(os.path.join(self.dir, name + ".debug"), where)
        before = collections.Counter(int(lines[0].split()[0], 16) for lines in self.leaves(name))
        said = self.said_by_addr2line(where, map(hex, before))
        chains, at = collections.Counter(), collections.Counter()
        for address, n in before.items():
            chains[said[address][0]] += n
            at[said[address][1]] += n
        self.assertGreater(sum(n for c, n in chains.items() if len(c) > 1), sum(chains.values()) // 2)
        r = support.perfcam("resymbolise", "--json", "--store", self.store, "--symfs", symfs)
        self.assertEqual(r.returncode, 0, r.stderr)
        done = json.loads(r.stdout)
        self.assertGreater(done["inlined_leaves"], 3)
        self.assertGreater(done["lined_leaves"], done["inlined_leaves"])
        found, lined = collections.Counter(), collections.Counter()
        for lines in self.leaves(name):
            names = [line.split()[1] for line in lines if line.startswith("\t")]
            inlined = [line for line in lines if line.endswith("(inlined)")]
            found[tuple(reversed(names[:len(inlined) + 1]))] += 1
            lined[lines[1].strip() if lines[1].startswith("  ") else "?"] += 1
        support.note(f"{name}: {sum(found.values())} leaves, {done['inlined_leaves']} addresses with inlined functions")
        self.assertEqual(found, chains)
        # Two addresses of one function may be inlined differently, and then contradict each other: no line.
        wrong = {line: (n, at[line]) for line, n in lined.items() if line != "?" and n > at[line]}
        self.assertEqual(wrong, {})
        self.assertLess(lined["?"], sum(lined.values()) * 0.1)
        again = json.loads(support.perfcam("resymbolise", "--json", "--store", self.store, "--symfs", symfs).stdout)
        self.assertEqual(again["named_by"]["symfs"] + again["rewritten"], 0, again)

    def check_callers(self, path, program):
        """With --addresses callers have lines, too: those that addr2line says."""
        r = support.perfcam("script", "-F", "comm,ip,sym,dso,srcline", "-i", path, "--comm", "whole", "--user-only")
        self.assertIn(r.returncode, (0, 3), r.stderr)
        callers = collections.Counter()
        for record in r.stdout.split("\n\n"):
            frames = re.findall(r"^\s+([0-9a-f]+) (\S+) \((.*)\)(?:\n  (\S+:\d+))?$", record, re.M)
            callers.update((int(at, 16), line) for at, _, dso, line in frames[1:] if dso.endswith("/whole") and line)
        said = self.said_by_addr2line(program, {hex(at) for at, _ in callers})
        support.note(f"{len(callers)} callers' lines, of {sum(callers.values())} frames")
        self.assertGreater(len(callers), 0)
        self.assertEqual([(hex(at), line, said[at]) for at, line in callers if said[at][1] != line], [])

    def test_chains_are_perfs(self):
        programs = {name: self.build(name, after) for name, after in PROGRAMS.items()}
        data = os.path.join(self.dir, "perf.data")
        addresses = os.path.join(self.dir, "addresses.pcw")
        second = self.start(support.BIN, "record", "--addresses", "-o", addresses,
                            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        r = self.recorder("-F", "499").ready()
        running = [self.start(path, str(SECONDS), stdout=subprocess.DEVNULL)
                   for name, path in programs.items() if name != "whole"]
        perf = self.start("perf", "record", "-q", "-e", "cpu-clock:u", "-F", "499", "--call-graph",
                          "dwarf,4096", "--no-bpf-event", "-o", data, programs["whole"], str(SECONDS),
                          stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        for p in running + [perf]:
            self.assertEqual(p.wait(support.PATIENCE), 0)
        second.send_signal(signal.SIGINT)
        self.assertEqual(second.wait(support.PATIENCE), 0)
        status = r.status()
        self.assertEqual(r.stop(), 0, r.said())
        self.check_dump()
        theirs = self.perfs(data)
        total = sum(theirs.values())
        self.assertGreater(total, 100)
        self.assertGreater(sum(n for c, n in theirs.items() if len(c) > 1), total // 2, "perf shows none inlined")
        for name in ("whole", "split", "packed", "shared"):
            ours = self.ours(name)
            mine = sum(ours.values())
            same = sum(n for c, n in theirs.items() if c in ours)
            support.note(f"{name}: {mine} samples; of perf's {total} {same} have a chain of these")
            self.assertGreater(mine, 40, name)
            self.assertGreaterEqual(same / total, 0.95, name)
            for chain, n in theirs.items():
                if n / total > 0.1:
                    self.assertAlmostEqual(n / total, ours[chain] / mine, delta=0.2, msg=f"{name}: {chain}")
            self.check_lines(name)
        # Of another user's debug file nothing is believed.
        names = {f for stack in self.folded("--comm", "forged") for f in stack}
        self.assertFalse(names & {"main", "spin", "mix", "turn", "fill"}, names)
        self.assertTrue(any(n.startswith("[forged+0x") for n in names), names)
        with self.subTest("late"):
            self.check_late("forged")
        with self.subTest("callers"):
            self.check_callers(addresses, programs["whole"])
        self.assertGreaterEqual(status["names"]["debug_files"], 3)
        self.assertEqual(status["names"]["elsewhere_files"], 0)
        self.assertEqual(status["names"]["poisoned_files"] + status["names"]["symbols_only_files"], 0)


if __name__ == "__main__":
    support.main()
