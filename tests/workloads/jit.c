/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time: two functions with frame pointers and no unwind information, named in
 * /tmp/perf-PID.map, which it removes at its end: unless KEEP_PERF_MAP is in the environment.
 *
 * EXPECT: main;steady;jit_outer;jit_leaf
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

/* push rbp; mov rbp,rsp; call +3; pop rbp; ret; int3...   then at 16:
 * push rbp; mov rbp,rsp; mov eax,200; dec eax; jnz -2; pop rbp; ret */
static const unsigned char code[] = {
	0x55, 0x48, 0x89, 0xe5, 0xe8, 0x07, 0x00, 0x00, 0x00, 0x5d, 0xc3,
	0xcc, 0xcc, 0xcc, 0xcc, 0xcc, 0x55, 0x48, 0x89, 0xe5, 0xb8, 0xc8,
	0x00, 0x00, 0x00, 0xff, 0xc8, 0x75, 0xfc, 0x5d, 0xc3,
};

static CALLEE void steady(void (*entry)(void))
{
	for (;;) {
		entry();
		KEEP;
	}
}

static char map_path[64];

static void workload_end_and_clean(int number)
{
	if (!getenv("KEEP_PERF_MAP"))
		unlink(map_path);
	workload_end(number);
}

int main(int argc, char **argv)
{
	unsigned char *room = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC,
				   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	map = room == MAP_FAILED ? NULL : fopen(map_path, "w");
	if (!map)
		return 1;
	memcpy(room, code, sizeof(code));
	fprintf(map, "%lx %x jit_outer\n%lx %x jit_leaf\n", (unsigned long)room, 11,
		(unsigned long)room + 16, 15);
	fclose(map);
	workload_ready(argc, argv);
	signal(SIGPROF, workload_end_and_clean);
	signal(SIGALRM, workload_end_and_clean);
	steady((void (*)(void))room);
	return 0;
}
