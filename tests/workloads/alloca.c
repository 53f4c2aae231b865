/* SPDX-License-Identifier: MIT */
/*
 * A frame of varying size whose CFA comes from rbp. The frames below it move from call to call,
 * while the slots of earlier calls keep stale return addresses: what a walker remembers of the
 * last stack must not mislead it.
 *
 * EXPECT: main;steady;grow;inner;leaf
 * EXPECT: main;steady;grow;other;other_leaf
 */
#include <alloca.h>
#include <string.h>

#include "workload.h"

static CALLEE void leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void inner(volatile char *room)
{
	room[0] = 1;
	leaf();
	KEEP;
}

static CALLEE void other_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void other(volatile char *room)
{
	room[1] = 1;
	other_leaf();
	KEEP;
}

static CALLEE void grow(size_t bytes)
{
	volatile char *room = alloca(bytes);

	inner(room);
	KEEP;
	other(room);
	KEEP;
}

static CALLEE void steady(void)
{
	for (size_t bytes = 16;; bytes = bytes % 4096 + 16) {
		grow(bytes);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
