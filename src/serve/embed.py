#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of the page's files, each compressed by gzip: embed.py OUT FILE...

The bytes depend on nothing but the files: no time, no name is in them.
"""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


def main():
    out, *files = sys.argv[1:]
    parts, rows = [], []
    for i, path in enumerate(files):
        name = os.path.basename(path)
        with open(path, "rb") as f:
            plain = f.read()
        packed = gzip.compress(plain, 9, mtime=0)
        tag = hashlib.sha256(plain).hexdigest()[:16]
        where = "/" if name == "index.html" else "/assets/" + name
        lines = ["\t" + ",".join(map(str, packed[k:k + 24])) + "," for k in range(0, len(packed), 24)]
        parts.append(f"static const unsigned char bytes_{i}[] = {{\n" + "\n".join(lines) + "\n};\n")
        rows.append(f'\t{{"{where}", "{TYPES[os.path.splitext(name)[1]]}", "\\"{tag}\\"", '
                    f"bytes_{i}, sizeof(bytes_{i})}},\n")
    with open(out, "w", encoding="ascii") as f:
        f.write('// Made by embed.py from web/dist.\n#include "serve/assets.h"\n\n')
        f.write("\n".join(parts) + "\n")
        f.write("const struct cam_asset cam_assets[] = {\n" + "".join(rows) + "};\n")
        f.write(f"const size_t cam_n_assets = {len(files)};\n")


main()
