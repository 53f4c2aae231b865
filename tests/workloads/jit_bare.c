/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time that uses no frame pointer: functions that move the stack pointer alone,
 * call each other, and call a function of the program. They have no unwind information, and are
 * named in /tmp/perf-PID.map. With a second argument it runs one that never returns instead: of
 * such code nothing tells that it is a function.
 *
 * EXPECT: main;steady;bare_outer;bare_inner;bare_leaf
 * EXPECT: main;steady;bare_outer;back
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define ROOM 65536 /* bytes: more than the code needs, as with real ones */
#define FROM 4096  /* where in it the code is */

/* Copied from here, and never run here. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"bare_outer: push %rbx; push %r12; sub $24, %rsp\n"
	"mov %rdi, %rbx; mov $3, %r12d\n"
	"1: call bare_inner; dec %r12d; jnz 1b\n"
	"call *%rbx\n"
	"add $24, %rsp; pop %r12; pop %rbx; ret\n"
	".balign 16, 0xcc\n"
	"bare_inner: sub $40, %rsp; test $1, %r12b; jz 2f\n"
	"call bare_leaf; add $40, %rsp; ret\n"
	"2: call bare_leaf; call bare_leaf; add $40, %rsp; ret\n"
	".balign 16, 0xcc\n"
	"bare_leaf: push %rdi; mov $200, %eax\n"
	"3: dec %eax; jnz 3b; pop %rdi; ret\n"
	".balign 16, 0xcc\n"
	"bare_stuck: sub $56, %rsp\n"
	"4: dec %eax; jmp 4b\n"
	".balign 16, 0xcc\n"
	"bare_end:\n"
	".popsection");
extern const char bare_outer[], bare_inner[], bare_leaf[], bare_stuck[], bare_end[];

static CALLEE void back(void)
{
	SPIN(SHORT);
}

static CALLEE void steady(void (*entry)(void (*)(void)))
{
	for (;;) {
		entry(back);
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

static void name(FILE *map, const char *code, const char *start, const char *end,
		 const char *symbol)
{
	fprintf(map, "%lx %lx %s\n", (unsigned long)(code + (start - bare_outer)),
		(unsigned long)(end - start), symbol);
}

int main(int argc, char **argv)
{
	char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *entry = room + FROM;
	FILE *map;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	map = room == MAP_FAILED ? NULL : fopen(map_path, "w");
	if (!map)
		return 1;
	memcpy(room + FROM, bare_outer, (size_t)(bare_end - bare_outer));
	name(map, room + FROM, bare_outer, bare_inner, "bare_outer");
	name(map, room + FROM, bare_inner, bare_leaf, "bare_inner");
	name(map, room + FROM, bare_leaf, bare_stuck, "bare_leaf");
	name(map, room + FROM, bare_stuck, bare_end, "bare_stuck");
	fclose(map);
	workload_ready(argc, argv);
	signal(SIGPROF, workload_end_and_clean);
	signal(SIGALRM, workload_end_and_clean);
	if (argc > 2)
		entry += bare_stuck - bare_outer;
	steady((void (*)(void (*)(void)))entry);
	return 0;
}
