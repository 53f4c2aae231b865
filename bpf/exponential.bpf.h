/* SPDX-License-Identifier: GPL-2.0-only */
/* Exponentially distributed distances between samples: of bytes (malloc.bpf.h) and of waiting time
 * (wait_thread.bpf.h). */
#ifndef EXPONENTIAL_BPF_H
#define EXPONENTIAL_BPF_H

#include "scratch.bpf.h"

#define LOG_BITS 20
#define LOG_2	 726817 /* ln(2) * 2^LOG_BITS */

/*
 * Returns -log2(x / 2^64) * 2^LOG_BITS, computed digit by digit: the square of a number between 1
 * and 2 is at least 2 if its logarithm is at least 1/2, and so on. It has no branches, since the
 * BPF verifier would follow all combinations of them, and is a global function, which the verifier
 * checks once.
 */
__noinline __u64 minus_log2(__u64 x)
{
	__u64 zeros = 0, fraction = 0, bit;

	for (int step = 32; step; step /= 2) {
		bit = x >> (64 - step);
		bit = ~(bit | -bit) >> 63; /* the upper `step` bits are all zero */
		FORGET(bit);
		x <<= step * bit;
		zeros += step * bit;
	}
	x >>= 32; /* fixed point from here on: 2^31 is 1 */
	for (int i = 0; i < LOG_BITS; i++) {
		x = x * x >> 31;
		bit = x >> 32;
		FORGET(bit);
		x >>= bit;
		fraction = fraction * 2 + bit;
	}
	return ((zeros + 1) << LOG_BITS) - fraction;
}

#endif
