# SPDX-License-Identifier: MIT
"""Stacks of 200 KiB to 7 MiB are complete from a file's first sample on, before it has a table."""

import os
import shutil

from chains import Expectation
from harness import (WORKLOADS, background, check, check_chains, check_whole, live, record,
                     record_attached, scratch)

NAME = "large_frames"
RING = ("--ring-bytes", "64M")  # a machine that is busy leaves much of it unread for long
FREQUENCY, SECONDS, TIMES = 199, 0.5, 3


def fresh(folder, number):
    """A copy of the program that nobody has seen before."""
    path = "%s/%s_%d" % (folder, NAME, number)
    shutil.copy(os.path.join(WORKLOADS, NAME), path)
    return path


def judge(recordings):
    """Every sample has its path; and some were taken before there was a table."""
    expectation, early = Expectation.of_source(NAME), 0
    for recording, result in recordings:
        print(result.err)
        check_chains(check_whole(recording), expectation, at_least=20)
        early += recording.stats()["counters"]["kernel_fallbacks"]
    print("walked by the daemon:", early)
    check(early, "no sample was taken before the tables were loaded")


@live
def test_large_frames():
    with scratch() as folder:
        judge(record("%s/%d.db" % (folder, i), *RING, "-F", FREQUENCY, "--", fresh(folder, i),
                     SECONDS) for i in range(TIMES))


@live(long=True)
def test_large_frames_attached():
    with scratch() as folder:
        for i in range(TIMES):
            with background(fresh(folder, i), 60, ready="READY") as process:
                judge([record_attached("%s/%d.db" % (folder, i), process, SECONDS, *RING, "-F",
                                       FREQUENCY)])
