/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time as that of V8's compiler without optimisation (Sparkplug) is: a function
 * calls a routine of the program that pops its return address, makes the function's frame and goes
 * back with that on the stack, and ends with a jump to a routine that releases the frame. The
 * routines have no call frame information. The code is named in /tmp/perf-PID.map.
 *
 * Before that, and on top of each frame, a stale return address is the bait: a walk that takes the
 * routine which releases for a function that was called finds it.
 *
 * EXPECT: main;steady;base_outer;baseline_enter
 * EXPECT: main;steady;base_outer;base_middle;baseline_enter
 * EXPECT: main;steady;base_outer;base_middle;base_inner;baseline_enter
 * EXPECT: main;steady;base_outer;base_middle;base_inner;baseline_count
 * EXPECT: main;steady;base_outer;base_middle;baseline_leave;baseline_count
 * EXPECT: main;steady;base_outer;baseline_leave;baseline_count
 * EXPECT: main;steady;baseline_leave;baseline_count
 */
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define ROOM	65536
#define BETWEEN (256u << 20) /* from the program down to the code: a near call reaches that far */

/* Copied from here, and never run here. The places of calls and jumps out of it are in a list:
 * their distances are from the code's start, and are set in the copy. */
__asm__(".macro out opcode, target\n"
	"out\\@: .byte \\opcode; .long \\target - base_outer\n"
	".pushsection .rodata.places; .long out\\@ - base_outer; .popsection\n"
	".endm\n"
	".pushsection .rodata.places; places: .popsection\n"
	".pushsection .rodata\n"
	".macro begin\n"
	"mov -8(%rsp), %rax; testb $1, %al; mov $48, %ebx\n"
	"out 0xe8, baseline_enter\n"
	".endm\n"
	/* The bait is the return address of a call that has returned. */
	".macro end\n"
	"lea stale(%rip), %rax; mov %rax, (%rsp)\n"
	"mov $14, %ecx; 1: dec %ecx; jnz 1b; xor %ebx, %ebx\n"
	"out 0xe9, baseline_leave\n"
	".endm\n"
	".balign 16\n"
	"base_outer: begin\n"
	"mov $9, %eax; 1: dec %eax; jnz 1b\n"
	"cmpq $0, -8(%rbp); je 2f\n"
	"call base_middle; stale: mov %rax, -16(%rbp)\n"
	"2: end\n"
	".balign 16, 0xcc\n"
	"base_middle: begin\n"
	"push %rax; push %rdi\n"
	"call base_inner; mov %rax, -24(%rbp); pop %rdi; pop %rax\n"
	"end\n"
	".balign 16, 0xcc\n"
	"base_inner: begin\n"
	"mov $30, %eax; 1: dec %eax; jnz 1b\n"
	"out 0xe8, baseline_count\n"
	"mov $30, %eax; 1: dec %eax; jnz 1b\n"
	"end\n"
	".balign 16, 0xcc\n"
	"base_end:\n"
	".popsection\n"
	".pushsection .rodata.places; places_end: .popsection\n"
	".text\n"
	".macro routine name\n"
	".balign 64, 0xcc\n"
	".type \\name, @function\n"
	"\\name:\n"
	".endm\n"
	"routine baseline_enter\n"
	"mov $9, %ecx; 1: dec %ecx; jnz 1b\n"
	"test %rsp, %rsp; je 3f\n"
	"pop %r15\n"
	"push %rbp\n"
	"mov $9, %ecx; 2: dec %ecx; jnz 2b\n"
	"mov %rsp, %rbp\n"
	"push %rsp; push %rdi; push %rax; push %r12\n"
	"mov $9, %ecx; 4: dec %ecx; jnz 4b\n"
	"push %r15; ret\n"
	"3: add $8, %rsp; mov (%rdi), %rcx; push %rcx; ret\n"
	".size baseline_enter, . - baseline_enter\n"
	"routine baseline_leave\n"
	"add %ecx, -16(%rbp); jge 1f\n"
	"push %rax; call baseline_count; pop %rax\n"
	"1: mov $14, %ecx; 2: dec %ecx; jnz 2b\n"
	"mov %rbp, %rsp; pop %rbp; pop %r8\n"
	"lea (%rsp,%rbx,8), %rsp; push %r8; ret\n"
	".size baseline_leave, . - baseline_leave\n"
	"routine baseline_count\n"
	"mov $30, %ecx; 1: dec %ecx; jnz 1b; ret\n"
	".size baseline_count, . - baseline_count\n");
extern const int32_t places[], places_end[];
extern const char base_outer[], base_middle[], base_inner[], base_end[];

static CALLEE void steady(void (*entry)(void))
{
	for (;;) {
		/* The code changes registers that C's functions preserve. */
		__asm__ volatile("call *%0"
				 : "+r"(entry)
				 :
				 : "rax", "rbx", "rcx", "rdx", "rsi", "rdi", "r8", "r9", "r10",
				   "r11", "r15", "memory", "cc");
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
	fprintf(map, "%lx %lx %s\n", (unsigned long)(room + (start - base_outer)),
		(unsigned long)(end - start), symbol);
}

static void set_targets(char *room)
{
	for (const int32_t *at = places; at < places_end; at++) {
		char *distance = room + *at + 1;
		int32_t d;

		memcpy(&d, distance, sizeof(d));
		d = (int32_t)(base_outer + d - (distance + sizeof(d)));
		memcpy(distance, &d, sizeof(d));
	}
}

int main(int argc, char **argv)
{
	char *near = (char *)(((uintptr_t)base_outer & ~(uintptr_t)0xffff) - BETWEEN);
	char *room = mmap(near, ROOM, PROT_READ | PROT_WRITE | PROT_EXEC,
			  MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	FILE *map;

	snprintf(map_path, sizeof(map_path), "/tmp/perf-%d.map", getpid());
	map = room == MAP_FAILED ? NULL : fopen(map_path, "w");
	if (!map)
		return 1;
	memcpy(room, base_outer, (size_t)(base_end - base_outer));
	set_targets(room);
	name(map, room, base_outer, base_middle, "base_outer");
	name(map, room, base_middle, base_inner, "base_middle");
	name(map, room, base_inner, base_end, "base_inner");
	fclose(map);
	workload_ready(argc, argv);
	signal(SIGPROF, workload_end_and_clean);
	signal(SIGALRM, workload_end_and_clean);
	steady((void (*)(void))(uintptr_t)room);
	return 0;
}
