#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the paths of PHP programs that know their own: php_truth.py [SAMPLES [SEED [PHP]...]]

Each interpreter (php8.2 and php8.4, where they are, or those that are named) runs random call trees (tests/workloads/php_tree.php),
with opcache and without, until so many samples have hit the ends of paths, 10,000 unless said otherwise. One frame, line or native
function that is elsewhere ends the run with that path. Of the rest, a table says how many are exact.
"""

import os
import shutil
import subprocess
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live"))
import test_php  # noqa: E402

COLUMNS = ("samples", "right", "elsewhere", "unproven", "in transition", "native", "outside")
OPCACHE = ("-d", "zend_extension=opcache", "-d", "opcache.enable_cli=1")


def judge(interpreter, wanted, seed, options):
    counts = dict.fromkeys(COLUMNS, 0)
    while counts["right"] < wanted:
        found, counters = test_php.check_tree(seed, 5, *options, interpreter=interpreter)
        for column in COLUMNS:
            counts[column] += found.get(column, 0)
        counts["in transition"] += counters["managed_in_transition"]
        seed += 1
    return counts


def main(wanted=10000, seed=1000, *interpreters):
    rows = []
    for path in interpreters or filter(None, map(shutil.which, ("php8.2", "php8.4"))):
        version = subprocess.run([path, "-r", "echo PHP_VERSION;"], stdout=subprocess.PIPE, check=True, text=True).stdout
        for options in (), OPCACHE:
            counts = judge(path, int(wanted), int(seed), options)
            inside = counts["samples"] - counts["outside"]
            rest = counts["unproven"] + counts["in transition"] + counts["native"]
            rows.append("%-24s" % (version + (" opcache" if options else "")) +
                        "".join("%14d" % counts[column] for column in COLUMNS) + "    %.3f %%" % (100 - 100 * rest / inside))
    print("%-24s" % "" + "".join("%14s" % column for column in COLUMNS) + "       exact", *rows, sep="\n")


main(*sys.argv[1:])
