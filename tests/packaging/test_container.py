#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The container: the recorder with the rights that the manifest gives it, and no others, in a root, network and
cgroup namespace of its own, records and names the host's programs. The image itself is not built here: its base
comes from a registry."""
import os
import re
import subprocess

import units
import support
import tap
from support import Case

FOLDER = os.path.join(units.PACKAGING, "container")

# $1: the container's folder, $2: the program, $3: the store, the rest: what to run inside.
START = r"""
set -eu
in=$1/root program=$2 store=$3
shift 3
mount -t tmpfs -o mode=755 over "${in%/root}"
mkdir "${in%/root}/upper" "${in%/root}/work" "$in"
mount -t overlay over -o "lowerdir=/,upperdir=${in%/root}/upper,workdir=${in%/root}/work" "$in"
cp "$program" "$in/usr/bin/perfcam"
mkdir -p "$in/var/lib/perfcam"
groupadd --root "$in" --system --gid 9797 perfcam
mount -o remount,ro "$in"
mount --rbind /proc "$in/proc"
mount --rbind /sys "$in/sys"
mount --rbind /dev "$in/dev"
mount -t tmpfs tmp "$in/tmp"
mount -t tmpfs run "$in/run"
mkdir "$in/run/perfcam"
mount --bind "$store" "$in/var/lib/perfcam"
exec chroot "$in" "$@"
"""


def manifest():
    with open(os.path.join(FOLDER, "daemonset.yaml"), encoding="utf-8") as f:
        return f.read()


def container(name):
    """The part of the manifest that is this container's."""
    return re.search(rf"- name: {name}\n(.*?)(?=\n        - name: |\n      volumes:)", manifest(), re.S)[1]


def rights(name):
    """As the manifest has them, for setpriv."""
    text = container(name)
    number = lambda key: re.search(rf"{key}: (\d+)", text)[1]
    added = re.search(r"add: \[([^]]*)\]", text)
    capabilities = "".join(",+" + c.strip().lower() for c in added[1].split(",")) if added else ""
    return ["setpriv", "--reuid", number("runAsUser"), "--regid", number("runAsGroup"), "--clear-groups",
            "--no-new-privs", "--bounding-set=-all" + capabilities, "--inh-caps=-all"]


def perfcam(*args):
    return tap.perfcam(*args).stdout.decode()


class Container(Case):
    def setUp(self):
        super().setUp()
        self.store = self.path("store")

    def inside(self, name, *command):
        root = self.path("container")
        os.makedirs(root, exist_ok=True)
        os.makedirs(self.store, exist_ok=True)
        return subprocess.run(["unshare", "-m", "-n", "-i", "-u", "-C", "/bin/sh", "-c", START, "sh", root, support.BIN,
                               self.store, *rights(name), *command], capture_output=True, text=True, timeout=60)

    def test_the_manifest_asks_for_what_the_unit_has(self):
        added = re.search(r"add: \[([^]]*)\]", container("recorder"))[1]
        self.assertEqual({"CAP_" + c.strip() for c in added.split(",")},
                         set(units.one("perfcam-recorder", "AmbientCapabilities").split()))
        self.assertNotIn("add:", container("server"))
        for name in ("recorder", "server"):
            for line in ("drop: [ALL]", "allowPrivilegeEscalation: false", "readOnlyRootFilesystem: true"):
                self.assertIn(line, container(name))
        self.assertIn("hostPID: true", manifest())
        for word in ("privileged: true", "hostNetwork", "hostIPC", "SYS_ADMIN"):
            self.assertNotIn(word, manifest())

    def test_version_and_group_are_the_same_everywhere(self):
        with open(os.path.join(units.SOURCE, "meson.build"), encoding="utf-8") as f:
            version = re.search(r"version: '([^']+)'", f.read())[1]
        self.assertEqual(set(re.findall(r"image: perfcam:(\S+)", manifest())), {version})
        with open(os.path.join(FOLDER, "Containerfile"), encoding="utf-8") as f:
            self.assertEqual(set(re.findall(r"--gid (\d+)", f.read())), {"9797"})
        self.assertEqual(set(re.findall(r"runAsGroup: (\d+)", manifest())), {"9797"})

    def test_it_records_the_host_with_these_rights(self):
        spinning = subprocess.Popen([os.path.join(os.environ["PERFCAM_WORKLOADS"], "workload_spin31"), "60"])
        self.addCleanup(spinning.wait)
        self.addCleanup(spinning.kill)
        r = self.inside("recorder", "/usr/bin/perfcam", "record", "--store", "/var/lib/perfcam", "-d", "3s")
        self.assertEqual(r.returncode, 0, r.stderr)
        self.assertIn("source bpf", r.stderr)
        self.assertIn("unwound in the kernel", r.stderr)
        folded = perfcam("export", "folded", "--store", self.store, "--comm", "workload_spin31")
        self.assertRegex(folded, r"main;three \d")
        kernel = perfcam("export", "folded", "--store", self.store)
        self.assertRegex(kernel, r"entry_SYSCALL_64|asm_sysvec|do_syscall_64")
        # The page's container can read it, as another user and without any right.
        listed = self.inside("server", "/usr/bin/perfcam", "ls", "--store", "/var/lib/perfcam")
        self.assertEqual(listed.returncode, 0, listed.stderr)
        refused = self.inside("server", "/bin/sh", "-c", "echo x >/var/lib/perfcam/x")
        self.assertNotEqual(refused.returncode, 0)


tap.main()
