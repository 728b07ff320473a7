# SPDX-License-Identifier: Apache-2.0
"""perf script's text, read the plain way, for comparing what perf says of a file with what perfcam says."""
import re

HEAD = re.compile(
    r"^(?P<comm>.*?)\s+(?:(?P<pid>-?\d+)/)?(?P<tid>-?\d+)\s+(?:\[(?P<cpu>\d+)\]\s+)?(?P<time>\d+\.\d+):\s+"
    r"(?:(?P<period>\d+)\s+)?(?P<event>\S.*?):(?:\s+(?P<text>.*))?$"
)


def samples(text, decimals=9, frames=lambda line: line.split()[0]):
    """[(comm, pid, tid, cpu, time, event), frames], in the order of the text. Periods: see periods()."""
    found, current = [], None
    for line in text.decode(errors="surrogateescape").split("\n"):
        if line.startswith("#"):
            continue
        if not line.strip():
            current = None
        elif line[0] != "\t":
            m = HEAD.match(line)
            if not m:
                raise AssertionError(f"not a head: {line!r}")
            # A thread that is ending is of no process, -1: perfcam prints the thread alone.
            seconds, _, fraction = m["time"].partition(".")
            # Of nanoseconds that are whole microseconds perfcam prints these, as perf does without --ns.
            if len(fraction) == 9 and fraction.endswith("000"):
                fraction = fraction[:6]
            when = seconds + "." + fraction[:decimals]
            current = []
            found.append(((m["comm"].strip(), m["pid"] or m["tid"], m["tid"], m["cpu"], when, m["event"]), current))
        else:
            current.append(frames(line))
    return found


def named(line):
    """A frame as (address, name, module), with perf's +0xOFFSET."""
    m = re.match(r"^\s+([0-9a-f]+) (.*?)(?: \(((?:[^()]| \(deleted\))*)\))?$", line)
    return m.groups()


def compare(case, want, got, what):
    """The same samples with the same frames."""
    case.assertEqual(len(want), len(got), what)
    order = lambda s: (s[0][4], s[0][:3], s[0][5], str(s[1]))  # noqa: E731: by time
    for a, b in zip(sorted(want, key=order), sorted(got, key=order)):
        # Where one event of several has no CPU, perf prints that of none.
        case.assertEqual(a[0], b[0][:3] + (a[0][3] and b[0][3],) + b[0][4:], what)
        case.assertEqual(a[1], b[1], f"{what}: {a[0]}")
