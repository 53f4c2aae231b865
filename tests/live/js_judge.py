# SPDX-License-Identifier: MIT
"""Judges each sample of a program of js_source.py: its functions, in order, each at the line at which it calls the next."""

import re

import js_source
import pprof
from harness import STACKCTL, Failed, check, run

STEP = re.compile(r"^(?:.*\.)?[fc]_(\d+)_(\d+)(?::\d+:\d+)?$")
CONSTRUCTOR = re.compile(r"^C_(\d+)_(\d+)$")


def is_function(frame):
    return js_source.NAME in frame[1]


def is_unnamed(frame):
    """A frame that is not proven to be any function's, or the mark of an incomplete path."""
    return not frame[0] or frame[0].startswith("[") or frame[1] == "[stubs]" or "InterpreterEntryTrampoline" in frame[0]


def steps_of(frames, expected):
    """The steps of a path, root first: (path, step), and of main() a step of -1; and their indexes. A caller's line is one at which it
    calls, or not known."""
    steps, where = [], []
    for i, frame in enumerate(frames):
        check((frame[0] + frame[1]).isascii(), "words of another object as a name", frame, frames)
        match = is_function(frame) and (STEP.match(frame[0]) or CONSTRUCTOR.match(frame[0]))
        if match:
            steps.append(tuple(map(int, match.groups())))
        elif is_function(frame) and frame[0] == "main":
            steps.append((None, -1))
        else:
            check(is_function(frame) or not STEP.match(frame[0]), "a function's file", frame, frames)
            continue
        where.append(i)
    if steps and steps[0][0] is None and len(steps) > 1:
        steps[0] = (steps[1][0], -1)
    check((None, -1) not in steps[1:], "main() is called by a function", steps, frames)
    for step, i in list(zip(steps, where))[:-1]:
        check(not frames[i][2] or frames[i][2] in expected[step], "line of a call", step, frames[i], expected[step], frames)
    return steps


def judge_sample(frames, expected, last, counts, count):
    """`frames`: root first. Adds to the counts."""
    gaps = any(is_unnamed(frame) for frame in frames)
    steps = steps_of(frames, expected)
    if not any(map(is_function, frames)):
        return
    counts["unnamed" if gaps else "named"] += count
    counts["lines"] += count * any(frame[2] for frame in frames if is_function(frame))
    for a, b in zip(steps, steps[1:]):
        check(a[0] == b[0] and (b[1] in (a[1], a[1] + 1) or (gaps and b[1] > a[1])), "functions that do not call each other",
              steps, frames)
    if gaps or not steps:
        return
    check(steps[0][1] == -1, "a path that does not begin in main()", frames)
    counts["exact"] += count * (steps[-1][1] == last)


def judge(store, expected, last, wrong=None):
    """Counts of samples with functions of the program: named, unnamed, with some line, and of those that hit a path's end, exact ones.
    `wrong`: a list that wrong samples are added to, with what is wrong of each; else the first one is raised."""
    counts = {"named": 0, "unnamed": 0, "lines": 0, "exact": 0}
    run(STACKCTL, "export", "--pprof", "--no-reconstructed", "-i", store, "-o", store + ".pb")
    for frames, count in pprof.read(store + ".pb"):
        try:
            judge_sample(frames[::-1], expected, last, counts, count)
        except Failed as error:
            if wrong is None:
                raise
            wrong.append((count, error))
    return counts
