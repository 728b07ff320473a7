#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Each checker of tools/ passes a good tree and fails a bad one, for each rule it holds."""
import os
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.environ["PERFCAM_SOURCE"]
sys.path.insert(0, os.path.join(SOURCE, "tests", "cli"))
import tap  # noqa: E402

SPDX = "// SPDX-License-" + "Identifier: Apache-2.0\n"
DOC = """
| room | job | may include | must not |
|---|---|---|---|
| `base` | tables | libc, xxhash | know |
| `model` | nouns | base | do |
| `store` | bytes | base, model, zstd | log |
| `query` | views | base, model | open |
| `render` | pictures | base, model, query/views.h | compute |
| `cli` | verbs | all | hold |

Order: `base < model < {store, query} < render < cli`
"""
GOOD = {
    "ARCHITECTURE.md": DOC,
    "src/base/a.h": SPDX + "int cam_a(void);\n",
    "src/base/a.c": SPDX + '#include "base/a.h"\n\nint cam_a(void)\n{\n\treturn 1;\n}\n',
    "src/base/meson.build": "perfcam_sources += files('a.c')\n",
    "src/store/format.h": SPDX,
    "src/query/views.h": SPDX,
    "src/query/flame.h": SPDX,
}


class Checkers(unittest.TestCase):
    def run_on(self, checker, changes):
        """(exit status, output) of a checker over the good tree with some files changed."""
        with tempfile.TemporaryDirectory() as root:
            for name in (".clang-format", ".clang-tidy"):
                os.symlink(os.path.join(SOURCE, name), os.path.join(root, name))
            for path, text in {**GOOD, **changes}.items():
                full = os.path.join(root, path)
                os.makedirs(os.path.dirname(full), exist_ok=True)
                with open(full, "w", encoding="utf-8") as f:
                    f.write(text)
            done = subprocess.run(
                [sys.executable, os.path.join(SOURCE, "tools", checker), "--root", root],
                stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
            return done.returncode, done.stdout

    def passes(self, checker, changes=None):
        status, output = self.run_on(checker, changes or {})
        self.assertEqual(status, 0, output)
        self.assertNotIn("not ok", output)

    def fails(self, checker, changes, *saying):
        status, output = self.run_on(checker, changes)
        self.assertEqual(status, 1, output)
        self.assertIn("not ok", output)
        for text in saying:
            self.assertIn(text, output)

    def include(self, room, line):
        return {f"src/{room}/x.c": SPDX + f"#include {line}\n"}

    def test_layers_good(self):
        self.passes("check-layers", self.include("render", '"query/views.h"'))
        self.passes("check-layers", self.include("cli", '"store/format.h"'))
        self.passes("check-layers", self.include("store", "<zstd.h>"))
        self.passes("check-layers", {"src/base/x.c": SPDX + '// #include "query/views.h"\n'})

    def test_layers_upward(self):
        self.fails("check-layers", self.include("base", '"query/views.h"'), "src/base/x.c:2", "base may not")

    def test_layers_sideways(self):
        self.fails("check-layers", self.include("query", '"store/format.h"'), "query may not")

    def test_layers_header_not_granted(self):
        self.fails("check-layers", self.include("render", '"query/flame.h"'), "render may not")

    def test_layers_library_not_granted(self):
        self.fails("check-layers", self.include("query", "<zstd.h>"), "not granted zstd")

    def test_layers_io_in_model(self):
        self.fails("check-layers", self.include("model", "<fcntl.h>"), "no I/O")

    def test_layers_plain_include(self):
        self.fails("check-layers", self.include("base", '"a.h"'), "not a room/file.h")

    def test_layers_missing_header(self):
        self.fails("check-layers", self.include("base", '"base/none.h"'), "not a room/file.h")

    def test_layers_unknown_room(self):
        self.fails("check-layers", {"src/attic/x.c": SPDX}, "attic is not in the table")

    def test_layers_bpf_is_capture(self):
        self.fails("check-layers", {"src/capture/bpf/x.c": SPDX}, "capture is not in the table")

    def test_layers_table_grants_sideways(self):
        doc = DOC.replace("| views | base, model |", "| views | base, model, store |")
        self.fails("check-layers", {"ARCHITECTURE.md": doc}, "may not be granted store")

    def test_layers_no_order(self):
        self.fails("check-layers", {"ARCHITECTURE.md": DOC.replace("Order:", "order:")}, "no place")

    def test_layers_big_model(self):
        text = SPDX + "int x;\n" * 2110
        self.fails("check-layers", {"src/model/x.c": text, "src/model/y.c": text}, "at most 4200")

    def test_layers_room_prints(self):
        self.fails("check-layers", {"src/base/x.c": SPDX + 'void f(void)\n{\n\tputs("x");\n}\n'},
                   "src/base/x.c:4", "do not print")

    def test_layers_room_logs_to_stderr(self):
        self.fails("check-layers", {"src/base/x.c": SPDX + "void *f = stderr;\n"}, "do not print")

    def test_layers_packed_elsewhere(self):
        text = SPDX + "struct a {\n\tint b;\n} __attribute__((packed));\n"
        self.fails("check-layers", {"src/base/x.h": text}, "store/format.h")
        self.passes("check-layers", {"src/store/format.h": text})

    def test_sizes_good(self):
        self.passes("check-sizes", {"src/base/x.c": SPDX + "int x;\n" * 799})

    def test_sizes_long_file(self):
        self.fails("check-sizes", {"src/base/x.c": SPDX + "int x;\n" * 800}, "801 lines")

    def test_sizes_long_header(self):
        self.fails("check-sizes", {"src/base/x.h": SPDX + "int x;\n" * 200}, "201 lines")

    def test_sizes_long_fuzzer(self):
        self.fails("check-sizes", {"fuzz/fuzz_x.c": SPDX + "int x;\n" * 40}, "at most 40")

    def c_function(self, lines):
        return SPDX + "int f(int (*g)(int),\n      int x)\n{\n" + "\tx++;\n" * (lines - 2) + "}\n"

    def test_sizes_long_c_function(self):
        self.passes("check-sizes", {"src/base/x.c": self.c_function(80)})
        self.fails("check-sizes", {"src/base/x.c": self.c_function(81)}, "src/base/x.c:f: 81 lines")

    def test_sizes_long_py_function(self):
        self.fails("check-sizes", {"tools/x.py": "def f(x):\n" + "    x += 1\n" * 80}, "x.py:f: 81")

    def test_sizes_long_sh_function(self):
        self.fails("check-sizes", {"tools/x.sh": "f() {\n" + "\t:\n" * 80 + "}\n"}, "x.sh:f")

    def test_sizes_exemption(self):
        text = self.c_function(90)
        good = "src/base/x.c:f  90  one table, clearer in one piece\n"
        self.passes("check-sizes", {"src/base/x.c": text, "tools/size-exemptions": good})
        for bad in ("src/base/x.c:f  90\n", "src/base/x.c:f  85  too little\n"):
            self.fails("check-sizes", {"src/base/x.c": text, "tools/size-exemptions": bad})
        self.fails("check-sizes", {"tools/size-exemptions": good}, "needs no exemption")

    def test_spdx_good(self):
        script = "#!/bin/sh\n" + SPDX.replace("//", "#")
        self.passes("check-spdx", {"tools/x": script})
        bpf = SPDX.replace("Apache-2.0", "(GPL-2.0-only OR BSD-2-Clause)")
        self.passes("check-spdx", {"src/capture/bpf/x.c": bpf, "src/capture/wire.h": bpf})

    def test_spdx_missing(self):
        self.fails("check-spdx", {"src/base/x.c": "int x;\n"}, "src/base/x.c")
        self.fails("check-spdx", {"tools/x": "#!/bin/sh\n:\n"}, "tools/x")

    def test_spdx_wrong_licence(self):
        self.fails("check-spdx", {"src/base/x.c": SPDX.replace("Apache-2.0", "MIT")})
        self.fails("check-spdx", {"src/capture/bpf/x.c": SPDX})
        self.fails("check-spdx", {"src/capture/wire.h": SPDX})

    def test_spdx_twice(self):
        self.fails("check-spdx", {"src/base/x.c": SPDX + SPDX}, "more than one")

    def test_words_good(self):
        self.passes("check-words", {"src/base/x.c": SPDX + 'char t[] = "/tmp/a.XXXXXX";\n'})

    def test_words_bad(self):
        for word in ("TO" "DO", "FIX" "ME", "XX" "X"):
            self.fails("check-words", {"src/base/x.c": SPDX + f"// {word}: later\n"}, "src/base/x.c:2")

    def test_format_good(self):
        self.passes("check-format")

    def test_format_bad(self):
        for text in ("int  x;\n", "int f(void) { return 1; }\n", "int *f(int x)\n{\n    return 0;\n}\n"):
            self.fails("check-format", {"src/base/x.c": SPDX + text}, "src/base/x.c")

    def test_tidy_good(self):
        self.passes("check-tidy")

    def test_tidy_null_dereference(self):
        text = "int f(int *p)\n{\n\tif (!p)\n\t\treturn *p;\n\treturn 0;\n}\n"
        self.fails("check-tidy", {"src/base/x.c": SPDX + text}, "core.NullDereference")

    def test_tidy_leak(self):
        text = "#include <stdlib.h>\nint f(void)\n{\n\tchar *p = malloc(9);\n\treturn p != NULL;\n}\n"
        self.fails("check-tidy", {"src/base/x.c": SPDX + text}, "unix.Malloc")

    def test_tidy_does_not_compile(self):
        self.fails("check-tidy", {"src/base/x.c": SPDX + "int f(\n"}, "src/base/x.c")

    def test_docs_good(self):
        text = "`src/base/a.c`, `src/base/a.c:cam_a`, `base/a.h`, [x](src/base/a.c), `src/<room>/x.c`, [y](https://y.example)\n"
        self.passes("check-docs", {"README.md": text})
        self.passes("check-docs", {"README.md": "`base/none.h` (reserved)\n"})

    def test_docs_names_a_missing_file(self):
        for text in ("`src/base/none.c`", "`base/none.h`", "[x](none.md)", "`tools/none`",
                     "`src/base/a.c:cam`", "`src/base/none.c:cam_a`"):
            self.fails("check-docs", {"README.md": text + "\n"}, "README.md:1: there is no")

    def test_registered_good(self):
        self.passes("check-registered")

    def test_registered_missing(self):
        for path in ("src/base/x.c", "tests/unit/test_base_x.c", "fuzz/fuzz_x.c", "tests/cli/test_x.py"):
            self.fails("check-registered", {path: SPDX}, path + " is not named")

    def test_nothing_to_check_fails(self):
        with tempfile.TemporaryDirectory() as root:
            done = subprocess.run([sys.executable, os.path.join(SOURCE, "tools/check-words"),
                                   "--root", root], stdout=subprocess.PIPE)
            self.assertEqual(done.returncode, 1)


tap.main()
