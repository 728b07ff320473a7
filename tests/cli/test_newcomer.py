#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What the pages tell a newcomer to type exists, and the README's commands do run."""
import gzip
import json
import os
import re
import shlex
import signal
import subprocess
import tempfile
import time
import urllib.request

import support
import tap
from support import Case

COMMAND = re.compile(r"^\s*(?:\$ )?(?:build/)?perfcam\s+(.*)$")


def pages():
    found = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "SECURITY.md", "examples/README.md"]
    docs = os.path.join(support.SOURCE, "docs")
    found += [os.path.join("docs", n) for n in sorted(os.listdir(docs)) if n.endswith(".md")]
    return found


def commands(page):
    """The lines of a page's code blocks that call perfcam, as lists of words."""
    with open(os.path.join(support.SOURCE, page), encoding="utf-8") as f:
        blocks = re.findall(r"(?ms)^```[^\n]*\n(.*?)^```", f.read())
    for block in blocks:
        for line in block.splitlines():
            m = COMMAND.match(line)
            if m:
                words = shlex.split(m.group(1), comments=True)
                stop = [i for i, w in enumerate(words) if w in ("|", ">", "&&", ";", "--")]
                yield line.strip(), words[: stop[0]] if stop else words


class Newcomer(Case):
    def options_of(self, verb):
        text = self.good(verb, "--help").decode()
        return set(re.findall(r"(?<![\w-])(--?[a-zA-Z][\w-]*)", text)) | {"--help", "-h"}

    def test_verbs_and_options_of_the_pages_exist(self):
        checked = 0
        for page in pages():
            for line, words in commands(page):
                with self.subTest(page=page, line=line):
                    verb = words[0]
                    if verb in ("--help", "--version", "VERB"):
                        continue
                    known = self.options_of(verb)
                    for word in words[1:]:
                        if word.startswith("-") and word != "-" and not re.fullmatch(r"-\d+[smhd]", word):  # -90s is a time
                            self.assertIn(word.split("=")[0], known)
                    checked += 1
        self.assertGreaterEqual(checked, 6)

    def test_the_store_s_own_place_is_made(self):
        """A new user's home may have no data directory at all."""
        with tempfile.TemporaryDirectory() as home:
            env = {"STATE_DIRECTORY": os.path.join(home, "no", "such", "place")}
            r = tap.perfcam("import", os.path.join(support.DATA, "tmpl.stacks.gz"), env=env)
            self.assertEqual(r.returncode, 0, r.stderr)
            r = tap.perfcam("ls", "--json", env=env)
            self.assertEqual((r.returncode, len(json.loads(r.stdout))), (0, 1), r.stderr)

    def test_readme_commands_run(self):
        """In their order, on a recording in place of one's own."""
        os.mkdir(self.path("build"))
        os.symlink(support.BIN, self.path("build/perfcam"))
        with open(os.path.join(support.DATA, "tmpl.perf.data.zst"), "rb") as f:
            self.path("perf.data", support.unzstd(f.read()))
        ran = []
        for line, _ in commands("README.md"):
            done = subprocess.run(
                ["bash", "-c", line], cwd=self.dir, stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE, stderr=subprocess.PIPE, timeout=20,
                env={**os.environ, "PATH": self.path("build") + ":" + os.environ["PATH"]},
            )
            self.assertEqual(done.returncode, 0, (line, done.stderr))
            self.assertNotIn(b"rror", done.stderr)
            ran.append(line)
        verbs = {line.split()[1] for line in ran}
        self.assertLessEqual({"record", "flame", "export", "import", "ls", "verify"}, verbs)

    def test_make_run(self):
        """Its command records and serves, prints the address and two commands that work, and ends well."""
        with open(os.path.join(support.SOURCE, "Makefile"), encoding="utf-8") as f:
            line = re.search(r"perfcam (run .*)", f.read()).group(1)
        words = shlex.split(line.replace("$(BUILD)", self.dir))
        p = subprocess.Popen([support.BIN, *words, "--listen", "127.0.0.1:0"], cwd=self.dir, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        try:
            said = [p.stdout.readline() for _ in range(5)]
            url = re.match(r"http://127\.0\.0\.1:\d+/\S*", said[0])
            self.assertTrue(url, said)
            browser = urllib.request.build_opener(urllib.request.HTTPCookieProcessor())
            with browser.open(url.group(0), timeout=20) as answer:
                self.assertIn("<title>perfcam</title>", gzip.decompress(answer.read()).decode())
            with browser.open(url.group(0).split("?")[0] + "api/store", timeout=20) as answer:
                self.assertTrue(json.load(answer)["recording"])
            time.sleep(3)
            tries = [s.split() for s in said if s.startswith("  ")]
            self.assertEqual([t[1] for t in tries], ["ls", "flame"])
            for words in tries:
                done = subprocess.run(words, cwd=self.dir, stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, timeout=30)
                self.assertEqual(done.returncode, 0, done.stderr)
            self.assertTrue(os.path.exists(self.path("now.svg")))
        finally:
            p.send_signal(signal.SIGINT)
            _, err = p.communicate(timeout=30)
        self.assertEqual(p.returncode, 0, err)

    def test_no_option_does_nothing(self):
        """Each option of --help is taken, or asks for a value: none is unknown to its own verb."""
        for verb in ("import", "ls", "verify", "flame", "export"):
            words = [verb, "folded"] if verb == "export" else [verb]
            for option in self.options_of(verb) - {"--help", "-h"}:
                r = support.run(*words, option, "-i", self.path("nothing"), cwd=self.dir)
                self.assertNotRegex(r.err, rb"unknown option '" + option.encode() + rb"'")


tap.main()
