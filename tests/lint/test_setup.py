#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tools/setup installs what is missing and only that; .ci/run always ends with the counts.

Both run here against fake commands (dpkg-query, apt-get, sudo, id, make), which note what was asked.
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["PERFCAM_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import tap  # noqa: E402


class Fake:
    """A directory with fake commands; `asked` is what they were called with."""

    def __init__(self, **commands):
        self.dir = tempfile.mkdtemp()
        self.log = os.path.join(self.dir, "asked")
        for name, body in commands.items():
            self.write(os.path.join(self.dir, "bin", name.replace("_", "-")), body)
        for name in ("sh", "bash", "awk", "dirname", "env", "mktemp", "rm", "tee", "grep", "tail", "chmod"):
            os.symlink(shutil.which(name), os.path.join(self.dir, "bin", name))

    def write(self, path, body):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f"#!/bin/sh\n{body}\n")
        os.chmod(path, 0o755)

    def run(self, *command):
        env = {"PATH": os.path.join(self.dir, "bin"), "LOG": self.log, "POLICY_RC_D": os.path.join(self.dir, "policy-rc.d")}
        return subprocess.run(command, env=env, text=True, stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT)

    def asked(self):
        if not os.path.exists(self.log):
            return ""
        with open(self.log, encoding="utf-8") as f:
            return f.read()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.dir)


ALL_THERE = 'printf "installed "'
NO_XMLLINT = 'case "$*" in *" libxml2-utils") exit 1;; esac; printf "installed "'
NO_RUSTC = NO_XMLLINT.replace("libxml2-utils", "rustc")
NOTE = 'echo "${0##*/} $*" >> "$LOG"'
SETUP = os.path.join(SOURCE, "tools", "setup")


class Setup(unittest.TestCase):
    def test_everything_there_asks_nothing(self):
        with Fake(dpkg_query=ALL_THERE, apt_get=NOTE, sudo=NOTE, id="echo 1000") as fake:
            r = fake.run(SETUP, "build", "test")
            self.assertEqual((r.returncode, r.stdout, fake.asked()), (0, "", ""))

    def test_root_installs_what_is_missing(self):
        with Fake(dpkg_query=NO_XMLLINT, apt_get=NOTE, id="echo 0") as fake:
            r = fake.run(SETUP, "build", "test")
            self.assertEqual(r.returncode, 0, r.stdout)
            self.assertIn("  libxml2-utils  ", r.stdout)
            self.assertRegex(fake.asked(), r"apt-get install .* libxml2-utils\n")
            self.assertNotIn("meson", fake.asked())

    def test_a_group_is_a_group(self):
        with Fake(dpkg_query=NO_XMLLINT, apt_get=NOTE, id="echo 0") as fake:
            r = fake.run(SETUP, "build")
            self.assertEqual((r.returncode, fake.asked()), (0, ""))

    def test_user_goes_through_sudo(self):
        with Fake(dpkg_query=NO_XMLLINT, apt_get="exit 1", sudo=NOTE, id="echo 1000") as fake:
            r = fake.run(SETUP, "test")
            self.assertEqual(r.returncode, 0, r.stdout)
            self.assertRegex(fake.asked(), r"sudo env .*apt-get install .* libxml2-utils\n")

    def test_user_without_sudo_is_told_what_to_do(self):
        with Fake(dpkg_query=NO_XMLLINT, apt_get=NOTE, id="echo 1000") as fake:
            r = fake.run(SETUP, "test")
            self.assertEqual(r.returncode, 1)
            self.assertRegex(r.stdout, r"apt-get install .* libxml2-utils\n")
            self.assertEqual(fake.asked(), "")

    def test_failed_install_fails(self):
        with Fake(dpkg_query=NO_XMLLINT, apt_get="exit 100", id="echo 0") as fake:
            self.assertNotEqual(fake.run(SETUP, "test").returncode, 0)

    def test_other_system_is_told_what_is_needed(self):
        with Fake(id="echo 0") as fake:
            r = fake.run(SETUP, "build")
            self.assertEqual(r.returncode, 0)
            self.assertIn("meson", r.stdout)

    def test_a_rustc_of_another_origin_will_do(self):
        for there, asked in (({"rustc": "exit 0"}, ""), ({}, "rustc")):
            with Fake(dpkg_query=NO_RUSTC, apt_get=NOTE, id="echo 0", **there) as fake:
                self.assertEqual(fake.run(SETUP, "programs").returncode, 0)
                self.assertIn(asked, fake.asked())
                self.assertEqual(bool(asked), bool(fake.asked()))

    def test_a_server_is_not_started_now_nor_at_the_next_boot(self):
        with Fake(dpkg_query=ALL_THERE.replace("printf", 'case "$*" in *" nginx-light") exit 1;; esac; printf'), id="echo 0",
                  apt_get=NOTE + '; case "$1" in install) "$POLICY_RC_D"; echo "start: $?" >> "$LOG";; esac', systemctl=NOTE) as fake:
            done = fake.run(SETUP, "programs")
            self.assertEqual(done.returncode, 0, done.stdout)
            self.assertIn("start: 101", fake.asked())
            self.assertIn("systemctl -q disable nginx\n", fake.asked())
            self.assertFalse(os.path.exists(os.path.join(fake.dir, "policy-rc.d")))

    def test_unknown_group(self):
        with Fake(dpkg_query=ALL_THERE) as fake:
            self.assertEqual(fake.run(SETUP, "attic").returncode, 2)


class Ci(unittest.TestCase):
    def ci(self, make, setup="exit 0"):
        with Fake(make=make) as fake:
            tree = os.path.join(fake.dir, "tree")
            fake.write(os.path.join(tree, "tools", "setup"), setup)
            os.makedirs(os.path.join(tree, ".ci"))
            shutil.copy(os.path.join(SOURCE, ".ci", "run"), os.path.join(tree, ".ci", "run"))
            r = fake.run(os.path.join(tree, ".ci", "run"))
            return r.returncode, r.stdout.splitlines()[-1]

    def test_ci_success(self):
        self.assertEqual(self.ci("echo '7 passed, 0 failed'"), (0, "7 passed, 0 failed"))

    def test_ci_failure_keeps_the_counts_last(self):
        make = "echo '7 passed, 2 failed'; echo 'make: error' >&2; exit 2"
        self.assertEqual(self.ci(make), (2, "7 passed, 2 failed"))

    def test_ci_without_counts_fails(self):
        self.assertEqual(self.ci("exit 0"), (1, "0 passed, 1 failed"))

    def test_ci_without_packages_fails(self):
        self.assertEqual(self.ci("echo '7 passed, 0 failed'", "exit 1"), (1, "0 passed, 1 failed"))


tap.main()
