#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges the methods of Java in samples of random programs: bench/java_truth.py [--java JAVA] [--seconds S] [--seed N] [-- OPTION...]

Records a program of tests/live/java_source.py, run by JAVA with its OPTIONs, and judges each sample: a wrong method or line ends the
run with status 1. Prints the share of the samples with Java that have no gap and no mark, and which gaps the others have: what is
not named, the frame nearer to the leaf, and the leaf."""

import argparse
import collections
import os
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path[:0] = [os.path.join(ROOT, "tests", "live"), os.path.join(ROOT, "tests")]
sys.dont_write_bytecode = True

import java_judge
import java_source
import pprof
from harness import STACKCTL, check, record, run, scratch


def kind_of(frame):
    if java_judge.is_method(frame):
        return "a method"
    return "[jit]" if frame[0].startswith("[jit]") else frame[0][:48]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--java", default="java")
    parser.add_argument("--seconds", default="2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    text, expected, last = java_source.make(given.seed)
    counts, gaps, java = {"named": 0, "unnamed": 0, "exact": 0}, collections.Counter(), 0
    with scratch() as folder:
        source, store = (os.path.join(folder, name) for name in (java_source.CLASS + ".java", "store.db"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        result = run("javac", "-d", folder, "--release", "17", source)
        check(result.status == 0, "javac", result.err)
        record(store, "-F", 1997, "--managed", "--", given.java, *given.options, "-cp", folder, java_source.CLASS, given.seconds)
        run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb")
        for frames, count in pprof.read(store + ".pb"):
            path = frames[::-1]
            java_judge.judge_sample(path, expected, last, counts, count)
            java += count * any(java_judge.is_method(f) or f[1] == "[stubs]" or f[0].startswith("[jit]") for f in path)
            first = next((i for i, frame in enumerate(path) if java_judge.is_unnamed(frame)), None)
            if first is not None:
                below = kind_of(path[first + 1]) if first + 1 < len(path) else "-"
                gaps[kind_of(path[first]), below, kind_of(path[-1])] += count
    print("%d samples with Java, %.2f %% without gap: %s" % (java, 100 - 100 * sum(gaps.values()) / max(1, java), counts))
    for gap, count in gaps.most_common(20):
        print("%6d  %s" % (count, "  <  ".join(gap)))


main()
