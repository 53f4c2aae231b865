# SPDX-License-Identifier: MIT
"""Judges each sample of a program of java_source.py: its methods, in order, each at the line at which it calls the next."""

import re

import pprof
from harness import STACKCTL, check, run

STEP = re.compile(r"\bjava_paths\S*?[$.](?:lambda\$)?[fC]_(\d+)_(\d+)\b")
TRACES = re.compile(r"FillInStackTrace|fill_in_stack_trace")
MAIN = "java_paths.main(java.lang.String[])"


def is_method(frame):
    return frame[1].endswith(".java") or "$$Lambda" in frame[1]


def is_unnamed(frame):
    """A frame of code made at run time that is not proven to be any method's, or the mark of an incomplete path."""
    return not frame[0] or frame[0].startswith("[") or frame == ("Interpreter", "[stubs]", 0)


def told(steps, frames):
    """The steps of a path and its last frames, shortly: long texts of failures are cut."""
    last = ["%s:%d" % (frame[0].split("(")[0][-40:], frame[2]) for frame in frames[-6:]]
    return "%s | %s" % (" ".join("%s:%d" % step for step in steps), " ".join(last))


def steps_of(frames, expected, calls_all):
    """The steps of a path, root first: (path, step), and of main() a step of -1. `calls_all`: the last method calls, too;
    else it may be at any line, or at none that is known."""
    steps, lines = [], []
    for frame in frames:
        match = STEP.search(frame[0])
        if match:
            steps.append(tuple(map(int, match.groups())))
        elif frame[0] == MAIN:
            steps.append((None, -1))
        else:
            continue
        lines.append(frame[2])
    if steps and steps[0][0] is None and len(steps) > 1:
        steps[0] = (steps[1][0], -1)
    for i, (step, line) in enumerate(zip(steps, lines)):
        if i + 1 < len(steps) or calls_all:
            check(line in expected[step], "line of a call", step, line, expected[step], told(steps, frames))
    return steps


def judge_sample(frames, expected, last, counts, count):
    """`frames`: root first. Adds to the counts."""
    gaps = any(is_unnamed(frame) for frame in frames)
    traces = [i for i, frame in enumerate(frames) if TRACES.search(frame[0]) and not is_method(frame)]
    in_leaf = bool(traces) and any(frame[0] == "java.lang.Throwable.<init>()" for frame in frames)
    steps = steps_of(frames, expected, in_leaf and not gaps)
    counts["unnamed" if gaps else "named"] += count
    if not steps:
        return
    for a, b in zip(steps, steps[1:]):
        check(a[0] == b[0] and (b[1] in (a[1], a[1] + 1) or (gaps and b[1] > a[1])), "methods that do not call each other",
              told(steps, frames))
    if gaps:
        return
    check(steps[0][1] == -1, "a path that does not begin in main()", told(steps, frames))
    names = [frame[0] for frame in frames]
    if traces and steps[-1][1] == last:
        names = [name for name in names[:traces[0]] if name.startswith("java.lang.Throwable.")]
        check(names == ["java.lang.Throwable.<init>()", "java.lang.Throwable.fillInStackTrace()",
                        "java.lang.Throwable.fillInStackTrace(int)"], "what makes a trace",
              told(steps, frames))
        counts["exact"] += count


def judge(store, expected, last):
    """Counts of samples: named, unnamed, and of those that hit the native method at a path's end, exact ones."""
    counts = {"named": 0, "unnamed": 0, "exact": 0}
    run(STACKCTL, "export", "--pprof", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        judge_sample(frames[::-1], expected, last, counts, count)
    return counts
