#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes a C string of a style sheet or script: embed.py NAME IN OUT.

Indentation, empty lines and lines that are nothing but a comment are left out, so that what stands
in every picture is small; nothing else is changed. Neither may hold a template literal of several
lines, or the end of a CDATA section.
"""
import base64
import hashlib
import re
import sys


def squeeze(text):
    text = re.sub(r"/\*.*?\*/\n", "", text, flags=re.S)
    lines = (line.strip() for line in text.splitlines())
    return "".join(line + "\n" for line in lines if line and not line.startswith("//"))


def main():
    name, source, target = sys.argv[1:]
    with open(source, encoding="utf-8") as f:
        text = squeeze(f.read())
    if "]]>" in text or "`" in text:
        sys.exit(f"{source}: ]]> and template literals have no place here")
    if not text.isascii():
        sys.exit(f"{source}: a picture may be declared in any encoding that has ASCII, and no more")
    with open(target, "w", encoding="utf-8") as f:
        f.write(f"// Made by embed.py from {source.rsplit('/', 1)[-1]}.\n")
        f.write('#include "render/embedded.h"\n')
        f.write(f"const char {name}[] =\n")
        for line in text.splitlines():
            escaped = line.replace("\\", "\\\\").replace('"', '\\"')
            f.write(f'\t"{escaped}\\n"\n')
        f.write(";\n")
        if not source.endswith(".js"):
            return
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        f.write(f'const char {name}_sha256[] = "{digest}";\n')


main()
