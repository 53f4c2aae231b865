/* SPDX-License-Identifier: MIT */
/* Reads STACKD_SLOWNESS; see slowness.h. */
#include "daemon/base/slowness.h"

#include <stdlib.h>

uint64_t slowness(void)
{
	const char *text = secure_getenv("STACKD_SLOWNESS");
	char *end;
	unsigned long n;

	if (!text || *text < '0' || *text > '9')
		return 1;
	n = strtoul(text, &end, 10);
	return *end || n < 1 || n > SLOWNESS_MOST ? 1 : n;
}
