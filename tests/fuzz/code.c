/* SPDX-License-Identifier: MIT */
/*
 * Code for recordings that a fuzzer starts from: fuzz_code[] are functions that call each other in
 * that order, the last one with a frame of variable size, and something of another file.
 */
#include <stdio.h>

extern int (*const fuzz_code[3])(int);

static __attribute__((noinline)) int leaf(int n)
{
	int sum = 0;

	for (int i = 0; i < n; i++)
		sum += i ^ n;
	return sum;
}

static __attribute__((noinline)) int middle(int n)
{
	volatile char room[64];

	room[n & 63] = (char)n;
	return leaf(n) + room[0];
}

static __attribute__((noinline)) int top(int n)
{
	volatile char *room = __builtin_alloca((size_t)n & 255);

	room[0] = 1;
	if (n > 1000)
		putchar(n);
	return middle(n) + room[0];
}

int (*const fuzz_code[3])(int) = {leaf, middle, top};
