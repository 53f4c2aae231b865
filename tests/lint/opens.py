#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Holds the calls that open files against tests/lint/opens.txt. A name that comes from a profiled process,
from a file of one, or from a recording is opened by lib/base/named_file.c alone; every other file that
opens something is listed there, with the number of its calls and what they open. Prints each difference;
exits with 1 if there is one."""

import os
import re
import sys

import c_source

FOLDERS = ("lib", "daemon", "arch")
CALL = re.compile(r"(?<![\w.>*])(?:open|openat|openat2|open64|creat|fopen|freopen|opendir|open_by_handle_at"
                  r"|ftw|nftw|fts_open|scandir)\s*\(|\bSYS_open\w*")
LIST = os.path.join(c_source.ROOT, "tests/lint/opens.txt")


def calls(path):
    """The number of calls in a source file, without those in comments and strings."""
    text = c_source.TOKEN.sub(lambda m: " " if m[0][0] in "/\"'" else m[0], c_source.read(path))
    return len(CALL.findall(text))


def listed():
    """{path: number of calls} of the list; a line is PATH NUMBER WHAT."""
    with open(LIST, encoding="utf-8") as file:
        rows = [line.split(None, 2) for line in file if line.strip() and not line.startswith("#")]
    for row in rows:
        assert len(row) == 3, "no reason: %s" % row
    return {row[0]: int(row[1]) for row in rows}


def main():
    known = listed()
    found = {path: n for path in c_source.files(FOLDERS, (".c", ".h")) if (n := calls(path))}
    faults = ["%s: %d calls that open files, %d of them listed in tests/lint/opens.txt: a name that others choose "
              "is opened by named_file.h" % (path, found.get(path, 0), known.get(path, 0))
              for path in sorted(found.keys() | known.keys()) if found.get(path, 0) != known.get(path, 0)]
    print("\n".join(faults) if faults else "%d calls that open files, all listed" % sum(found.values()))
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
