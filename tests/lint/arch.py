#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds code outside of arch/ against the names of processors: of registers, instructions,
relocations, decoders and the kernel's entry functions. Prints each line that has one; exits with 1
if there is one."""

import re
import sys

import c_source

FOLDERS = ("bpf", "lib", "daemon", "cli", "mpi", "plugin", "libstacktag", "libstackalloc", "libstackmpi")
SUFFIXES = (".c", ".h", ".cc", ".S")
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
    faults = ["%s:%d: names what only arch/ may know: %s" % (path, number, text)
              for path in sorted(c_source.files(FOLDERS, SUFFIXES)) for number, text in hits(path)]
    print("\n".join(faults) if faults else "no processor's things outside of arch/")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
