/* SPDX-License-Identifier: MIT */
/*
 * A pipeline: three threads, each of which does its part of the work on an item and hands it on.
 * stackctl fold --auto must find that a thread comes to the next item at regular distances.
 *
 *   pipeline ITEMS MEAN_US
 *
 * An item takes MEAN_US of CPU time in all, by 10 % more or less: `reader` a quarter of it,
 * `filter` half, which the others wait for, and `writer` a quarter, each in two functions. At most
 * ROOM items wait before a thread. Says of each thread its name and number, and how much of its CPU
 * time it had for an item on average, in nanoseconds.
 */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/syscall.h>
#include <time.h>

#include "workload.h"

#define ROOM   4
#define STAGES 3

struct queue {
	pthread_mutex_t lock;
	pthread_cond_t changed;
	double items[ROOM]; /* CPU time that each takes in all, in nanoseconds */
	unsigned first, count;
};

struct stage {
	const char *name;
	void (*work)(double ns);
	struct queue *from, *to; /* NULL: it makes the items; it is the last one */
	pthread_t thread;
	long tid;
	double cpu_ns;
};

static unsigned items;
static double mean_ns;
static struct queue queues[STAGES - 1] = {
	{.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
	{.lock = PTHREAD_MUTEX_INITIALIZER, .changed = PTHREAD_COND_INITIALIZER},
};

static double cpu_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static inline __attribute__((always_inline)) void busy(double ns)
{
	double end = cpu_ns() + ns;

	while (cpu_ns() < end)
		;
}

#define PART(name, share)                                                                          \
	CALLEE void name(double ns)                                                                \
	{                                                                                          \
		busy((share)*ns);                                                                  \
		KEEP;                                                                              \
	}

PART(load, 0.10)
PART(decode, 0.15)
PART(blur, 0.20)
PART(sharpen, 0.30)
PART(encode, 0.15)
PART(store, 0.10)

static void reader(double ns)
{
	load(ns);
	decode(ns);
}

static void filter(double ns)
{
	blur(ns);
	sharpen(ns);
}

static void writer(double ns)
{
	encode(ns);
	store(ns);
}

CALLEE void put(struct queue *q, double item)
{
	pthread_mutex_lock(&q->lock);
	while (q->count == ROOM)
		pthread_cond_wait(&q->changed, &q->lock);
	q->items[(q->first + q->count++) % ROOM] = item;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
}

CALLEE double take(struct queue *q)
{
	double item;

	pthread_mutex_lock(&q->lock);
	while (q->count == 0)
		pthread_cond_wait(&q->changed, &q->lock);
	item = q->items[q->first];
	q->first = (q->first + 1) % ROOM;
	q->count--;
	pthread_cond_broadcast(&q->changed);
	pthread_mutex_unlock(&q->lock);
	return item;
}

static double make_item(void)
{
	static uint32_t random = 12345;

	random = random * 1664525u + 1013904223u;
	return mean_ns * (0.9 + 0.2 * (random >> 8) / 16777216.0);
}

static void *run(void *arg)
{
	struct stage *s = arg;
	double start = cpu_ns();

	s->tid = syscall(SYS_gettid);
	pthread_setname_np(pthread_self(), s->name);
	for (unsigned i = 0; i < items; i++) {
		double item = s->from ? take(s->from) : make_item();

		s->work(item);
		if (s->to)
			put(s->to, item);
	}
	s->cpu_ns = cpu_ns() - start;
	return NULL;
}

int main(int argc, char **argv)
{
	struct stage stages[STAGES] = {
		{.name = "reader", .work = reader, .to = &queues[0]},
		{.name = "filter", .work = filter, .from = &queues[0], .to = &queues[1]},
		{.name = "writer", .work = writer, .from = &queues[1]},
	};

	items = argc > 1 ? (unsigned)atoi(argv[1]) : 100;
	mean_ns = (argc > 2 ? atof(argv[2]) : 40000) * 1000;
	for (int i = 0; i < STAGES; i++)
		pthread_create(&stages[i].thread, NULL, run, &stages[i]);
	for (int i = 0; i < STAGES; i++)
		pthread_join(stages[i].thread, NULL);
	for (int i = 0; i < STAGES; i++)
		printf("%s %ld %.0f\n", stages[i].name, stages[i].tid, stages[i].cpu_ns / items);
	return 0;
}
