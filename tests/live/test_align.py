# SPDX-License-Identifier: MIT
"""Segments: stackd --depth keeps the top of each stack, and alignment infers the callers. Paths are
compared, one by one, with those that the workload declares."""

import os

from chains import Expectation
from harness import WORKLOADS, check, check_chains, live, record, scratch, user_frames

# Of a thread's samples, every so many is an anchor, and at first those with a power of two as their number; for
# a new end it pays with so many ends that were known, or with what it begins with (bpf/stackd_abi.h).
ANCHOR_EVERY, ANCHOR_PRICE, ANCHOR_CREDIT = 128, 8, 64


def most_anchors(samples):
    """How many anchors a thread can have."""
    return (samples // ANCHOR_EVERY + ANCHOR_EVERY.bit_length() - 1 +
            (samples + ANCHOR_CREDIT) // ANCHOR_PRICE)


def segments(workload, depth):
    def test():
        with scratch() as folder:
            recording, result = record(folder + "/s.db", "-F", 3989, "--heights", "--depth", depth,
                                       "--", os.path.join(WORKLOADS, workload), 1)
            print(result.err)
            stats = recording.stats(inferred=True)
            print(stats["quality"], stats["end_reasons"])
            samples = recording.samples(inferred=True)
            check(len(samples) == stats["samples"], "a sample is missing", stats)
            check(stats["end_reasons"].get("segment", 0) >= 40, "walks end after the segment", stats)
            # What ends at the entry is what has no more frames, before the steady state, and anchors, which are
            # counted (bpf/segment.bpf.h): however chance has it, a thread has no more of them.
            expectation = Expectation.of_source(workload)
            before = sum(expectation.judge(user_frames(s)) == "outside" for s in samples if user_frames(s))
            check(stats["end_reasons"].get("entry", 0) - before <= most_anchors(len(samples)),
                  "few walks go to the entry", before, stats)
            complete = [s for s in samples
                     if not (s.frames[0].symbol or "").startswith("[incomplete:")]
            check(stats["quality"]["partial"] == len(samples) - len(complete),
                  "partial paths are marked", stats)
            check(stats["quality"]["reconstructed"] >= 40, "paths are reconstructed", stats)
            check_chains(complete, expectation)
            observed = recording.stats()["quality"]
            check(observed["reconstructed"] == 0 and
                  observed["complete"] == stats["quality"]["complete"], "observed alone", observed)
    live(test, name="segments-" + workload)


segments("chain", 1)
segments("recursion", 2)
