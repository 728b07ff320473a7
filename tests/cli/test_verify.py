#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Damage on disk: verify names the file, every view gives the rest and says that it is a rest."""
import json
import os
import random
import shutil
import struct
import subprocess

import support
import synth
import tap
from support import Case


class Damage(Case):
    """A store of two windows, A (to be damaged) and B (never touched)."""

    def setUp(self):
        super().setUp()
        self.a = synth.recording(40, 100, 60)
        self.b = synth.recording(41, 20, 50, start_us=9_000_000_000)
        for s in self.b:
            s.comm = b"other-" + s.comm
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(self.a, host="host-a"))
        self.good("import", "--store", self.store, "-", stdin=synth.text_of(self.b, host="host-b"))
        self.name_a, self.name_b = self.windows()
        self.file = os.path.join(self.store, self.name_a)
        with open(self.file, "rb") as f:
            self.sound = f.read()

    def damage(self, data):
        with open(self.file, "wb") as f:
            f.write(data)

    def outcome(self, *args):
        r = support.run(*args)
        self.check_messages(r)
        self.check_bounds(r)
        return r

    def check_rest(self, where):
        """B is whole whatever happened to A; what is missing of A is told."""
        a, b = synth.fold(self.a), synth.fold(self.b)
        r = self.outcome("export", "folded", "--store", self.store)
        self.assertIn(r.code, (0, 3), (where, r.err))
        lines = support.folded(r.out)
        for stack, n in b.items():
            self.assertEqual(lines.get(stack), n, where)
        rest = {k: n for k, n in lines.items() if k not in b}
        self.assertLessEqual(sum(rest.values()), len(self.a), where)
        for stack, n in rest.items():
            if b"[damaged]" not in stack:
                self.assertLessEqual(n, a.get(stack, 0), (where, stack))
        if rest != a:
            self.assertEqual(r.code, 3, f"{where}: stacks are missing, and nothing said")
        listed = self.outcome("ls", "--json", "--store", self.store)
        self.assertIn(listed.code, (0, 3), (where, listed.err))
        names = [w["name"] for w in json.loads(listed.out)]
        self.assertIn(self.name_b, names, where)
        self.assertTrue(self.name_a in names or listed.code == 3, f"{where}: A is not even missed")
        r = self.outcome("flame", "--store", self.store, "-o", self.path("x.svg"), "--top", "5")
        self.assertIn(r.code, (0, 3), where)
        alone = self.outcome("export", "folded", "-i", self.file)
        self.assertIn(alone.code, (0, 1, 3), where)
        if alone.code == 0:
            self.assertEqual(support.folded(alone.out), a, where)
        return rest

    def check_found(self, where):
        r = self.outcome("verify", "--store", self.store)
        self.assertEqual(r.code, 3, (where, r.out))
        self.assertIn(self.name_a.encode(), r.out + r.err, where)
        self.assertNotIn(self.name_b.encode(), r.out + r.err, where)
        self.check_terminal(r.out)
        done = self.verify(code=3)
        found = {f["name"]: f["verdict"] for f in done["files"]}
        self.assertEqual(found[self.name_b], "ok", where)
        self.assertNotEqual(found[self.name_a], "ok", where)
        self.assertEqual(done["damaged_files"], 1, where)

    def test_flipped_bits(self):
        """In 40 places: each is found, and costs no more than a part."""
        rng = random.Random(42)
        places = [0, 7, 8, 40, len(self.sound) - 1, len(self.sound) - 40]
        places += [rng.randrange(len(self.sound)) for _ in range(34)]
        whole_losses = 0
        for at in places:
            data = bytearray(self.sound)
            data[at] ^= 1 << rng.randrange(8)
            self.damage(data)
            self.check_found(f"byte {at} of {len(data)}")
            whole_losses += not self.check_rest(f"byte {at} of {len(data)}")
        self.assertLessEqual(whole_losses, 4, "most flips must leave something of the window")

    def test_no_view_is_changed_in_silence(self):
        """Whatever is damaged, tables of names too: a view is the same as before, or says that it is not."""
        said, parts = 0, {}
        for line in self.good("verify", "--dump", self.file).decode().splitlines()[1:]:
            at, size, part = line.split()[:3]
            parts.setdefault(part, int(at) + int(size) // 2)
        self.assertLessEqual({"strings", "functions", "tasks", "tree", "time"}, set(parts))
        views = {verb: self.path(f"x.{form}") for verb, form in (("flame", "svg"), ("heatmap", "svg"), ("report", "txt"))}

        def look(verb):
            r = self.outcome(verb, "--store", self.store, "-o", views[verb])
            with open(views[verb], "rb") as f:
                return r.code, f.read()

        sound = {verb: look(verb) for verb in views}
        self.assertEqual({code for code, _ in sound.values()}, {0})
        for part, at in parts.items():
            data = bytearray(self.sound)
            data[at] ^= 4
            self.damage(data)
            for verb, before in sound.items():
                code, shown = look(verb)
                self.assertTrue(code == 3 or (code, shown) == before, f"{verb}: {part}: {code}")
                said += code == 3
        self.assertGreater(said, 10)

    def test_a_chunk_costs_its_seconds(self):
        """4 KiB of zeros in the middle: most samples and stacks stay."""
        middle = len(self.sound) // 2
        data = self.sound[:middle] + bytes(64) + self.sound[middle + 64 :]
        self.damage(data)
        self.check_found("hole")
        self.check_rest("hole")

    def test_truncated(self):
        for n in (0, 1, 10, 100, len(self.sound) // 2, len(self.sound) - 1):
            self.damage(self.sound[:n])
            self.check_found(f"cut to {n}")
            self.check_rest(f"cut to {n}")

    def test_grown(self):
        self.damage(self.sound + b"more")
        self.check_found("grown")
        self.check_rest("grown")

    def test_replaced_by_another_file(self):
        for data in (b"hello", bytes(100_000), random.Random(1).randbytes(100_000)):
            self.damage(data)
            self.check_found("replaced")
            self.check_rest("replaced")

    def test_damage_is_never_made_worse(self):
        """Looking at it and importing beside it change no byte of the damaged window."""
        data = bytearray(self.sound)
        data[len(data) // 2] ^= 0x10
        self.damage(data)
        self.check_rest("before")
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        with open(self.file, "rb") as f:
            self.assertEqual(f.read(), data)
        self.assertEqual(len(self.windows()), 3)

    def test_repaired(self):
        self.damage(self.sound[:100])
        self.damage(self.sound)
        self.verify()

    def test_one_window_without_permission(self):
        program = self.path("perfcam")
        shutil.copy(support.BIN, program)
        os.chmod(program, 0o755)
        os.chmod(self.store, 0o755)
        os.chmod(os.path.join(self.store, self.name_b), 0o644)
        os.chmod(self.file, 0)
        options = {"program": program, "user": 65534 if os.geteuid() == 0 else None}
        r = support.run("export", "folded", "--store", self.store, **options)
        self.check_messages(r)
        self.assertEqual(r.code, 3, "a window could not be read, and nothing said")
        self.assertEqual(support.folded(r.out), synth.fold(self.b))
        r = support.run("verify", "--store", self.store, **options)
        self.check_messages(r)
        self.assertIn(r.code, (1, 3))
        self.assertIn(self.name_a.encode(), r.out + r.err)


class Foreign(Case):
    def setUp(self):
        super().setUp()
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        self.count = len(support.heads(support.fixture("tmpl")))

    def inside(self, name, content=None):
        return self.path(os.path.join("store", name), content)

    def test_foreign_files_are_reported_and_left_alone(self):
        things = {"notes.txt": b"mine", ".hidden": b"x", "a\x1b[31mb": b"", "perfcam.conf": b"x"}
        for name, content in things.items():
            self.inside(name, content)
        os.mkdir(self.inside("folder"))
        done = self.verify()
        kinds = {f["name"]: f["kind"] for f in done["files"]}
        self.assertEqual(kinds.get("notes.txt"), "foreign")
        self.check_terminal(self.good("verify", "--store", self.store))
        self.good("import", "--store", self.store, support.fixture_path("redis-pid"))
        for name, content in things.items():
            with open(self.inside(name), "rb") as f:
                self.assertEqual(f.read(), content)
        self.assertTrue(os.path.isdir(self.inside("folder")))
        self.check_terminal(self.good("ls", "--store", self.store))

    def test_traps(self):
        """Things that would hang, or lead elsewhere, under the name of a window."""
        os.mkfifo(self.inside("fifo.pcw"))
        os.symlink("/dev/zero", self.inside("zero.pcw"))
        os.symlink("nowhere", self.inside("dangling.pcw"))
        os.mkdir(self.inside("dir.pcw"))
        os.mkfifo(self.inside("open-00000099.pcj"))
        for words in (("ls", "--json"), ("export", "folded"), ("verify",)):
            r = support.run(*words, "--store", self.store)
            self.check_messages(r)
            self.check_bounds(r)
            self.assertIn(r.code, (0, 3), r.err)
            if words[0] == "ls":
                self.assertEqual(sum(w["samples"] for w in json.loads(r.out)), self.count)
            if words[0] == "export":
                self.assertEqual(sum(support.folded(r.out).values()), self.count)
        r = support.run("import", "--store", self.store, support.fixture_path("redis-pid"))
        self.check_messages(r)
        self.check_bounds(r)
        self.assertEqual(r.code, 0, r.err)
        redis = len(support.heads(support.fixture("redis-pid")))
        self.assertRegex(r.out, rb"\b%d samples" % redis)
        self.assertTrue(os.path.lexists(self.inside("fifo.pcw")))

    def test_leftover_temporary_files_go(self):
        self.inside("perfcam-x.pcw.tmp", b"half")
        self.verify()
        self.good("import", "--store", self.store, support.fixture_path("redis-pid"))
        self.assertEqual([n for n in os.listdir(self.store) if n.endswith(".tmp")], [])

    def unsealed(self):
        """The journal of an import that was killed: its name and its bytes."""
        child = support.Child("import", "--store", self.store, "-", stdin=subprocess.PIPE)
        child.p.stdin.write(synth.text_of(synth.recording(43, 100, 100)))
        child.p.stdin.flush()
        while True:
            names = [n for n in os.listdir(self.store) if n.endswith(".pcj")]
            if names and os.path.getsize(self.inside(names[0])) > 4000:
                break
            self.assertIsNone(child.p.poll())
        child.kill()
        child.finish()
        with open(self.inside(names[0]), "rb") as f:
            return names[0], f.read()

    def test_journal_without_a_header_is_set_aside(self):
        name, data = self.unsealed()
        broken = bytes(64) + data[64:]
        self.inside(name, broken)
        r = support.run("verify", "--store", self.store)
        self.assertEqual(r.code, 3, r.out)
        self.assertIn(name.encode(), r.out)
        r = support.run("import", "--store", self.store, support.fixture_path("redis-pid"))
        self.check_messages(r)
        self.assertIn(r.code, (0, 3))
        kept = [n for n in os.listdir(self.store) if n.startswith(name)]
        self.assertEqual(len(kept), 1, "data nobody could read was deleted")
        with open(self.inside(kept[0]), "rb") as f:
            self.assertEqual(f.read(), broken)

    def test_torn_tail_is_no_damage(self):
        name, data = self.unsealed()
        before = self.samples("--store", self.store)
        for cut in (1, 100, 1000):
            self.inside(name, data[:-cut])
            done = self.verify()
            self.assertEqual((done["damaged_files"], done["torn_tails"]), (0, 1))
        left = self.samples("--store", self.store)
        self.assertGreater(left, before - 400)
        self.good("import", "--store", self.store, support.fixture_path("redis-pid"))
        self.assertEqual(self.verify()["torn_tails"], 0)
        redis = len(support.heads(support.fixture("redis-pid")))
        self.assertEqual(self.samples("--store", self.store), left + redis)

    def test_journal_cut_inside_its_header_holds_nothing(self):
        """Killed between creating the file and its first block: nothing is lost, or damaged."""
        name, data = self.unsealed()
        for n in (0, 1, 30, 60):
            self.inside(name, data[:n])
            self.assertEqual(self.verify()["damaged_files"], 0, n)
            self.assertEqual(self.samples("--store", self.store), self.count)
        self.good("import", "--store", self.store, support.fixture_path("redis-pid"))
        self.assertEqual([n for n in os.listdir(self.store) if n.startswith("open-")], [])

    def test_journal_on_its_own_can_be_read(self):
        name, _ = self.unsealed()
        path = self.inside(name)
        whole = sum(w["samples"] for w in self.ls("--store", self.store))
        self.assertEqual(self.samples("-i", path), whole - self.count)
        lines = self.export("-i", path)
        self.assertEqual(sum(lines.values()), whole - self.count)

    def test_hole_in_a_journal_costs_its_block(self):
        name, data = self.unsealed()
        before = self.samples("--store", self.store) - self.count
        at = len(data) // 2
        self.inside(name, data[:at] + bytes(16) + data[at + 16 :])
        r = support.run("verify", "--store", self.store)
        self.assertEqual(r.code, 3, r.out)
        self.assertIn(name.encode(), r.out)
        r = support.run("export", "folded", "--store", self.store)
        self.check_messages(r)
        self.assertEqual(r.code, 3, r.err)
        left = sum(support.folded(r.out).values()) - self.count
        self.assertGreater(left, before // 3)
        self.assertLess(left, before)


class Newer(Case):
    """Feature words: magic, compatible, read-only compatible, incompatible, crc32c of these."""

    def setUp(self):
        super().setUp()
        self.good("import", "--store", self.store, support.fixture_path("tmpl"))
        self.file = os.path.join(self.store, self.windows()[0])
        with open(self.file, "rb") as f:
            self.sound = f.read()

    def with_feature(self, word):
        data = bytearray(self.sound)
        data[8 + 4 * word + 3] |= 0x40
        struct.pack_into("<I", data, 20, support.crc32c(data[:20]))
        with open(self.file, "wb") as f:
            f.write(data)
        return bytes(data)

    def test_checksum_is_what_the_format_says(self):
        (crc,) = struct.unpack_from("<I", self.sound, 20)
        self.assertEqual(crc, support.crc32c(self.sound[:20]))

    def test_compatible_features_do_not_hinder_reading(self):
        want = self.good("export", "folded", "--store", self.store)
        for word in (0, 1):
            self.with_feature(word)
            self.assertEqual(self.good("export", "folded", "--store", self.store), want)
            self.verify()

    def test_incompatible_feature_is_refused_untouched(self):
        data = self.with_feature(2)
        self.bad("export", "folded", "-i", self.file, names=(self.file, "newer"))
        done = self.verify(code=3)
        self.assertIn("newer", [f["verdict"] for f in done["files"]])
        r = support.run("verify", "--store", self.store)
        self.assertIn(os.path.basename(self.file).encode(), r.out)
        self.assertIn(b"newer", r.out)
        self.good("import", "--store", self.store, support.fixture_path("redis-pid"))
        r = support.run("export", "folded", "--store", self.store)
        self.check_messages(r)
        self.assertEqual(r.code, 3, "a window was left out, and nothing said")
        count = len(support.heads(support.fixture("redis-pid")))
        self.assertEqual(sum(support.folded(r.out).values()), count)
        with open(self.file, "rb") as f:
            self.assertEqual(f.read(), data)


tap.main()
