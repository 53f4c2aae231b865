# SPDX-License-Identifier: MIT
"""Allocations in children: of posix_spawn(), vfork() and fork(), with the environment passed on, emptied
or changed, and before and after exec."""

import json
import os
import re

from chance import farthest
from harness import NO_SAMPLING, WORKLOADS, check, live, record, scratch
from test_alloc import DISTANCE, USUAL_DISTANCE, check_sum, hit

WITHOUT = ("emptied", "below_emptied", "replaced")  # ways that do not pass LD_PRELOAD on
OF_PARENT = ("parent", "lend", "borrowed")  # whose blocks are in the parent's memory


def read_said(text):
    """function -> (blocks, live blocks, size), as the workload has it."""
    return {words[0]: tuple(map(int, words[1:])) for words in map(str.split, text.splitlines())}


def sums_by(recording, metric, functions):
    sums = dict.fromkeys(functions, 0)
    for line in recording.text("export", "--folded", "--metric", metric).splitlines():
        stack, value = line.rsplit(" ", 1)
        for frame in set(stack.split(";")) & set(functions):
            sums[frame] += int(value)
    return sums


def check_blocks(what, is_, blocks, size, distance=DISTANCE):
    """The sum of so many blocks is what it must be, but for chance."""
    check_sum(what, is_, blocks * size, farthest([(blocks, size, hit(size, distance))]))


def check_children(recording, said, without=(), told=True):
    """What each function has allocated, and has live at the end, and the parent in all."""
    check(len(said) == 12, "the workload", said)
    allocated, heap = (sums_by(recording, metric, said) for metric in ("alloc.bytes", "heap.live"))
    for name, (blocks, live_blocks, size) in said.items():
        # A child with a changed environment is not told the distance.
        distance = DISTANCE if told or name != "changed" else USUAL_DISTANCE
        heard = 0 if name in without else 1
        check_blocks(name, allocated[name], blocks * heard, size, distance)
        check_blocks(name + ", live", heap[name], live_blocks * heard, size, distance)
    # The process with the most blocks is the parent.
    shown = json.loads(recording.text("heap", "--json"))["processes"]
    live_blocks, size = sum(said[name][1] for name in OF_PARENT), said["parent"][2]
    check_blocks("parent in all, live", max(shown, key=lambda p: p["samples"])["live"],
                 live_blocks + 1, size)  # and what printf() has
    counters = recording.stats()["counters"]
    for name in ("frees_unknown", "frees_missed", "allocations_untracked", "allocations_lost"):
        check(counters[name] == 0, name, counters)
    check(counters["programs_unheard"] == len(without), "programs_unheard", counters)


@live
def test_alloc_children():
    """With the library, which children have if LD_PRELOAD is passed on; those without are counted."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--alloc=%d" % DISTANCE, "--",
                                   os.path.join(WORKLOADS, "spawned"))
        check_children(recording, read_said(result.out), WITHOUT, told=False)
        check(re.search(r"allocations of %d of the programs .* not recorded .*'exe'" % len(WITHOUT),
                        result.err), "what is said", result.err)


@live
def test_alloc_children_probed():
    """A static program, whose own functions are probed, also in the children that run it: their
    environment does not matter."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--alloc=%d" % DISTANCE, "--alloc-limit", "0",
                                   "--", os.path.join(WORKLOADS, "spawned_static"))
        check_children(recording, read_said(result.out))
        check("not recorded" not in result.err, "what is said", result.err)
