/* SPDX-License-Identifier: MIT */
/* The code that jumped_apart.c jumps to. It has no call frame information, and goes back to where
 * r12 says. */
__asm__(".text\n"
	".globl code_one\n"
	".balign 64\n"
	".type code_one, @function\n"
	"code_one: mov $60, %eax\n"
	"lea 64(%rsp), %rbp\n"
	"1: dec %eax; jnz 1b\n"
	"jmp code_two\n"
	".size code_one, . - code_one\n"
	".balign 64\n"
	".type code_two, @function\n"
	"code_two: call *%rbx\n"
	"sub $8, %rsp; call *%rbx; add $8, %rsp\n"
	"jmp *%r12\n"
	".size code_two, . - code_two\n");
