# SPDX-License-Identifier: Apache-2.0
"""Control groups of the load: one by which it is recorded alone, a share of the CPUs that depends little on what
else runs here, and a small memory for whoever is to be short of it. The last two where cgroup 1 has a controller
for them; elsewhere the load competes like anybody, and nothing is short of memory."""
import os
import tempfile

NAME = "perfcam-incidents-"
SHARES = 16384  # 16 times a process of others
SMALL_BYTES = 24 << 20


def directory_of(kind, option=None):
    """Where a control group file system is mounted, or None."""
    with open("/proc/mounts", encoding="utf-8") as lines:
        for f in map(str.split, lines):
            if f[2] == kind and (not option or option in f[3].split(",")):
                return f[1]
    return None


def join(*paths):
    """The calling process, and what it starts from then on."""
    for path in paths:
        if path:
            write(os.path.join(path, "cgroup.procs"), str(os.getpid()))


def write(path, text):
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)


class Groups:
    """`own` is what --cgroup takes; `scope` and `share` are for the first process of the load to join, all
    others inherit; `small` for one that reads more than fits."""

    def __init__(self):
        self.made = []
        self.scope = self._make(directory_of("cgroup2"))
        self.own = "/" + os.path.basename(self.scope)
        self.share = self._make(directory_of("cgroup", "cpu"), "cpu.shares", SHARES)
        self.small = self._make(directory_of("cgroup", "memory"), "memory.limit_in_bytes", SMALL_BYTES)

    def _make(self, mounted, name=None, value=None):
        if not mounted:
            return None
        path = tempfile.mkdtemp(prefix=NAME, dir=mounted)
        self.made.append(path)
        if name:
            write(os.path.join(path, name), str(value))
        return path

    def remove(self):
        for path in self.made:
            try:
                os.rmdir(path)
            except OSError as e:
                print(f"# {path}: {e.strerror}", flush=True)
