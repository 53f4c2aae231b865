/* SPDX-License-Identifier: MIT */
/*
 * Code without unwind information in the program's data, which it makes executable. With a second
 * argument, it writes another function over the outer one first: a twin with a larger frame.
 *
 * EXPECT: main;steady;outer_in_data;inner_in_data
 */
#include <stdint.h>
#include <string.h>
#include <sys/mman.h>

#include "workload.h"

#define OUTER(name, frame)                                                                         \
	".type " name ", @function\n.p2align 4\n" name ":\n"                                       \
	"push %rbx\nsub $" frame ", %rsp\nlea inner_in_data(%rip), %rax\ncall *%rax\n"             \
	"add $" frame ", %rsp\npop %rbx\nret\n.size " name ", . - " name "\n"

__asm__(".pushsection .data, \"aw\"\n.p2align 12\n" OUTER(
	"outer_in_data",
	"16") ".type inner_in_data, @function\n.p2align 4\ninner_in_data:\n"
	      "mov $40, %ecx\n1: dec %ecx\njnz 1b\nret\n.size inner_in_data, . - inner_in_data\n"
	      ".fill 64, 1, 0x90\n"
	      ".popsection\n");

extern char outer_in_data[];

/* Doubles the frame, in both instructions that say how large it is: they end in that byte. */
static void change(void)
{
	unsigned found = 0;

	for (unsigned i = 0; i < 32 && found < 2; i++) {
		if ((uint8_t)outer_in_data[i] == 16 && (uint8_t)outer_in_data[i - 2] == 0x83) {
			outer_in_data[i] = 32;
			found++;
		}
	}
	if (found != 2)
		_exit(1);
}

static CALLEE void steady(void (*function)(void))
{
	for (;;) {
		function();
		KEEP;
	}
}

int main(int argc, char **argv)
{
	uintptr_t page = (uintptr_t)outer_in_data & ~(uintptr_t)4095;

	if (mprotect((void *)page, 4096, PROT_READ | PROT_WRITE | PROT_EXEC))
		return 1;
	if (argc > 2)
		change();
	workload_ready(argc, argv);
	steady((void (*)(void))outer_in_data);
	return 0;
}
