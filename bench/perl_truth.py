#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the paths of Perl programs that know their own: perl_truth.py [SAMPLES [SEED [ROOT]...]]

This machine's Perl, and that of each ROOT, a folder with another release of Debian (as tests/distros/run.sh makes it, with the
packages perl and libperl-dev), run random call trees (tests/workloads/perl_tree.pl) until so many samples have hit the ends of
paths, 10,000 unless said otherwise. One frame or line that is elsewhere ends the run with that path. Of the rest, a table says
how many are exact: of those at the ends of paths, and of all, most of which have hit Perl while it calls and leaves functions.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live"))
import test_perl  # noqa: E402

COLUMNS = ("samples", "right", "leaf_unproven", "elsewhere", "unproven", "in transition", "native", "outside")


def judge(root, wanted, seed):
    counts = dict.fromkeys(COLUMNS, 0)
    while counts["right"] < wanted:
        found, counters = test_perl.check_tree(seed, 5, root=root)
        for column in COLUMNS:
            counts[column] += found.get(column, 0)
        counts["in transition"] += counters["managed_in_transition"]
        seed += 1
    return counts


def main(wanted=10000, seed=1000, *roots):
    rows = []
    for root in ("", *roots):
        version = test_perl.said_by(test_perl.perl(root), "-e", "print substr $^V, 1")
        counts = judge(root, int(wanted), int(seed))
        at_ends = counts["right"] + counts["leaf_unproven"]
        inside = counts["samples"] - counts["outside"]
        rest = counts["unproven"] + counts["in transition"] + counts["native"]
        rows.append("%-8s" % version + "".join("%14d" % counts[column] for column in COLUMNS) +
                    "    %.3f %%    %.3f %%" % (100 * counts["right"] / at_ends, 100 - 100 * rest / inside))
    print("%-8s" % "" + "".join("%14s" % column for column in COLUMNS) + "    exact there     of all", *rows, sep="\n")


main(*sys.argv[1:])
