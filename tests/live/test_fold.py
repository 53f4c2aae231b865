# SPDX-License-Identifier: MIT
"""stackctl fold on a program that knows its own course: what a variable of it, and the kernel's
counters, do within a pass, from few samples of each."""

import collections
import json
import math
import os
import re
import sys

import chance
from harness import (DONE, FAILED, NATIVE, NO_SAMPLING, NO_SUPPORT, SIGINT, STACKCTL, STACKD, USAGE, WORKLOADS, Daemon, Recording,
                     background, check, check_fault, live, record, record_attached, run, scratch)

sys.path.append(os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "exports"))
import paraver  # noqa: E402
import saved_page  # noqa: E402

PROGRAM = os.path.join(WORKLOADS, "folded")
ENDS, SHARES = (0.25, 0.7, 1.0), (0.05, 0.8, 1.0)
ROUTINES = ("assemble", "solve", "output")


def truth(x):
    begin, share = 0.0, 0.0
    for end, upto in zip(ENDS, SHARES):
        if x <= end:
            return share + (upto - share) * (x - begin) / (end - begin)
        begin, share = end, upto
    return 1.0


def folded(store, *options):
    """The data of the page."""
    page = store + ".html"
    run(STACKCTL, "fold", "-i", store, "-o", page, *options)
    return saved_page.answer(page, "fold")


def counter(data, name):
    found = [c for c in data["counters"] if c["name"] == name]
    check(len(found) == 1, "counters", [c["name"] for c in data["counters"]])
    return found[0]


Readings = collections.namedtuple("Readings", "of before")  # samples by routine; page faults before the last one


def check_readings(store):
    """Each sample is in the routine that its own reading of the program's variable tells, whatever kept the program
    from advancing. (How near the curve is that fold makes of these: tests/cli/fold.sh for known ones,
    and bench/fold.py for this program.)"""
    run(STACKCTL, "export", "--paraver", store + ".prv", "-i", store)
    trace = paraver.Trace(store + ".prv")
    number_of = {name: number for number, name in trace.types.items() if number // 100 == paraver.COUNTER // 100}
    cells, faults = (next((number_of[name] for name in number_of if part in name), None)
                     for part in ("cells", "page-faults"))
    bounds = dict(zip(ROUTINES, zip((0, *SHARES), SHARES)))
    reached, seen, early, odd = None, collections.Counter(), 0, []
    for record in trace.records:
        told = dict(record.events)
        reached = reached if reached is None else reached + told.get(cells, 0)
        for value in (value for kind, value in record.events if kind == paraver.REGION):
            reached = 0 if value else None  # what begins last, and does not end, is not in the trace
        names = [trace.values[kind][value] for kind, value in record.events
                 if paraver.CALLER <= kind < paraver.CALLER + 100]
        routine = next((name for name in names if name in bounds), None)
        if routine and reached is not None:
            low, high = (1000000 * share for share in bounds[routine])
            seen[routine] += 1
            early += told.get(faults, 0) if routine != ROUTINES[-1] else 0
            if not low <= reached <= high:
                odd.append((routine, reached))
    print(dict(seen), "page faults before the last routine:", early)
    check(not odd, "%d samples are elsewhere" % len(odd), odd[:10])
    check(all(seen[routine] > 40 for routine in ROUTINES), "few samples", seen)
    return Readings(seen, early)


@live(long=True)
def test_fold_command():
    """Each pass is seen whole, and no reading is lost."""
    with scratch() as folder:
        store = folder + "/s.db"
        recording, _ = record(store, "-F", 997, "--region", "pass@folded", "--counter", "var:cells",
                              "--counter", "page-faults", "--counter", "written-bytes", "--counter",
                              "context-switches", "--counter", "read-bytes", "--counter",
                              "major-faults", "--", PROGRAM, 200, 20000)
        counters = recording.stats()["counters"]
        check(counters["regions_ended"] == 200 and counters["readings_lost"] == 0, "counts", counters)
        data = folded(store)
        check(data["passes"] == 200 and data["axis"] == "cpu", "passes", data["passes"])
        readings = check_readings(store)
        # A sample in the few microseconds between an end and its record is of no pass.
        check(sum(readings.of.values()) <= data["in_passes"] <= counters["readings"] - 200, "readings", counters,
              data["in_passes"], readings)
        check(counter(data, "var:cells")["mean"] == 1000000, "cells", data["counters"][0]["mean"])
        check(counter(data, "written-bytes")["mean"] == 100, "bytes written")
        check(counter(data, "read-bytes")["mean"] == 0, "bytes read")
        # Each pass has 16 in its last routine. The kernel's own probes may fault in a page of the program.
        faults = counter(data, "page-faults")["mean"]
        check(16 <= faults and readings.before <= 200 * (faults - 16) + 0.5, "page faults", faults, readings)


@live(long=True)
def test_fold_marks():
    """The same between marks, of a program that runs."""
    with scratch() as folder, background(PROGRAM, 2000, 20000) as process:
        store = folder + "/s.db"
        record_attached(store, process, 5, "-F", 997, "--mark", "pass@folded", "--counter",
                        "var:cells")
        data = folded(store, "--region", "pass@folded")
        check(data["passes"] > 50, "passes", data["passes"])
        check(counter(data, "var:cells")["mean"] == 1000000, "cells", data["counters"][0]["mean"])
        check_readings(store)


@live(long=True)
def test_fold_order():
    """Samples that fall into the end of a pass, between its reading and its record, as some do at this rate:
    what a pass counts is what the program counts in it, all the same."""
    with scratch() as folder:
        store = folder + "/s.db"
        for kind in "--mark", "--region":
            record(store, "-F", 9973, kind, "pass@folded", "--counter", "var:cells", "--", PROGRAM, 1000, 1000)
            run(STACKCTL, "export", "--paraver", folder + "/x.prv", "-i", store)
            totals = collections.Counter(instance[6][paraver.COUNTER + 1]
                                         for instance in paraver.Trace(folder + "/x.prv").instances())
            check(set(totals) == {1000000} and totals[1000000] >= 999, kind, totals)
            os.unlink(store)


# Sorts and hashes in an order that does not repeat.
APERIODIC = """
import random
random.seed(3)
table = {}
for _ in range(300):
    words = [str(random.random()) for _ in range(random.randrange(1, 20000) ** 2 // 20000)]
    for word in words:
        table[word[:5]] = table.get(word[:5], 0) + 1
    words.sort(key=lambda word: word[::-1])
    "".join(words).upper().split("7")
"""


def auto(store, *options):
    """What stackctl fold --auto says."""
    result = run(STACKCTL, "fold", "--auto", "-i", store, "-o", store + ".csv", *options)
    check(result.status in (0, FAILED), "status", result.status, result.err)
    return result


AUTO_PASSES = 150


def check_period(found, whole, passes):
    """Each pass has each routine once, and a period takes half of the time at least (lib/show/folding/periods.h);
    how many passes are near it, the machine decides. How near it is to the truth: bench/fold.py."""
    period, number = float(found[1]), int(found[3])
    print("%d passes of %.2f ms, of %.0f ms" % (number, period, whole))
    check(number <= passes and whole / 2 <= number * period <= whole + period and period < 1.5 * whole / passes,
          "the period", found[0], whole)


@live(long=True)
def test_fold_auto():
    """Without a region, the program's period; and none where there is none."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", "-F", 997, "--", PROGRAM, AUTO_PASSES, 20000)
        found = re.search(r"is periodic: ([0-9.]+) ms between the beginnings of (\w+), (\d+) of",
                          auto(folder + "/s.db").err)
        check(found and found[2] in ROUTINES, "no period is found", found and found[0])
        check_period(found, recording.stats()["samples"] * 1000 / 997, AUTO_PASSES)
        record(folder + "/n.db", "-F", 997, "--", sys.executable, "-c", APERIODIC)
        said = auto(folder + "/n.db")
        check(said.status == FAILED and "not periodic" in said.err, "a period without one", said.err)


# The functions of each thread of the pipeline.
STAGES = {"reader": ("load", "decode"), "filter": ("blur", "sharpen"), "writer": ("encode", "store")}


@live(long=True)
def test_fold_auto_pipeline():
    """Threads that hand items on: each has the period of its own CPU time for an item, whether it waits for
    the others or they for it."""
    with scratch() as folder:
        items = 150
        recording, target = record(folder + "/s.db", "-F", 997, "--", os.path.join(WORKLOADS, "pipeline"), items,
                                   40000)
        samples = collections.Counter(sample.tid for sample in recording.samples())
        found = re.search(r"thread \d+ (\w+) is periodic", auto(folder + "/s.db").err)
        check(found and found[1] in STAGES, "no thread is periodic")
        for name, tid, _ in map(str.split, target.out.splitlines()):
            found = re.search(r" is periodic: ([0-9.]+) ms between the beginnings of (\w+), (\d+) of",
                              auto(folder + "/s.db", "--tid", tid).err)
            check(found and found[2] in STAGES[name], "%s is not periodic" % name, found and found[0])
            check_period(found, samples[int(tid)] * 1000 / 997, items)


@live
def test_fold_paraver():
    """A trace of regions within each other: they nest, and each has what the program says it counts."""
    with scratch() as folder:
        store = folder + "/s.db"
        recording, _ = record(store, "-F", 997, "--region", "pass@folded", "--region", "solve@folded",
                              "--counter", "var:cells", "--", PROGRAM, 100, 10000)
        run(STACKCTL, "export", "--paraver", folder + "/x.prv", "-i", store)
        trace = paraver.Trace(folder + "/x.prv")
        check(len(trace.samples()) == recording.stats()["samples"], "samples", len(trace.samples()))
        visits, times, cells = collections.Counter(), collections.Counter(), collections.Counter()
        for _, _, name, begin, end, nested, sums in trace.instances():
            visits[name] += 1
            times[name] += end - begin - nested
            cells[name] += sums[paraver.COUNTER + 1]
        check(visits == {"pass": 100, "solve": 100}, "visits", visits)
        check(cells == {"pass": 100 * 1000000, "solve": 100 * 750000}, "cells", cells)
        answer = json.loads(run(STACKCTL, "report", "--json", "--view", "flat", "--by", "all", "--percent-limit",
                                0, "--metric", "region.time", "-i", store).out)
        wanted = {answer["symbols"][row["symbol"]]["name"]: row["self"]
                  for row in answer["parts"][0]["functions"] if row["self"]}
        check(times == wanted, "own times", times, wanted)


@live
def test_fold_bad_variables():
    """A variable that is not there, or is no number, ends with a message; nothing is recorded."""
    with scratch() as folder:
        for name, words in (("nothing", "no variable of that name in the 1 file with regions"),
                            ("table", "or its size is not 1, 2, 4 or 8 bytes")):
            result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "pass@folded", "--counter",
                         "var:" + name, "--", PROGRAM, 1, 1000)
            check_fault(result, FAILED, "--counter 'var:%s'" % name, words)


def check_events(store):
    """Events in two groups tell the same of a pass as what the kernel itself keeps of the thread. How many passes a
    group has, and how many page faults a pass has beyond its 16, the machine decides."""
    data = folded(store)
    own = counter(data, "page-faults")
    more = (own["mean"] - 16) * own["passes"]
    check(more >= 0, "page faults", own["mean"])
    for found in (counter(data, name) for name in ("minor-faults", "page-faults:u")):
        check(0 <= (found["mean"] - 16) * found["passes"] <= more + 0.5, found["name"], found["mean"], own["mean"])
    first, second = (counter(data, name)["passes"] for name in ("minor-faults", "page-faults:u"))
    check(first and second and first + second <= data["passes"], "passes of each group", first, second,
          data["passes"])
    # The clock goes on while the host has taken the CPU away, and CPU time does not.
    rate, stats = counter(data, "cpu-clock")["per_second"] / 1e9, Recording(store).stats()
    stolen = stats["counters"]["stolen_ns"] / 1e9 * stats["frequency_hz"] / stats["periods"]
    check(0.98 < rate < 1.02 + stolen, "time on the CPU, in a second of CPU time", rate, stolen)


EVENTS = ["--region", "pass@folded", "--counter", "page-faults", "--counter", "{minor-faults,cpu-clock}",
          "--counter", "{page-faults:u}"]


@live(long=True)
def test_fold_events():
    """Events that are counted by CPU, in two groups by turns: each pass has those of its own thread, also
    where two programs share a CPU and take it from each other all the time."""
    with scratch() as folder:
        store = folder + "/s.db"
        recording, _ = record(store, "-F", 997, *EVENTS, "--", "taskset", "1", "sh", "-c",
                              "{0} 200 10000 & {0} 200 10000; wait".format(PROGRAM))
        counters = recording.stats()["counters"]
        ended = counters["regions_ended"]
        check(ended > 390 and counters["event_passes"] + counters["event_passes_cut"] == ended and
              counters["event_passes"] > 20, "passes of one turn", counters)
        check(counters["probe_after_ns"] > 0, "what a probe costs", counters)
        check_events(store)
        said = run(STACKCTL, "fold", "-i", store, "--group").out
        sizes = [int(size) for size in re.findall(r"^# region pass, group \d+ of \d+: (\d+) passes", said, re.M)]
        check(sizes and sizes[0] > 0.7 * ended, "the groups' turns make groups of passes", sizes)


@live(long=True)
def test_fold_long_turns():
    """Passes that are all longer than the first turns, of 0.2 s: turns become longer, so that passes are in one. How
    many are, and how soon, the machine decides: turns are of time, and passes of CPU time."""
    with scratch() as folder:
        store = folder + "/s.db"
        with background(PROGRAM, 100000, 300000) as process, \
                Daemon(store, "-F", 97, *EVENTS, "--pid", process.pid) as daemon:
            daemon.wait_counter("event_passes", 21)
            result = daemon.finish(SIGINT)
        check(result.status == DONE, "status %d" % result.status, result.err)
        check_events(store)


@live
def test_fold_bad_events():
    """An event that does not exist, or that this machine does not have."""
    with scratch() as folder:
        for given, status, words in (
                ("no-such-event", USAGE, "--counter 'no-such-event': expected"),
                ("{minor-faults,page-faults}", USAGE, "'page-faults': only events can be in a {group}"),
                ("{minor-faults", USAGE, "expected {EVENT,EVENT}"), ("none", USAGE, "--counter 'none'"),
                ("cycles", NO_SUPPORT, "'cycles': not supported on this machine")):
            result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "pass@folded", "--counter",
                         given, "--", PROGRAM, 1, 1000)
            if given == "cycles" and not result.status:
                continue # this machine counts them
            check_fault(result, status, words)


GROWING = os.path.join(WORKLOADS, "growing")


def check_blocks(store):
    """In each sample, the hits of the probe are what the program itself has counted, or one less."""
    run(STACKCTL, "export", "--paraver", store + ".prv", "-i", store)
    trace = paraver.Trace(store + ".prv")
    hits, blocks = (next(number for number, name in trace.types.items()
                         if number // 100 == paraver.COUNTER // 100 and part in name) for part in ("probe", "var"))
    reached, seen, odd = None, 0, []
    for one in trace.records:
        told = dict(one.events)
        if reached:
            reached = [reached[0] + told.get(hits, 0), reached[1] + told.get(blocks, 0)]
        for value in (value for kind, value in one.events if kind == paraver.REGION):
            reached = [0, 0] if value else None
        if reached and any(paraver.CALLER <= kind < paraver.CALLER + 100 for kind in told):
            seen += reached[1] > 0
            odd += [] if 0 <= reached[1] - reached[0] <= 1 else [reached]
    print(seen, "samples behind a block")
    check(not odd and seen > 40, "%d samples differ" % len(odd), odd[:10], seen)


GROWTH = ["--alloc=8K", "--region", "pass@growing", "--counter", "probe:block@growing", "--counter", "var:blocks",
          "--counter", "allocated-bytes", "--counter", "resident-bytes"]


@live(long=True)
def test_fold_memory():
    """Hits of a probe, bytes allocated and bytes in memory are those of the program. How many pages a block is, the
    kernel decides, and how near the curves are to the program's: bench/fold.py."""
    with scratch() as folder:
        store, passes = folder + "/s.db", 30
        _, target = record(store, "-F", 997, *GROWTH, "--", GROWING, passes, 60000)
        hits, size, *_ = map(int, target.out.split())
        data = folded(store)
        check(data["passes"] == passes, "passes", data["passes"])
        for name in ("probe:block@growing", "var:blocks"):
            check(counter(data, name)["mean"] == hits, name, counter(data, name)["mean"], hits)
        allocated, far = counter(data, "allocated-bytes")["mean"] * passes, chance.farthest(
            [(passes * hits, size // hits, -math.expm1(-size / hits / 8192))])
        print("allocated", allocated, "of", passes * size, "+-", far)
        check(abs(allocated - passes * size) <= far + passes, "allocated", allocated, passes * size, far)
        check(counter(data, "resident-bytes")["mean"] > 0, "resident", counter(data, "resident-bytes")["mean"])
        check_blocks(store)
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/n.db", "--region", "pass@growing", "--counter",
                     "probe:nothing", "--", GROWING, 1, 1000)
        check_fault(result, FAILED, "--counter probe 'nothing'", "no function of that name")


def is_locked(folder, number, *options):
    store = "%s/%d.db" % (folder, number)
    record(store, "-F", 200, "--region", "pass@beat", "--counter", "page-faults", *options, "--",
           "nice", "-n", -20, os.path.join(WORKLOADS, "beat"), 400, 5000)
    return folded(store)["is_locked"]


@live(long=True)
def test_fold_jitter():
    """A sampler with the period of the passes hits the same moments of each, unless that varies."""
    with scratch() as folder:
        # What interrupts the program moves the moments: a busy machine can hide the lock, so the
        # program goes before others, and it takes one recording of some.
        check(any(is_locked(folder, i, "--jitter", 0) for i in range(8)), "never locked")
        check(not is_locked(folder, 8), "locked in spite of --jitter")
