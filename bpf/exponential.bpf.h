/* SPDX-License-Identifier: GPL-2.0-only */
/* Exponentially distributed distances between samples: of bytes (malloc.bpf.h) and of waiting time
 * (wait_thread.bpf.h). */
#ifndef EXPONENTIAL_BPF_H
#define EXPONENTIAL_BPF_H

#include "scratch.bpf.h"

#define LOG_BITS 20
#define LOG_2	 726817 /* ln(2) * 2^LOG_BITS */

/*
 * -log2(x / 2^64), times 2^LOG_BITS: its digits one after the other. The square of a number between
 * 1 and 2 is at least 2 if its logarithm is at least 1/2, and so on.
 */
static __always_inline __u64 minus_log2(__u64 x)
{
	__u64 zeros = 0, fraction = 0;

	for (int step = 32; step; step /= 2) {
		if (!(x >> (64 - step))) {
			x <<= step;
			zeros += step;
		}
	}
	x >>= 32; /* 2^31 is 1 */
	for (int i = LOG_BITS - 1; i >= 0; i--) {
		x = x * x >> 31;
		if (x >> 32) {
			x >>= 1;
			fraction |= 1ull << i;
		}
	}
	return ((zeros + 1) << LOG_BITS) - fraction;
}

#endif
