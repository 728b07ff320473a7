#!/usr/bin/env python3
# SPDX-License-Identifier: (GPL-2.0-only OR BSD-2-Clause)
"""Makes a C array of an object file: embed.py NAME IN OUT. libbpf reads it as a file in memory."""
import sys


def main():
    name, source, target = sys.argv[1:]
    with open(source, "rb") as f:
        data = f.read()
    with open(target, "w", encoding="ascii") as f:
        f.write('#include "capture/bpf/embedded.h"\n')
        f.write(f"_Alignas(8) const unsigned char {name}[] = {{\n")
        for at in range(0, len(data), 16):
            f.write("\t" + " ".join(f"{byte}," for byte in data[at:at + 16]) + "\n")
        f.write("};\n")
        f.write(f"const size_t {name}_bytes = sizeof({name});\n")


main()
