# SPDX-License-Identifier: MIT
"""Stacks of up to 100,000 frames are complete, and of deeper ones the leaf part and the root are shown
with how much is left out between them."""

import collections
import itertools
import os
import re

from harness import WORKLOADS, check, live, record, scratch, until_enough

PROGRAM = os.path.join(WORKLOADS, "abyss")
FREQUENCY = 499
MOST = 100000
LEFT_OUT = re.compile(r"\[(\d+ MiB|less than 1 MiB) of stack left out\]$")


def paths(recording):
    """(frames as (name, how often in a row), root first; samples) of each path of the program."""
    for frames, count in recording.folded().items():
        runs = [(name, len(list(run))) for name, run in itertools.groupby(frames.split(";"))]
        yield runs, count


def check_leaf_part(runs):
    """The frames from steady() on, or of a path without it: dive()s, and a leaf that has its depth."""
    names = [name for name, _ in runs]
    if "leaf_" not in names[-1]:
        return
    depth = int(names[-1].rsplit("_", 1)[1])
    check(names[-2] == "dive", "a leaf's caller", runs)
    if "steady" in names:
        check(names[-3] == "steady" and runs[-2][1] == depth, "depth of a leaf", runs)
    else:
        check(runs[-2][1] < depth, "a part of a path is longer than it", runs)


def is_complete(runs):
    return not any(name.startswith("[incomplete") for name, _ in runs)


@live
def test_deep_stacks():
    """Each leaf has all of its callers, once the program's table is loaded and its stack is known."""
    def record_and_judge():
        with scratch() as folder:
            recording, result = record(folder + "/s.db", "-e", "cpu-clock:u", "-F", FREQUENCY, "--", PROGRAM, 1)
            complete = collections.Counter()
            for runs, count in paths(recording):
                check_leaf_part(runs)
                if is_complete(runs) and "dive" in dict(runs):
                    check("steady" in dict(runs), "a complete path without its root", runs)
                    complete[runs[-1][0]] += count
            print(result.err, complete, recording.stats()["end_reasons"])
            return complete

    until_enough(record_and_judge, lambda complete: all(complete["leaf_%d" % depth] for depth in (3000, 20000, MOST)))


@live(long=True)
def test_deeper_stacks():
    """What is beyond the limit is left out, and said to be."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-e", "cpu-clock:u", "-F", FREQUENCY, "--",
                                   PROGRAM, 3, "beyond")
        print(result.err)
        left_out = 0
        for runs, count in paths(recording):
            check_leaf_part(runs)
            names = [name for name, _ in runs]
            places = [i for i, name in enumerate(names) if LEFT_OUT.search(name)]
            check(not (is_complete(runs) and ("leaf_150000" in names or places)),
                  "a path beyond the limit is complete", runs)
            if places:
                check(len(places) == 1 and names[places[0] + 1:][:1] == ["dive"] and
                      "steady" not in names, "what is left out", runs)
                left_out += count * (names[-1] == "leaf_150000" and places[0] > 0 and
                                     names[places[0] - 1] == "_start")
        print(left_out, recording.stats()["end_reasons"])
        check(left_out, "no sample has the root, what is left out, and the leaf")
