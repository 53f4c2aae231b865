/* SPDX-License-Identifier: MIT */
/*
 * A steady stack: recurses so many frames deep (argv[1]) and spins in the leaf for so many seconds
 * (argv[2]). Built with frame pointers, so that the kernel's own walk can be measured on it too.
 */
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define CALLEE __attribute__((noipa))

static CALLEE void spin(void)
{
	for (;;)
		__asm__ volatile("");
}

static CALLEE unsigned deeper(unsigned depth)
{
	unsigned below = 0;

	if (depth > 1)
		below = deeper(depth - 1);
	else
		spin();
	__asm__ volatile("" ::: "memory");
	return below + 1;
}

int main(int argc, char **argv)
{
	if (argc != 3) {
		fprintf(stderr, "usage: deep FRAMES SECONDS\n");
		return 2;
	}
	alarm((unsigned)atoi(argv[2]));
	return deeper((unsigned)atoi(argv[1])) == 0;
}
