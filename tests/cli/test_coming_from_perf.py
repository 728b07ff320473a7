#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""docs/coming-from-perf.md: a row for every subcommand of perf, and every line of ours in it works.

Lines that read a file are run on one. Lines that look at the store are run on a store of the same samples. Lines
that record or serve are held against the options that their verb has."""
import os
import re
import shlex
import subprocess

import support
import tap
from support import Case

PAGE = os.path.join(support.SOURCE, "docs", "coming-from-perf.md")
RUNS = {"record", "run", "serve"}


# The lines of the talk that people learn perf by, by subcommand: what tells each of them from the others.
ONE_LINERS = {
    "list": ("perf list", "'sched:*'", "grep sched"),
    "stat": ("stat command", "-a sleep 5", "-dp PID", "-e LLC-loads", "'syscalls:sys_enter_*' -p PID", "'block:*' -a sleep 10"),
    "top": ("-e raw_syscalls:sys_enter -ns comm",),
    "record": ("-F 99 command", "-F 99 -p PID -g -- sleep 10", "-F 99 -ag -- sleep 10", "-e L1-dcache-load-misses -c 10000",
               "-e LLC-load-misses -c 100", "-e cycles:k -a", "-e cycles:u -a", "-e sched:sched_process_exec -a",
               "-e context-switches -ag", "-e migrations -a", "-e syscalls:sys_enter_connect -ag",
               "-e block:block_rq_insert -ag", "-e block:block_rq_issue -e block:block_rq_complete -a",
               "'nr_sector > 200'", "'rwbs == \"WS\"'", "'rwbs ~ \"*W*\"'", "'ext4:*' -o", "'bytes > 100'",
               "'size > 0 && skc_state != 1' -a"),
    "report": ("perf report", "-n", "--stdio"),
    "script": ("perf script", "-f comm,tid,pid,time,cpu,event,ip,sym,dso", "-D", "stackcollapse-perf.pl ¦ flamegraph.pl"),
    "annotate": ("--stdio",),
    "probe": ("--add tcp_sendmsg", "-d", "'tcp_sendmsg%return'", "-V", "-L", "'tcp_sendmsg:81 seglen'",
              "'do_sys_open filename:string'", "'myfunc%return +0($retval):string'", "-x /lib64/libc.so.6 malloc", "-l",
              "'tcp_sendmsg %ax %dx %cx'", "bytes=%cx'", "%return $retval'", "size'", "size sk->__sk_common.skc_state'"),
}


def lines():
    with open(PAGE, encoding="utf-8") as f:
        text = f.read().replace("\\|", "¦")
    rows = [re.split(r" \| ", line.strip("| \n")) for line in text.split("\n")
            if line.startswith("|") and "---" not in line and "| perfcam |" not in line]
    return [(cells[0], cells[1]) for cells in rows if len(cells) == 2]


class ComingFromPerf(Case):
    def test_every_subcommand_of_perf_has_a_row(self):
        out = subprocess.run(["perf", "--help"], stdout=subprocess.PIPE,
                             stderr=subprocess.DEVNULL).stdout.decode()
        commands = set(re.findall(r"^   ([a-z][a-z0-9-]+) ", out, re.M))
        self.assertGreater(len(commands), 20)
        rows = {cell for cell, _ in lines()}
        missing = [c for c in commands if f"`perf {c}`" not in rows]
        self.assertEqual(missing, [])

    def test_every_line_people_know_has_a_row(self):
        rows = [cell for cell, _ in lines()]
        missing = [(command, line) for command, known in ONE_LINERS.items() for line in known
                   if not any(cell.startswith(f"`perf {command}") and line in cell for cell in rows)]
        self.assertEqual(missing, [])
        self.assertGreater(sum(map(len, ONE_LINERS.values())), 50)

    def test_every_row_says_what_to_do(self):
        rows = lines()
        self.assertGreater(len(rows), 50)
        for left, right in rows:
            self.assertRegex(right, "`perfcam |use perf", left)

    def test_every_line_of_ours_works(self):
        path = os.path.join(support.DATA, "nginx-997.perf.data.zst")
        with open(path, "rb") as f:
            self.path("perf.data", support.unzstd(f.read()))
        with open(os.path.join(support.DATA, "window-1.pcw"), "rb") as f:
            self.path("window.pcw", f.read())
        home = self.path("home")
        os.mkdir(home)
        self.good("import", "--store", "store", "--at", "@1794710713", "perf.data", cwd=self.dir)
        ran = 0
        for _, right in lines():
            for line in re.findall(r"`perfcam ([^`]*)`", right):
                words = shlex.split(line)
                with self.subTest(line):
                    if words[0] in RUNS or "--follow" in words:
                        self.check_options(words)
                        continue
                    if "perf.data" not in words and "window.pcw" not in words and \
                            words[0] not in ("config", "--version"):
                        # The recorder's store: of this test.
                        words += ["--store", "store"]
                        words = ["@1794710715" if w == "03:14:07" else w for w in words]
                        words = ["100000h" if w == "10s" else w for w in words]
                        words = ["13378" if w == "PID" else w for w in words]
                    r = support.run(*words, cwd=self.dir, env={"HOME": home})
                    # perf.data has no names of the kernel that it was made on.
                    nothing = words[0] == "search" and b"nothing that matches" in r.err
                    self.assertTrue(r.code in (0, 3) or nothing, r.err)
                    self.check_messages(r)
                    self.assertTrue(r.out or "-o" in words or nothing, line)
                    ran += 1
        self.assertGreater(ran, 25)

    def check_options(self, words):
        text = self.good(words[0], "--help").decode()
        for word in words[1:words.index("--") if "--" in words else None]:
            if word.startswith("--"):
                self.assertRegex(text, rf"(?m)^ +(-\w, )?{word}\b")
            elif re.fullmatch("-[A-Za-z]", word):
                self.assertRegex(text, rf"(?m)^  {word}, --")


tap.main()
