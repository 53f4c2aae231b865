#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges the methods of Java in samples of random programs: bench/java_truth.py [--java JAVA] [--seconds S] [--seed N] [-- OPTION...]

Records a program of tests/live/java_source.py, run by JAVA with its OPTIONs, and judges each sample: a wrong method or line ends the
run with status 1. Prints the share of the samples with Java that have no gap and no mark, and which gaps the others have: what is
not named, the frame nearer to the leaf, and the leaf."""

import argparse
import os

from java_gaps import Gaps, paths_of

import java_judge
import java_source
from harness import check, record, run, scratch


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--java", default="java")
    parser.add_argument("--seconds", default="2")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("options", nargs="*")
    given = parser.parse_args()
    text, expected, last = java_source.make(given.seed)
    counts, gaps = {"named": 0, "unnamed": 0, "exact": 0}, Gaps()
    with scratch() as folder:
        source, store = (os.path.join(folder, name) for name in (java_source.CLASS + ".java", "store.db"))
        with open(source, "w", encoding="utf-8") as file:
            file.write(text)
        result = run("javac", "-d", folder, "--release", "17", source)
        check(result.status == 0, "javac", result.err)
        record(store, "-F", 1997, "--managed", "--", given.java, *given.options, "-cp", folder, java_source.CLASS, given.seconds)
        for path, count in paths_of(store):
            java_judge.judge_sample(path, expected, last, counts, count)
            gaps.add(path, count)
    print("%d samples with Java, %.2f %% without gap: %s" % (gaps.java, gaps.without(), counts))
    gaps.show(20)


main()
