/* SPDX-License-Identifier: MIT */
/*
 * Time asked for all the time: the leaf is in the vDSO. The first call goes through the dynamic
 * loader, which looks the function up.
 *
 * EXPECT: main;steady;ask;clock_gettime|__clock_gettime|clock_gettime@@GLIBC_2.17;@vdso+
 * EXPECT: main;steady;ask;@plt
 * EXPECT: main;steady;ask;@loader+
 */
#include <time.h>

#include "workload.h"

static CALLEE void ask(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	KEEP;
}

static CALLEE void steady(void)
{
	for (;;) {
		ask();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
