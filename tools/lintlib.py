# SPDX-License-Identifier: Apache-2.0
"""What the checkers of this directory share: which files are ours, and how results are printed."""
import argparse
import os
import re
import sys

# Directories that hold data, generated files or builds.
NOT_OURS = ("tests/data", "tests/golden", "examples", "fuzz/corpus", "web/dist", "node_modules")
LANGUAGE = {".c": "c", ".h": "c", ".py": "py", ".sh": "sh", ".ts": "ts", ".js": "ts"}


def language(root, path):
    """c, py, sh, ts or None; a script without a suffix is known by its first line."""
    suffix = os.path.splitext(path)[1]
    if suffix:
        return LANGUAGE.get(suffix)
    with open(os.path.join(root, path), "rb") as f:
        first = f.readline(100)
    if not first.startswith(b"#!"):
        return None
    return "py" if b"python" in first else "sh" if b"sh" in first else None


def sources(root, *languages):
    """Paths, relative to root and sorted, of our sources in the languages named."""
    found = []
    for directory, subdirs, names in os.walk(root):
        here = os.path.relpath(directory, root)
        here = "" if here == "." else here + "/"
        subdirs[:] = sorted(
            d for d in subdirs
            if (here + d) not in NOT_OURS and d not in ("node_modules", "__pycache__")
            and not (here == "" and (d.startswith("build") or (d[0] == "." and d != ".ci")))
        )
        for name in sorted(names):
            if language(root, here + name) in languages:
                found.append(here + name)
    return found


def read(root, path):
    with open(os.path.join(root, path), encoding="utf-8", errors="replace") as f:
        return f.read()


_TOKEN = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_of(text, keep_strings=False):
    """C text with comments (and strings) blanked; the line numbers stay."""

    def blank(match):
        token = match.group(0)
        if token[0] in "\"'":
            return token if keep_strings else token[0] + token[0]
        return " " + "\n" * token.count("\n")

    return _TOKEN.sub(blank, text)


def group_of(path):
    """The name under which a file's result is reported: its directory."""
    return os.path.dirname(path) or "."


class Report:
    """Cases and their problems; prints TAP."""

    def __init__(self):
        self.cases = {}

    def case(self, name):
        self.cases.setdefault(name, [])

    def problem(self, name, text):
        self.cases.setdefault(name, []).append(text)

    def finish(self):
        """Prints and exits; a run without a case is a failure, it checked nothing."""
        bad = 0
        print(f"1..{max(1, len(self.cases))}")
        for number, (name, problems) in enumerate(self.cases.items(), 1):
            print(f"{'not ok' if problems else 'ok'} {number} - {name}")
            for text in problems:
                for line in text.splitlines():
                    print(f"# {line}")
            bad += bool(problems)
        if not self.cases:
            print("not ok 1 - nothing to check")
            bad = 1
        sys.exit(1 if bad else 0)


def root_argument(doc):
    """The tree to check: --root DIR, by default the one this file is in."""
    parser = argparse.ArgumentParser(description=doc.splitlines()[0])
    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
    parser.add_argument("--root", default=here)
    return parser.parse_args().root
