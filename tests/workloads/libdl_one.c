/* SPDX-License-Identifier: MIT */
/* A library for dlopen_dlclose.c and plugin.c. Of the same size and shape as libdl_two.c, so that
 * either can be mapped at the address that the other had. */
#include "workload.h"

void one_entry(void);

static CALLEE void one_leaf(void)
{
	SPIN(LONG);
}

void one_entry(void)
{
	one_leaf();
	KEEP;
}
