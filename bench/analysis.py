#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs build/bench/analysis_agree over files, by default programs and libraries of the machine that
have call frame information, and prints a table: rules in millionths of the instructions."""
import glob
import re
import subprocess
import sys

LIBRARIES = "/usr/lib/x86_64-linux-gnu/"
DEFAULT = ["/bin/bash"] + [
    path
    for name in ("libc.so.6", "libcrypto.so.3", "libstdc++.so.6", "libsqlite3.so.0", "libgmp.so.10",
                 "libx264.so.*")
    for path in sorted(glob.glob(LIBRARIES + name))
]


def main():
    print(f"{'file':44} {'of':6} {'count':>9} {'equal':>7} {'form':>7} {'wrong':>7} {'none':>7}")
    for path in sys.argv[1:] or DEFAULT:
        run = subprocess.run(["build/bench/analysis_agree", path], capture_output=True, text=True)
        if run.returncode:
            print(f"{path:44} {run.stderr.strip() or run.returncode}")
            continue
        for kind, count, rest in re.findall(r"^  (\w+) +(\d+):(.*)$", run.stdout, re.M):
            n = [int(word) for word in re.findall(r" (\d+)", rest)]
            print(f"{path[-44:]:44} {kind:6} {count:>9} " + " ".join(f"{v:7}" for v in n))


if __name__ == "__main__":
    main()
