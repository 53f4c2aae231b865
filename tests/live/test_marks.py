# SPDX-License-Identifier: MIT
"""Marks and spans: each iteration of a loop is an instance, with the time that the program measures
itself, and no instance overlaps another that does not contain it."""

import os

from harness import (FAILED, NATIVE, NO_SAMPLING, STACKD, USAGE, WORKLOADS, check, check_fault, live, record, run,
                     scratch)
from test_regions import by_path, own_measures, regions_view

ROUNDS = 50
PROGRAM = os.path.join(WORKLOADS, "marks")
SOURCE = os.path.join(os.path.dirname(__file__), "..", "workloads", "marks.c")


def line(word):
    """The place of a line of the workload."""
    with open(SOURCE, encoding="ascii") as source:
        for number, text in enumerate(source, 1):
            if "MARK: " + word in text:
                return "marks.c:%d" % number
    raise AssertionError(word)


def measure(folder, *options):
    recording, result = record(folder + "/s.db", *NO_SAMPLING, *options, "--", PROGRAM, ROUNDS)
    counters = recording.stats()["counters"]
    for name in ("lost_ring", "unmatched", "too_deep", "no_memory", "partial", "without_path",
                 "left"):
        check(counters["regions_" + name] == 0, "regions_" + name, counters)
    check(counters["regions_ended"] == counters["regions_received"], "received", counters)
    return recording, own_measures(result.out), counters


def check_time(region, said, cpu_slack):
    """Not less than what is certainly within, and not more than what is around."""
    check(said[1] <= region["total_ns"] <= said[3], "time", region, said)
    check(said[2] - cpu_slack <= region["cpu_ns"] <= said[4] + cpu_slack, "CPU time", region, said)


@live
def test_marks_function():
    """From each entry to the next, until the thread ends: the path is that of the hit."""
    with scratch() as folder:
        recording, said, counters = measure(folder, "--mark", "step@marks")
        regions = regions_view(recording)
        hits = said["step"][0]
        check(hits == 2 * ROUNDS and regions["step@marks"]["visits"] == hits - 1, "visits", regions)
        check(counters["regions_unended"] == 1, "the last", counters)
        check_time(regions["step@marks"], said["step"], 200 * hits)
        paths = [path for path in by_path(recording, "region.visits")
                 if path.endswith("main;loop;step;step@marks")]
        check(len(paths) == 1, "the path", paths)


@live
def test_marks_in_regions():
    """Within a function that is measured, marks end with it; what is called in an iteration is
    within it, the function of the mark, too."""
    with scratch() as folder:
        recording, _, counters = measure(
            folder, "--region", "loop@marks", "--region", "many@marks", "--region", "work@marks",
            "--region", "step@marks", "--mark", "step@marks")
        regions = regions_view(recording)
        mark, loop, step, work = (regions[name] for name in ("step@marks", "loop", "step", "work"))
        check(loop["visits"] == 2 and step["visits"] == 2 * ROUNDS, "regions", regions)
        check(mark["visits"] == 2 * (ROUNDS - 1), "iterations", mark)
        check(work["visits"] == 2 * 5 * ROUNDS + 2 * ROUNDS + 2 * ROUNDS, "calls within", work)
        check(counters["regions_unended"] == 2, "the last of each", counters)
        check(loop["own_ns"] + mark["total_ns"] <= loop["total_ns"], "overlap", loop, mark)
        # All passes of step() but the last one of each loop, whose iteration has no end.
        check(step["total_ns"] - 2 * step["max_ns"] <= mark["total_ns"], "step is within", step, mark)


@live
def test_marks_lines():
    """A line in an inner loop that the compiler has unrolled; one that is inlined twice; one in two
    threads; all beside the outer loop, by whose iterations the inner one's are cut."""
    with scratch() as folder:
        recording, _, counters = measure(
            folder, "--mark", "step@marks", "--mark", line("inner"), "--mark", line("copied"),
            "--mark", line("thread"))
        regions = regions_view(recording)
        expected = {"step@marks": 2 * ROUNDS - 1, line("inner"): 2 * 2 * ROUNDS,
                    line("copied"): 2 * ROUNDS - 1, line("thread"): 2 * (ROUNDS - 1)}
        visits = {name: region["visits"] for name, region in regions.items()}
        check(visits == expected, "visits", visits, expected)
        check(counters["regions_unended"] == 2 * ROUNDS + 4, "the last of each", counters)


@live
def test_marks_debug_file():
    """Lines and functions of a stripped program, by its debug file."""
    with scratch() as folder:
        copy, debug = folder + "/stripped", folder + "/stripped.debug"
        for command in (("cp", PROGRAM, copy), ("objcopy", "--only-keep-debug", copy, debug),
                        ("strip", copy), ("objcopy", "--add-gnu-debuglink=" + debug, copy)):
            check(run(*command).status == 0, "cannot", command)
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, "--mark", "step@stripped", "--mark", line("inner"),
                              "--", copy, ROUNDS)
        visits = {name: region["visits"] for name, region in regions_view(recording).items()}
        check(visits == {"step@stripped": 2 * ROUNDS - 1, line("inner"): 4 * ROUNDS}, "visits",
              visits)


@live
def test_marks_span():
    """From one line to another, once an iteration."""
    with scratch() as folder:
        recording, said, _ = measure(folder, "--region", "middle=%s..%s"
                                     % (line("begins"), line("ends")))
        regions = regions_view(recording)
        check(list(regions) == ["middle"], "names", regions)
        check(regions["middle"]["visits"] == said["span"][0] == 2 * ROUNDS, "visits", regions)
        check_time(regions["middle"], said["span"], 200 * 2 * ROUNDS)


@live
def test_marks_limit():
    """A mark that is hit too often is taken off, and the program goes on."""
    with scratch() as folder:
        recording, result = record(folder + "/s.db", *NO_SAMPLING, "--mark", line("copied"), "--mark",
                                   line("begins"), "--region-limit", 50, "--", PROGRAM,
                                   20 * ROUNDS)  # 2000 hits, in 40 s if the machine is slow
        check("is hit more than" in result.err, "no warning", result.err)
        check(own_measures(result.out)["step"][0] == 40 * ROUNDS, "the program", result.out)
        check(line("copied") in regions_view(recording), "what was measured before")


@live(long=True)
def test_marks_bad_input():
    with scratch() as folder:
        for option, text, status, words in (
                ("--mark", "no_such_function", FAILED, ("no_such_function", "no function")),
                ("--mark", "no_such.c:3", FAILED, ("no_such.c", "-g")),
                ("--mark", "marks.c:1", FAILED, ("no code", "next one that has is [0-9]+")),
                ("--mark", "marks.c:9999", FAILED, ("no code",)),
                ("--mark", "marks.c:0", USAGE, ("FILE:LINE",)),
                ("--mark", "", USAGE, ("FUNC",)),
                ("--mark", "work*step", FAILED, ("no function",)),
                ("--mark", "step", FAILED, ("ambiguous", "libc")),
                ("--region", "=marks.c:1..marks.c:2", USAGE, ("NAME=FILE:LINE",)),
                ("--region", "x=marks.c:1..2", USAGE, ("NAME=FILE:LINE",)),
                ("--region", "x=%s..marks.c:1" % line("begins"), FAILED, ("no code",))):
            result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", option, text, "--", PROGRAM, 1)
            check_fault(result, status, *words)


NOP = """static volatile int sink;
__attribute__((noinline)) static void work(void)
{
	sink++;
	__asm__ volatile(".byte 0x0f, 0x1f, 0x44, 0, 0"); /* line 5 */
	sink++;
}
int main(void)
{
	for (int i = 0; i < 10; i++)
		work();
	return 0;
}
"""


@live
def test_marks_long_nop():
    """No probe is put at a nop of five bytes, which the kernel would make a call of; one is beside
    it."""
    with scratch() as folder:
        source, program = folder + "/long_nop.c", folder + "/long_nop"
        with open(source, "w", encoding="ascii") as file:
            file.write(NOP)
        built = run(os.environ.get("CC", "cc"), "-g", "-O1", "-o", program, source)
        check(built.status == 0, "long_nop.c", built.err)
        result = run(STACKD, *NATIVE, *NO_SAMPLING, "-o", folder + "/s.db", "--mark", "long_nop.c:5", "--", program)
        check_fault(result, FAILED, "nop of five bytes", "long_nop.c:5")
        _, result = record(folder + "/s.db", *NO_SAMPLING, "--mark", "long_nop.c:6", "--", program)
        check("nop" not in result.err, "the next line is refused", result.err)
