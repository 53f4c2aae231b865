/* SPDX-License-Identifier: MIT */
/*
 * Preloaded into stackd, this sets its wall clock back a day at a moment of CLOCK_MONOTONIC
 * (STACKD_SETBACK, in seconds), as settimeofday() would for the whole machine.
 */
#include <dlfcn.h>
#include <stdlib.h>
#include <time.h>

static int (*real_clock_gettime)(clockid_t, struct timespec *);
static time_t at;

__attribute__((constructor)) static void find_clock(void)
{
	const char *text = getenv("STACKD_SETBACK");

	real_clock_gettime =
		(int (*)(clockid_t, struct timespec *))dlsym(RTLD_NEXT, "clock_gettime");
	at = text ? (time_t)strtoll(text, NULL, 10) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *ret_time)
{
	struct timespec now;
	int err = real_clock_gettime(clock, ret_time);

	if (clock == CLOCK_REALTIME && !err && at && !real_clock_gettime(CLOCK_MONOTONIC, &now) &&
	    now.tv_sec >= at)
		ret_time->tv_sec -= 86400;
	return err;
}
