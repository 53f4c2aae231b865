/* SPDX-License-Identifier: MIT */
/* A plugin of named.cc. NAME is that of the function that has the region. */
#include "stackd_region.h"

static volatile int sink;

static __attribute__((noinline)) void NAME(void)
{
	STACKD_REGION("plugin");
	sink++;
}

void run_plugin(void)
{
	NAME();
	sink++;
}
