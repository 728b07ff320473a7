#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Failures: the exit status says which kind, one line names the culprit, nothing is left behind."""
import os
import shutil
import signal
import subprocess
import time

import support
import synth
import tap
from support import Case

VERBS = ("import", "ls", "verify", "flame", "export")


class Usage(Case):
    def test_unknown_words(self):
        text = support.fixture_path("tmpl")
        self.bad("fly", code=2, names="fly")
        self.bad("--fly", code=2, names="--fly")
        self.bad("export", "perf-dance", "-i", text, code=2, names="perf-dance")
        self.bad("export", "-i", text, code=2, names="folded")
        for verb in VERBS:
            words = (verb, "folded") if verb == "export" else (verb,)
            self.bad(*words, "--no-such-option", code=2, names="--no-such-option")
            self.bad(*words, "--no-such=1", code=2, names="--no-such")
            self.bad(*words, "-Z", code=2, names="-Z")

    def test_no_verb(self):
        r = support.run()
        self.assertEqual(r.code, 2)

    def test_bad_values(self):
        text, out = support.fixture_path("tmpl"), self.path("x.svg")
        flame = ("flame", "-i", text, "-o", out)
        self.bad(*flame, "--weight", "kilos", code=2, names=("--weight", "kilos"))
        self.bad("export", "folded", "-i", text, "--weight", "kilos", code=2, names="kilos")
        self.bad("export", "folded", "-i", text, "--annotate=blue", code=2, names="blue")
        self.bad(*flame, "--top", "many", code=2, names="many")
        self.bad(*flame, "--top", "-3", code=2, names="-3")
        self.bad(*flame, "--match", "(", code=2, names="--match")
        self.bad(*flame, "--exclude", "[a", code=2, names="--exclude")
        self.bad(*flame, "--pid", "abc", code=2, names=("--pid", "abc"))
        self.bad(*flame, "--cpu", "3-1", code=2, names=("--cpu", "3-1"))
        self.bad(*flame, "--cpu", "99999999999", code=2, names="--cpu")
        self.bad(*flame, "--uid", "no-such-user-here", code=2, names="no-such-user-here")
        self.bad(*flame, "--user-only", "--kernel-only", code=2, names="--kernel-only")
        self.assertFalse(os.path.exists(out))

    def test_missing_values_and_arguments(self):
        for verb in VERBS:
            words = (verb, "folded") if verb == "export" else (verb,)
            self.bad(*words, "--store", code=2, names="--store")
        self.bad("flame", "-i", code=2, names="-i")
        self.bad("import", "--store", self.store, code=2, names="import")
        self.assertFalse(os.path.exists(self.store))
        self.bad("ls", "--json=yes", code=2, names="--json")

    def test_file_and_store_exclude_each_other(self):
        text = support.fixture_path("tmpl")
        self.good("import", "--store", self.store, text)
        for words in (("ls",), ("flame", "-o", self.path("x.svg")), ("export", "folded")):
            self.bad(*words, "-i", text, "--store", self.store, code=2, names=("-i", "--store"))
        self.assertFalse(os.path.exists(self.path("x.svg")))

    def test_stray_arguments_are_not_ignored(self):
        text = support.fixture_path("tmpl")
        self.bad("ls", "stray", code=2, names="stray")
        self.bad("flame", "-i", text, "-o", self.path("x.svg"), "stray", code=2, names="stray")
        self.bad("export", "folded", "stray", "-i", text, code=2)

    def test_picture_needs_a_place(self):
        """Without -o and without a terminal there is no place for a picture."""
        self.bad("flame", "-i", support.fixture_path("tmpl"), code=2, names="-o")

    def test_help_of_every_verb(self):
        out = self.good("--help").decode()
        for verb in VERBS:
            self.assertRegex(out, rf"(?m)^\s*(perfcam )?{verb}\b")
            text = self.good(verb, "--help").decode()
            self.assertEqual(text.count("\nExamples:\n"), 1, verb)
            self.assertIn(f"perfcam {verb}", text)
            self.assertIn("--store", text)
            self.assertEqual(self.good(verb, "-h").decode(), text)


class Files(Case):
    def every_reader(self):
        yield ("ls",)
        yield ("flame", "-o", self.path("x.svg"))
        yield ("export", "folded")
        yield ("export", "folded", "-o", self.path("x.folded.gz"))

    def refused(self, path, *names, stdin=None):
        """Every verb that reads a file refuses this one, and leaves nothing."""
        before = sorted(os.listdir(self.dir))
        for words in self.every_reader():
            self.bad(*words, "-i", path, names=names or path, stdin=stdin)
        self.assertEqual(sorted(os.listdir(self.dir)), before)
        r = support.run("import", "--store", self.path("s"), path, stdin=stdin)
        self.check_messages(r)
        self.assertEqual((r.code, r.err.count(b"\n")), (1, 1), r.err)
        self.assertEqual(self.windows(self.path("s")), [])
        self.verify(self.path("s"))
        shutil.rmtree(self.path("s"))

    def test_missing(self):
        self.refused(self.path("not-there.txt"))

    def test_empty(self):
        self.refused(self.path("empty", b""), "empty")
        self.refused("-", "empty", stdin=b"")

    def test_closed_standard_input(self):
        words = [support.BIN, "ls", "-i", "-"]
        r = subprocess.run(["bash", "-c", '"$@" <&-', "-", *words], stderr=subprocess.PIPE)
        self.assertEqual((r.returncode, r.stderr.count(b"\n")), (1, 1), r.stderr)

    def test_directory(self):
        os.mkdir(self.path("folder"))
        self.refused(self.path("folder"))

    def test_binary(self):
        self.refused(self.path("program", b"\x7fELF\x02\x01\x01" + bytes(range(256)) * 500))
        self.refused(self.path("zeros", bytes(100000)))

    def test_perf_data_with_nothing_in_it(self):
        path = self.path("perf.data", b"PERFILE2" + b"\x68" + bytes(400))
        self.refused(path, path, "no samples", "damaged")

    def test_text_of_another_kind(self):
        with open(os.path.join(support.SOURCE, "LICENSE"), "rb") as f:
            self.refused(self.path("prose", f.read()))

    def test_permission(self):
        path = self.path("secret", support.fixture("tmpl"))
        os.chmod(path, 0)
        program = self.path("perfcam")
        shutil.copy(support.BIN, program)
        os.chmod(program, 0o755)
        user = 65534 if os.geteuid() == 0 else None
        self.bad("ls", "-i", path, names=(path, "ermission"), program=program, user=user)


class Outputs(Case):
    def test_place_that_does_not_exist(self):
        for words in (("flame",), ("export", "folded")):
            out = self.path("no/such/dir/x.svg")
            self.bad(*words, "-i", support.fixture_path("tmpl"), "-o", out, names=out)

    def test_place_that_is_a_directory(self):
        os.mkdir(self.path("d"))
        for words in (("flame",), ("export", "folded")):
            self.bad(
                *words, "-i", support.fixture_path("tmpl"), "-o", self.path("d"),
                names=self.path("d"),
            )
        self.assertEqual(os.listdir(self.dir), ["d"])
        self.assertEqual(os.listdir(self.path("d")), [])

    def test_failure_keeps_the_old_file(self):
        out = self.path("x.svg", b"the old one")
        self.bad("flame", "-i", self.path("nothing"), "-o", out)
        self.bad("flame", "-i", self.path("empty", b""), "-o", out)
        with open(out, "rb") as f:
            self.assertEqual(f.read(), b"the old one")
        self.assertEqual(sorted(os.listdir(self.dir)), ["empty", "x.svg"])

    def test_full_disk_on_standard_output(self):
        self.good("import", "--store", self.store, support.fixture_path("nginx-997"))
        for words in (
            ("export", "folded", "--store", self.store), ("ls", "--store", self.store),
            ("verify", "--store", self.store), ("ls", "--json", "--store", self.store),
            ("script", "--store", self.store), ("export", "json", "--store", self.store),
            ("report", "--store", self.store), ("heatmap", "--json", "--store", self.store),
        ):
            with open("/dev/full", "wb") as full:
                r = support.run(*words, stdout=full)
            self.check_messages(r)
            self.assertEqual((r.code, r.err.count(b"\n")), (1, 1), (words, r.err))

    def test_reader_that_goes_away(self):
        """`perfcam export folded … | head -1` ends quietly, by SIGPIPE or with a status."""
        child = subprocess.Popen(
            [support.BIN, "export", "folded", "-i", support.fixture_path("nginx-997")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )
        child.stdout.close()
        err = child.stderr.read()
        child.stderr.close()
        self.assertIn(child.wait(), (-signal.SIGPIPE, 1))
        self.assertLessEqual(err.count(b"\n"), 1)

    def test_killed_while_writing_leaves_no_file(self):
        out = self.path("x.folded")
        child = support.Child("export", "folded", "-i", "-", "-o", out, stdin=subprocess.PIPE)
        child.p.stdin.write(support.fixture("tmpl")[:200000])
        time.sleep(0.2)
        child.p.send_signal(signal.SIGTERM)
        child.p.stdin.close()
        child.finish()
        self.assertFalse(os.path.exists(out))


class Stores(Case):
    def test_missing_store(self):
        flame = ("flame", "-o", self.path("x.svg"))
        for words in (("ls",), ("verify",), flame, ("export", "folded")):
            self.bad(*words, "--store", self.path("nowhere"), names=self.path("nowhere"))
        self.assertEqual(os.listdir(self.dir), [])

    def test_store_that_is_a_file(self):
        path = self.path("file", b"hello")
        for words in (("ls",), ("verify",), ("import", support.fixture_path("tmpl"))):
            self.bad(*words, "--store", path, names=path)
        with open(path, "rb") as f:
            self.assertEqual(f.read(), b"hello")

    def test_empty_store(self):
        os.mkdir(self.store)
        self.assertEqual(self.ls("--store", self.store), [])
        self.assertEqual(self.verify()["samples"], 0)
        self.bad("flame", "--store", self.store, "-o", self.path("x.svg"), names=self.store)
        self.assertFalse(os.path.exists(self.path("x.svg")))

    def test_unreadable_and_unwritable_store(self):
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        program = self.path("perfcam")
        shutil.copy(support.BIN, program)
        os.chmod(program, 0o755)
        options = {"program": program, "user": 65534 if os.geteuid() == 0 else None}
        os.chmod(self.store, 0)
        for words in (("ls",), ("verify",), ("export", "folded")):
            self.bad(*words, "--store", self.store, names=(self.store, "ermission"), **options)
        for name in os.listdir(self.store) if os.geteuid() == 0 else ():
            os.chmod(os.path.join(self.store, name), 0o444)
        os.chmod(self.store, 0o555)
        text = self.path("text", support.fixture("redis-pid"))
        self.bad("import", "--store", self.store, text, names=self.store, **options)
        count = len(support.heads(support.fixture("tmpl")))
        self.assertEqual(self.samples("--store", self.store, **options), count)
        self.good("verify", "--store", self.store, **options)
        lines = self.export("--store", self.store, **options)
        self.assertEqual(sum(lines.values()), count)

    def test_import_makes_the_store_private(self):
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        for path in (self.store, os.path.join(self.store, self.windows()[0])):
            self.assertEqual(os.stat(path).st_mode & 0o027, 0, path)

    def test_one_bad_file_among_good_ones(self):
        bad = self.path("bad", b"")
        r = support.run(
            "import", "--store", self.store, support.fixture_path("tmpl"), bad,
            support.fixture_path("redis-pid"),
        )
        self.check_messages(r)
        self.assertEqual((r.code, r.err.count(b"\n")), (1, 1), r.err)
        self.assertIn(bad.encode(), r.err)
        count = sum(len(support.heads(support.fixture(n))) for n in ("tmpl", "redis-pid"))
        self.assertEqual(self.samples("--store", self.store), count)
        self.verify()


class Writers(Case):
    """One writer at a time; readers do not wait for it."""

    def start(self, samples):
        child = support.Child("import", "--store", self.store, "-", stdin=subprocess.PIPE)
        self.addCleanup(lambda: child.p.poll() is None and child.kill())
        child.p.stdin.write(synth.text_of(samples))
        child.p.stdin.flush()
        limit = time.monotonic() + 10
        while not (os.path.isdir(self.store) and any(
            n.endswith(".pcj") and os.path.getsize(os.path.join(self.store, n)) > 2000
            for n in os.listdir(self.store)
        )):
            self.assertLess(time.monotonic(), limit, "the import wrote nothing")
            time.sleep(0.02)
        return child

    def test_second_writer_is_told_who_holds_it(self):
        samples = synth.recording(4, 100, 100)
        child = self.start(samples)
        text = support.fixture_path("tmpl")
        r = self.bad("import", "--store", self.store, text, names=(self.store, str(child.pid)))
        self.assertLess(r.seconds, 3)
        child.p.stdin.close()
        r = child.finish()
        self.assertEqual(r.code, 0, r.err)
        self.assertEqual(self.samples("--store", self.store), len(samples))
        self.good("import", "--store", self.store, text)
        self.verify()

    def test_readers_see_the_open_window(self):
        samples = synth.recording(5, 100, 100)
        child = self.start(samples)
        time.sleep(0.3)
        before = sorted(os.listdir(self.store))
        listed = self.ls("--store", self.store)
        self.assertEqual([w["sealed"] for w in listed], [False])
        seen = listed[0]["samples"]
        self.assertGreater(seen, len(samples) / 4)
        lines = self.export("--store", self.store)
        self.assertEqual(lines, synth.fold(samples[: sum(lines.values())]))
        self.assertGreaterEqual(sum(lines.values()), seen)
        text = support.texts_of(self.svg("--store", self.store))
        self.assertIn("parse_request", text)
        self.verify()
        self.assertEqual(sorted(os.listdir(self.store)), before, "a view forced a seal")
        child.p.stdin.close()
        self.assertEqual(child.finish().code, 0)
        self.assertEqual(self.export("--store", self.store), synth.fold(samples))

    def test_lock_of_a_dead_writer_is_no_lock(self):
        child = self.start(synth.recording(6, 100, 100))
        child.kill()
        child.finish()
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        self.verify()


tap.main()
