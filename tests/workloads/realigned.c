/* SPDX-License-Identifier: MIT */
/*
 * Stacks realigned for vector locals: main itself and a function in the middle. Their CFA is a
 * DWARF expression that reads memory.
 *
 * EXPECT: main;steady;wide;leaf
 * EXPECT: main;steady;wide_with_arguments;leaf_too
 */
#include <alloca.h>

#include "workload.h"

struct wide {
	_Alignas(64) volatile float lane[16];
};

static CALLEE void leaf(struct wide *w)
{
	for (unsigned i = 0; i < 16; i++)
		w->lane[i] += 1.0f;
}

static CALLEE void wide(float x)
{
	struct wide w = {.lane = {x}};

	leaf(&w);
	KEEP;
}

static CALLEE void leaf_too(struct wide *w)
{
	for (unsigned i = 0; i < 16; i++)
		w->lane[i] *= 2.0f;
}

/* Arguments on the stack keep gcc from using rbp alone: it reaches them by a saved r10. */
static CALLEE long wide_with_arguments(long a, long b, long c, long d, long e, long f, long g,
				       long h)
{
	struct wide w = {.lane = {(float)(a + b + c + d + e + f)}};
	volatile char *room = alloca((size_t)g);

	room[0] = (char)h;
	leaf_too(&w);
	KEEP;
	return g + h + room[0];
}

static CALLEE void steady(struct wide *w)
{
	for (;;) {
		wide(w->lane[3]);
		KEEP;
		wide_with_arguments(1, 2, 3, 4, 5, 6, 7, 8);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	struct wide w = {.lane = {1}};

	workload_ready(argc, argv);
	steady(&w);
	return (int)w.lane[0];
}
