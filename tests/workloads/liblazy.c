/* SPDX-License-Identifier: MIT */
/* A library for lazy.c, whose calls of another one are bound when they are first made. */
#include "lazy.h"
#include "workload.h"

void lazy_entry(void);

#define CALL(name)                                                                                 \
	name();                                                                                    \
	KEEP;

void lazy_entry(void)
{
	LAZY_ALL(CALL)
}
