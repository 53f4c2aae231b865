# SPDX-License-Identifier: MIT
"""Programs that know their own paths and write them down (tests/workloads/NAME_tree): what is judged of Perl's, PHP's and
Ruby's alike. `judge`(store, truth) compares each sample, and returns numbers of samples."""

import json

from harness import Recording, check


def at_most_2_percent(samples):
    return samples / 50


def check_known_paths(store, truth, judge, least, most_unproven=at_most_2_percent):
    """`truth`: the file that the program has written; `least`: samples in leaves; `most_unproven`(samples): those
    with functions that are not proven, or not known, since the interpreter calls or returns just then. The numbers, and
    the recording's counters."""
    with open(truth, encoding="utf-8") as file:
        counts, counters = judge(store, json.load(file)), Recording(store).stats()["counters"]
    print({name: value for name, value in counters.items() if "managed" in name})
    check(counts["right"] > least, "few samples hit a leaf", counts)
    most = most_unproven(counts["samples"])
    check(counts["unproven"] + counters["managed_in_transition"] < most, "few paths are exact", counts, most)
    return counts, counters
