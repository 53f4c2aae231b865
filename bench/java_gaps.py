# SPDX-License-Identifier: MIT
"""Counts the samples with Java in a recording, and those whose path has a gap: a frame without a name, or the mark of an incomplete path."""

import collections
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]
sys.dont_write_bytecode = True

import java_judge
import pprof
from harness import STACKCTL, run


def kind_of(frame):
    if java_judge.is_method(frame):
        return "a method"
    return "[jit]" if frame[0].startswith("[jit]") else frame[0][:48]


class Gaps:
    """`java`: samples with Java; `unnamed`: those of them whose leaf has no name; `kinds`: those with a gap, by what is not named, the
    frame nearer to the leaf, and the leaf."""

    def __init__(self):
        self.java = self.unnamed = 0
        self.kinds = collections.Counter()

    def add(self, path, count):
        """`path`: root first."""
        if not any(java_judge.is_method(f) or f[1] == "[stubs]" or f[0].startswith("[jit]") for f in path):
            return
        self.java += count
        self.unnamed += count * path[-1][0].startswith("[jit]")
        first = next((i for i, frame in enumerate(path) if java_judge.is_unnamed(frame)), None)
        if first is not None:
            below = kind_of(path[first + 1]) if first + 1 < len(path) else "-"
            self.kinds[kind_of(path[first]), below, kind_of(path[-1])] += count

    def without(self):
        """The share of the samples without a gap, in percent."""
        return 100 - 100 * sum(self.kinds.values()) / max(1, self.java)

    def show(self, most):
        for gap, count in self.kinds.most_common(most):
            print("%6d  %s" % (count, "  <  ".join(gap)))


def paths_of(store):
    """Each path of a recording, root first, and its count."""
    run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        yield frames[::-1], count
