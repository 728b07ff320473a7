#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Bad input: a one-line error, or a partial result that says what was lost, within bounds.

The malformed texts are made here from the fixtures, the same ones in every run.
"""
import gzip
import json
import os
import random
import re
import struct
import zlib

import support
import synth
import tap
from support import Case

MIB = 1 << 20


class Bad(Case):
    def outcome(self, *args, **options):
        """Runs within bounds; answers the result after the checks that hold for any input."""
        r = support.run(*args, **options)
        self.check_messages(r)
        self.check_bounds(r)
        self.assertIn(r.code, (0, 1, 3), r.err)
        if r.code == 1:
            self.assertEqual(r.err.count(b"\n"), 1, r.err)
            self.assertTrue(r.out == b"" or args[0] == "import", r.out)
        if r.code == 3:
            self.assertGreaterEqual(r.err.count(b"\n"), 1, "lost something and did not say")
        return r

    def count(self, *args, whole, **options):
        """How many samples come out of a text that holds `whole`; what is missing must be told."""
        r = self.outcome("ls", "--json", *args, **options)
        self.assertIn(r.code, (0, 3), r.err)
        count = sum(w["samples"] for w in json.loads(r.out))
        if count != whole:
            self.assertEqual(r.code, 3, f"{count} of {whole} samples, and nothing said")
        return count

    def every_verb(self, data, **expect):
        """Pictures, stacks, lists and imports of the same bad bytes agree in their status."""
        make = (lambda: data) if isinstance(data, bytes) else data
        codes = set()
        for words in (
            ("ls", "-i", "-"), ("export", "folded", "-i", "-"),
            ("flame", "-i", "-", "-o", self.path("x.svg")),
        ):
            codes.add(self.outcome(*words, stdin=make()).code)
        r = support.run("import", "--store", self.store, "-", stdin=make())
        self.check_messages(r)
        self.check_bounds(r)
        codes.add(r.code)
        self.assertEqual(len(codes), 1, codes)
        code = codes.pop()
        self.assertIn(code, expect.get("codes", (1, 3)))
        if code == 1:
            self.assertFalse(os.path.exists(self.path("x.svg")))
        self.verify()
        return code


class Cut(Bad):
    def test_gzip_cut_in_half(self):
        text = support.fixture("nginx-997")
        with open(support.fixture_path("nginx-997"), "rb") as f:
            half = f.read()[: os.path.getsize(support.fixture_path("nginx-997")) // 2]
        inner = zlib.decompressobj(31).decompress(half)
        whole, readable = len(support.heads(text)), len(support.heads(inner))
        count = self.count("-i", "-", stdin=half, whole=whole)
        self.assertLessEqual(abs(readable - count), 2)
        self.assertEqual(self.every_verb(half), 3)
        lines = support.folded(support.run("export", "folded", "-i", "-", stdin=half).out)
        for stack, n in lines.items():
            self.assertLessEqual(n, support.oracle("nginx-997")[stack])
        self.assertAlmostEqual(sum(lines.values()) / synth.Sample(b"", 0, 0, 0, []).period,
                               count, delta=2)

    def test_cut_at_many_places(self):
        packed = gzip.compress(support.fixture("tmpl"))
        squeezed = support.zstd(support.fixture("tmpl"))
        whole = len(support.heads(support.fixture("tmpl")))
        for data in (packed, squeezed):
            for at in (0.1, 0.5, 0.9, 1 - 1 / len(data)):
                self.outcome("export", "folded", "-i", "-", stdin=data[: int(at * len(data))])
            cut = data[: int(0.9 * len(data))]
            self.assertGreater(self.count("-i", "-", stdin=cut, whole=whole), whole // 4)
        for at in (1, 5, 9, 17):
            r = self.outcome("ls", "-i", "-", stdin=packed[:at])
            self.assertEqual(r.code, 1)

    def test_gzip_with_a_wrong_byte(self):
        whole = len(support.heads(support.fixture("tmpl")))
        packed = gzip.compress(support.fixture("tmpl"), mtime=0)
        rng = random.Random(1)
        for _ in range(12):
            data = bytearray(packed)
            data[rng.randrange(200, len(data))] ^= 1 << rng.randrange(8)
            r = self.outcome("ls", "--json", "-i", "-", stdin=bytes(data))
            self.assertEqual(r.code, 3, "the checksum must not hold")
            self.assertLessEqual(sum(w["samples"] for w in json.loads(r.out)), whole + 1)

    def test_text_cut_inside_a_sample(self):
        samples = synth.recording(11, 2, 50)
        text = synth.text_of(samples)
        cut = text[: text.rindex(b"(/usr/bin/synth)") - 20]
        self.assertEqual(self.count("-i", "-", stdin=cut, whole=len(samples)), len(samples) - 1)

    def test_garbage_behind_gzip(self):
        data = gzip.compress(support.fixture("tmpl")) + b"and some more bytes"
        whole = len(support.heads(support.fixture("tmpl")))
        r = self.outcome("ls", "--json", "-i", "-", stdin=data)
        self.assertIn(r.code, (0, 3))
        self.assertEqual(sum(w["samples"] for w in json.loads(r.out)), whole)

    def test_nested_gzip(self):
        text = support.fixture("tmpl")
        code = self.every_verb(gzip.compress(gzip.compress(text)), codes=(0, 1))
        if code == 0:
            self.assertEqual(self.samples("--store", self.store), len(support.heads(text)))


class Comm(Bad):
    """A process names itself what it likes."""

    def with_comm(self, comm):
        samples = synth.recording(12, 4, 50)
        victim = samples[77]
        victim.comm = comm
        return samples, synth.text_of(samples)

    def test_spaces_semicolons_brackets(self):
        for comm in (
            b"two words", b" led by space", b"a;b", b"[000]", b"a [003] b", b"x 12 34",
            b"(kworker)", b"kworker/0:1H", b"12345", b"a:b: c", b"#comment",
            b"\xff\xfe", b"1.5: 7 cpu:",
        ):
            with self.subTest(comm):
                samples, text = self.with_comm(comm)
                count = self.count("-i", "-", stdin=text, whole=len(samples))
                self.assertEqual(count, len(samples))
                lines = self.export("-i", "-", "--weight", "samples", stdin=text)
                rest = synth.fold(samples[:77] + samples[78:])
                for stack, n in rest.items():
                    self.assertGreaterEqual(lines.get(stack, 0), n)
                self.assertEqual(sum(lines.values()), len(samples))

    def test_no_characters_and_newline(self):
        for comm in (b"", b"a\nb", b"\n", b"a\n\nb", b"a\r", b"a\x00b", b"\x1b[31m"):
            with self.subTest(comm):
                samples, text = self.with_comm(comm)
                count = self.count("-i", "-", stdin=text, whole=len(samples))
                self.assertGreaterEqual(count, len(samples) - 2)
                words = ("export", "folded", "--weight", "samples", "-i", "-")
                lines = support.folded(self.outcome(*words, stdin=text).out)
                others = synth.fold(samples[:76] + samples[78:])
                for stack, n in others.items():
                    self.assertGreaterEqual(lines.get(stack, 0), n)

    def test_comm_that_imitates_a_sample(self):
        """A newline in a comm can fake a sample; it must not take others with it."""
        samples, text = self.with_comm(b"x 1 [000] 1.000000: 1 cycles:\n\t1 fake (x)\n\ny")
        r = self.outcome("ls", "--json", "-i", "-", stdin=text)
        self.assertIn(r.code, (0, 3))
        count = sum(w["samples"] for w in json.loads(r.out))
        self.assertGreaterEqual(count, len(samples) - 1)
        self.assertLessEqual(count, len(samples) + 1)


class Numbers(Bad):
    def test_two_samples_a_billion_seconds_apart(self):
        first, second = synth.recording(13, 1, 2)
        second.time_us = first.time_us + 10**15
        text = synth.text_of([first, second])
        self.assertEqual(self.count("-i", "-", stdin=text, whole=2), 2)
        self.every_verb(text, codes=(0, 3))
        listed = json.loads(support.run("ls", "--json", "--store", self.store).out)
        self.assertLessEqual(len(listed), 3)
        self.assertEqual(sum(w["samples"] for w in listed), 2)
        self.assertEqual(sum(self.export("--store", self.store).values()), 2)
        self.assertLess(sum(os.path.getsize(os.path.join(self.store, n))
                            for n in self.windows()), 100000)
        self.svg("--store", self.store)

    def test_a_billion_seconds_back_and_forth(self):
        samples = synth.recording(14, 4, 50)
        for s in samples[1::2]:
            s.time_us += 10**15
        r = self.outcome("import", "--store", self.store, "-", stdin=synth.text_of(samples))
        self.assertIn(r.code, (0, 3))
        self.assertLess(len(os.listdir(self.store)), len(samples) + 10)
        self.verify()

    def test_numbers_out_of_range(self):
        samples = synth.recording(15, 4, 50)
        good = synth.text_of(samples)
        head = samples[50].head()
        for old, new in (
            (rb"\d+\.\d{6}:", b"99999999999999999999.000000:"),
            (rb"\d+\.\d{6}:", b"18446744073.709551:"),
            (rb"\d+\.\d{6}:", b"0.000000:"),
            (rb"\d+\.\d{6}:", b"-5.000000:"),
            (rb"\[\d+\]", b"[4294967295]"),
            (rb"\[\d+\]", b"[99999999999999999999]"),
            (rb" 1003009 ", b" 18446744073709551615 "),
            (rb" 1003009 ", b" 99999999999999999999999 "),
            (rb" 1003009 ", b" 0 "),
            (rb"(?<= ) \d+ (?=\[)", b" 99999999999 "),
            (rb"(?<= ) \d+ (?=\[)", b" -1 "),
        ):
            with self.subTest(new):
                bad = re.sub(old, new, head)
                self.assertNotEqual(bad, head)
                text = good.replace(head, bad, 1)
                self.assertGreaterEqual(
                    self.count("-i", "-", stdin=text, whole=len(samples)), len(samples) - 2
                )
                r = self.outcome("import", "--store", self.store, "-", stdin=text)
                self.assertIn(r.code, (0, 3))
        self.verify()

    def test_folded_counts_out_of_range(self):
        for count in (b"99999999999999999999999", b"-5", b"1.5", b"0", b"nan", b"", b"0x10"):
            with self.subTest(count):
                text = b"a;good 1\na;bad %s\na;fine 2\n" % count
                r = self.outcome("export", "folded", "-i", "-", stdin=text)
                if r.code != 1:
                    lines = set(r.out.splitlines())
                    self.assertLessEqual({b"a;good 1", b"a;fine 2"}, lines)
                    self.assertEqual(b"a;bad 1.5" in lines, count == b"1.5")

    def test_counts_that_overflow(self):
        text = b"a;b 18446744073709551615\na;c 18446744073709551615\n"
        r = self.outcome("flame", "-i", "-", "-o", self.path("x.svg"), stdin=text)
        self.assertIn(r.code, (0, 3))


class Noise(Bad):
    def test_random_bytes(self):
        for seed in range(6):
            data = random.Random(seed).randbytes(200_000)
            self.assertEqual(self.outcome("export", "folded", "-i", "-", stdin=data).code, 1)
            self.assertEqual(
                self.outcome("ls", "-i", "-", stdin=b"\x1f\x8b\x08\x00" + data).code, 1
            )
            self.assertEqual(
                self.outcome("ls", "-i", "-", stdin=b"\x28\xb5\x2f\xfd" + data).code, 1
            )

    def test_random_changes(self):
        text = support.fixture("nginx-997")
        whole = len(support.heads(text))
        for seed in range(3):
            rng, data = random.Random(seed), bytearray(text)
            for _ in range(2000):
                data[rng.randrange(len(data))] = rng.randrange(256)
            r = self.outcome("ls", "--json", "-i", "-", stdin=bytes(data))
            self.assertIn(r.code, (0, 3))
            count = sum(w["samples"] for w in json.loads(r.out))
            self.assertGreater(count, whole - 2000)
            self.assertLess(count, whole + 400)
            self.outcome("flame", "-i", "-", "-o", self.path("x.svg"), stdin=bytes(data))

    def test_zeros_in_the_middle(self):
        """What a crashed host leaves in a text file: a hole of zeros."""
        text = support.fixture("gcc-compile")
        whole = len(support.heads(text))
        holed = text[:400_000] + bytes(8192) + text[408_192:]
        lost = whole - len(support.heads(text[:400_000])) - len(support.heads(text[408_192:]))
        count = self.count("-i", "-", stdin=holed, whole=whole)
        self.assertLess(abs(whole - lost - count), 4)

    def test_line_ends_of_another_system(self):
        samples = synth.recording(16, 4, 50)
        text = synth.text_of(samples).replace(b"\n", b"\r\n")
        r = self.outcome("ls", "--json", "-i", "-", stdin=text)
        if r.code != 1:
            self.assertEqual(sum(w["samples"] for w in json.loads(r.out)), len(samples))

    def test_frames_without_a_head(self):
        samples = synth.recording(17, 4, 50)
        text = b"".join(s.text() for s in samples)
        behind = text[text.index(b"\n") + 1 :]
        self.assertEqual(self.count("-i", "-", stdin=behind, whole=len(samples)), len(samples) - 1)


def one_line(head, letter, mib, tail=b""):
    """A line of that many MiB, a piece at a time."""
    yield head
    piece = letter * MIB
    for _ in range(mib):
        yield piece
    yield tail


LARGEST = b"print fmt: \"%d\", " + b"+".join([b"1"] * 8100)  # an expression of nearly as many parts as one may have


def attr(config, kind=2):
    """Of a tracepoint, with nothing but its address, task, time and id."""
    return struct.pack("<IIQQQQQ", kind, 112, config, 1000, 1 | 2 | 4 | 1 << 16, 4, 1 << 18) + bytes(64)


def record(kind, body):
    return struct.pack("<IHH", kind, 0, 8 + len(body)) + body


def ids_of_all(events, ids):
    """A perf.data without samples in which each event has the same ids: those of all of them."""
    at = 104 + events * 128
    head = b"PERFILE2" + struct.pack("<8Q", 104, 128, 104, events * 128, at + 8 * ids, 8, 0, 0) + bytes(32)
    attrs = b"".join(attr(i + 1) + struct.pack("<QQ", at, 8 * ids) for i in range(events))
    return head + attrs + struct.pack(f"<{ids}Q", *range(1, ids + 1)) + record(68, b"")


def formats(n, behind=b""):
    return [b"name: x\nID: %d\nformat:\n\n%s\n" % (i + 1, behind) for i in range(n)]


def pipe(events, texts):
    """A perf.data as perf writes it to a pipe: tracepoints, and these formats."""
    tracing = b"\x17\x08\x44tracing0.6\0\0\x08" + struct.pack("<I", 4096) + b"header_page\0" + bytes(8) + b"header_event\0" + bytes(8)
    tracing += struct.pack("<II", 0, 1) + b"system\0" + struct.pack("<I", len(texts)) + b"".join(struct.pack("<Q", len(t)) + t for t in texts)
    tracing += bytes(-len(tracing) % 8)
    head = b"PERFILE2" + struct.pack("<Q", 16) + b"".join(record(64, attr(i + 1)) for i in range(events))
    return head + record(66, struct.pack("<II", len(tracing), 0)) + tracing


def kernel(i, offset):
    """A mapping of the kernel of a guest."""
    path = b"[guest.kernel.kallsyms.%d]_text\0" % i
    return struct.pack("<IHH", 1, 1, 80 + len(path) + -len(path) % 8) + struct.pack("<iIQQQ", -1, 0, 1 << 63, 4096, offset) + path + bytes(-len(path) % 8 + 40)


class Bombs(Bad):
    def bomb(self, unit, mib, wrap):
        """gzip: one deflate stream whose blocks repeat, so that it is made quickly."""
        text = (unit * (MIB // len(unit) + 1))[:MIB]
        if wrap == "zstd":
            return support.zstd(text * 64) * (mib // 64)
        packer = zlib.compressobj(9, zlib.DEFLATED, -15)
        packer.compress(text)
        first = packer.flush(zlib.Z_FULL_FLUSH)
        crc = 0
        for _ in range(mib):
            crc = zlib.crc32(text, crc)
        last = zlib.compressobj(9, zlib.DEFLATED, -15).flush()
        head = b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\xff"
        end = crc.to_bytes(4, "little") + (mib * MIB % 2**32).to_bytes(4, "little")
        return head + first * mib + last + end

    def test_bombs(self):
        sample = synth.recording(18, 1, 1)[0].text()
        for wrap in ("gzip", "zstd"):
            for unit in (b"\0", b"\n", b"a;b;c 1\n", sample):
                with self.subTest((wrap, unit[:8])):
                    data = self.bomb(unit, 1024, wrap)
                    self.assertGreater(1024 * MIB / len(data), 200)
                    path = self.path("bomb", data)
                    self.outcome("export", "folded", "-i", path)

    def test_bombs_inside_of_perf_data(self):
        """Records that perf compressed (`perf record -z`) are zstd inside of a file that is plain: 4 GiB of zeros, or of records."""
        lost = struct.pack("<IHHQQ", 2, 0, 24, 1, 1)  # PERF_RECORD_LOST: it does nothing
        for unit in (b"\0", lost):
            packed = support.zstd((unit * (MIB // len(unit) + 1))[:MIB]) * 4096
            pieces = (packed[at:at + 65000] for at in range(0, len(packed), 65000))
            data = b"PERFILE2" + struct.pack("<Q", 16) + b"".join(struct.pack("<IHH", 81, 0, 8 + len(p)) + p for p in pieces)
            self.assertGreater(4096 * MIB / len(data), 200)
            r = self.outcome("export", "folded", "-i", self.path("bomb.data", data))
            self.assertEqual(r.code, 1, r.err)
            self.assertIn(b"bomb", r.err)

    def test_heads_of_perf_data_that_multiply(self):
        """A few MB whose events all claim the same million ids; formats of tracepoints that are asked for again and again, that
        nobody asks for, or that are as large as they may be, thousands of them: what is read of a head is bounded in all. And kernels
        that all have the offset that was a factor of a hash."""
        for name, data in (("ids", ids_of_all(4096, MIB)), ("again", pipe(4096, formats(4096)) + record(80, struct.pack("<Q", 1)) * 20000),
                           ("many", pipe(4096, (b"\nID: 0",) * (2 * MIB))), ("large", pipe(4096, formats(1000, LARGEST))),
                           ("alike", pipe(1, ()) + b"".join(kernel(i, 0xd6e8feb86659fd93) for i in range(100000)))):
            with self.subTest(name):
                r = self.outcome("ls", "-i", self.path("heads.data", data))
                self.assertEqual(r.code, 1, r.err)
                self.assertIn(b"no samples", r.err)
                self.assertLess(r.cpu, 2 * (10 if support.SANITIZED else 1))

    def test_bomb_of_nothing_is_refused(self):
        """1000:1, 1 GiB of zeros: refused, with a reason, long before its end."""
        path = self.path("bomb.gz", self.bomb(b"\0", 1024, "gzip"))
        self.assertLess(os.path.getsize(path) * 900, 1024 * MIB)
        r = self.bad("ls", "-i", path, names=path)
        self.check_bounds(r)
        self.assertLess(r.cpu, 3 * (10 if support.SANITIZED else 1))

    def test_one_line_of_a_gibibyte(self):
        for letter in (b"x", b"\0", b" ", b";"):
            r = self.outcome("export", "folded", "-i", "-", stdin=one_line(b"", letter, 1024))
            self.assertEqual(r.code, 1)

    def test_long_line_inside_a_text(self):
        """A frame of a GiB costs itself, not the rest."""
        samples = synth.recording(19, 2, 50)
        texts = [s.text() for s in samples]
        before = synth.header() + b"".join(texts[:50])
        at = texts[50].index(b" (/usr")
        stdin = one_line(
            before + texts[50][:at], b"n", 1024, texts[50][at:] + b"".join(texts[51:])
        )
        self.assertGreaterEqual(
            self.count("-i", "-", stdin=stdin, whole=len(samples)), len(samples) - 1
        )

    def test_very_deep_stack(self):
        samples = synth.recording(20, 2, 50)
        samples[50].frames = [b"recurse"] * 200_000
        text = synth.text_of(samples)
        count = self.count("-i", "-", stdin=text, whole=len(samples))
        self.assertGreaterEqual(count, len(samples) - 1)
        r = self.outcome("flame", "-i", "-", "-o", self.path("x.svg"), stdin=text)
        self.assertIn(r.code, (0, 3))
        deep = b";".join([b"f"] * 200_000) + b" 1\nok 2\n"
        r = self.outcome("export", "folded", "-i", "-", stdin=deep)
        if r.code != 1:
            self.assertIn(b"ok 2\n", r.out)

    def test_every_name_another(self):
        """40 MB in which nothing repeats stays within bounds, too."""
        rng = random.Random(21)

        def text():
            yield synth.header()
            for i in range(40):
                yield b"".join(
                    b"c%x %d [000] %d.%06d: 1 cycles: \n\t%x %s (/%x)\n\t%x %s (/%x)\n\n"
                    % (rng.getrandbits(40), i + 1, i + 10, j, rng.getrandbits(40),
                       b"%060x" % rng.getrandbits(240), rng.getrandbits(40), rng.getrandbits(40),
                       b"%060x" % rng.getrandbits(240), rng.getrandbits(40))
                    for j in range(4500)
                )

        self.assertEqual(self.count("-i", "-", stdin=text(), whole=180_000), 180_000)

    def test_honest_text_that_compresses_well(self):
        """One busy loop for a quarter of an hour is no bomb."""
        sample = synth.recording(22, 1, 1)[0]
        sample.frames = [b"spin"] * 20 + [b"main"]
        texts = []
        for i in range(30_000):
            sample.time_us += 30_000
            texts.append(sample.text())
        text = b"".join(texts)
        for data in (gzip.compress(text), support.zstd(text, 10)):
            self.assertEqual(self.count("-i", "-", stdin=data, whole=30_000), 30_000)


tap.main()
