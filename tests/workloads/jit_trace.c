/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time that runs in the frame of an interpreter, as traces of LuaJIT do: the
 * interpreter jumps to it, it makes room for what it spills, and calls a function of the program.
 * The interpreter's call frame information has one rule for all of it, which holds once it was
 * entered. It is entered once: the instructions that make its frame are where that rule is wrong.
 *
 * EXPECT: main;steady;interpret
 * EXPECT: main;steady;trace;back
 * TORN: interpret
 */
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define ROOM 65536 /* bytes: more than the code needs, as with real ones */
#define FROM 4096  /* where in it the code is */

__asm__(".pushsection .text\n"
	".p2align 4\n"
	".type interpret, @function\n"
	".globl interpret\n"
	"interpret:\n"
	".cfi_startproc\n.cfi_def_cfa_offset 80\n.cfi_offset rbp, -16\n.cfi_offset rbx, -24\n"
	".cfi_offset r15, -32\n.cfi_offset r14, -40\n"
	"push %rbp; push %rbx; push %r15; push %r14; sub $40, %rsp\n"
	"mov %rsi, %rbx\n"
	"lea 1f(%rip), %r15\n"
	"jmp *%rdi\n"
	"1: add $40, %rsp; pop %r14; pop %r15; pop %rbx; pop %rbp; ret\n"
	".cfi_endproc\n"
	".size interpret, . - interpret\n"
	".popsection\n"
	/* Copied from here, and never run here. */
	".pushsection .rodata\n"
	".balign 16\n"
	"trace: sub $48, %rsp; xor %ebp, %ebp\n"
	"2: mov $200, %r14d\n"
	"3: dec %r14d; jnz 3b\n"
	"call *%rbx; test %ebp, %ebp; jz 2b\n"
	"add $48, %rsp; jmp *%r15\n"
	"trace_end:\n"
	".popsection");
extern const char trace[], trace_end[];
void interpret(const void *code, void (*function)(void));

static CALLEE void back(void)
{
	SPIN(SHORT);
}

static CALLEE void steady(const void *code)
{
	interpret(code, back);
	KEEP;
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
	char *room = mmap(NULL, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	FILE *map;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	map = room == MAP_FAILED ? NULL : fopen(map_path, "w");
	if (!map)
		return 1;
	memcpy(room + FROM, trace, (size_t)(trace_end - trace));
	fprintf(map, "%lx %lx trace\n", (unsigned long)(room + FROM),
		(unsigned long)(trace_end - trace));
	fclose(map);
	workload_ready(argc, argv);
	signal(SIGPROF, workload_end_and_clean);
	signal(SIGALRM, workload_end_and_clean);
	steady(room + FROM);
	return 0;
}
