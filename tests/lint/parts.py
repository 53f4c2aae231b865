#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Counts the lines of the core, and of each part that a packager may leave out, and compares them
with what docs/ARCHITECTURE.md says: parts.py [--folders]. Exits with 1 if that is too far off.

Core is every folder of tests/lint/layers.txt that no `optional` line names: the kernel half, stackd,
stackctl and libstackalloc. Counted are lines of C, C++ and assembly with code: neither blank nor
comment alone. What is generated, tests and bench do not count."""

import os
import re
import sys

import layers

STATED = re.compile(r"^\| `?(\w+)`?[^|]*\|[^|]*\| ([\d,]+) \|$", re.M)
FAR = 0.05, 200  # a share of the lines, or so many if that is more
CODE = re.compile(r"\.(c|h|cc|S)$")
COMMENT = re.compile(r'/\*.*?\*/|//[^\n]*|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])*\'', re.S)


def code_lines(path):
    """The lines of a file with more than blanks and comments."""
    with open(path, encoding="utf-8") as file:
        text = COMMENT.sub(lambda m: m[0] if m[0][0] in "\"'" else "\n" * m[0].count("\n"), file.read())
    return sum(1 for line in text.split("\n") if line.strip())


def count(folder):
    """(lines with code, files) of a folder, with the folders of each processor."""
    total = files = 0
    folders = [folder]
    if folder == layers.ARCH:
        folders = [f for f, _, _ in os.walk(os.path.join(layers.ROOT, folder))]
    for each in folders:
        for name in os.listdir(os.path.join(layers.ROOT, each)):
            if CODE.search(name):
                total += code_lines(os.path.join(layers.ROOT, each, name))
                files += 1
    return total, files


def stated():
    """{part: the lines that docs/ARCHITECTURE.md says it has}"""
    with open(os.path.join(layers.ROOT, "docs/ARCHITECTURE.md"), encoding="utf-8") as file:
        return {m[1]: int(m[2].replace(",", "")) for m in STATED.finditer(file.read())}


def main():
    folders, parts, _ = layers.read_layers(os.path.join(layers.HERE, "layers.txt"))
    sums = {}
    for folder in folders:
        if folder.endswith("/without"):
            continue
        lines, files = count(folder)
        if "--folders" in sys.argv[1:]:
            print("%-8s %7d  %s" % (parts.get(folder, "core"), lines, folder))
        total = sums.setdefault(parts.get(folder, "core"), [0, 0])
        total[0] += lines
        total[1] += files
    for part, (lines, files) in sums.items():
        print("%-8s %7d lines in %d files" % (part, lines, files))
    said = stated()
    faults = ["docs/ARCHITECTURE.md: %s has %d lines, not %s" % (part, lines, said.get(part))
              for part, (lines, _) in sums.items()
              if abs(said.get(part, 0) - lines) > max(FAR[0] * lines, FAR[1])]
    print("\n".join(faults), end="\n" if faults else "")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
