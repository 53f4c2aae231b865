# SPDX-License-Identifier: MIT
"""Segments: stackd --depth keeps the top of each stack, and alignment infers the callers. Paths are
compared, one by one, with those that the workload declares."""

import os

from chains import Expectation
from harness import WORKLOADS, check, check_chains, live, record, scratch, user_frames

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
            # Segments without evidence are extended to the root: that is rare, and has a budget. Before
            # the steady state nearly all are without; the machine decides how many samples that has.
            expectation = Expectation.of_source(workload)
            before = sum(expectation.judge(user_frames(s)) == "outside" for s in samples if user_frames(s))
            check(stats["end_reasons"].get("entry", 0) - before < len(samples) / 6 + 100,
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
