# SPDX-License-Identifier: MIT
"""Stacks of 200 KiB to 7 MiB are complete from a file's first sample on, before it has a table."""

import itertools
import os
import shutil

from chains import Expectation
from harness import (DONE, NATIVE, WORKLOADS, Recording, background, check, check_chains, check_whole, faulty_stackd, live,
                     record, record_attached, run, scratch, until_enough)
from test_worker import build_id

NAME = "large_frames"
RING = ("--ring-bytes", "64M")  # a machine that is busy leaves much of it unread for long
FREQUENCY, SECONDS, TIMES, LEAST = 199, 0.5, 2, 40


def fresh(folder, number):
    """A copy of the program that nobody has seen before."""
    path = "%s/%s_%d" % (folder, NAME, number)
    shutil.copy(os.path.join(WORKLOADS, NAME), path)
    return path


def judge(recording, result):
    """Every sample has its path. How many recordings that is, and samples of the steady state."""
    print(result.err, recording.stats()["counters"]["kernel_fallbacks"], "walked by the daemon")
    return {"recordings": 1, "right": check_chains(check_whole(recording), Expectation.of_source(NAME), at_least=0)}


def is_enough(found):
    return found["right"] >= LEAST


@live
def test_large_frames():
    with scratch() as folder:
        numbers = itertools.count()

        def record_a_copy():
            i = next(numbers)
            return judge(*record("%s/%d.db" % (folder, i), *RING, "-F", FREQUENCY, "--", fresh(folder, i), SECONDS))

        until_enough(record_a_copy, lambda found: is_enough(found) and found["recordings"] >= TIMES)


@live
def test_large_frames_early():
    """The table takes a worker long, so nearly all stacks are sent whole. The ring has room for all of them."""
    stackd = faulty_stackd()
    with scratch() as folder:
        store, program = folder + "/s.db", fresh(folder, 0)

        def record_early():
            result = run(stackd, *NATIVE, "-o", store, *RING, "-F", FREQUENCY, "--", program, 0.3,
                         env={"STACKD_FAULT": "slow:table:" + build_id(program)})
            check(result.status == DONE, "status %d" % result.status, result.err)
            return judge(Recording(store), result)

        until_enough(record_early, is_enough)


QUEUE = 0x100  # bytes of records that may wait: some two records


@live
def test_large_frames_full_queue():
    """While the queue is full, stackd does not read the ring. A large ring loses nothing, and what a small one loses is
    counted."""
    stackd = faulty_stackd()
    with scratch() as folder:
        numbers = itertools.count()

        def record_full(*options):
            store = "%s/%d.db" % (folder, next(numbers))
            result = run(stackd, *NATIVE, "-o", store, *options, "-F", 997, "--", fresh(folder, next(numbers)), 0.2,
                         env={"STACKD_FAULT": "few:queue:%x" % QUEUE})
            check(result.status == DONE, "status %d" % result.status, result.err)
            recording = Recording(store)
            stats = recording.stats()
            check(stats["samples"] + stats["lost"] == stats["counters"]["started"], "samples are missing", stats)
            return recording, result, stats

        def record_with_room():
            recording, result, stats = record_full(*RING)
            return {**judge(recording, result), "full": stats["counters"]["queue_full"]}

        print(until_enough(record_with_room, lambda found: found["full"] and found["right"]))
        _, result, stats = record_full("--ring-bytes", "64K")
        check(("lost: the ring was full" in result.err) == (stats["lost"] > 0), "losses are not told", result.err, stats)


@live(long=True)
def test_large_frames_attached():
    with scratch() as folder:
        for i in range(TIMES):
            with background(fresh(folder, i), 60, ready="READY") as process:
                found = judge(*record_attached("%s/%d.db" % (folder, i), process, SECONDS, *RING, "-F", FREQUENCY))
                check(is_enough(found), "few samples", found)
