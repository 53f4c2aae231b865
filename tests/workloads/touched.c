/* SPDX-License-Identifier: MIT */
/*
 * Calls its allocator all the time, and once it is told to (a line of input), maps MAPPED bytes and
 * touches each page of them.
 */
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "workload.h"

enum { MAPPED = 256 << 20 };

CALLEE void *mapped(void)
{
	void *memory =
		mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	/* A fault is of one page. */
	madvise(memory, MAPPED, MADV_NOHUGEPAGE);
	return memory;
}

CALLEE void touched(volatile char *memory)
{
	for (size_t i = 0; i < MAPPED; i += 4096)
		memory[i] = 1;
}

CALLEE void busy(void)
{
	struct pollfd input = {.fd = 0, .events = POLLIN};

	while (poll(&input, 1, 1) == 0) {
		for (int i = 0; i < 1000; i++) {
			void *volatile block = malloc(100);

			free(block);
		}
	}
}

int main(void)
{
	puts("READY");
	fflush(stdout);
	busy();
	touched(mapped());
	printf("%d\n", MAPPED);
	return 0;
}
