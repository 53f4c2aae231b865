# SPDX-License-Identifier: MIT
"""What the harness excuses where a recording has lost events: no more than what these events would have told."""

import chains
from harness import UNJUDGED, Failed, Recording, Skip, check, check_chains, check_whole, live, run_test
from perf_script import Frame, Sample
from test_documents import check_shown

CHAIN = chains.Expectation(["main;steady;leaf"])


def sample_of(*names):
    """A sample whose frames have these names, root first; None: no mapping is known."""
    return Sample("chain", 1, 1.0, "cpu-clock", tuple(Frame(4096 * at, name, "/chain" if name else "[unknown]")
                                                      for at, name in enumerate(names)))


UNMAPPED = sample_of("[incomplete: no_mapping]", None)  # the thread's own instruction


class Judged(Recording):
    """A recording of some samples, which has lost some events."""

    def __init__(self, events_lost, *samples, periods=None):
        super().__init__("none.db")
        self.lost, self.all = events_lost, samples
        self.periods = len(samples) if periods is None else periods

    def stats(self, inferred=False):
        cut = sum(sample.frames[0].symbol.startswith("[incomplete") for sample in self.all)
        return {"lost": 0, "samples": len(self.all), "periods": self.periods, "end_reasons": {}, "counters": {"sideband_lost": self.lost},
                "quality": {"complete": len(self.all) - cut, "partial": cut}}

    def samples(self, *options, inferred=False):
        return list(self.all)

    def folded(self):
        return {"all": len(self.all)}


def outcome(function, *arguments, **more):
    """What a check makes of a test: Failed, Skip, or None if it passes."""
    begin = len(UNJUDGED)
    try:
        function(*arguments, **more)
    except Failed:
        return Failed
    finally:
        noted = UNJUDGED[begin:]
        del UNJUDGED[begin:]
    return Skip if noted else None


def outcome_of_test(function):
    try:
        run_test(function)
    except (Failed, Skip) as error:
        return type(error)
    finally:
        UNJUDGED.clear()
    return None


def check_outcome(wanted, function, *arguments, **more):
    found = outcome(function, *arguments, **more)
    check(found is wanted, "%s is judged as %s, not %s" % (function.__name__, found, wanted), *arguments, more)


@live(needs_bpf=False)
def test_unjudged():
    """A check is skipped only if it says that it judges by events, and its own recording has lost one."""
    check_outcome(None, check, True, "right", by_events=Judged(1))
    check_outcome(Failed, check, False, "wrong")
    check_outcome(Failed, check, False, "missing", by_events=Judged(0))
    for lost in 1, 87506:
        check_outcome(Skip, check, False, "missing", by_events=Judged(lost))
    for last, wanted in (lambda: None, Skip), (lambda: check(False, "wrong"), Failed):
        check(outcome_of_test(lambda: (check(False, "missing", by_events=Judged(1)), last())) is wanted, "a test")


@live(needs_bpf=False)
def test_unjudged_paths():
    """Of paths, only an instruction without a mapping is excused: neither another end, nor a caller, nor a sum."""
    for lost, by_events, wanted in (0, True, Failed), (1, False, Failed), (1, True, Skip):
        recording = Judged(lost, UNMAPPED)
        check_outcome(wanted, check_whole, recording, by_events=recording if by_events else None)
        check_outcome(wanted, check_chains, recording.samples(), CHAIN, 0, by_events=recording if by_events else None)
    for names in (("[incomplete: unreadable]", None), ("[incomplete: no_mapping]", None, "leaf"), ("main", "other", "leaf")):
        recording = Judged(1, UNMAPPED, sample_of(*names))
        check_outcome(Failed, check_chains, recording.samples(), CHAIN, 0, by_events=recording)
        if names[0] != "main":
            check_outcome(Failed, check_whole, recording, by_events=recording)
    recording = Judged(1, UNMAPPED, periods=7)
    check_outcome(Failed, check_whole, recording, by_events=recording)


@live(needs_bpf=False)
def test_unjudged_names():
    """Of a line of output, only names of threads are excused."""
    for output, lost, wanted in (("worker look_up", 0, None), (":17 look_up", 0, Failed), (":17 look_up", 1, Skip),
                                 ("worker look_at", 1, Failed)):
        check_outcome(wanted, check_shown, "stackctl", output, ["worker", "look_up"], {"worker"}, Judged(lost))
