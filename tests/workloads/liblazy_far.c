/* SPDX-License-Identifier: MIT */
/* What liblazy.c calls. */
#include "lazy.h"

#define DEFINE(name)                                                                               \
	void name(void)                                                                            \
	{                                                                                          \
		__asm__ volatile("");                                                              \
	}
LAZY_ALL(DEFINE)
