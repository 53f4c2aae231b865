#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Checks that every function which a header of arch/, lib/ or daemon/ declares is documented: a
comment stands above it, above the run of adjacent declarations that it belongs to, or on its own lines.
Prints each that is not, and with --count how many there are in each folder; exits with 1 if there
is one."""

import collections
import os
import sys

import c_source


def undocumented(path):
    """The declarations of a header that have no comment."""
    text = c_source.read(path)
    code, commented = c_source.blank(text)
    code_lines = code.split("\n")
    missing, documented_until = [], 0
    for item in c_source.declarations(code):
        above = item.first - 1
        has_comment_above = above in commented and not code_lines[above - 1].strip()
        in_documented_run = documented_until and above == documented_until
        if has_comment_above or in_documented_run:
            documented_until = item.last
        elif commented.isdisjoint(range(item.first, item.last + 1)):
            missing.append(item)
    return missing


def main():
    by_folder = collections.Counter()
    for path in c_source.files(("arch", "lib", "daemon"), (".h",)):
        for item in () if path.endswith(".bpf.h") else undocumented(path):
            by_folder[os.path.dirname(path)] += 1
            if "--count" not in sys.argv:
                print("%s:%d: %s() has no comment" % (path, item.first, item.name))
    if "--count" in sys.argv:
        for folder, count in sorted(by_folder.items()):
            print("%4d  %s" % (count, folder))
    return 1 if by_folder else 0


if __name__ == "__main__":
    sys.exit(main())
