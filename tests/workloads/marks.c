/* SPDX-License-Identifier: MIT */
/*
 * Loops whose iterations are measured by marks, at the lines with "MARK:" in a comment. The program
 * measures them itself: for what lies between the first and the last hit of a place, the time and
 * CPU time that is certainly within, and that around:
 *
 *   NAME HITS TIME_NS CPU_NS TIME_NS CPU_NS
 *
 * argv[1] is the number of iterations of each loop; loop() runs twice, and once in a thread.
 */
#include <pthread.h>
#include <stdio.h>
#include <time.h>

#include "workload.h"

struct moment {
	unsigned long time_ns, cpu_ns;
};

struct measured {
	const char *name;
	unsigned long hits;
	struct moment within, around; /* sums */
	struct moment before, after;  /* the last hit */
};

static struct measured step_is = {.name = "step"}, span_is = {.name = "span"};
static unsigned rounds;

static struct moment now(void)
{
	struct timespec wall, cpu;

	clock_gettime(CLOCK_MONOTONIC, &wall);
	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &cpu);
	return (struct moment){
		(unsigned long)wall.tv_sec * 1000000000ul + (unsigned long)wall.tv_nsec,
		(unsigned long)cpu.tv_sec * 1000000000ul + (unsigned long)cpu.tv_nsec};
}

static void add(struct moment *sum, struct moment from, struct moment to)
{
	sum->time_ns += to.time_ns - from.time_ns;
	sum->cpu_ns += to.cpu_ns - from.cpu_ns;
}

static void before_hit(struct measured *m)
{
	struct moment t = now();

	if (m->hits)
		add(&m->within, m->after, t);
	m->around.time_ns -= m->hits ? m->before.time_ns : 0;
	m->around.cpu_ns -= m->hits ? m->before.cpu_ns : 0;
	m->before = t;
}

static void after_hit(struct measured *m)
{
	struct moment t = now();

	if (m->hits++) {
		m->around.time_ns += t.time_ns;
		m->around.cpu_ns += t.cpu_ns;
	}
	m->after = t;
}

/* Is where the mark is hit. */
CALLEE void step(unsigned n)
{
	after_hit(&step_is);
	SPIN(n);
	KEEP;
}

CALLEE void work(unsigned n)
{
	SPIN(n);
	KEEP;
}

CALLEE void span_begins(void)
{
	span_is.after = now();
	span_is.hits++;
	KEEP;
}

CALLEE void span_ends(void)
{
	add(&span_is.around, span_is.before, now());
	KEEP;
}

/* Has what a loop may have in it: functions called at the same slot as the marked one, a function
 * with arguments on the stack, an inner loop. */
CALLEE long many(long a, long b, long c, long d, long e, long f, long g, long h)
{
	KEEP;
	return a + b + c + d + e + f + g + h;
}

CALLEE void loop(void)
{
	for (unsigned i = 0; i < rounds; i++) {
		before_hit(&step_is);
		step(20000);
		work(20000);
		for (int k = 0; k < 3; k++)
			work(1000); /* MARK: inner */
		span_is.before = now();
		span_begins(); /* MARK: begins */
		work(many(1, 2, 3, 4, 5, 6, 7, 8) == 36 ? 30000 : 0);
		add(&span_is.within, span_is.after, now());
		span_ends(); /* MARK: ends */
	}
}

/* Two copies of the line, inlined. */
static inline __attribute__((always_inline)) void copied(void)
{
	work(100); /* MARK: copied */
}

CALLEE void copies(void)
{
	copied();
	KEEP;
	copied();
	KEEP;
}

static void *run(void *arg)
{
	for (unsigned i = 0; i < rounds; i++)
		work(2000); /* MARK: thread */
	return arg;
}

static void say(const struct measured *m)
{
	printf("%s %lu %lu %lu %lu %lu\n", m->name, m->hits, m->within.time_ns, m->within.cpu_ns,
	       m->around.time_ns, m->around.cpu_ns);
}

int main(int argc, char **argv)
{
	pthread_t threads[2];

	rounds = argc > 1 ? (unsigned)atoi(argv[1]) : 10;
	loop();
	loop();
	for (unsigned i = 0; i < rounds; i++)
		copies();
	for (int i = 0; i < 2; i++)
		pthread_create(&threads[i], NULL, run, NULL);
	for (int i = 0; i < 2; i++)
		pthread_join(threads[i], NULL);
	say(&step_is);
	say(&span_is);
	return 0;
}
