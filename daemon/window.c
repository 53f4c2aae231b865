/* SPDX-License-Identifier: MIT */
/* Aligns windows to the wall clock; see window.h. */
#include "daemon/window.h"

#include <time.h>

#define SECOND_NS UINT64_C(1000000000)
#define TORN_NS	  (2 * SECOND_NS)
#define JITTER_NS (SECOND_NS / 20)
#define LEAST	  16 /* a window is at least 1/16 of the full length */

uint64_t window_left_ns(uint64_t length_ns, uint64_t unix_ns, int64_t offset_s)
{
	uint64_t local_ns = unix_ns + (uint64_t)offset_s * SECOND_NS;
	uint64_t left_ns = length_ns - local_ns % length_ns;

	return left_ns < length_ns / LEAST ? left_ns + length_ns : left_ns;
}

/* Returns the seconds that local time is ahead of UTC; 0 if that is not known. */
static int64_t offset_at(uint64_t unix_ns)
{
	time_t at = (time_t)(unix_ns / SECOND_NS);
	struct tm tm;

	return localtime_r(&at, &tm) ? tm.tm_gmtoff : 0;
}

struct window window_begin(uint64_t length_ns, uint64_t unix_ns, uint64_t start_ns)
{
	struct window window = {.length_ns = length_ns,
				.start_unix_ns = unix_ns,
				.start_ns = start_ns,
				.end_ns = UINT64_MAX};

	if (length_ns)
		window.end_ns = start_ns + window_left_ns(length_ns, unix_ns, offset_at(unix_ns));
	return window;
}

struct window window_next(const struct window *before, uint64_t unix_ns)
{
	struct window next = window_begin(before->length_ns, unix_ns, before->end_ns);
	uint64_t left_ns = next.end_ns - next.start_ns;

	if (left_ns > next.length_ns && left_ns - next.length_ns <= JITTER_NS)
		next.start_unix_ns += left_ns - next.length_ns;
	else if (left_ns <= next.length_ns && next.length_ns - left_ns <= JITTER_NS)
		next.start_unix_ns -= next.length_ns - left_ns;
	return next;
}

bool window_is_torn(const struct window *window, uint64_t unix_ns, uint64_t mono_ns)
{
	uint64_t expected = window->start_unix_ns + (mono_ns - window->start_ns);
	uint64_t off = unix_ns > expected ? unix_ns - expected : expected - unix_ns;

	return window->length_ns && off > TORN_NS;
}
