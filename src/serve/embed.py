#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes C of the page's files, each compressed by gzip: embed.py OUT FILE... [--speedscope PACKAGE]

The bytes depend on nothing but the files: no time, no name is in them. PACKAGE: speedscope as npm installs it; of it
what a viewer of our exports needs, and its licences.
"""
import gzip
import hashlib
import os
import sys

TYPES = {".html": "text/html; charset=utf-8", ".js": "text/javascript; charset=utf-8",
         ".css": "text/css; charset=utf-8", ".svg": "image/svg+xml", ".woff2": "font/woff2", ".png": "image/png",
         ".ico": "image/x-icon",
         "": "text/plain; charset=utf-8", ".md": "text/plain; charset=utf-8"}


def speedscope(package):
    """(where, file) of what is served under /speedscope/: no example profile, no reader of JFR."""
    release = os.path.join(package, "dist", "release")
    found = [("/speedscope/LICENSE", os.path.join(package, "LICENSE"))]
    for name in sorted(os.listdir(release)):
        if name == "index.html":
            found.append(("/speedscope/", os.path.join(release, name)))
        elif name.startswith("speedscope-") or name.endswith((".woff2", ".png", ".ico", ".LICENSE.md")):
            found.append(("/speedscope/" + name, os.path.join(release, name)))
    return found


def main():
    out, *files = sys.argv[1:]
    others = []
    if "--speedscope" in files:
        at = files.index("--speedscope")
        others, files = speedscope(files[at + 1]), files[:at]
    names = [("/" if os.path.basename(f) == "index.html" else "/assets/" + os.path.basename(f), f) for f in files]
    parts, rows = [], []
    for i, (where, path) in enumerate(names + others):
        name = os.path.basename(path)
        with open(path, "rb") as f:
            plain = f.read()
        packed = gzip.compress(plain, 9, mtime=0)
        tag = hashlib.sha256(plain).hexdigest()[:16]
        lines = ["\t" + ",".join(map(str, packed[k:k + 24])) + "," for k in range(0, len(packed), 24)]
        parts.append(f"static const unsigned char bytes_{i}[] = {{\n" + "\n".join(lines) + "\n};\n")
        rows.append(f'\t{{"{where}", "{TYPES[os.path.splitext(name)[1]]}", "\\"{tag}\\"", '
                    f"bytes_{i}, sizeof(bytes_{i})}},\n")
    with open(out, "w", encoding="ascii") as f:
        f.write('// Made by embed.py from web/dist.\n#include "serve/assets.h"\n\n')
        f.write("\n".join(parts) + "\n")
        f.write("const struct cam_asset cam_assets[] = {\n" + "".join(rows) + "};\n")
        f.write(f"const size_t cam_n_assets = {len(rows)};\n")


main()
