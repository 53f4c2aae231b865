/* SPDX-License-Identifier: MIT */
/*
 * Enters a cgroup, spins for 20 ms of CPU time, and becomes another program:
 *
 *   entering CGROUP_PROCS PROGRAM ARGUMENTS...
 *
 * It is linked so that its code is at the same addresses as the other program's.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#include "workload.h"

CALLEE void before(void)
{
	clock_t end = clock() + CLOCKS_PER_SEC / 50;

	while (clock() < end)
		SPIN(10000);
	KEEP;
}

int main(int argc, char **argv)
{
	int fd = argc > 2 ? open(argv[1], O_WRONLY | O_CLOEXEC) : -1;

	if (fd < 0 || write(fd, "0", 1) != 1) {
		perror("entering");
		return EXIT_FAILURE;
	}
	before();
	execv(argv[2], argv + 2);
	perror(argv[2]);
	return EXIT_FAILURE;
}
