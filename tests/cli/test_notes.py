#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Every view that names a function on which cpu-clock's unseen time lands says so, and no other does."""
import json
import struct
import subprocess
import urllib.parse
import urllib.request

import tap
from support import BIN, Case

NOTE = "cpu-clock cannot see time with interrupts off"
LANDING = ("_raw_spin_unlock_irqrestore", "try_to_wake_up", "do_syscall_64")
OTHER = ("ksys_read", "do_syscall_64")


def text(event, leaf):
    """Samples 10 ms apart: half in leaf, in the kernel; half in user space."""
    lines = []
    for i in range(400):
        lines.append(f"prog 7 [000] {100 + i / 100:.6f}: 10101010 {event}: ")
        frames = [(0xffffffff81000000, name, "[kernel.kallsyms]") for name in leaf] if i % 2 else []
        frames += [(0x401000, "compute" if not i % 2 else "read", "/bin/prog"), (0x402000, "main", "/bin/prog")]
        lines += [f"\t{at:16x} {name}+0x1 ({dso})" for at, name, dso in frames] + [""]
    return "\n".join(lines).encode() + b"\n"


VIEWS = {
    "top": ("top", "--by", "function"),
    "at": ("at", "boot+102"),
    "report": ("report",),
    "report of commands with chains": ("report", "-s", "comm"),
    "search": ("search", "irq|read"),
}


class Notes(Case):
    def file_of(self, name, event, leaf):
        return self.path(name, text(event, leaf))

    def said(self, *args):
        """Whether the note is there, as text and as JSON; both must agree."""
        words = self.good(*args).decode()
        notes = json.loads(self.good(*args, "--json"))["notes"]
        self.assertEqual(NOTE in words, any(n.startswith(NOTE) for n in notes), (args, notes, words))
        return bool(notes)

    def test_every_view_that_names_it_says_so(self):
        path = self.file_of("landing.txt", "cpu-clock:pppH", LANDING)
        for name, view in VIEWS.items():
            self.assertTrue(self.said(*view, "-i", path), name)
        self.assertTrue(self.said("diff", path, path, "--all"))
        self.assertTrue(self.said("diff", path, path, "--all", "--by", "total"))

    def test_nothing_is_said_of_an_event_that_sees_inside(self):
        path = self.file_of("cycles.txt", "cycles", LANDING)
        for name, view in VIEWS.items():
            self.assertFalse(self.said(*view, "-i", path), name)
        self.assertFalse(self.said("diff", path, path, "--all", "--by", "total"))

    def test_nothing_is_said_where_only_callees_were_sampled(self):
        path = self.file_of("other.txt", "cpu-clock:pppH", OTHER)
        for name, view in VIEWS.items():
            self.assertFalse(self.said(*view, "-i", path), name)
        self.assertFalse(self.said("diff", path, path, "--all", "--by", "total"))

    def test_nothing_is_said_of_what_the_view_does_not_name(self):
        path = self.file_of("landing.txt", "cpu-clock:pppH", LANDING)
        self.assertFalse(self.said("search", "^main$", "-i", path))
        self.assertFalse(self.said("search", "try_to_wake_up", "-i", path))
        self.assertFalse(self.said("report", "--no-children", "-g", "none", "-s", "comm", "-i", path))
        self.assertFalse(self.said("report", "--percent-limit", "60", "-g", "none", "-i", path))

    def test_a_picture_says_it(self):
        for event, leaf, said in (("cpu-clock", LANDING, True), ("cycles", LANDING, False), ("cpu-clock", OTHER, False)):
            svg = self.path("x.svg")
            self.good("flame", "-i", self.file_of("x.txt", event, leaf), "-o", svg)
            with open(svg, encoding="utf-8") as f:
                self.assertEqual(NOTE in f.read(), said, (event, leaf))

    def test_the_api_says_it_with_the_tree(self):
        for event, said in (("cpu-clock", True), ("cycles", False)):
            path = self.file_of(event + ".txt", event, LANDING)
            server = subprocess.Popen([BIN, "serve", "--listen", "127.0.0.1:0", path], stdout=subprocess.PIPE,
                                      stderr=subprocess.DEVNULL, text=True)
            try:
                url = urllib.parse.urlsplit(server.stdout.readline().strip())._replace(path="/api/flame").geturl()
                answer = urllib.request.urlopen(url, timeout=30).read()
            finally:
                server.terminate()
                server.communicate()
            (n,) = struct.unpack_from("<I", answer, 4)
            notes = json.loads(answer[8:8 + n])["notes"]
            self.assertEqual([n.startswith(NOTE) for n in notes], [True] if said else [], event)


tap.main()
