#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs build/bench/analysis_agree over files that have call frame information, and prints a table:
rules in millionths of the instructions, of all and of calls.

  analysis.py [FILE...]          these files; by default some programs and libraries
  analysis.py --machine SECONDS [ROOT]
                                 as many of the machine's programs and libraries as can be compared in
                                 so long, drawn at random (always in the same order); at the end sums,
                                 and the files that are worst. With ROOT, those of another system, which
                                 the analysis was not made with"""
import collections
import glob
import os
import random
import re
import subprocess
import sys
import time

AGREE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "build", "bench",
                     "analysis_agree")
LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
DEFAULT = ["/bin/bash"] + [
    path
    for name in ("libc.so.6", "libcrypto.so.3", "libstdc++.so.6", "libsqlite3.so.0", "libgmp.so.10",
                 "libx264.so.*")
    for path in sorted(glob.glob(LIBRARIES + name))
]
MAX_BYTES = 32 << 20  # larger files have more code than is analysed
WORST = 8
Result = collections.namedtuple("Result", "path kind count equal form wrong cfi none")


def is_elf(path):
    if os.path.getsize(path) > MAX_BYTES:
        return False
    with open(path, "rb") as file:
        return file.read(4) == b"\x7fELF"


def machine(root="/"):
    """Every program and library once, in an order that is random, but always the same."""
    root = os.path.realpath(root).rstrip("/")
    found = glob.glob(root + "/usr/bin/*") + glob.glob(root + LIBRARIES + "*.so*")
    paths = sorted({os.path.realpath(path) for path in found if os.path.isfile(path)})
    paths = [path for path in paths if path.startswith(root + "/") and os.access(path, os.R_OK) and is_elf(path)]
    random.Random(16).shuffle(paths)
    return paths


def compare(path):
    """Two results of a file, or its error."""
    run = subprocess.run(["nice", AGREE, path], capture_output=True, text=True, check=False)
    if run.returncode:
        return [], run.stderr.strip() or str(run.returncode)
    return [Result(path, kind, int(count), *(int(word) for word in re.findall(r" (\d+)", rest)))
            for kind, count, rest in re.findall(r"^  (all|calls) +(\d+):(.*)$", run.stdout, re.M)], ""


def show(result):
    print(f"{result.path[-44:]:44} {result.kind:6} {result.count:>9} "
          + " ".join(f"{value:7}" for value in result[3:]), flush=True)


def show_head():
    print(f"{'file':44} {'of':6} {'count':>9} {'equal':>7} {'form':>7} {'wrong':>7} {'cfi':>7} {'none':>7}")


def total(results, kind):
    of_kind = [result for result in results if result.kind == kind]
    count = sum(result.count for result in of_kind)
    return Result("%d files" % len(of_kind), kind, count, *(
        round(sum(result.count * result[column] for result in of_kind) / max(count, 1))
        for column in range(3, 8)))


def compare_machine(seconds, *root):
    end, results, paths = time.monotonic() + seconds, [], machine(*root)
    done = failed = 0
    for path in paths:
        if time.monotonic() > end:
            break
        got, error = compare(path)
        done += 1
        failed += bool(error)
        results += got
    print("%d of %d files compared, %d of them without call frame information"
          % (done, len(paths), failed))
    show_head()
    for kind in ("all", "calls"):
        show(total(results, kind))
    for kind, column in (("all", 5), ("calls", 5), ("all", 7)):
        print("most %s of %s:" % (Result._fields[column], kind))
        of_kind = [result for result in results if result.kind == kind]
        for result in sorted(of_kind, key=lambda r: -r.count * r[column])[:WORST]:
            show(result)


def main():
    if sys.argv[1:2] == ["--machine"]:
        compare_machine(float(sys.argv[2]), *sys.argv[3:4])
        return
    show_head()
    for path in sys.argv[1:] or DEFAULT:
        results, error = compare(path)
        if error:
            print(f"{path:44} {error}")
        for result in results:
            show(result)


if __name__ == "__main__":
    main()
