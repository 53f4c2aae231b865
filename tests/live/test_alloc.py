# SPDX-License-Identifier: MIT
"""Allocations: sums over sampled ones, by call path, within their standard errors of what the program
itself has counted."""

import json
import math
import os
import subprocess

from harness import (FAILED, STACKD, WORKLOADS, Daemon, Recording, check, check_fault, live, record,
                     run, scratch)

PROGRAM = os.path.join(WORKLOADS, "allocs")
LIBRARY = os.path.join(os.path.dirname(os.path.realpath(STACKD)), "libstackalloc.so")
ROUNDS, DISTANCE = 2000, 65536
PARENTS = {"small": "one", "medium": "one", "large": "one", "huge": "other", "aligned": "other",
           "resized": "other", "handed_over": "threads", "in_child": "forks"}
DEVIATIONS = 5  # of 16 estimates, one is farther off in 100,000 runs


def said_by(text):
    """What the program says: function -> [(blocks, size)]."""
    said = {}
    for function, blocks, size in (line.split() for line in text.splitlines() if " " in line):
        said.setdefault(function, []).append((int(blocks), int(size)))
    return said


def by_function(recording, metric):
    """The sum over each function of the workload, whose leaf it is or, where a wrapper of the
    library stands above it, the last but one; checks that it has its one path."""
    sums = {}
    for line in recording.text("export", "--folded", "--metric", metric).splitlines():
        stack, value = line.rsplit(" ", 1)
        frames = [frame for frame in stack.split(";") if frame in PARENTS]
        if not frames:
            continue
        check("main;%s;%s" % (PARENTS[frames[0]], frames[0]) in stack, "the path", stack)
        sums[frames[0]] = sums.get(frames[0], 0) + int(value)
    return sums


def expected(said):
    """function -> (bytes, their standard error, blocks, theirs): a block of S bytes is sampled with
    p = 1 - exp(-S/R), and stands for S/p bytes and 1/p blocks."""
    result = {}
    for function, kinds in said.items():
        chances = [(blocks, size, -math.expm1(-size / DISTANCE)) for blocks, size in kinds]
        result[function] = (
            sum(blocks * size for blocks, size, _ in chances),
            math.sqrt(sum(blocks * size ** 2 * (1 - p) / p for blocks, size, p in chances)),
            sum(blocks for blocks, _, _ in chances),
            # and what rounding to whole blocks adds
            math.sqrt(sum(blocks * ((1 - p) / p + 0.25 / p) for blocks, _, p in chances)))
    return result


def check_estimates(recording, text):
    amounts, blocks = (by_function(recording, name) for name in ("alloc.bytes", "alloc.objects"))
    for function, (size, size_error, count, count_error) in expected(said_by(text)).items():
        for what, is_, truth, error in (("bytes", amounts.get(function, 0), size, size_error),
                                        ("blocks", blocks.get(function, 0), count, count_error)):
            print("%-12s %-6s %14d of %14d: %+5.1f standard errors"
                  % (function, what, is_, truth, (is_ - truth) / max(error, 1)))
            check(abs(is_ - truth) <= DEVIATIONS * error + 2, "%s of %s: %d, not %d +- %d"
                  % (what, function, is_, truth, error))
    counters = recording.stats()["counters"]
    check(counters["allocations"] + counters["frees"] == counters["regions_received"] > 1000, "lost",
          counters)
    for name in ("frees_unknown", "frees_missed", "allocations_untracked"):
        check(counters[name] == 0, name, counters)
    check(counters["allocations_lost"] == counters["regions_partial"] == 0, "lost", counters)


@live
def test_alloc_command():
    """A command, which stackd preloads the library into, and its child."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--alloc=%d" % DISTANCE, "--", PROGRAM, ROUNDS)
        check_estimates(recording, result.out)


HEAP = ("kept", "grown", "shrunk", "passing")


def check_heap(recording, metric, said):
    """The sum over each function is that of its blocks, within the error of sampling them."""
    sums = dict.fromkeys(HEAP, 0)
    for line in recording.text("export", "--folded", "--metric", metric).splitlines():
        stack, value = line.rsplit(" ", 1)
        for frame in stack.split(";"):
            if frame in sums:
                sums[frame] += int(value)
    for function, (blocks, size) in said.items():
        chance = -math.expm1(-size / DISTANCE) if size else 1
        error = math.sqrt(blocks * size ** 2 * (1 - chance) / chance)
        print("%-9s %-8s %9d of %9d: %+5.1f standard errors" % (
            metric, function, sums[function], blocks * size,
            (sums[function] - blocks * size) / max(error, 1)))
        check(abs(sums[function] - blocks * size) <= DEVIATIONS * error + 2, metric, function, sums)


@live
def test_alloc_heap():
    """What is live at the end and at the peak, by path."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", "--alloc=%d" % DISTANCE, "--",
                                   os.path.join(WORKLOADS, "heap"))
        said = {words[0]: list(map(int, words[1:]))
                for words in (line.split() for line in result.out.splitlines())}
        check(set(said) == set(HEAP), "the workload", said)
        check_heap(recording, "heap.live", {name: numbers[:2] for name, numbers in said.items()})
        check_heap(recording, "heap.peak", {name: numbers[2:] for name, numbers in said.items()})
        counters = recording.stats()["counters"]
        for name in ("frees_unknown", "frees_missed", "allocations_untracked", "allocations_lost"):
            check(counters[name] == 0, name, counters)
        shown = json.loads(recording.text("heap", "--json"))["processes"][0]
        check(shown["peak"] == max(shown["over_time"]) > shown["live"] > 0, "over time", shown)


@live
def test_alloc_running():
    """A process that was started with the library, beside another that is not in scope."""
    env = dict(os.environ, LD_PRELOAD=LIBRARY, STACKALLOC_BYTES=str(DISTANCE))
    with scratch() as folder, subprocess.Popen(
            [PROGRAM, str(ROUNDS), "wait"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            text=True, env=env) as process:
        check(process.stdout.readline() == "READY\n", "the workload")
        with Daemon(folder + "/s.db", "--alloc", "--pid", process.pid) as daemon:
            daemon.wait_recording()
            run(PROGRAM, ROUNDS, env=env)
            said, _ = process.communicate("\n", timeout=60)
            daemon.finish()
        check_estimates(Recording(folder + "/s.db"), said)


@live
def test_alloc_without_library():
    """A process that runs without the library is refused, with what to do."""
    with scratch() as folder, subprocess.Popen(["sleep", "60"]) as process:
        result = run(STACKD, "--alloc", "-o", folder + "/s.db", "--pid", process.pid)
        process.kill()
        check_fault(result, FAILED, "--alloc", "LD_PRELOAD", LIBRARY)


OBSTACLES = {"static": (["-static"], "static program"),
             "asan": (["-fsanitize=address"], "-fsanitize=address"),
             "own_malloc": (["-Dfirst=malloc"], "has a malloc.. of its own")}


@live
def test_alloc_obstacles():
    """Programs that the library has no part in are refused, with the reason; a script is none."""
    with scratch() as folder:
        with open(folder + "/program.c", "w", encoding="ascii") as source:
            source.write("#include <stddef.h>\n"
                         "void *first(size_t n) { static char b[9999]; return b + n % 9; }\n"
                         "int main(void) { return first(3) == NULL; }\n")
        for name, (words, reason) in OBSTACLES.items():
            program = os.path.join(folder, name)
            built = run("gcc", "-fno-builtin", *words, "-o", program, folder + "/program.c")
            check(built.status == 0, "the program", built.err)
            check_fault(run(STACKD, "--alloc", "-o", folder + "/s.db", "--", program), FAILED,
                        "--alloc", reason)
        os.chown(program, 12345, 12345)
        os.chmod(program, 0o4755)
        check_fault(run(STACKD, "--alloc", "-o", folder + "/s.db", "--", program), FAILED,
                    "setuid")
        with open(folder + "/script", "w", encoding="ascii") as script:
            script.write("#!/bin/sh\nexec %s 200\n" % PROGRAM)
        os.chmod(folder + "/script", 0o755)
        recording, _ = record(folder + "/s.db", "--alloc=%d" % DISTANCE, "--", folder + "/script")
        check(recording.stats()["counters"]["allocations"] > 100, "a script's program")
