/* SPDX-License-Identifier: MIT */
/* Threads at different depths, with functions of libraries at the leaves. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"

static int compare(const void *a, const void *b)
{
	int x = *(const int *)a, y = *(const int *)b;

	return (x > y) - (x < y);
}

static NOINLINE int sort(unsigned n)
{
	int values[64];

	for (unsigned i = 0; i < n; i++)
		values[i] = (int)(work(2) >> (i & 7));
	qsort(values, n, sizeof(values[0]), compare);
	NOT_LAST;
	return values[n / 2];
}

static NOINLINE int descend(unsigned depth)
{
	int got = depth ? descend(depth - 1) : sort(48);

	NOT_LAST;
	return got + 1;
}

static void *run(void *arg)
{
	unsigned depth = (unsigned)(uintptr_t)arg;

	for (unsigned i = 0; i < 60; i++)
		descend((depth + i) % 40);
	return NULL;
}

int main(void)
{
	pthread_t threads[4];

	for (uintptr_t i = 0; i < 4; i++)
		pthread_create(&threads[i], NULL, run, (void *)(i * 10));
	for (int i = 0; i < 4; i++)
		pthread_join(threads[i], NULL);
	return 0;
}
