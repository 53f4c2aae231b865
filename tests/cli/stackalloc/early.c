/* SPDX-License-Identifier: MIT */
/* Asks for memory as early as a program can: from a resolver of the dynamic linker, from its own
 * first initialiser, and from the last one. */
#include <malloc.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *blocks[8];

static void fill(void)
{
	void *aligned = NULL;

	blocks[0] = calloc(10, 10);
	blocks[1] = realloc(malloc(10), 1000);
	blocks[2] = posix_memalign(&aligned, 64, 100) == 0 ? aligned : NULL;
	blocks[3] = aligned_alloc(64, 128);
	blocks[4] = memalign(32, 100);
	blocks[5] = valloc(10);
	blocks[6] = pvalloc(10);
	blocks[7] = strdup("early");
}

static void first(int argc, char **argv, char **environment)
{
	(void)argc;
	(void)argv;
	(void)environment;
	fill();
}

__attribute__((section(".preinit_array"), used)) static void (*begin)(int, char **,
								      char **) = first;

__attribute__((destructor)) static void last(void)
{
	free(strdup("late"));
}

int main(void)
{
	for (int i = 0; i < 8; i++) {
		if (!blocks[i])
			return 1;
		free(blocks[i]);
	}
	return puts("done") < 0;
}
