# SPDX-License-Identifier: MIT
"""Marks and regions of threads that have several stacks: each stack has its own passes. And marks in the
middle of functions, whose stack pointer is at any word."""

import os
import re

from harness import NO_SAMPLING, check, live, record, run, scratch
from test_regions import by_path, regions_view

ROUNDS = 20
COROUTINES = 3

# Coroutines, each on a mapping of its own, take turns at the same marks. Then one is suspended in a
# function; the thread runs long enough on its own stack to be sampled there, comes back and leaves
# the function by a jump. The program prints how long that function ran, at least.
TURNS = r"""
#include <setjmp.h>
#include <stdio.h>
#include <sys/mman.h>
#include <time.h>
#include <ucontext.h>

enum { STACK = 65536, GUARD = 4096, COROUTINES = %d, ROUNDS = %d };

static ucontext_t scheduler, coroutines[COROUTINES];
static volatile unsigned sink;
static jmp_buf back;

static unsigned long now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

static void spin(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 20;

	while (clock() < end)
		sink++;
}

__attribute__((noinline)) static void turn(int self)
{
	swapcontext(&coroutines[self], &scheduler);
	sink++;
}

__attribute__((noinline)) void outside(int self)
{
	for (int i = 0; i < ROUNDS; i++) {
		sink++; /* MARK: outside */
		turn(self);
	}
}

__attribute__((noinline)) void within(int self)
{
	for (int i = 0; i < ROUNDS; i++) {
		sink++; /* MARK: within */
		turn(self);
	}
	sink++;
}

__attribute__((noinline)) void called(void)
{
	sink++;
}

__attribute__((noinline)) void suspended(int self)
{
	unsigned long start = now();

	turn(self);
	called();
	spin();
	printf("%%lu\n", now() - start);
	longjmp(back, 1);
}

static void body(int self)
{
	outside(self);
	within(self);
	if (self)
		return;
	if (!setjmp(back))
		suspended(self);
	called();
}

int main(void)
{
	char *stacks = mmap(NULL, COROUTINES * (STACK + GUARD), PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	for (int i = 0; i < COROUTINES; i++) {
		char *stack = stacks + i * (STACK + GUARD) + GUARD;

		mprotect(stack, STACK, PROT_READ | PROT_WRITE);
		getcontext(&coroutines[i]);
		coroutines[i].uc_stack.ss_sp = stack;
		coroutines[i].uc_stack.ss_size = STACK;
		coroutines[i].uc_link = &scheduler;
		makecontext(&coroutines[i], (void (*)())body, 1, i);
	}
	for (int i = 0; i <= 2 * ROUNDS; i++) {
		for (int k = 0; k < COROUTINES; k++) {
			sink++; /* MARK: main */
			swapcontext(&scheduler, &coroutines[k]);
		}
	}
	spin();
	swapcontext(&scheduler, &coroutines[0]);
	return 0;
}
""" % (COROUTINES, ROUNDS)

# In a frame that has a copy of an old stack from its lowest word on: that of a call of other().
STALE = r"""
enum { WORDS = 100 };

static void *stale[WORDS];
static volatile unsigned sink;

__attribute__((noinline)) void note(void)
{
	void *volatile *from = (void *volatile *)__builtin_frame_address(0) + 1;

	for (int i = 0; i < WORDS; i++)
		stale[i] = from[i];
}

__attribute__((noinline)) void other(void)
{
	note();
	sink++;
}

__attribute__((noinline)) void nothing(void)
{
	sink++;
}

__attribute__((noinline)) void *marked(void)
{
	void *volatile words[WORDS];

	for (int i = 0; i < WORDS; i++)
		words[i] = stale[i];
	for (int i = 0; i < %d; i++) {
		sink++; /* MARK: stale */
		nothing(); /* so that nothing is below the stack pointer */
	}
	return words[7];
}

int main(void)
{
	other();
	return !marked();
}
"""


def build(folder, name, text):
    """A program of this text: its path, and {word: place} of its lines with MARK."""
    source, program = "%s/%s.c" % (folder, name), "%s/%s" % (folder, name)
    with open(source, "w", encoding="ascii") as file:
        file.write(text)
    built = run(os.environ.get("CC", "cc"), "-g", "-O1", "-w", "-o", program, source)
    check(built.status == 0, name, built.err)
    return program, {line.split("MARK: ")[1].split()[0]: "%s.c:%d" % (name, number)
                     for number, line in enumerate(text.splitlines(), 1) if "MARK: " in line}


@live
def test_stacks_marks():
    """Each coroutine has its own passes, in a function that is measured and outside of all, and so
    has the thread's own stack."""
    with scratch() as folder:
        program, lines = build(folder, "turns", TURNS)
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, "--region", "within@turns", "--mark", lines["outside"],
                              "--mark", lines["within"], "--mark", lines["main"], "--", program)
        regions, counters = regions_view(recording), recording.stats()["counters"]
        visits = {name: region["visits"] for name, region in regions.items()}
        expected = {"within": COROUTINES, lines["outside"]: COROUTINES * (ROUNDS - 1),
                    lines["within"]: COROUTINES * (ROUNDS - 1),
                    lines["main"]: COROUTINES * (2 * ROUNDS + 1) - 1}
        check(visits == expected, "visits", visits, expected)
        check(counters["regions_unended"] == 2 * COROUTINES + 1, "the last of each", counters)
        for name in ("left", "unmatched", "lost_ring", "too_deep", "without_stack"):
            check(counters["regions_" + name] == 0, "regions_" + name, counters)
        for path in by_path(recording, "region.visits"):
            leaf = path.split(";")[-1]
            if leaf == lines["main"]:
                check(path.endswith(";main;" + leaf), "a path", path)
            elif leaf != "within":
                around = "outside" if leaf == lines["outside"] else "within"
                check(path.endswith("body;%s;%s" % (around, leaf)), "a path", path)


@live
def test_stacks_seen_elsewhere():
    """A function is suspended while samples are taken on another stack, and goes on then: it is left when a
    jump leaves it, and not before."""
    with scratch() as folder:
        program, _ = build(folder, "turns", TURNS)
        recording, result = record(folder + "/s.db", "--region", "suspended@turns", "--region",
                                   "called@turns", "--", program)
        check(any(";main;spin" in stack for stack in recording.folded()), "no sample on the other stack")
        region = regions_view(recording)["suspended"]
        check((region["visits"], region["left"]) == (1, 1), "passes", region)
        check(region["total_ns"] >= int(result.out), "time", region, result.out)


@live
def test_marks_stale_word():
    """The walk from a mark goes by the function's frame, whatever the word at the stack pointer is."""
    with scratch() as folder:
        program, lines = build(folder, "stale", STALE % 20000)
        recording, _ = record(folder + "/s.db", *NO_SAMPLING, "--mark", lines["stale"], "--region-limit", 0, "--",
                              program)
        paths = by_path(recording, "region.visits")
        check(len(paths) == 1 and re.search(";main;marked;stale.c:[0-9]+$", *paths)
              and sum(paths.values()) == 19999, "paths", paths)
