/* SPDX-License-Identifier: MIT */
/*
 * A program whose text is copied to memory without a file, at the addresses where it was: by
 * itself, with a mremap() that nobody reports, or (copied_too) by a library before main().
 *
 * EXPECT: main;steady;outer;inner
 * EXPECT: main;steady;far
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

static CALLEE void inner(void)
{
	SPIN(SHORT);
}

static CALLEE void outer(void)
{
	inner();
	KEEP;
}

/* The functions are in different pieces of what is compared. */
__asm__(".pushsection .text\n.fill 300000, 1, 0x90\n.popsection");

static CALLEE void far(void)
{
	SPIN(SHORT);
}

static CALLEE void steady(void)
{
	for (;;) {
		outer();
		KEEP;
		far();
		KEEP;
	}
}

#ifndef BY_LIBRARY
/* Moves a copy of the text over it: the code behind that system call is the copy's. */
static CALLEE void move_text(void)
{
	unsigned long start = 0, end = 0, a, b, here = (unsigned long)steady;
	FILE *maps = fopen("/proc/self/maps", "r");
	char line[512], rights[8], *copy;

	while (fgets(line, sizeof(line), maps)) {
		if (sscanf(line, "%lx-%lx %7s", &a, &b, rights) == 3 && a <= here && here < b)
			start = a, end = b;
	}
	fclose(maps);
	copy = mmap(NULL, end - start, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	memcpy(copy, (void *)start, end - start);
	mprotect(copy, end - start, PROT_READ | PROT_EXEC);
	if (mremap(copy, end - start, end - start, MREMAP_MAYMOVE | MREMAP_FIXED, start) ==
	    MAP_FAILED)
		_exit(1);
}
#endif

int main(int argc, char **argv)
{
#ifndef BY_LIBRARY
	move_text();
#endif
	workload_ready(argc, argv);
	steady();
	return 0;
}
