#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds code outside of arch/ against the names of processors: of registers, instructions,
relocations and decoders. Files that arch_files.txt lists have not been moved behind arch/ yet. The
list can only become shorter: a file that is not on it must have no such name, and a file that has
none any more must be taken off. Prints each line that does not fit (with --list: the files with
such names, as the list has them); exits with 1 if there is one."""

import os
import re
import sys

import c_source

FOLDERS = ("bpf", "lib", "daemon", "cli", "mpi", "plugin", "libstacktag", "libstackalloc")
SUFFIXES = (".c", ".h", ".cc", ".S")
LIST = os.path.join("tests", "lint", "arch_files.txt")
NAMES = re.compile(
    r"x86|aarch64|arm64"
    r"|\b[re](?:[sb]p|[abcd]x|[sd]i)\b|\brip\b|\borig_rax\b"
    r"|\br(?:8|9|1[0-5])d?\b|\bxmm\d|\b[fg]s_?base\b"
    r"|\b(?:__)?x64_|do_syscall_64|\basm_(?:exc|sysvec|common)_|%[fg]s:|\b__builtin_ia32|\bzydis|zyan_|\bcapstone|\bEM_386|\bendbr|\b(?:insn|regs?)_r[sbi]p\b"
    r"|\b0x(?:e8|cc|c3|050f|fa1e0ff3)\b|\bred zone", re.I)


def hits(path):
    """The numbers and texts of a file's lines that name a processor's things."""
    for number, line in enumerate(c_source.read(path).split("\n"), 1):
        if NAMES.search(line):
            yield number, line.strip()


def main():
    with open(os.path.join(c_source.ROOT, LIST), encoding="utf-8") as file:
        listed = {line.strip() for line in file if line.strip() and not line.startswith("#")}
    found = {path: list(hits(path)) for path in c_source.files(FOLDERS, SUFFIXES)}
    found = {path: lines for path, lines in found.items() if lines}
    if "--list" in sys.argv:
        print("\n".join(sorted(found)))
        return 0
    faults = ["%s:%d: names what only arch/ may know: %s" % (path, number, text)
              for path in sorted(found) if path not in listed for number, text in found[path]]
    faults += ["%s: take %s off the list, which names no processor's things" % (LIST, path)
               for path in sorted(listed - set(found))]
    print("\n".join(faults) if faults else "%d files outside of arch/ still name a processor's "
          "things" % len(found))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
