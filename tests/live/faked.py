# SPDX-License-Identifier: MIT
"""Programs that pretend to be an interpreter whose structures lead nowhere, in circles, or change all the time
(tests/workloads/faked.h): native paths stay as they are, and what is shown of functions is what is proven."""

import collections
import os

from harness import MANAGED, check, record, run, scratch, until_enough

LEAST = 30  # samples of each fault


def samples_of(recording, function, prefix):
    """(fault, frames, functions, samples) of each path that has come to spin(), whose native frames are right."""
    for line in recording.text("export", "--folded", "--kinds", "--interpreter=show").splitlines():
        path, samples = line.rsplit(" ", 1)
        fault, *frames = path.split(";")
        if "spin" not in frames:
            continue
        native = [name for name in frames[:frames.index("spin")] if name in ("main", "serve", function)]
        check(native == ["main", "serve"] + [function] * 3, fault, frames)
        yield fault, frames, sum(name.startswith(prefix) for name in frames), int(samples)


def check_faked(source, faults, function, prefix, may_show, whole, reasons, check_counters=lambda counters, found: None):
    """`function`: that of the interpreter; `prefix`: of its functions' names; `may_show`(fault, frames): how many of them
    a sample may have; `whole`: how many all samples of "good" have in the end. `reasons`: for which they are not proven."""
    def record_and_judge():
        found = collections.Counter()
        with scratch() as folder:
            program = os.path.join(folder, "faked")
            run("gcc", "-O1", "-rdynamic", "-pthread", "-o", program, source)
            recording, _ = record(os.path.join(folder, "store.db"), *MANAGED, "-F", "999", "--", program, *faults)
            for fault, frames, managed, samples in samples_of(recording, function, prefix):
                if fault not in faults:  # only an event has told the process's name
                    check(False, "a process has another name", fault, recording.stats()["counters"], by_events=recording)
                    continue
                check(fault == "scribble" or managed in may_show(fault, frames), fault, managed, frames)
                found[fault] += samples
                found["whole"] += samples * (fault == "good" and managed == whole)
            counters = recording.stats()["counters"]
        print({name: value for name, value in counters.items() if "managed" in name})
        check_counters(counters, found)
        found.update({reason: counters["managed_unproven." + reason] for reason in reasons})
        return found

    print(until_enough(record_and_judge, lambda found: min(found[name] for name in [*faults, "whole", *reasons]) > LEAST))
