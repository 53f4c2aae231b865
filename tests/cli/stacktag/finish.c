/* SPDX-License-Identifier: MIT */
/* The end of a program that is not C. */
#include <stdio.h>
#include <stdlib.h>

#include "expect.h"

void finish(void)
{
	printf("%u of %u failed\n", failed, expected);
	exit(failed || !expected);
}
