/* SPDX-License-Identifier: MIT */
/* The part of named.cc that is in C: N passes, two regions in one block, names that others have. */
#include "stackd_region.h"

static volatile int sink;

/* Its region has its name. */
static __attribute__((noinline)) void namesake(void)
{
	STACKD_REGION("namesake");
	sink++;
}

void count_namesake(int n)
{
	for (int i = 0; i < n; i++)
		namesake();
}

void count_in_c(int n)
{
	for (int i = 0; i < n; i++) {
		STACKD_REGION("inner");
		sink++;
		STACKD_REGION("in C");
		sink++;
	}
}
