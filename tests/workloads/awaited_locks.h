/* SPDX-License-Identifier: MIT */
/* The mutexes that `awaited` (awaited.c) waits for, of each kind, and what it says of them. */
#ifndef AWAITED_LOCKS_H
#define AWAITED_LOCKS_H

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "workload.h"

/* Which word of a mutex is waited for, and whether a normal one says who holds it. */
#ifdef __GLIBC__
#define LOCK_WORD   0
#define NORMAL_SAYS 1
#else /* musl */
#define LOCK_WORD   4
#define NORMAL_SAYS 0
#endif

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER, inheriting, robust, checked;

static void make_mutexes(void)
{
	pthread_mutexattr_t attributes;

	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_setprotocol(&attributes, PTHREAD_PRIO_INHERIT);
	if (pthread_mutex_init(&inheriting, &attributes)) {
		perror("pthread_mutex_init");
		exit(1);
	}
	pthread_mutexattr_init(&attributes);
	pthread_mutexattr_settype(&attributes, PTHREAD_MUTEX_ERRORCHECK);
	pthread_mutex_init(&checked, &attributes);
	pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
	pthread_mutex_init(&robust, &attributes);
}

static void begin_locked(void)
{
	pthread_mutex_lock(&mutex);
}

CALLEE void locked(void)
{
	pthread_mutex_lock(&mutex);
	pthread_mutex_unlock(&mutex);
	KEEP;
}

static void end_locked(void)
{
	pthread_mutex_unlock(&mutex);
}

static void begin_inheriting(void)
{
	pthread_mutex_lock(&inheriting);
}

CALLEE void inherited(void)
{
	pthread_mutex_lock(&inheriting);
	pthread_mutex_unlock(&inheriting);
	KEEP;
}

static void end_inheriting(void)
{
	pthread_mutex_unlock(&inheriting);
}

static struct timespec soon(void)
{
	struct timespec time;

	clock_gettime(CLOCK_REALTIME, &time);
	time.tv_sec += 60;
	return time;
}

CALLEE void timed(void)
{
	const struct timespec until = soon();

	pthread_mutex_timedlock(&mutex, &until);
	pthread_mutex_unlock(&mutex);
	KEEP;
}

static void begin_robust(void)
{
	pthread_mutex_lock(&robust);
}

CALLEE void sturdy(void)
{
	pthread_mutex_lock(&robust);
	pthread_mutex_unlock(&robust);
	KEEP;
}

CALLEE void sturdy_timed(void)
{
	const struct timespec until = soon();

	pthread_mutex_timedlock(&robust, &until);
	pthread_mutex_unlock(&robust);
	KEEP;
}

static void end_robust(void)
{
	pthread_mutex_unlock(&robust);
}

static void begin_checked(void)
{
	pthread_mutex_lock(&checked);
}

CALLEE void erring(void)
{
	pthread_mutex_lock(&checked);
	pthread_mutex_unlock(&checked);
	KEEP;
}

static void end_checked(void)
{
	pthread_mutex_unlock(&checked);
}

/* Says what a way waits for, if that is one of these mutexes. */
static void say_locked(const char *way, const char *name, int holder)
{
	const struct {
		const char *way;
		const pthread_mutex_t *mutex;
		int says_holder;
	} ways[] = {{"locked", &mutex, NORMAL_SAYS}, {"timed", &mutex, NORMAL_SAYS},
		    {"inherited", &inheriting, 1},   {"sturdy", &robust, 1},
		    {"sturdy_timed", &robust, 1},    {"erring", &checked, 1}};

	for (size_t i = 0; i < sizeof(ways) / sizeof(*ways); i++) {
		if (strcmp(ways[i].way, way) != 0)
			continue;
		printf("futex %p", (const void *)((const char *)ways[i].mutex + LOCK_WORD));
		if (ways[i].says_holder)
			printf(";held by %s (%d)", name, holder);
	}
}

#endif
