/* SPDX-License-Identifier: MIT */
/*
 * A 32-bit program without a C library, which needs none to be installed: cold() calls hot().
 * It ends by itself after some hundred million turns, in a system call that is the last instruction
 * of its function; behind() follows.
 */
#define TURNS 300

__attribute__((noipa)) void hot(void)
{
	for (unsigned i = 0; i < 2000000; i++)
		__asm__ volatile("");
}

__attribute__((noipa)) void cold(void)
{
	for (unsigned i = 0; i < TURNS; i++) {
		hot();
		__asm__ volatile("");
	}
}

__asm__(".text\n.globl _start\n.type _start, @function\n_start: call cold\n"
	"mov $1, %eax\nxor %ebx, %ebx\nint $0x80\n.size _start, . - _start\n"
	".type behind, @function\nbehind: hlt\n.size behind, . - behind\n");
