# SPDX-License-Identifier: MIT
"""Waits: each one is there, under its path, and their times are the kernel's own."""

import bisect
import contextlib
import csv
import glob
import itertools
import json
import os
import re
import shutil
import signal
import subprocess
import time

import chance
from harness import (DONE, MANAGED, NATIVE, NO_SAMPLING, PATIENCE, STACKCTL, STACKD, WORKLOADS, Daemon, Recording, Skip,
                     check, live, record, run, scratch, wait_asleep, wait_cpu, workload)
from test_cgroups import move, slices

PROGRAM = os.path.join(WORKLOADS, "waits")
AWAITED = os.path.join(WORKLOADS, "awaited")
URING = os.path.join(WORKLOADS, "uring")
SOURCES = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..", "workloads")
ROUNDS = 150
NO_DATA = 3  # stackctl's status
RING_BYTES = 1 << 26  # for all that comes, if stackd is kept from running: at most 37 MB (test_waits_wall())
WITH_WAKERS = ("--wakers", "--wait-mean", "0", "--ring-bytes", RING_BYTES)  # all of them
PERIOD_NS = 500000  # of CPU samples
LEAST_FAULT_NS = 300000  # of the faulter's
LEAST_AWAITED_NS = 15000000  # of the 20 ms that each of these waits lasts
CONDITION_BYTES = 48  # of a pthread_cond_t
ENDS_NS = 100000  # between a thread's readings of its clocks, at both ends
URING_ROUNDS = 20
READING_NS = 10000  # the same in one of many rounds, on average
PER_MILLE = 1000  # what times may be off by

# The C library's and the kernel's functions that each way waits in.
WAITS_IN = {
    "sleeper": {"nanosleep"},
    "locker": {"futex"},
    "holder": {"nanosleep", "futex"},
    "waiter": {"futex"},
    "setter": {"nanosleep", "futex"},
    "pinger": {"read", "write"},
    "ponger": {"read", "write"},
    "poller": {"epoll_wait", "read"},
    "caller": {"nanosleep", "write"},
    "parent": {"wait4", "fork"},
    "faulter": {"write", "madvise"},
    "filler": {"nanosleep", "read", "ioctl"},
    "timer": {"io_getevents"},
    "hog": set(),
}


def folded(recording, metric, *options):
    """{stack: value}; empty if there is nothing to export."""
    result = run(STACKCTL, "export", "--folded", "--metric", metric, *options, "-i",
                 recording.store)
    check(result.status in (DONE, NO_DATA), "export", result.err)
    lines = result.out.splitlines()
    return {stack: int(value) for stack, value in (line.rsplit(" ", 1) for line in lines)}


def partial_within(recording, function):
    """How many waits within a function of the kernel have no complete path."""
    count = 0
    for metric in ("wait.blocked", "wait.runnable"):
        result = run(STACKCTL, "report", "--json", "--no-reconstructed", "--metric", metric, "--focus", function,
                     *recording.source)
        check(result.status in (DONE, NO_DATA), "report: status %d" % result.status, result.err)
        count += json.loads(result.out)["quality"]["partial"] if result.status == DONE else 0
    return count


def check_counters(recording, scratches=True, most_partial=0):
    counters = recording.stats()["counters"]
    check(counters["waits_kept"] == counters["waits_sent"] + counters["waits_lost_ring"],
          "waits that are kept are neither sent nor lost", counters)
    check(counters["waits_received"] == counters["waits_sent"], "received", counters)
    for name in ("lost_ring", "no_memory", "without_path"):
        check(counters["waits_" + name] == 0, "waits_" + name, counters)
    if counters["waits_partial"] > most_partial:  # nor is there a stack in a thread's last moments
        most_partial += partial_within(recording, "do_exit")
    check(counters["waits_partial"] <= most_partial, "waits_partial", counters)
    check(counters["waits_without_scratch"] == 0 or not scratches, "scratch", counters)
    return counters


def threads_of(text):
    """What the workload says: the way and the number of each thread."""
    return [words[:2] for words in map(str.split, text.splitlines()) if len(words) == 5]


def check_paths(stacks, way):
    """Every wait in the way has run as its caller."""
    for stack in stacks:
        frames = stack.split(";")
        if way in frames:
            check(frames[frames.index(way) - 1] == "run", "path", stack)


# What each way waits for, if it is not for memory.
REASONS = {
    "sleeper": {"[sleep]"},
    "locker": {"[futex]"},
    "holder": {"[sleep]", "[futex]"},
    "waiter": {"[futex]"},
    "setter": {"[sleep]", "[futex]"},
    "pinger": {"[pipe: read]", "[pipe: write]"},
    "ponger": {"[pipe: read]", "[pipe: write]"},
    "poller": {"[idle: epoll_wait]", "[pipe: read]"},
    "caller": {"[sleep]", "[pipe: write]"},
    "parent": {"[child]"},
    "faulter": {"[pipe: write]", "[system call: madvise]"},
    "filler": {"[sleep]", "[anonymous file: read]", "[anonymous file: ioctl]"},
    "timer": {"[system call: io_getevents]"},
    "hog": set(),
}


def below_reason(stack):
    """The frames that say what a wait was for, and who held that."""
    frames = stack.split(";")
    while not frames[-1].startswith("[") or frames[-1] in ("[userfaultfd]", "[eventfd]"):
        del frames[-1]
    return stack[len(";".join(frames)) + 1:]


def reason_of(stack):
    end = below_reason(stack)
    return (stack[:-len(end) - 1] if end else stack).rsplit(";", 1)[1]


def check_ways(blocked, way):
    """Each stack of blocked time ends in the kernel, where this way waits, and with the reason."""
    for stack in blocked:
        frames, reason = stack.split(";"), reason_of(stack)
        if way not in frames:
            continue
        check("asm_exc_page_fault" in frames  # another thread is changing mappings
              or any(word in frame for frame in frames for word in WAITS_IN[way]),
              way + " waits elsewhere", stack)
        is_locked = any("fork" in frame for frame in frames)  # the allocator, while it is copied
        # A page fault is one in a system call as well.
        check(reason == "[page fault]" if "asm_exc_page_fault" in frames
              else reason in REASONS[way] or (is_locked and reason == "[futex]"),
              way + " waits for something else", stack)


def check_faults(recording, tid, counters):
    """Each round of the faulter waits for its page, in read(): blocked, or for a processor if one is taken away from it
    on the way to sleep."""
    stacks = {metric: folded(recording, metric, "--tid", tid) for metric in ("wait.blocked", "wait.runnable")}
    in_read = {metric: sum(value for stack, value in of.items() if ";vfs_read;" in stack and "handle_userfault" in stack)
               for metric, of in stacks.items()}
    unseen = counters["waits_missed_ns"] + counters["waits_stolen_ns"]
    check(in_read["wait.blocked"] and sum(in_read.values()) + unseen > ROUNDS * LEAST_FAULT_NS, "page faults in read()",
          in_read, unseen, stacks)


def check_ready(ready):
    """Runnable time comes after a wake-up, or a preemption."""
    for stack in ready:
        check(stack.rsplit(";", 1)[1] in ("[woken]", "[preempted]", "[throttled]"), "runnable", stack)


def check_thread(recording, way, tid):
    """Its waits are where this way waits."""
    blocked = folded(recording, "wait.blocked", "--tid", tid)
    ready = folded(recording, "wait.runnable", "--tid", tid)
    check_paths(list(blocked) + list(ready), way)
    check_ways(blocked, way)
    check_ready(ready)


def check_parts(recording):
    """By reason: the sums are those of the leaves."""
    parts = json.loads(recording.text("report", "--json", "--by", "reason", "--metric",
                                      "wait.blocked"))["parts"]
    sums = {}
    for stack, value in folded(recording, "wait.blocked").items():
        reason = reason_of(stack)
        sums[reason] = sums.get(reason, 0) + value
    check({part["reason"]: part["samples"] for part in parts} == sums, "parts", parts, sums)


def check_objects(recording):
    """By object: the sums are those of what the waits were for, and where that is not known, why."""
    parts = json.loads(recording.text("report", "--json", "--by", "object", "--metric",
                                      "wait.blocked"))["parts"]
    sums = {}
    for stack, value in folded(recording, "wait.blocked").items():
        name = below_reason(stack).split(";")[0] or reason_of(stack)
        sums[name] = sums.get(name, 0) + value
    check({part["object"]: part["samples"] for part in parts} == sums, "parts", parts, sums)


def check_waits(recording, ways):
    """All waits of the workload are there, by the kernel half's own sums, and where it waits."""
    counters = check_counters(recording)
    check(len(ways) == 15, "threads of the program", ways)
    for way, tid in ways:
        check_thread(recording, way, tid)
    blocked, ready = (folded(recording, "wait." + part) for part in ("blocked", "runnable"))
    untraced = sum(value for stack, value in blocked.items() if stack.endswith("[not traced]"))
    check(sum(blocked.values()) == counters["waits_blocked_ns"] + untraced, "blocked", blocked, counters)
    check(sum(ready.values()) == counters["waits_runnable_ns"] + counters["waits_missed_ns"] - untraced,
          "runnable", ready, counters)
    check_parts(recording)
    check_objects(recording)
    check_faults(recording, dict(ways)["faulter"], counters)


def check_conserved(recording, words, stolen, missed):
    """Of a thread's time in its way, all that it was not on the CPU is in its waits, and what the
    scheduler calls runnable is so here, but for waits whose switch the kernel did not trace,
    those around the way, between the readings of the clocks (a page fault there waits while another
    thread forks), and what was stolen of all threads' times on the CPU."""
    way, tid, wall, cpu, queued = words[0], words[1], *map(int, words[2:])
    stacks = [folded(recording, metric, "--tid", tid)
              for metric in ("wait.blocked", "wait.runnable")]
    blocked, ready = (sum(value for stack, value in of.items() if ";run;%s;" % way in stack)
                      for of in stacks)
    both = [sum(value for stack, value in of.items() if ";run;" in stack) for of in stacks]
    around_blocked, around = both[0] - blocked, both[1] - ready
    lacking = wall - cpu - blocked - ready
    print("%s %s: %d ns, %d lacking (%.4f %%), %d and %d around; runnable %d of schedstat's %d" % (
        way, tid, wall, lacking, 100 * lacking / wall, around_blocked, around, ready, queued))
    # A thread can be preempted when its state is already that of one that goes to sleep: in do_wait(), do_nanosleep().
    # sched_info_depart() does not count its time in the queue then. Nor does the scheduler count what a thread is on
    # the way from one CPU's queue to another's: some 20 us each time.
    preempted = sum(value for stack, value in stacks[1].items()
                    if re.search(";run;%s;.*;do_syscall_64;.+;\\[preempted\\]$" % way, stack))
    check(-ENDS_NS - preempted - queued / PER_MILLE <= queued - ready <= around + missed + ENDS_NS + queued / PER_MILLE,
          "runnable", way, ready, queued, around, missed, preempted, stacks[1])
    check(-ENDS_NS <= lacking <= around_blocked + around + missed + stolen + ENDS_NS + wall / PER_MILLE,
          "wall", way, words, blocked, ready, around_blocked, around, missed, stolen)


def check_sampled(option):
    """With wakers it is decided in two steps which waits are kept."""
    mean = 2000000
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", option, "--wait-mean", "2ms", "--", PROGRAM, ROUNDS)
        counters = check_counters(recording)
        check(counters["waits_kept"] < counters["waits_ended"], "all are kept", counters)
        blocked, ready = (folded(recording, "wait." + part) for part in ("blocked", "runnable"))
        untraced = sum(value for stack, value in blocked.items() if stack.endswith("[not traced]"))
        for metric, total, true in (
                ("wait.blocked", sum(blocked.values()) - untraced, counters["waits_blocked_ns"]),
                ("wait.runnable", sum(ready.values()) + untraced,
                 counters["waits_runnable_ns"] + counters["waits_missed_ns"])):
            far = chance.of_time(true, mean)
            print("%s: %s %d of %d: %+.2f of what is allowed" % (option, metric, total, true, (total - true) / far))
            check(abs(total - true) <= far, metric, total, true, far)


@live(long=True)
def test_waits_sampled():
    """Sampled by duration: few of the waits, and right sums, but for chance. It takes the sum over a wait
    of length d, kept with p = 1 - exp(-d / mean), no farther than if each nanosecond were kept by itself: the
    logarithm of 1 + p (exp(t d / p) - 1) is at most d (exp(t mean) - 1) / mean."""
    check_sampled("--wait")
    check_sampled("--wakers")


def wait_lowered(recording, times):
    """Waits until the rate has been changed so often, as of the last commit."""
    deadline = time.monotonic() + PATIENCE
    while recording.stats()["counters"]["rate_changes"] < times:
        check(time.monotonic() < deadline, "the rate was not lowered")
        time.sleep(0.1)


@live(alone=True, long=True)  # its program takes all processors, by switches
def test_waits_budget():
    """To keep within --max-cpu the mean is longer as the rate is lower: fewer waits are kept, and the
    sums are right all the same."""
    rate, mean = 2000, 10000000  # at ten times that the ring fills before there are tables
    with scratch() as folder, slices() as make, \
            subprocess.Popen([PROGRAM, "1000000"], stdout=subprocess.DEVNULL) as program:
        group = make("/budget")
        move(program.pid, group)
        try:
            with Daemon(folder + "/s.db", "--wait", "-F", rate, "--max-cpu", "0.3%", "--ring-bytes",
                        RING_BYTES, "--cgroup", group) as daemon:
                daemon.wait_samples(0)
                wait_lowered(Recording(folder + "/s.db"), 2)
                wait_cpu(program.pid, 1)  # with the last mean
                result = daemon.finish(signal.SIGINT)
        finally:
            program.kill()
        check(result.status == DONE, "stackd", result.err)
        recording = Recording(folder + "/s.db")
        counters = check_counters(recording)
        longest = mean * 4 ** counters["rate_changes"]  # each is by four at most; not all are told
        true = sum(counters["waits_%s_ns" % part] for part in ("blocked", "runnable", "missed"))
        total = sum(sum(folded(recording, metric).values())
                    for metric in ("wait.blocked", "wait.runnable"))
        far = chance.of_time(true, longest)
        print("%d Hz in the end, %d changes; %d waits kept of %d; %d of %d ns: %+.2f of what is allowed" % (
            counters["rate_hz"], counters["rate_changes"], counters["waits_kept"],
            counters["waits_ended"], total, true, (total - true) / far))
        check(counters["rate_hz"] < rate, "the rate was not lowered", result.err)
        usual = true / mean  # of waits, if it stays as it is; when it changes is the machine's affair
        check(counters["waits_kept"] < usual - 5 * usual ** 0.5, "the mean has not become longer",
              usual, counters)
        check(abs(total - true) <= far, "sums", total, true, far)


@live
def test_waits_uring():
    """Waits for an io_uring are named so, whatever the kernel accounts them as."""
    with scratch() as folder:
        tried = run(URING, 1)
        if tried.status == 77:
            raise Skip("no io_uring here: " + tried.err)
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--wait", "--wait-mean", "0", "--", URING, URING_ROUNDS)
        counters = check_counters(recording)
        blocked, ready = (folded(recording, "wait." + part) for part in ("blocked", "runnable"))
        for way, *told in map(str.split, result.out.splitlines()):
            wall, cpu = map(int, told)
            found = [(stack, ns) for stack, ns in blocked.items() if ";main;run;%s;await;" % way in stack]
            check(found and all(stack.endswith(";[io_uring]") for stack, _ in found), way, found)
            # What the thread was not on the CPU is in its waits, but for what the kernel did not trace, what was
            # stolen, and waits between its readings of the clocks, which are in run(). On a busy machine it waits
            # for a processor as well.
            waits, around = (sum(ns for of in (blocked, ready) for stack, ns in of.items() if below in stack) for
                             below in (";main;run;%s;" % way, ";main;run;"))
            around -= sum(ns for of in (blocked, ready) for stack, ns in of.items()
                          if re.search(";main;run;(polled|timed|handed);", stack))
            lost = sum(counters["waits_%s_ns" % part] for part in ("stolen", "missed"))
            lacking = wall - cpu - waits
            print("%s: %d of %d ns on the CPU, %d in waits, %d lacking; %d around, %d lost" % (
                way, cpu, wall, waits, lacking, around, lost))
            check(-URING_ROUNDS * READING_NS <= lacking <= around + lost + URING_ROUNDS * READING_NS + wall / PER_MILLE,
                  "waits are not the time", way, lacking, around, lost)


def check_wall(recording, words, stolen):
    """All waits are counted, so what was no wait was on the CPU: the thread has all of the time of
    its way, and no less time on the CPU than it says; and ranges add up to the whole. Its samples
    are as many as the thread's CPU time has periods, but for chance; or fewer, of
    threads that switch: at a switch the kernel stops a thread's event and starts the next one's,
    for as long as many of these run at all. In what was stolen of the threads' time the clock of samples
    goes on, and the CPU time does not."""
    way, tid, wall, cpu = words[0], words[1], int(words[2]), int(words[3])
    stacks = {metric: folded(recording, metric, "--tid", tid)
              for metric in ("cpu", "wait.blocked", "wait.runnable", "wall")}
    parts = {metric: sum(value for stack, value in of.items()
                         if ";run;%s;" % way in stack or stack.endswith(";run;" + way))
             for metric, of in stacks.items()}
    parts["cpu"] *= PERIOD_NS
    whole = {metric: sum(of.values()) for metric, of in stacks.items()}
    on_cpu = whole["wall"] - whole["wait.blocked"] - whole["wait.runnable"]
    print("%s %s: %s, all of it %s, of %d ns and %d on the CPU" % (way, tid, parts, whole, wall, cpu))
    check(whole["wall"] >= wall - ENDS_NS - wall / PER_MILLE, "wall is not all", way, whole, wall)
    check(on_cpu >= cpu - ENDS_NS - wall / PER_MILLE, "too little on the CPU", way, whole, cpu)
    ranges = [sum(folded(recording, "wall", "--tid", tid, *options).values())
              for options in (("--to", "0.3"), ("--from", "0.3", "--to", "0.4567"), ("--from", "0.4567"))]
    check(abs(sum(ranges) - whole["wall"]) < 1000000, "ranges do not add up", way, ranges, whole)
    most = chance.of_time(cpu, PERIOD_NS) + cpu / 100
    check(parts["cpu"] - stolen <= cpu + most, "too many samples", way, parts, cpu, stolen)
    check(way != "hog" or parts["cpu"] >= cpu - most - stolen, "too few samples", way, parts, cpu, stolen)


@live
def test_waits_wall():
    """Samples and waits in one: each thread's add up to its time."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--wait", "--wait-mean", "0", "-e",
                                   "cpu-clock", "-c", PERIOD_NS, "--ring-bytes", RING_BYTES,
                                   "--", PROGRAM, 3 * ROUNDS)
        counters = check_counters(recording)
        for words in map(str.split, result.out.splitlines()):
            check_conserved(recording, words, counters["waits_stolen_ns"], counters["waits_missed_ns"])
            check_wall(recording, words, counters["waits_stolen_ns"])


@live(long=True)
def test_waits_lives():
    """Short processes: what they were there for is their waits and their time on the CPU, as the kernel half
    counts it from their first moment to their last switch, and not up to where perf reports their exits, which
    is a good part of their lives before that."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--wait", "--wait-mean", "0", "--ring-bytes", RING_BYTES,
                                   "--", os.path.join(WORKLOADS, "short_tasks"), "processes", 300, 600, 0.15)
        counters = check_counters(recording)
        tasks = int(re.search(r" tasks (\d+)", result.out)[1]) + 1
        check(counters["waits_lives_lost"] == 0, "ends of threads are lost", counters)
        parts = ("blocked", "runnable", "running", "missed")
        lives = sum(counters["waits_%s_ns" % part] for part in parts)
        wall = sum(folded(recording, "wall").values())
        print("wall %d of %d ns: %+d of each of %d tasks" % (wall, lives, (wall - lives) // tasks, tasks))
        # A life's record has its own reading of the clock, at its begin and its end, on a processor of which
        # time can be stolen in between.
        check(abs(wall - lives) <= tasks * READING_NS + counters["waits_stolen_ns"], "lives", wall, lives, counters)
        for metric, part in (("wait.blocked", "blocked"), ("wait.runnable", "runnable")):
            total, true = sum(folded(recording, metric).values()), counters["waits_%s_ns" % part]
            check(0 <= total - true <= counters["waits_missed_ns"], metric, total, true, counters)


# Who ends the waits of a way for a reason: a thread in that function; None: an interrupt.
WAKERS = {
    ("sleeper", "[sleep]"): None,
    ("timer", "[system call: io_getevents]"): None,
    ("locker", "[futex]"): "holder",
    ("holder", "[futex]"): "locker",
    ("waiter", "[futex]"): "setter",
    ("pinger", "[pipe: read]"): "ponger",
    ("ponger", "[pipe: read]"): "pinger",
    ("poller", "[idle: epoll_wait]"): "caller",
    ("faulter", "[page fault]"): "filler",
    ("filler", "[anonymous file: read]"): "faulter",
}
# Who ended what those had waited for themselves: as above. (What else they waited for depends on what the
# other threads do with memory.)
CHAINS = {
    "waiter": ("setter", {"[sleep]": None, "[futex]": "waiter"}),
    "poller": ("caller", {"[sleep]": None, "[pipe: write]": "poller"}),
    "faulter": ("filler", {"[sleep]": None, "[anonymous file: read]": "faulter"}),
}
HOLDS_MEMORY = "(mmap|munmap|mprotect|madvise|brk|[Ff]ork|clone)$"  # a waker in one of these calls
# Of a way's waits. Some kernels run no BPF program while a thread of process 1 has the CPU, and do not trace that it
# leaves it: of 24,011 wake-ups beside other programs, all were seen but the 54 in interrupts of such threads. These run
# for milliseconds at a time, so a way's waits that fit into the CPU time of process 1 may be ended by unknown wakers.
# The others are those that end as one of its threads has just begun, or while the scheduler removes the waiting thread
# from its queue: one of 23,957.
LEAST_KNOWN = 0.9
MOST_UNKNOWN = 14  # besides those that fit
LEAST_WAITS = 10  # of a way that may not wait at all
LEAST_CHAINED = 5


def untraced_cpu():
    """The CPU time of each thread of process 1, in nanoseconds."""
    times = {}
    for path in glob.glob("/proc/1/task/*/schedstat"):
        with contextlib.suppress(OSError), open(path, encoding="ascii") as file:
            times[path] = int(file.read().split()[0])
    return times


def most_unknown(waits, untraced_ns):
    """Of how many of these waits the waker may be unknown: see MOST_UNKNOWN."""
    ends = list(itertools.accumulate(sorted(int(wait["whole_ns"]) for wait in waits)))
    return max(MOST_UNKNOWN + bisect.bisect_right(ends, untraced_ns), (1 - LEAST_KNOWN) * len(waits))


def waker_nodes(recording, way):
    """Chains of the waits in a way: {(kinds and names from the reason on): number of waits}."""
    result = run(STACKCTL, "report", "--view", "wakers", "--json", "--focus", way, *recording.source)
    check(result.status in (DONE, NO_DATA), "report: status %d" % result.status, result.err)
    nodes = json.loads(result.out)["nodes"] if result.status == DONE else []
    chains = {}
    for number, node in enumerate(nodes):
        chain, at = [], number
        while at >= 0:
            chain.insert(0, (nodes[at]["kind"], nodes[at]["name"]))
            at = nodes[at]["parent"]
        chains[tuple(chain)] = node["waits"]
    return chains


def is_in(name, function):
    return function in name.split(": ", 1)[-1].split(" > ")


def is_ended_by(name, function, is_interrupt):
    return is_in(name, function) if function else is_interrupt


def waits_listed(recording):
    """Each wait, with its path and who ended it."""
    result = run(STACKCTL, "report", "--view", "waits", *recording.source, "-o", recording.store + ".waits.csv")
    check(result.status == DONE, "report: status %d" % result.status, result.err)
    with open(recording.store + ".waits.csv", encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def is_for_memory(path):
    """Whether a thread waited for the lock of its address space: in a page fault, but not for `filler`."""
    frames = path.split(";")
    return "asm_exc_page_fault" in frames and "handle_userfault" not in frames


def waits_of(waits, way, reason):
    """The blocked waits of a way for a reason, without those for memory, which any thread ends that maps some."""
    return [wait for wait in waits if wait["state"] == "blocked" and
            wait["what_for"].split(";")[0] == reason and way in wait["path"].split(";") and
            not is_for_memory(wait["path"])]


def check_wakers(waits, way, reason, function, untraced_ns):
    """Each wait for the reason was ended by whom the way says; how many there were. Not judged are those of which the
    waker is not known."""
    all_of_them = waits_of(waits, way, reason)
    of = [wait for wait in all_of_them if wait["waker"]]
    wrong = [wait for wait in of if not is_ended_by(wait["waker"], function, wait["waker"] == "an interrupt")]
    print("%s %s: %d of %d ended by %s" % (way, reason, len(of) - len(wrong), len(of), function))
    check(not wrong, "%d of %d wakers of %s" % (len(wrong), len(of), way), reason, wrong[:5])
    # Another thread that wakes it is traced.
    most = most_unknown(all_of_them, 0 if function else untraced_ns)
    check(len(all_of_them) - len(of) <= most, "%d of %d wakers of %s are known" % (len(of), len(all_of_them), way),
          reason, most, untraced_ns)
    return len(of)


def holds_memory(node):
    return bool(re.search(HOLDS_MEMORY, str(node[1])))


def check_chain(chains, way, through, ended_by, most):
    """What the waker had waited for before, and who had ended that: an interrupt, if it slept. Where the machine
    is busy, it has often waited for a CPU since, and nothing more is known; nor is each waker, of at most `most` sleeps.
    How many slept."""
    through_it = {chain: n for chain, n in chains.items()
                  if len(chain) > 1 and is_in(chain[1][1], through)}
    woken = sum(n for chain, n in through_it.items() if len(chain) == 2)
    before = {chain[2:4]: n for chain, n in through_it.items() if len(chain) == 4 and chain[3][0] != "unknown"}
    wrong = [pair for pair in before if pair[0][1] in ended_by and not holds_memory(pair[1]) and
             not is_ended_by(pair[1][1], ended_by[pair[0][1]], pair[1][0] == "interrupt")]
    sleeps = sum(n for chain, n in through_it.items() if chain[2:] == (("wait", "[sleep]"),))
    slept = sum(n for pair, n in before.items() if pair[0] == ("wait", "[sleep]"))
    print("%s: %d by %s, before: %s" % (way, woken, through, before))
    check(not wrong and sleeps - slept <= most, "chains of " + way, wrong, sleeps, most, chains)
    # The poller, who waits seldom where the machine is slow (see below), is judged if it waited.
    check(woken >= LEAST_CHAINED or way == "poller" and woken < LEAST_WAITS, "chains of " + way, chains)
    return slept


def check_all_wakers(recording, rounds, most_partial=0, untraced_ns=0):
    """Who ended each wait, and what those had waited for. `untraced_ns`: the CPU time of process 1 meanwhile."""
    counters = check_counters(recording, most_partial=most_partial)
    check(counters["wakers"] == counters["wakers_sent"] == counters["wakers_received"]
          > 5 * rounds, "wakers", counters)
    listed = waits_listed(recording)
    waits = {way: check_wakers(listed, way, reason, function, untraced_ns)
             for (way, reason), function in WAKERS.items()}
    # Of the two that pass a byte to and fro, one may be woken so soon that the other never waits;
    # and where the machine is slow, the caller may be done before the poller begins.
    either = waits.pop("pinger") + waits.pop("ponger")
    waits.pop("poller")
    check(either > 0 and all(waits.values()), "ways that never waited", waits)
    slept = sum(check_chain(waker_nodes(recording, way), way, *chain,
                            most_unknown(waits_of(listed, chain[0], "[sleep]"), untraced_ns))
                for way, chain in CHAINS.items())
    check(slept >= LEAST_CHAINED, "no waker is known to have slept", slept)


@live
def test_waits():
    """All waits of the workload: their times, paths and reasons, and who ended them. And without samples."""
    with scratch() as folder:
        before = untraced_cpu()
        recording, result = record(folder + "/s.db", *MANAGED, *NO_SAMPLING, *WITH_WAKERS, "--", PROGRAM, ROUNDS)
        untraced_ns = sum(ns - before.get(thread, 0) for thread, ns in untraced_cpu().items())
        check_waits(recording, threads_of(result.out))
        stats = recording.stats()
        check(stats["samples"] == 0, "samples of no event", stats)
        for words in map(str.split, result.out.splitlines()):
            check_conserved(recording, words, stats["counters"]["waits_stolen_ns"],
                            stats["counters"]["waits_missed_ns"])
        check_all_wakers(recording, ROUNDS, untraced_ns=untraced_ns)


SENDER = """
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
static int to, from;
__attribute__((noinline)) void computes_and_sends(void) {
	for (int i = 0; i < 100; i++) {
		for (clock_t end = clock() + CLOCKS_PER_SEC / 500; clock() < end; ) ;
		if (send(to, "x", 1, 0) != 1) abort();
	}
}
static void *sender(void *none) { prctl(PR_SET_NAME, "sender"); computes_and_sends(); return none; }
__attribute__((noinline)) void receives(void) {
	char byte;
	for (int i = 0; i < 100; i++) if (recv(from, &byte, 1, 0) != 1) abort();
}
int main(int n, char **v) {
	int type = n > 1 ? SOCK_DGRAM : SOCK_STREAM, first = socket(AF_INET, type, 0);
	struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t size = sizeof(at);
	pthread_t thread;
	if (bind(first, (void *)&at, size) || getsockname(first, (void *)&at, &size)) abort();
	if (n == 1 && listen(first, 1)) abort();
	to = socket(AF_INET, type, 0);
	if (connect(to, (void *)&at, size)) abort();
	from = n == 1 ? accept(first, NULL, NULL) : first;
	pthread_create(&thread, NULL, sender, NULL);
	receives();
	pthread_join(thread, NULL);
}
"""


@live
def test_waits_wakers_loopback():
    """Who waits for a socket of the same machine is woken by the sender, in whose system call packets are
    delivered, or, where the kernel has put that off, by an interrupt or in a system call of another program that uses
    the network: by no other thread of this one."""
    with scratch() as folder:
        with open(folder + "/lo.c", "w", encoding="ascii") as source:
            source.write(SENDER)
        built = run("gcc", "-O1", "-g", "-o", folder + "/lo", folder + "/lo.c", "-pthread")
        check(built.status == 0, "the program", built.err)
        for arguments in ((), ("datagrams",)):
            recording, _ = record(folder + "/s.db", *WITH_WAKERS, *NO_SAMPLING, "--", folder + "/lo", *arguments)
            chains = waker_nodes(recording, "receives")
            ended = {chain[1]: n for chain, n in chains.items()
                     if chain[0][1].startswith("[socket") and len(chain) == 2}
            print(arguments, ended)
            sent = sum(n for node, n in ended.items() if is_in(node[1], "computes_and_sends"))
            wrong = [node for node in ended if not is_in(node[1], "computes_and_sends") and node[0] != "interrupt" and
                     node[1].split(":")[0] in ("lo", "sender")]
            check(not wrong and sent >= LEAST_WAITS, "wakers", arguments, ended)
            os.unlink(folder + "/s.db")


def is_right(awaited, expected):
    """`?`: perhaps nobody can tell; `*`: a place within what is at this address."""
    if expected.endswith("*"):
        start, at = (int(text.rstrip("*").removeprefix("futex "), 16) for text in
                     (expected, awaited))
        return start <= at < start + CONDITION_BYTES
    return awaited == expected.rstrip("?") or (expected.endswith("?") and not awaited)


def read_expected(path):
    """What the program says that each way waits for."""
    if not os.path.exists(path):
        return {}
    with open(path, encoding="utf-8") as file:
        return dict(line.rstrip("\n").split("\t") for line in file if line.endswith("\n"))


def found_in(recording, expected):
    """What stackd knows of each way's wait. (While another thread maps memory, a page fault can wait, too.)"""
    found = {way: [] for way in expected}
    for stack, value in folded(recording, "wait.blocked").items():
        way = stack.split(";run;")[-1].split(";")[0]
        if ";run;" in stack and value > LEAST_AWAITED_NS and reason_of(stack) != "[page fault]":
            found[way].append(below_reason(stack))
    return found


def wait_found(recording, path, ways):
    """Waits until each wait that stackd saw the begin of is in the store, and has a name if it has one: how soon it
    looks for that, the machine decides."""
    deadline = time.monotonic() + PATIENCE / 10
    while time.monotonic() < deadline:
        expected, stats = read_expected(path), run(STACKCTL, "stats", "--json", "-i", recording.store)
        if len(expected) == ways and stats.status == DONE:
            found, missed = found_in(recording, expected), json.loads(stats.out)["counters"]["waits_missed"]
            late = [way for way, name in expected.items() if found[way] == [""] and name[-1:] not in ("", "?")]
            if not late and sum(not of for of in found.values()) <= missed:
                return
        time.sleep(0.2)


def check_awaited(program, ways, partial_in=None):
    with scratch() as folder:
        recording, path = Recording(folder + "/s.db"), folder + "/said"
        with Daemon(recording.store, *NO_SAMPLING, "--wait", "--wait-mean", "0", "--", program, folder, path) as daemon:
            daemon.wait_recording()
            wait_found(recording, path, ways)
            open(folder + "/enough", "w", encoding="ascii").close()
            result = daemon.finish()
        check(result.status == DONE, "stackd: status %d" % result.status, result.err)
        most_partial = partial_within(recording, partial_in) if partial_in else 0
        counters = check_counters(recording, most_partial=most_partial)
        check_objects(recording)
        expected = read_expected(path)
        check(len(expected) == ways, "ways", expected)
        found = found_in(recording, expected)
    print({name: n for name, n in counters.items() if name.startswith("waits")})
    missing = [way for way in expected if not found[way]]
    check(len(missing) <= counters["waits_missed"], "waits are missing, and not counted", missing)
    for way, name in expected.items():
        print("%s: %s, found %s" % (way, name, found[way]))
        check(way in missing or (len(found[way]) == 1 and is_right(found[way][0], name)), way, name,
              found[way])
    check(counters["waits_unnamed"] >= 2, "closed and reused descriptors", counters)


@live
def test_waits_objects():
    """What threads wait for, and who holds that: what the program says of itself. A descriptor that
    is closed, or another file's, before its path is looked up has no name, and no wrong one."""
    check_awaited(AWAITED, 27)


@live
def test_waits_objects_musl():
    """The same of a program with another C library, whose mutexes are others, and which does not
    say how to unwind from the first instructions of a thread."""
    if not shutil.which("musl-gcc"):
        raise Skip("no musl-gcc here")
    with scratch() as folder:
        program = folder + "/awaited"
        built = run("musl-gcc", "-static", "-O2", "-o", program, SOURCES + "/awaited.c")
        check(built.status == 0, "musl-gcc", built.err)
        check_awaited(program, 26, "__clone")


@live
def test_waits_least():
    """Waits below the least time are counted, with their time, and not kept."""
    with scratch() as folder:
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, "--wait=1ms", "--wait-mean", "0", "--", PROGRAM,
                              ROUNDS)
        counters = check_counters(recording)
        kept = sum(sum(folded(recording, metric).values())
                   for metric in ("wait.blocked", "wait.runnable"))
        check(counters["waits_short"] > 0, "short waits", counters)
        check(kept + counters["waits_short_ns"]
              == sum(counters["waits_%s_ns" % part] for part in ("blocked", "runnable", "missed")), "sums",
              counters)


RESTARTED = """
#include <linux/futex.h>
#include <poll.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>
int main(int n, char **v) {
	struct timespec time = {.tv_sec = 1000};
	int word = 0, ends[2];
	if (v[1][0] == 's') nanosleep(&time, NULL);
	if (v[1][0] == 'f') syscall(SYS_futex, &word, FUTEX_WAIT, 0, &time, NULL, 0);
	if (v[1][0] == 'p' && pipe(ends) == 0) poll(&(struct pollfd){.fd = ends[0], .events = POLLIN}, 1, 1000000);
}
"""


def state_of(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii", errors="replace") as file:
        return file.read().rsplit(") ", 1)[1][0]


def wait_state(pid, letter):
    deadline = time.monotonic() + PATIENCE
    while state_of(pid) != letter:
        check(time.monotonic() < deadline, "the process does not come to the state", letter, state_of(pid))
        time.sleep(0.01)


@live
def test_waits_stopped():
    """A process that was stopped before is [stopped]; after SIGCONT it goes on in the call that it was in."""
    with scratch() as folder:
        with open(folder + "/source.c", "w", encoding="ascii") as source:
            source.write(RESTARTED)
        built = run("gcc", "-O1", "-o", folder + "/restarted", folder + "/source.c")
        check(built.status == 0, "the program", built.err)
        programs = {name: subprocess.Popen([folder + "/restarted", name]) for name in ("sleep", "futex", "poll")}
        try:
            for process in programs.values():
                wait_state(process.pid, "S")
                process.send_signal(signal.SIGSTOP)
                wait_state(process.pid, "T")
            words = [word for process in programs.values() for word in ("--pid", process.pid)]
            with Daemon(folder + "/s.db", "--wait", "--wait-mean", "0", *NO_SAMPLING, *words) as daemon:
                daemon.wait_recording()
                for process in programs.values():
                    process.send_signal(signal.SIGCONT)
                    wait_state(process.pid, "S")
                time.sleep(0.2)
                daemon.finish(signal.SIGINT)
            recording = Recording(folder + "/s.db")
            missed = recording.stats()["counters"]["waits_missed"]
            for name, reason in (("sleep", "[sleep]"), ("futex", "[futex]"), ("poll", "[idle: poll]")):
                reasons = {reason_of(stack) for stack in
                           folded(recording, "wait.blocked", "--pid", programs[name].pid)}
                missing = {"[stopped]", reason} - reasons
                check(reasons <= {"[stopped]", reason, "[not traced]"} and len(missing) <= missed,
                      "reasons of " + name, reasons, missed)
        finally:
            for process in programs.values():
                process.kill()
                process.wait()


def quota_group():
    """A new cgroup with a fiftieth of a CPU's time, in either hierarchy; its folder."""
    with open("/proc/mounts", encoding="utf-8") as mounts:
        lines = [line.split() for line in mounts]
    for line in lines:
        group = "%s/stackd-quota-%d" % (line[1], os.getpid())
        try:
            if line[2] == "cgroup" and "cpu" in line[3].split(","):
                os.mkdir(group)
                write(group + "/cpu.cfs_quota_us", "2000")
                return group
            if line[2] == "cgroup2" and "cpu" in read(line[1] + "/cgroup.subtree_control").split():
                os.mkdir(group)
                write(group + "/cpu.max", "2000 100000")
                return group
        except OSError as error:
            raise Skip("cannot make a cgroup with a quota: %s" % error) from None
    raise Skip("no hierarchy of cgroups has the CPU controller")


def read(path):
    with open(path, encoding="ascii") as file:
        return file.read()


def write(path, text):
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def throttled_of(line):
    """A moment, and for how long and how often a group was throttled before, by its cpu.stat."""
    moment, *words = line.split()
    numbers = dict(zip(words[::2], map(int, words[1::2])))
    ns = numbers["throttled_time"] if "throttled_time" in numbers else 1000 * numbers["throttled_usec"]
    return float(moment), ns, numbers["nr_throttled"]


# Prints the clock, and the group's throttled time and how often it was, when its loop begins and when it ends: in
# between the program is never blocked, so that each time it is the one that waits. Its quota is less than the time
# for which the scheduler lets it run at once, so a busy machine does not keep it from being throttled.
BUSY = """import sys, time
def told():
    with open(sys.argv[1]) as file: return file.read().replace("\\n", " ")
sys.stdin.readline()
begun, before, end = time.time(), told(), time.process_time() + 0.04
while time.process_time() < end: pass
after, ended = told(), time.time()
print(begun, before); print(ended, after)
"""


@live
def test_waits_throttled():
    """Who has no quota left is [throttled], at least for as long as the kernel says, and nobody without a quota
    is, however busy the machine."""
    group = quota_group()
    try:
        with scratch() as folder:
            for limited in (True, False):
                with subprocess.Popen(["/usr/bin/python3", "-c", BUSY, group + "/cpu.stat"], stdin=subprocess.PIPE,
                                      stdout=subprocess.PIPE, text=True) as process:
                    with Daemon(folder + "/s%d.db" % limited, "--wait", "--wait-mean", "0", *NO_SAMPLING, "--pid",
                                process.pid) as daemon:
                        daemon.wait_recording()
                        if limited:
                            move(process.pid, group)
                        said = process.communicate("\n", timeout=PATIENCE)[0]
                        daemon.finish()
                recording = Recording(folder + "/s%d.db" % limited)
                stats = recording.stats()
                (begun, ns_before, times_before), (ended, ns, times) = map(throttled_of, said.splitlines())
                begun, ended = (moment - stats["start_unix_ns"] / 1e9 for moment in (begun, ended))
                within = ("--from", "%.3f" % (begun - 0.001), "--to", "%.3f" % (ended + 0.001)) if limited else ()
                total = sum(value for stack, value in folded(recording, "wait.runnable", *within).items()
                            if ";[throttled]" in stack)
                lost = sum(stats["counters"]["waits_%s_ns" % part] for part in ("missed", "stolen"))
                ns, times = ns - ns_before, times - times_before
                print("throttled", total, "and", lost, "lost, the kernel says", ns, "in", times)
                # The kernel's clock begins when the queue has nothing more to run, some microseconds apart.
                check(total + lost + times * ENDS_NS >= ns > 0 if limited else total == 0, "throttled", limited,
                      total, lost, ns, times)
    finally:
        os.rmdir(group)


@live
def test_waits_attached():
    """Threads that are there before, and wait when it ends: that is a wait as well, with its path;
    and a recording of waits alone is one."""
    with scratch() as folder:
        with subprocess.Popen(["/bin/sleep", "1000"]) as sleeper:
            try:
                wait_asleep(sleeper.pid)
                result = run(STACKD, *NATIVE, "--wait", "--duration", 1, "-o", folder + "/s.db", "--pid",
                             sleeper.pid)
            finally:
                sleeper.kill()
        check(result.status == DONE, "stackd", result.err)
        recording = Recording(folder + "/s.db")
        counters = check_counters(recording)
        check(counters["waits_open"] == counters["waits_kept"] == 1, "open waits", counters)
        (stack, ns), = folded(recording, "wait.blocked").items()
        check("nanosleep" in stack and ";__libc_start_main;" in stack, stack)
        check(0.9e9 < ns <= recording.stats()["duration_ns"], "time", ns, recording.stats()["duration_ns"])


@live(alone=True)
def test_waits_scope():
    """Waits of the whole machine, and of a process alone beside others."""
    with scratch() as folder, workload("threads", share=0.3) as one, workload("threads", share=0.3) as other:
        with Daemon(folder + "/a.db", "--wait", "--wait-mean", "5ms", "-F", 99, "--all") as daemon:
            daemon.wait_recording()
            with Daemon(folder + "/s.db", "--wait", "--wait-mean", "0", "-F", 99, "--pid", one.pid) as second:
                second.wait_recording()
                wait_cpu(one.pid, 0.2)
                result = second.finish(signal.SIGINT)
            check(result.status == DONE, "stackd", result.err)
            wait_cpu(other.pid, 0.2)
            daemon.finish(signal.SIGINT)
        alone, everyone = Recording(folder + "/s.db"), Recording(folder + "/a.db")
        check_counters(alone)
        shown = alone.text("report", "--metric", "wait.runnable")
        check("process %d " % one.pid in shown and "process %d " % other.pid not in shown, shown)
        for pid in (one.pid, other.pid):
            shown = everyone.text("report", "--view", "flat", "--metric", "wait.runnable", "--pid",
                                  str(pid))
            check("process %d " % pid in shown, shown)


@live
def test_waits_cgroup():
    """Threads that are moved into the cgroup are measured from there on, and those outside are not."""
    with slices() as make, scratch() as folder, workload("threads") as one, \
            workload("threads") as other:
        group = make("/waits")
        with Daemon(folder + "/s.db", *NO_SAMPLING, "--wait", "--wait-mean", "0", "--cgroup", group) as daemon:
            daemon.wait_recording()
            move(one.pid, group)
            wait_cpu(one.pid, 0.3)
            daemon.finish(signal.SIGINT)
        recording = Recording(folder + "/s.db")
        check_counters(recording)
        check(folded(recording, "wait.runnable", "--pid", str(one.pid)), "no waits")
        shown = recording.text("report", "--metric", "wait.runnable")
        check("process %d " % other.pid not in shown, shown)
