/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time as Guile's is: C calls the start of its memory, which makes a frame and
 * jumps, and all other code is jumped to and runs in that frame. It is named in /tmp/perf-PID.map.
 *
 * EXPECT: main;steady;made_entry
 * EXPECT: main;steady;made_code;back
 * EXPECT: main;steady;made_exit
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define ROOM 65536 /* bytes */

/* Copied from here, and never run here. */
__asm__(".pushsection .rodata\n"
	".balign 16\n"
	"made_entry: sub $24, %rsp; mov %rbx, (%rsp); mov %rbp, 8(%rsp)\n"
	"mov %rdi, %rbx; jmp *%rsi\n"
	".balign 16, 0xcc\n"
	"made_code: mov $60, %eax; mov %rax, %rbp\n"
	"1: dec %rbp; jnz 1b\n"
	"call *%rbx\n"
	"sub $8, %rsp; call *%rbx; add $8, %rsp\n"
	"jmp made_exit\n"
	".balign 16, 0xcc\n"
	"made_exit: mov (%rsp), %rbx; mov 8(%rsp), %rbp; add $24, %rsp; ret\n"
	"made_end:\n"
	".popsection");
extern const char made_entry[], made_code[], made_exit[], made_end[];

static CALLEE void back(void)
{
	SPIN(SHORT);
}

static CALLEE void steady(void (*entry)(void (*)(void), const char *), const char *code)
{
	for (;;) {
		entry(back, code);
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

static void name(FILE *map, const char *room, const char *start, const char *end,
		 const char *symbol)
{
	fprintf(map, "%lx %lx %s\n", (unsigned long)(room + (start - made_entry)),
		(unsigned long)(end - start), symbol);
}

int main(int argc, char **argv)
{
	char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	map = room == MAP_FAILED ? NULL : fopen(map_path, "w");
	if (!map)
		return 1;
	memcpy(room, made_entry, (size_t)(made_end - made_entry));
	name(map, room, made_entry, made_code, "made_entry");
	name(map, room, made_code, made_exit, "made_code");
	name(map, room, made_exit, made_end, "made_exit");
	fclose(map);
	workload_ready(argc, argv);
	signal(SIGPROF, workload_end_and_clean);
	signal(SIGALRM, workload_end_and_clean);
	steady((void (*)(void (*)(void), const char *))room, room + (made_code - made_entry));
	return 0;
}
