/* SPDX-License-Identifier: MIT */
/* A library for dlopen_dlclose.c and plugin.c. Of the same size and shape as libdl_one.c, so that
 * either can be mapped at the address that the other had. */
#include "workload.h"

void two_entry(void);

static CALLEE void two_leaf(void)
{
	SPIN(LONG);
}

void two_entry(void)
{
	two_leaf();
	KEEP;
}
