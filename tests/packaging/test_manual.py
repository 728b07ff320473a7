#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Manual pages and completions: well made, and about every verb and option that --help knows."""
import glob
import os
import re
import subprocess
import sys
import unittest

sys.path.insert(0, os.path.join(os.environ["PERFCAM_SOURCE"], "tests", "cli"))
import tap

MANUAL = os.environ["PERFCAM_MANUAL"]


def output(*args, **options):
    return subprocess.run(args, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=60,
                          **options).stdout.decode()


def helps():
    """{verb: [long options]}, read from --help by other means than tools/make-man."""
    verbs = [line.split()[1] for line in tap.perfcam("--help").stdout.decode().splitlines()
             if line.startswith("  perfcam ")]
    return {v: re.findall(r"^ {2,6}(?:-\w, )?--([a-z][a-z-]*)",
                          tap.perfcam(v, "--help").stdout.decode(), re.M) for v in verbs}


class Manual(unittest.TestCase):
    def setUp(self):
        self.helps = helps()
        self.assertGreater(len(self.helps), 20)

    def test_every_verb_has_a_page_with_every_option(self):
        for verb, options in self.helps.items():
            path = os.path.join(MANUAL, f"perfcam-{verb}.1")
            text = output("mandoc", "-Tutf8", "-O", "width=300", path)
            text = re.sub(".\b", "", text)
            for option in options:
                self.assertRegex(text, rf"--{option}\b", verb)
            self.assertIn("EXIT STATUS", text)
            self.assertIn("EXAMPLES", text, verb)
        main = re.sub(".\b", "", output("mandoc", "-Tutf8", os.path.join(MANUAL, "perfcam.1")))
        for verb in self.helps:
            self.assertIn(verb, main)

    def test_pages_are_well_made(self):
        pages = glob.glob(os.path.join(MANUAL, "*.[15]"))
        self.assertEqual(len(pages), len(self.helps) + 2)
        for page in pages:
            self.assertEqual(output("mandoc", "-T", "lint", "-W", "warning", page), "", page)

    def test_the_format_page_holds_the_specification(self):
        text = output("mandoc", "-Tutf8", os.path.join(MANUAL, "perfcam-format.5"))
        text = re.sub(".\b", "", text)
        with open(os.path.join(os.environ["PERFCAM_SOURCE"], "docs", "window-format.md")) as f:
            for heading in re.findall(r"^## [0-9]+\. (.*)", f.read(), re.M):
                self.assertIn(heading.upper(), text)
        self.assertNotIn("**", text)

    def complete(self, *words):
        """What bash offers for these words; the last one is being typed."""
        script = ('source "$1"; shift; COMP_WORDS=(perfcam "$@"); COMP_CWORD=$#; _perfcam; '
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        out = output("bash", "--norc", "-c", script, "bash", os.path.join(MANUAL, "perfcam"), *words)
        return set(out.split())

    def test_bash_offers_what_help_lists(self):
        self.assertTrue(set(self.helps) <= self.complete(""))
        for verb, options in self.helps.items():
            self.assertEqual(self.complete(verb, "--"), {"--" + o for o in options} | {"--help"})
        self.assertEqual(self.complete("fla"), {"flame"})
        self.assertIn("speedscope", self.complete("export", ""))
        self.assertEqual(self.complete("flame", "--st"), {"--store"})

    def test_zsh_knows_them_too(self):
        path = os.path.join(MANUAL, "_perfcam")
        self.assertEqual(output("zsh", "-n", path), "")
        with open(path) as f:
            parts = re.split(r"^\t([a-z]+)\)\n", f.read(), flags=re.M)
        found = dict(zip(parts[1::2], parts[2::2]))
        self.assertEqual(set(found), set(self.helps))
        for verb, options in self.helps.items():
            offered = set(re.findall(r"'\*?--([a-z-]+)", found[verb]))
            self.assertEqual(offered, set(options) | {"help"}, verb)

    def test_every_example_parses(self):
        """No option in an example that its verb does not have."""
        for verb, options in self.helps.items():
            text = tap.perfcam(verb, "--help").stdout.decode()
            lines = re.findall(r"^  perfcam .*", text.split("Examples:")[1], re.M)
            self.assertGreater(len(lines), 0)
            for line in lines:
                command = line.split("   ")[0] if "   " in line.strip() else line
                for option in re.findall(r"(?<!')--([a-z-]+)", command.split(" -- ")[0]):
                    if not re.search(rf"'[^']*--{option}[^']*'", command):
                        self.assertIn(option, options, line)


tap.main()
