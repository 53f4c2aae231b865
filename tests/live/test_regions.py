# SPDX-License-Identifier: MIT
"""Regions: each instance of a function that is measured is there, under its path, with the time
that the program measures itself."""

import contextlib
import functools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import chance
from harness import (BUILD, DONE, FAILED, LONG, NATIVE, NO_SAMPLING, PATIENCE, ROOT, STACKCTL, STACKD, USAGE, WORKLOADS,
                     Daemon, Recording, Skip, check, check_fault, live, record, run, scratch, wait_cpu, workload)

FUNCTIONS = ("outer", "inner", "nap", "climb", "brief", "around", "leave", "in_thread", "last")
ROUNDS = 40
BURST = 4000  # of passes through brief() in a round, above the limit of a second

# Paths below main or the thread's entry, with their instances in a round.
PATHS = {
    "one;outer": 1,
    "one;outer;inner": 2,
    "one;outer;nap": 1,
    "one;climb": 1,
    "one;climb;climb": 1,
    "one;climb;climb;climb": 1,
    "one;climb;climb;climb;climb": 1,
    "other;brief": 100,
    "other;inner": 1,
    "other;around;leave;inner": 1,
    "run;in_thread": 1,
}
# Passes that do not return: one caller of each is known.
LEFT = "[incomplete: left]"
PATHS_LEFT = {LEFT + path: 1 for path in (";other;around", ";around;leave", ";run;last")}
IN_THREADS = ("run;in_thread", LEFT + ";run;last")  # whose thread is a new one in each round


def options(program, functions=FUNCTIONS):
    words = []
    for function in functions:
        words += ["--region", "%s@%s" % (function, program)]
    return words


def path_of(stack):
    """A folded stack from the workload's first own function on, without the process's name."""
    frames = stack.split(";")
    if LEFT in frames:
        return ";".join(frames[frames.index(LEFT):])
    for start in ("one", "other", "run"):
        if start in frames:
            return ";".join(frames[frames.index(start):])
    return stack


def by_path(recording, metric, *options):
    sums = {}
    for line in recording.text("export", "--folded", "--metric", metric, *options).splitlines():
        stack, value = line.rsplit(" ", 1)
        sums[path_of(stack)] = sums.get(path_of(stack), 0) + int(value)
    return sums


def check_counts(recording, rounds, may_refuse=False):
    """Each pass is there once. With may_refuse, each but those of new threads that the kernel gave no memory for,
    all of which are counted."""
    expected = {path: count * rounds for path, count in (PATHS | PATHS_LEFT).items()}
    visits = by_path(recording, "region.visits")
    counters = recording.stats()["counters"]
    refused = counters["regions_no_memory"] if may_refuse else 0
    lacking = {path: count - visits.get(path, 0) for path, count in expected.items()}
    check(set(visits) <= set(expected) and sum(lacking.values()) == refused and
          all(count == 0 or count > 0 and path in IN_THREADS for path, count in lacking.items()),
          "visits", visits, expected, counters)
    total = sum(visits.values())
    for name in ("regions_ended", "regions_sent", "regions_received"):
        check(counters[name] == total, name, counters)
    check(counters["regions_left"] == len(PATHS_LEFT) * rounds, "passes without a return", counters)
    shown = json.loads(recording.text("report", "--view", "regions", "--json"))
    for name in ("left", "unended", "too_deep", "taken_off"):
        check(shown[name] == counters["regions_" + name], name, shown[name], counters)
    check(counters["regions_no_memory"] == refused and counters["regions_unmatched"] <= refused,
          "without memory, and their ends", counters)
    for name in ("lost_ring", "too_deep", "partial", "without_path"):
        check(counters["regions_" + name] == 0, "regions_" + name, counters)
    check(counters["regions_unended"] == 0, "without an end", counters)


def own_measures(text):
    """What the workload says: name -> (visits, ns and ns of CPU time within, the same around)."""
    return {words[0]: tuple(map(int, words[1:]))
            for words in (line.split() for line in text.splitlines()) if len(words) == 6}


def inclusive(sums, function):
    """The sum over all instances of a function that returned, each with what it contains."""
    return sum(value for path, value in sums.items()
               for frame in path.split(";") if frame == function)


TIMED = ("outer", "inner", "nap", "climb", "brief", "in_thread")


def check_times(recording, said, one_clock=True, functions=TIMED):
    """No shorter than what the program measures within each function, and no longer than what it
    measures around the calls. (CPU time to 0.2 us an instance: stackd's clock of it is another.)
    Without one_clock, the kernel's clock of CPU time does not keep the pace of CLOCK_MONOTONIC (in
    an emulated machine functions had a tenth more CPU time than time), and CPU time is left out."""
    for metric, column, allowed in (("region.time", 1, 0), ("region.cpu", 2, 200)):
        if metric == "region.cpu" and not one_clock:
            continue
        sums = by_path(recording, metric)
        for function in functions:
            own, least, most = inclusive(sums, function), said[function][column], \
                said[function][column + 2]
            slack = allowed * said[function][0]
            check(least - slack <= own <= most + slack, "%s of %s: %d, not in %d..%d"
                  % (metric, function, own, least, most))


def run_measured(program, store, *more):
    recording, result = record(store, *more, *options(program), "--", os.path.join(WORKLOADS, program),
                               ROUNDS)
    return recording, own_measures(result.out)


@live
def test_regions_command():
    """Instances, their times, the view, and no overlaps: of one recording."""
    with scratch() as folder:
        recording, said = run_measured("regions", folder + "/s.db")
        check_counts(recording, ROUNDS)
        check_times(recording, said)
        check_regions_view(recording, said)
        check_no_overlaps(folder, recording, sum(PATHS.values()) * ROUNDS)


@live
def test_regions_static():
    with scratch() as folder:
        recording, said = run_measured("regions_static", folder + "/s.db", *NO_SAMPLING)
        check_counts(recording, ROUNDS)
        check_times(recording, said)


@live
def test_regions_running():
    """A process that runs already, beside another of the same program that is not measured."""
    program = os.path.join(WORKLOADS, "regions")
    with scratch() as folder, subprocess.Popen(
            [program, str(ROUNDS), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True) as process:
        check(process.stdout.readline() == "READY\n", "the workload")
        with Daemon(folder + "/s.db", *NO_SAMPLING, *options("regions"), "--pid", process.pid) as daemon:
            daemon.wait_recording()
            run(program, ROUNDS)
            said, _ = process.communicate("\n", timeout=PATIENCE)
            daemon.finish()
        recording = Recording(folder + "/s.db")
        check_counts(recording, ROUNDS)
        check_times(recording, own_measures(said))


@live
def test_regions_children():
    """Children count, from their first instruction on."""
    program = os.path.join(WORKLOADS, "regions")
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, *options("regions"), "--", program, ROUNDS, "fork")
        check_counts(recording, 2 * ROUNDS)


@live
def test_regions_all_functions():
    """The program does what it does without probes, with all of its functions measured."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--region", "*@regions", "--",
                                   os.path.join(WORKLOADS, "regions"), ROUNDS)
        said = own_measures(result.out)
        check(said["outer"][0] == ROUNDS and said["brief"][0] == 100 * ROUNDS, "visits", said)
        visits = by_path(recording, "region.visits")
        for path in ("one;outer;inner", "other;brief", "one;climb;climb"):
            check(visits.get(path) == PATHS[path] * ROUNDS, "visits of " + path, visits)


# Each path; whom an exception leaves has one caller that is known. (The compiler makes parts of functions.)
_PART = r"( \[clone [^];]*\])?"
CAUGHT = (r"^\[incomplete: left\];(attempt\(\);middle\(\)|middle\(\);thrower\(\))$|;main;steady\(\);attempt\(\)P"
          r"(;middle\(\)P(;thrower\(\)P)?(;Guard::~Guard\(\)P(;dtor_leaf\(\))?)?|;catch_middle\(\)P(;catch_leaf\(\))?|"
          r";__cxa_begin_catch)?$").replace("P", _PART)


def end_in_steps(daemon, process):
    """Ends the recording of a program that hardly gets the CPU meanwhile: to remove a probe takes the kernel some
    50 ms, so that a pass can begin before the first is removed, and return after its own is."""
    process.send_signal(signal.SIGSTOP)
    daemon.process.send_signal(signal.SIGINT)
    end = time.monotonic() + PATIENCE
    try:
        while daemon.process.poll() is None:
            check(time.monotonic() < end, "stackd did not end")
            time.sleep(0.05)
            process.send_signal(signal.SIGCONT)
            time.sleep(0.002)
            process.send_signal(signal.SIGSTOP)
    finally:
        process.send_signal(signal.SIGCONT)
    result = daemon.finish()
    check(result.status == DONE, "status %d" % result.status, result.err)


@live
def test_regions_exceptions():
    """Exceptions pass through regions: the program goes on, and such passes are counted, and no others."""
    with scratch() as folder, workload("exceptions") as process:
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--region", "*@exceptions", "--region",
                    "__cxa_begin_catch@libstdc++.so*", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            wait_cpu(process.pid, 1)
            end_in_steps(daemon, process)
        recording = Recording(folder + "/s.db")
        check(process.poll() is None, "the program has ended", process.returncode)
        counters = recording.stats()["counters"]
        visits = by_path(recording, "region.visits")
        caught = sum(count for path, count in visits.items() if "catch_middle" in path)
        check(caught > 10, "catches", visits)
        check(counters["regions_left"] > 10, "passes that an exception ended", counters)
        wrong = [path for path in visits if not re.search(CAUGHT, path)]
        check(not wrong and counters["regions_partial"] == 0, "partial", wrong, counters)


MOVED = ("late", "joined", "looped", "chosen")


def check_moved(recording, rounds):
    """Each pass is there once, with callers that only the registers lead to which are not restored
    yet where the probe is."""
    visits = by_path(recording, "region.visits")
    expected = {"main;call_%s;%s" % (name, name): rounds for name in MOVED}
    check({";".join(path.split(";")[-3:]): n for path, n in visits.items()} == expected, "visits",
          visits)
    counters = recording.stats()["counters"]
    for name in ("left", "unmatched", "partial", "without_path"):
        check(counters["regions_" + name] == 0, "regions_" + name, counters)


@live
def test_regions_moved():
    """Probes at cheaper instructions than the entry and the return."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, *options("moved", MOVED), "--",
                              os.path.join(WORKLOADS, "moved"), 1000)
        check_moved(recording, 1000)


LIMIT = 300  # a second; brief() has 80,000 passes, which no machine takes minutes for, and no other function has so many


@live
def test_regions_limit():
    """A region that is passed through too often is not measured any more; the others are."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *options("regions"), "--region-limit", LIMIT,
                                   "--", os.path.join(WORKLOADS, "regions"), 20, "burst")
        check("brief is passed through more than %d " % LIMIT in result.err, "no warning", result.err)
        visits = by_path(recording, "region.visits")
        said = own_measures(result.out)
        check(said["brief"][0] == 20 * BURST, "the program", said)
        check(LIMIT <= visits["other;brief"] < 20 * BURST, "visits of the one", visits)
        check(visits["one;outer;inner"] == 2 * 20, "visits of another", visits)
        for view in ("tree", "flat", "regions"):
            text = recording.text("report", "--view", view, "--metric", "region.time")
            check(re.search("# note: brief@regions was counted until [0-9.]+ s, then sampled", text),
                  "not said in " + view, text)
        shown = json.loads(recording.text("report", "--view", "regions", "--json"))
        check([row["name"] for row in shown["regions_off"]] == ["brief@regions"] and
              0 < shown["regions_off"][0]["counted_until_s"] < shown["duration_ns"] / 1e9, "JSON",
              shown["regions_off"], shown["duration_ns"])
        row = [row for row in shown["regions"] if row["name"] == "brief"][0]
        error = 6 * (row["estimated_error_ns"] ** 2 + (1e9 / 997) ** 2) ** 0.5  # 1 of 1e9
        check(said["brief"][2] - error <= row["total_ns"] and
              row["cpu_ns"] <= said["brief"][4] + error, "estimate", row, said["brief"], error)
        for key in ("total_ns", "estimated_ns"):
            check(row[key] == sum(path[key] for path in row["paths"]), "paths", key, row)


# For stackd: its trial of regions, in which it sleeps, ends when the test wants it, since what a program passes
# through in a quarter of a second is chance. Both files are named by variables of the environment.
LONG_TRIAL = """
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int nanosleep(const struct timespec *time, struct timespec *left)
{
	struct timespec look = {.tv_nsec = 10000000};

	if (time->tv_nsec != 250000000)
		return -clock_nanosleep(CLOCK_MONOTONIC, 0, time, left);
	close(open(getenv("TRIAL_BEGINS"), O_CREAT | O_WRONLY, 0600));
	while (access(getenv("TRIAL_ENDS"), F_OK))
		clock_nanosleep(CLOCK_MONOTONIC, 0, &look, NULL);
	return 0;
}
"""

# Passes a second. Each round passes four times through inner() and climb(), and sleeps for a millisecond: they are
# below. The CPU time in which the program is on trial has many rounds, each with BURST passes through brief().
TRIAL_LIMIT, TRIAL_CPU = 5000, 0.5


@live(long=True)
def test_regions_trial():
    """Of a running process, a region that is passed through too often is never measured: a trial
    finds it. The others are measured, and those within the limit are among them."""
    with scratch() as folder, own_program(folder, "burst") as process:
        begins, ends, shim = folder + "/begins", folder + "/ends", folder + "/shim"
        with open(shim + ".c", "w", encoding="ascii") as file:
            file.write(LONG_TRIAL)
        made = run("cc", "-shared", "-fPIC", "-o", shim + ".so", shim + ".c")
        check(made.status == 0, "the library cannot be made", made.err)
        try:
            with Daemon(folder + "/s.db", *options("regions"), "--region-limit", TRIAL_LIMIT, "--pid", process.pid,
                        env={"LD_PRELOAD": shim + ".so", "TRIAL_BEGINS": begins, "TRIAL_ENDS": ends}) as daemon:
                daemon.wait_for("the trial", lambda: os.path.exists(begins))
                wait_cpu(process.pid, TRIAL_CPU)
                open(ends, "w", encoding="ascii").close()
                daemon.wait_recording()
                daemon.wait_for("visits of another", lambda: ";one;outer;inner " in run(
                    STACKCTL, "export", "--folded", "--metric", "region.visits", "-i", folder + "/s.db").out)
                said = daemon.finish(signal.SIGINT).err
        finally:
            process.kill()
        recording = Recording(folder + "/s.db")
        visits, counters = by_path(recording, "region.visits"), recording.stats()["counters"]
        check("brief is passed through more than %d times a second in a thread: it is not "
              "measured at all" % TRIAL_LIMIT in said, "not said", said)
        check("other;brief" not in visits, "visits of the one", visits)
        check(counters["regions_taken_off"] == said.count("is passed through more than") == 1, "counted", counters,
              said)


def folded(recording, metric, *options):
    lines = recording.text("export", "--folded", "--metric", metric, *options).splitlines()
    return {stack: int(value) for stack, value in (line.rsplit(" ", 1) for line in lines)}


PERIOD = 1000000000 // 997
ENDS = 20  # periods at a thread's ends


def check_joined(recording, tid, cpu, one, another):
    """Samples outside and regions add up to a thread's CPU time, but for what is before its first
    sample and after its last; and the samples tell what is outside apart. If the thread is interrupted so often that
    samples hit each moment by chance alone, both together are more than ENDS periods in 4e-8 of the cases, (1 + ENDS)
    exp(-ENDS); else they are less."""
    sums = folded(recording, "cpu.time", "--tid", tid)
    regions = sum(folded(recording, "region.cpu", "--tid", tid).values())
    check(abs(sum(sums.values()) - cpu) <= cpu / 1000 + ENDS * PERIOD,
          "thread %s: %d ns, not %d" % (tid, sum(sums.values()), cpu))
    outside = cpu - regions
    rest = outside - one - another  # probes, sleep, and what longjmp() left: it is anyone's
    for name, truth in (("one_thing", one), ("another", another)):
        seen = sum(value for stack, value in sums.items() if ";%s;" % name in stack)
        share = truth / outside
        far = chance.farthest([(outside / PERIOD, PERIOD * share, share)])
        print("%s %-10s %9d of %9d, of %9d of none: %+.2f of what is allowed"
              % (tid, name, seen, truth, rest, (seen - truth - rest * share) / far))
        check(-far <= seen - truth <= far + rest, name, seen, truth, far, rest)
    # What its probes cost is in the function, but no part of its instances.
    check(not any(";region;spin" in stack for stack in sums), "samples inside are the region's")


def instances(folder, recording):
    """(END, WALL, NESTED, CPU in ns, TAG of the path) of the instances of each thread, by the moments of their
    records."""
    program = os.path.join(folder, "instances")
    libraries = run("pkg-config", "--libs", "sqlite3", "libzstd").out.split()
    built = run(os.environ.get("CC", "cc"), "-std=gnu17", "-D_GNU_SOURCE", "-I" + ROOT + "/lib",
                "-I" + ROOT + "/lib/record", "-I" + ROOT + "/lib/code", "-I" + ROOT + "/bpf", "-o", program, ROOT + "/tests/live/instances.c",
                os.path.join(BUILD, "libstackd.a"), *libraries, "-lpthread")
    check(built.status == 0, "instances.c", built.err)
    threads = {}
    listed = run(program, recording.store)
    check(listed.status == 0, "instances", listed.err)
    for line in listed.out.splitlines():
        tid, *times = map(int, line.split())
        threads.setdefault(tid, []).append(times)
    return threads


def check_overlaps(thread):
    """An instance is apart from those that ended before it, or contains them whole: then their time
    is what it has as nested, to the nanosecond. A record is made before its thread goes on, so an
    instance begins after the record of one that it does not contain."""
    apart = []
    for end, wall, nested, *_ in thread:
        within = 0
        while within < nested:
            check(apart, "%d ns within, of which %d have records" % (nested, within))
            within += apart.pop()[1]
        check(within == nested <= wall, "within: %d, not %d of %d" % (within, nested, wall))
        check(not apart or apart[-1][0] <= end - wall, "one begins at %d, before the end of the last"
              % (end - wall), apart[-1:])
        apart.append((end, wall))


def check_no_overlaps(folder, recording, least):
    """No instance overlaps another one of its thread that does not contain it."""
    counters = recording.stats()["counters"]
    threads = instances(folder, recording)
    listed = sum(map(len, threads.values()))
    check(listed == counters["regions_ended"] >= least, "instances", listed, counters)
    check(counters["regions_lost_ring"] == 0, "lost", counters)
    for thread in threads.values():
        check_overlaps(thread)
    print("%d instances of %d threads, %d with others within, none overlaps"
          % (listed, len(threads),
             sum(bool(nested) for thread in threads.values() for _, _, nested, *_ in thread)))


JOINED_ROUNDS = 500 if LONG else 200


@live
def test_regions_joined():
    """Samples outside of regions have their effective interval. No instances overlap."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--region", "region", "--region", "left",
                                   "--", os.path.join(WORKLOADS, "joined"), JOINED_ROUNDS)
        for line in result.out.splitlines():
            tid, *times = line.split()
            check_joined(recording, tid, *map(int, times))
        samples = folded(recording, "cpu")
        check(any(";region;spin" in stack for stack in samples), "all samples are there")
        check_no_overlaps(folder, recording, 3 * 5 * JOINED_ROUNDS)


def regions_view(recording):
    shown = json.loads(recording.text("report", "--view", "regions", "--json"))
    return {region["name"]: region for region in shown["regions"]}


def check_regions_view(recording, said):
    """The view adds up instances as the series have them."""
    regions, sums = regions_view(recording), by_path(recording, "region.time")
    for name, region in regions.items():
        counts = PATHS | PATHS_LEFT
        paths = [path for path in counts if path.split(";")[-1] == name]
        check(region["visits"] == sum(counts[path] for path in paths) * ROUNDS, "visits", region)
        check(region["left"] == (ROUNDS if name in ("around", "leave", "last") else 0), "left",
              region)
        check(region["own_ns"] == sum(sums[path] for path in paths), "own time", region)
        check(region["min_ns"] <= region["mean_ns"] <= region["max_ns"] or name == "climb",
              "least and most", region)
        check(region["left"] or region["total_ns"] <= said[name][3],
              "longer than around the calls", region)
    check(regions["outer"]["total_ns"] >= said["outer"][1], "shorter than within", regions)
    check(regions["climb"]["total_ns"] == sum(value for path, value in sums.items()
                                                if "climb" in path.split(";")),
          "recursion is counted once", regions["climb"])
    text = recording.text("report", "--view", "regions")
    check("one;outer" in text and "visits" in text, "text", text)


REGIONS_LEFT = ("three", "two", "one", "jumps", "handled", "interrupted", "ends", "next", "quits",
                "replaced", "resumed", "step", "abandoned", "beside", "deep", "leaf")


@live
def test_regions_left():
    """Passes that end by exceptions, jumps, the ends of threads and programs, and passes on
    several stacks: each is there, with the right end."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *NO_SAMPLING, *options("left", REGIONS_LEFT), "--",
                                   os.path.join(WORKLOADS, "left"), 30)
        regions, said = regions_view(recording), {}
        for line in result.out.splitlines():
            name, *numbers = line.split()
            said[name] = tuple(map(int, numbers))
        for name, (visits, left, least, most) in said.items():
            region = regions[name]
            check((region["visits"], region["left"]) == (visits, left), "passes of " + name, region,
                  said[name])
            total = sum(path["total_ns"] for path in region["paths"] if path["left"])
            check(not most or least <= total <= most, "time of " + name, total, said[name])
        for name in ("quits", "replaced"):
            check((regions[name]["visits"], regions[name]["left"]) == (1, 1), name, regions[name])
        counters = recording.stats()["counters"]
        check(counters["regions_too_deep"] + regions["deep"]["visits"] == 4 * 201, "recursion",
              counters, regions["deep"])
        for name in ("lost_ring", "unmatched", "no_memory", "unended"):
            check(counters["regions_" + name] == 0, "regions_" + name, counters)
        own = sum(region["own_ns"] for region in regions.values())
        ran = json.loads(recording.text("report", "--view", "regions", "--json", "--by", "thread"))
        check(own <= sum({region["tid"]: region["threads_ns"] // region["threads"]
                          for region in ran["regions"]}.values()), "time is there twice", own)
        text = recording.text("report", "--view", "regions")
        check("[incomplete: left];two" in text and "#   visits     left" in text, "the view", text)


@functools.lru_cache(maxsize=None)
def address_of_brief():
    """Of a function that is measured, in the workload and so in its copies."""
    text = run("nm", os.path.join(WORKLOADS, "regions")).out
    return [int(line.split()[0], 16) for line in text.splitlines() if line.split()[-1] == "brief"][0]


def probes_in(pid):
    """Whether the first byte of a function that was measured is a breakpoint."""
    with open("/proc/%d/maps" % pid, encoding="ascii") as maps:
        start = int(maps.readline().split("-")[0], 16)
    with open("/proc/%d/mem" % pid, "rb") as memory:
        memory.seek(start + address_of_brief())
        return memory.read(1) == b"\xcc"


def is_left(pid):
    """Whether a probe stays. The kernel takes them off in the background."""
    deadline = time.monotonic() + PATIENCE
    while probes_in(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return probes_in(pid)


def own_program(folder, *more):
    """Starts a copy of the workload: a probe is on a file, so in all processes that have it, and
    other tests measure the workload itself."""
    program = shutil.copy(os.path.join(WORKLOADS, "regions"), folder)
    return subprocess.Popen([program, "1000000", *more], stdout=subprocess.DEVNULL)


DETACH_ROUNDS, DETACH_AT_ONCE = 5, 4


def detach_all(folder, numbers):
    """Measures a program of its own for each signal, and ends stackd with that."""
    with contextlib.ExitStack() as stack:
        daemons = []
        for index, number in enumerate(numbers):
            own = "%s/%d" % (folder, index)
            os.mkdir(own)
            process = stack.enter_context(own_program(own))
            stack.callback(process.kill)
            daemon = stack.enter_context(Daemon(own + "/s.db", *options("regions"), "--pid",
                                                process.pid))
            daemons.append((number, process, daemon))
        for _, process, daemon in daemons:
            daemon.wait_recording(60)
            check(probes_in(process.pid), "there is no probe")
        for number, _, daemon in daemons:
            daemon.finish(number)
        for number, process, _ in daemons:
            check(not is_left(process.pid), "a probe is left after %s" % number.name)
        time.sleep(0.05)
        for number, process, _ in daemons:
            check(process.poll() is None, "the program has ended after %s" % number.name,
                  process.returncode)


@live(long=True)
def test_regions_detach():
    """After SIGINT and after kill -9 no probe is left, and the program goes on: 20 times, four
    beside each other."""
    numbers = (signal.SIGINT, signal.SIGKILL) * (DETACH_AT_ONCE // 2)
    for _ in range(DETACH_ROUNDS):
        with scratch() as folder:
            detach_all(folder, numbers)


# --- bad input -----------------------------------------------------------------------------------

def refused(folder, region, status, *words):
    result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", region, "--",
                 os.path.join(WORKLOADS, "regions"), 1)
    check_fault(result, status, *words)


@live
def test_regions_bad_input():
    with scratch() as folder:
        refused(folder, "no_such_function", FAILED, "no_such_function", "no function")
        refused(folder, "no_such_function@regions", FAILED, "no_such_function", "no function")
        refused(folder, "@regions", USAGE, "FUNC")
        with workload("chain") as one, workload("recursion") as other:
            result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "main", "--pid",
                         "%d,%d" % (one.pid, other.pid))
            check_fault(result, FAILED, "ambiguous", "main at 0x[0-9a-f]+ of .*/chain",
                        "main at 0x[0-9a-f]+ of .*/recursion")


VECTOR = """#include <stdio.h>
__attribute__((naked, noinline)) int vector(void)
{
	__asm__("vxorps %xmm0, %xmm0, %xmm0; mov $7, %eax; ret");
}
__attribute__((noinline)) int plain(int i)
{
	__asm__ volatile("" ::: "memory");
	return i;
}
int main(void)
{
	int sum = 0;

	for (int i = 0; i < 1000; i++)
		sum += vector() + plain(0);
	printf("%d\\n", sum);
	return 0;
}
"""


@live
def test_regions_misread():
    """Where the kernel would take the probed instruction for another one (here for a push), there is no
    probe, and the program does what it did."""
    with open("/proc/cpuinfo", encoding="ascii") as file:
        if " avx " not in file.read():
            raise Skip("the processor has no AVX")
    with scratch() as folder:
        program = folder + "/vector"
        with open(program + ".c", "w", encoding="ascii") as file:
            file.write(VECTOR)
        built = run(os.environ.get("CC", "cc"), "-O1", "-o", program, program + ".c")
        check(built.status == 0, "vector.c", built.err)
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--region", "vector@vector", "--", program)
        check_fault(result, FAILED, "cannot measure vector", "no probe can be at one of its instructions")
        result = run(STACKD, *NATIVE, "-o", folder + "/s.db", "-F", 9973, "--region", "*@vector", "--", program)
        check(result.out == "7000\n" and "left out" in result.err, "with a pattern", result)
