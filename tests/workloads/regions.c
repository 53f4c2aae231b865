/* SPDX-License-Identifier: MIT */
/*
 * Functions to be measured as regions. Each is measured by the program itself, from within (from
 * its first statement to its last) and by its caller, around the call; what is measured from
 * outside lies between the two. At the end the program says for each how often it was passed
 * through, and in how much time and CPU time of its thread, from within and around:
 *
 *   NAME VISITS TIME_NS CPU_NS TIME_NS CPU_NS
 *
 * It ends after the number of rounds in argv[1]. With "wait" in argv[2] it waits for a line on its
 * standard input first; with "fork" two children do the rounds; with "burst" brief() is called
 * more often in a round.
 */
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>

#include "workload.h"

#define BRIEFS 100  /* in a round, */
#define BURST  4000 /* or so many */

struct passed {
	unsigned long time_ns, cpu_ns;
};

struct measured {
	const char *name;
	unsigned long visits;
	struct passed within, around;
};

static struct measured outer_is = {.name = "outer"}, inner_is = {.name = "inner"},
		       nap_is = {.name = "nap"}, climb_is = {.name = "climb"},
		       brief_is = {.name = "brief"}, around_is = {.name = "around"},
		       leave_is = {.name = "leave"}, thread_is = {.name = "in_thread"},
		       last_is = {.name = "last"};
static jmp_buf back;
static int briefs = BRIEFS;

static unsigned long now(clockid_t clock)
{
	struct timespec time;

	clock_gettime(clock, &time);
	return (unsigned long)time.tv_sec * 1000000000ul + (unsigned long)time.tv_nsec;
}

static void begin(struct passed *p)
{
	p->cpu_ns -= now(CLOCK_THREAD_CPUTIME_ID);
	p->time_ns -= now(CLOCK_MONOTONIC);
}

static void end(struct passed *p)
{
	p->time_ns += now(CLOCK_MONOTONIC);
	p->cpu_ns += now(CLOCK_THREAD_CPUTIME_ID);
}

/* Calls a function that is measured. */
#define PASS(m, call)                                                                              \
	do {                                                                                       \
		begin(&(m).around);                                                                \
		call;                                                                              \
		end(&(m).around);                                                                  \
		(m).visits++;                                                                      \
	} while (0)

CALLEE void inner(unsigned n)
{
	begin(&inner_is.within);
	SPIN(n);
	end(&inner_is.within);
	KEEP;
}

CALLEE void nap(void)
{
	const struct timespec time = {.tv_nsec = 1000000};

	begin(&nap_is.within);
	nanosleep(&time, NULL);
	SPIN(100000);
	end(&nap_is.within);
	KEEP;
}

CALLEE void outer(void)
{
	begin(&outer_is.within);
	PASS(inner_is, inner(200000));
	SPIN(100000);
	PASS(nap_is, nap());
	PASS(inner_is, inner(50000));
	end(&outer_is.within);
	KEEP;
}

/* Calls itself: a passage of the top contains the others. */
CALLEE void climb(unsigned depth)
{
	begin(&climb_is.within);
	SPIN(20000);
	if (depth)
		PASS(climb_is, climb(depth - 1));
	end(&climb_is.within);
	KEEP;
}

CALLEE void brief(void)
{
	begin(&brief_is.within);
	SPIN(1000);
	end(&brief_is.within);
	KEEP;
}

CALLEE void leave(void)
{
	leave_is.visits++;
	PASS(inner_is, inner(1000));
	longjmp(back, 1);
}

/* Is left by longjmp(), from within. */
CALLEE void around(void)
{
	around_is.visits++;
	leave();
	KEEP;
}

CALLEE void in_thread(void)
{
	begin(&thread_is.within);
	SPIN(100000);
	end(&thread_is.within);
	KEEP;
}

/* The thread ends here. */
CALLEE void last(void)
{
	last_is.visits++;
	SPIN(1000);
	pthread_exit(NULL);
}

static void *run(void *arg)
{
	PASS(thread_is, in_thread());
	last();
	return arg;
}

CALLEE void one(void)
{
	PASS(outer_is, outer());
	PASS(climb_is, climb(3));
	KEEP;
}

CALLEE void other(void)
{
	pthread_t thread;

	for (int i = 0; i < briefs; i++)
		PASS(brief_is, brief());
	PASS(inner_is, inner(100000));
	if (!setjmp(back))
		around();
	if (pthread_create(&thread, NULL, run, NULL) == 0)
		pthread_join(thread, NULL);
}

static void say(const struct measured *m)
{
	printf("%s %lu %lu %lu %lu %lu\n", m->name, m->visits, m->within.time_ns, m->within.cpu_ns,
	       m->around.time_ns, m->around.cpu_ns);
}

/* Goes on in two children and ends with them. */
static void go_on_in_children(void)
{
	for (int i = 0; i < 2; i++) {
		if (fork() == 0)
			return;
	}
	while (wait(NULL) > 0)
		;
	exit(0);
}

static void work(int rounds)
{
	for (int i = 0; i < rounds; i++) {
		one();
		other();
		SPIN(1000000);
	}
}

int main(int argc, char **argv)
{
	const struct measured *const all[] = {&outer_is, &inner_is,  &nap_is,
					      &climb_is, &brief_is,  &around_is,
					      &leave_is, &thread_is, &last_is};
	const char *how = argc > 2 ? argv[2] : "";

	if (!strcmp(how, "wait") && (puts("READY") < 0 || fflush(stdout) || getchar() < 0))
		return 1;
	if (!strcmp(how, "fork"))
		go_on_in_children();
	if (!strcmp(how, "burst"))
		briefs = BURST;
	work(argc > 1 ? atoi(argv[1]) : 10);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		say(all[i]);
	return 0;
}
