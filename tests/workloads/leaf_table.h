/* SPDX-License-Identifier: MIT */
/* The leaves of python_leaves.c by number, for extensions of other languages. */
#ifndef LEAF_TABLE_H
#define LEAF_TABLE_H

#include "python_leaves.c"

static void (*const leaves[])(long turns) = {
#define LEAF_OF(n) leaf_##n,
#define EIGHT_OF(n)                                                                                \
	LEAF_OF(n##0)                                                                              \
	LEAF_OF(n##1)                                                                              \
	LEAF_OF(n##2) LEAF_OF(n##3) LEAF_OF(n##4) LEAF_OF(n##5) LEAF_OF(n##6) LEAF_OF(n##7)
	EIGHT_OF(0) EIGHT_OF(1) EIGHT_OF(2) EIGHT_OF(3) EIGHT_OF(4) EIGHT_OF(5) EIGHT_OF(6)
		EIGHT_OF(7)};

#endif
