# SPDX-License-Identifier: Apache-2.0
"""One thread that starts programs at given times and hears when they end or say something: so that what the
generator itself does is little, and always the same."""
import heapq
import itertools
import os
import signal
import subprocess
import time

TICK_S = 0.02


class Loop:
    def __init__(self):
        self.due = []
        self.order = itertools.count()
        self.children = []  # (process, what to call when it has ended)
        self.kept = []  # services, killed at the end

    def at(self, when, call, *args):
        heapq.heappush(self.due, (when, next(self.order), call, args))

    def after(self, seconds, call, *args):
        self.at(time.monotonic() + seconds, call, *args)

    def start(self, command, ended=None, **options):
        """A program that ends by itself; ended(its output) is called then."""
        p = subprocess.Popen(command, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                             stdout=subprocess.PIPE if ended else subprocess.DEVNULL, start_new_session=True, **options)
        self.children.append((p, ended))
        return p

    def serve(self, command, **options):
        """A program that runs until the end."""
        options.setdefault("stdin", subprocess.DEVNULL)
        options.setdefault("stdout", subprocess.DEVNULL)
        p = subprocess.Popen(command, stderr=subprocess.DEVNULL, start_new_session=True, **options)
        self.kept.append(p)
        return p

    def _reap(self):
        for child in list(self.children):
            p, ended = child
            if p.poll() is None:
                continue
            self.children.remove(child)
            if ended:
                with p.stdout:
                    ended(p.stdout.read().decode(errors="replace"))

    def run(self, until):
        """Until that time, whatever is due then is due later."""
        while time.monotonic() < until:
            self._reap()
            while self.due and self.due[0][0] <= time.monotonic():
                _, _, call, args = heapq.heappop(self.due)
                call(*args)
            next_due = self.due[0][0] if self.due else until
            time.sleep(max(0.001, min(TICK_S, next_due - time.monotonic())))

    def end(self):
        """Kills what is left: whole sessions, since services have children."""
        for p in [*self.kept, *(p for p, _ in self.children)]:
            for number in (signal.SIGCONT, signal.SIGKILL):
                try:
                    os.killpg(p.pid, number)
                except ProcessLookupError:
                    pass
            p.wait()
