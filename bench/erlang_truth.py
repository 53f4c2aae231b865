#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Judges the paths of Erlang programs that know their own: erlang_truth.py [SAMPLES [SEED [ROOT]...]]

This machine's Erlang, and that of each ROOT, a folder with another release of Debian (as tests/distros/run.sh makes it, with the
package erlang-base, and /proc mounted), run random call trees (tests/live/erlang_tree.py) until so many samples have hit the ends of
paths, 10,000 unless said otherwise. One frame or line that is elsewhere ends the run with that path. Of the rest, a table says how many
are exact, incomplete (marked), or have frames without names.
"""

import os
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "tests", "live"))
import test_erlang  # noqa: E402

COLUMNS = ("samples", "right", "incomplete", "unproven", "elsewhere")


def judge(root, wanted, seed):
    counts = dict.fromkeys(COLUMNS, 0)
    while counts["right"] < wanted:
        found = test_erlang.check_tree(seed, 10000, root=root)
        for column in COLUMNS:
            counts[column] += found[column]
        seed += 1
    return counts


def main(wanted=10000, seed=1000, *roots):
    rows = []
    for root in ("", *roots):
        counts = judge(root, int(wanted), int(seed))
        at_ends = counts["right"] + counts["incomplete"] + counts["unproven"]
        rows.append("%-30s" % (root or "this machine") + "".join("%12d" % counts[column] for column in COLUMNS) +
                    "    %.3f %%" % (100 * counts["right"] / at_ends))
    print("%-30s" % "" + "".join("%12s" % column for column in COLUMNS) + "    exact at ends", *rows, sep="\n")


main(*sys.argv[1:])
