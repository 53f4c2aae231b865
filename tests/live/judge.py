#!/usr/bin/python3
# SPDX-License-Identifier: MIT
"""Judges a perf-script text against a workload's promises: judge.py WORKLOAD < TEXT.

For looking into a failure by hand, and for judging other profilers by the same measure."""

import collections
import sys

import chains
import perf_script


def main():
    expectation = chains.Expectation.of_source(sys.argv[1])
    verdicts, stacks = collections.Counter(), collections.Counter()
    for sample in perf_script.read(sys.stdin):
        frames = tuple(f for f in sample.frames if not perf_script.is_kernel(f))
        verdict = expectation.judge(frames)
        verdicts[verdict] += 1
        if verdict != "right":
            stacks[verdict + "  " + chains.text_of(frames)[-300:]] += 1
    print(dict(verdicts))
    for stack, count in stacks.most_common(8):
        print("%6d %s" % (count, stack))
    return 0 if verdicts["right"] and not verdicts["wrong"] else 1


if __name__ == "__main__":
    sys.exit(main())
