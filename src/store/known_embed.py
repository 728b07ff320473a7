#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes the tables of store/known.h: known_embed.py IN OUT. A line of IN is a name; its number is that of its line."""
import sys


def table(f, kind, name, values):
    f.write(f"const {kind} {name}[] = {{\n")
    for at in range(0, len(values), 16):
        f.write("\t" + " ".join(f"{v}," for v in values[at:at + 16]) + "\n")
    f.write("};\n")


def main():
    source, target = sys.argv[1:]
    with open(source, "rb") as f:
        text = f.read()
    names = text.split(b"\n")
    if names.pop() or len(set(names)) != len(names) or b"" in names:
        sys.exit(f"{source}: every line is a name, and no two are the same")
    starts = [0]
    for name in names:
        starts.append(starts[-1] + len(name) + 1)
    with open(target, "w", encoding="ascii") as f:
        f.write("// Made by known_embed.py from known_names.txt.\n#include \"store/known.h\"\n")
        table(f, "uint8_t", "cam_known_text", text)
        table(f, "uint32_t", "cam_known_start", starts)
        table(f, "uint16_t", "cam_known_sorted", sorted(range(len(names)), key=names.__getitem__))
        f.write(f"_Static_assert(CAM_KNOWN_NAMES == {len(names)}, \"names\");\n")
        f.write(f"_Static_assert(CAM_KNOWN_BYTES == {len(text)}, \"bytes\");\n")


main()
