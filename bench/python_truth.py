#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the paths of Python programs that know their own: python_truth.py [SAMPLES [SEED [VERSION]...]]

Each interpreter of the machine (/usr/bin, ~/.pyenv), or those of the versions (3.12), runs random call trees (tests/workloads/python_tree.py) by itself and
in threads, recorded at 9,999 Hz, until so many samples have hit the ends of paths, 10,000 unless said otherwise. One
frame, line or native function that is elsewhere ends the run with that path. Of the rest, a table says how many are exact.
"""

import glob
import os
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live"))
import test_python  # noqa: E402

COLUMNS = ("samples", "right", "elsewhere", "unproven", "in transition", "native")


def interpreters():
    """(path, version) of each interpreter whose functions are read."""
    for path in sorted(glob.glob("/usr/bin/python3.*") + glob.glob(os.path.expanduser("~/.pyenv/versions/*/bin/python3.*"))):
        match = re.fullmatch(r"python3\.(\d+)", os.path.basename(path))
        if match and 8 <= int(match.group(1)) <= 13:
            yield path, (3, int(match.group(1)))


def judge(interpreter, wanted, seed):
    counts = dict.fromkeys(COLUMNS, 0)
    for turn in range(10000):
        with tempfile.TemporaryDirectory() as folder:
            found, _ = test_python.record_tree(folder, seed + turn, 5, (0, 0, 3)[turn % 3], interpreter, "-F", "9999")
        for column in COLUMNS:
            counts[column] += found[column]
        if counts["right"] >= wanted:
            return counts
    raise SystemExit("the ends of paths are hardly ever hit")


def main(wanted=10000, seed=1000, *versions):
    missing = set(versions) - {"%d.%d" % version for _, version in interpreters()}
    if missing:
        raise SystemExit("no interpreter of version %s here; give versions as 3.12" % ", ".join(sorted(missing)))
    print("%-24s" % "" + "".join("%14s" % column for column in COLUMNS) + "       exact")
    for path, version in interpreters():
        if versions and "%d.%d" % version not in versions:
            continue
        full = subprocess.run([path, "-c", "import sys; print('%d.%d.%d' % sys.version_info[:3])"], stdout=subprocess.PIPE,
                              check=True, text=True).stdout.strip()
        counts = judge((path, version), int(wanted), int(seed))
        rest = counts["unproven"] + counts["in transition"] + counts["native"]
        print("%-24s" % (full + (" (system)" if path.startswith("/usr/bin") else "")) +
              "".join("%14d" % counts[column] for column in COLUMNS) +
              "    %.3f %%" % (100 - 100 * rest / counts["samples"]), flush=True)


main(*sys.argv[1:])
