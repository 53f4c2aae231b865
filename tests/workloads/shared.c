/* SPDX-License-Identifier: MIT */
/*
 * A process runs code that another one has mapped, which shares its memory (clone() with CLONE_VM
 * and without CLONE_THREAD) and lives on or, with a second argument, ends at once.
 */
#include <sched.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "workload.h"

#define STACK_BYTES 65536

/* push %rbp; mov %rsp, %rbp; mov $2000, %ecx; 1: dec %ecx; jnz 1b; pop %rbp; ret */
static const unsigned char code[] = {0x55, 0x48, 0x89, 0xe5, 0xb9, 0xd0, 0x07, 0x00,
				     0x00, 0xff, 0xc9, 0x75, 0xfc, 0x5d, 0xc3};

static void (*volatile made)(void);

/* Makes the code, then waits for its own end, if it gets one. */
static int map_code(void *ends)
{
	unsigned char *at;

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	at = mmap(NULL, 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	memcpy(at, code, sizeof(code));
	mprotect(at, 4096, PROT_READ | PROT_EXEC);
	made = (void (*)(void))(void *)at;
	if (!ends)
		pause();
	return 0;
}

static CALLEE void steady(void)
{
	for (;;) {
		made();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	char *stack = malloc(STACK_BYTES);
	pid_t child;

	workload_ready(argc, argv);
	child = clone(map_code, stack + STACK_BYTES, CLONE_VM | SIGCHLD, argc > 2 ? argv[2] : NULL);
	if (child < 0)
		return 1;
	if (argc > 2)
		waitpid(child, NULL, 0);
	while (!made)
		usleep(1000);
	steady();
	return 0;
}
