/* SPDX-License-Identifier: MIT */
/* Functions for python_tree.py to call, each at the end of another path. */
#define LEAF(n)                                                                                    \
	__attribute__((noinline, noclone)) void leaf_##n(long turns)                               \
	{                                                                                          \
		for (long i = 0; i < turns; i++)                                                   \
			__asm__ volatile("" : : "r"(i) : "memory");                                \
	}
#define EIGHT(n)                                                                                   \
	LEAF(n##0) LEAF(n##1) LEAF(n##2) LEAF(n##3) LEAF(n##4) LEAF(n##5) LEAF(n##6) LEAF(n##7)

EIGHT(0)
EIGHT(1)
EIGHT(2)
EIGHT(3)
EIGHT(4)
EIGHT(5)
EIGHT(6)
EIGHT(7)
