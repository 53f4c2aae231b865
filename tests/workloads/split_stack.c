/* SPDX-License-Identifier: MIT */
/*
 * Stacks of which a part is a mapping of its own, between the leaf and the thread's first frame:
 * programs keep a page out of core dumps, lock one into memory, or protect one. The stack goes on
 * behind it.
 *
 * EXPECT: main;steady;keep_out;below;leaf
 * EXPECT: main;steady;keep_out;@plt
 * EXPECT: main;steady;keep_out;@lib+
 * EXPECT: @thread;steady_thread;protect;below_too;leaf_too
 * EXPECT: @thread;steady_thread;protect;@plt
 * EXPECT: @thread;steady_thread;protect;@lib+
 */
#include <pthread.h>
#include <sys/mman.h>

#include "workload.h"

#define PAGE 4096ul
#define ROOM (16 * PAGE)

/* Returns a page in the middle of a frame's memory. */
static char *page_in(char *room)
{
	return (char *)(((unsigned long)room + ROOM / 2) & ~(PAGE - 1));
}

#define CHAIN(below, leaf)                                                                         \
	static CALLEE void leaf(void)                                                              \
	{                                                                                          \
		SPIN(SHORT);                                                                       \
	}                                                                                          \
	static CALLEE void below(void)                                                             \
	{                                                                                          \
		for (;;) {                                                                         \
			leaf();                                                                    \
			KEEP;                                                                      \
		}                                                                                  \
	}

CHAIN(below, leaf)
CHAIN(below_too, leaf_too)

static CALLEE void keep_out(char *room)
{
	if (madvise(page_in(room), PAGE, MADV_DONTDUMP))
		_exit(1);
	below();
	KEEP;
}

static CALLEE void protect(char *room)
{
	if (mprotect(page_in(room), PAGE, PROT_READ))
		_exit(1);
	below_too();
	KEEP;
}

static CALLEE void steady(void)
{
	char room[ROOM];

	keep_out(room);
	KEEP;
}

static CALLEE void *steady_thread(void *arg)
{
	char room[ROOM];

	protect(room);
	KEEP;
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t thread;

	workload_ready(argc, argv);
	if (pthread_create(&thread, NULL, steady_thread, NULL))
		return 1;
	steady();
	return 1;
}
