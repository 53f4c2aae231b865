# SPDX-License-Identifier: MIT
"""A static program of which little is known: no symbols, and no unwind information of its own code,
though its C library has some."""

import collections
import os

from harness import WORKLOADS, check, check_whole, live, record, scratch

FRAMES = 6  # of the path: _start, two of the C library, main, steady, works_and_quits; leaf or none
LEAST_PERCENT = 95  # of the samples are on it: the others belong to the start
PROGRAM = os.path.join(WORKLOADS, "quits_static")


@live
def test_static_stripped():
    """The paths are whole, through functions that end in calls of what never returns."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "-F", 1997, "--", PROGRAM, 2)
        print(result.err)
        depths = collections.Counter(
            sum(frame.object == PROGRAM for frame in sample.frames)
            for sample in check_whole(recording) if sample.comm == "quits_static")
        print(depths)
        on_path = depths[FRAMES] + depths[FRAMES + 1]
        check(on_path * 100 >= LEAST_PERCENT * depths.total(), "frames of the program", depths)
        check(depths[FRAMES + 1] > 0, "samples in leaf()", depths)
        if recording.stats()["samples"] >= 100:  # the least for a hint
            report = recording.text("report")
            check("# hint: quits_static has no names for its functions: " in report, "the hint", report[:1000])
