/* SPDX-License-Identifier: MIT */
/*
 * Threads that begin as those of glibc's clone3() do, on a stack that nobody has touched, and stay
 * for a while within the instructions before their first call. They are their path's only function.
 *
 * EXPECT: main;steady;begin
 * EXPECT: main;steady;@plt
 * EXPECT: main;steady;@lib+
 */
#include <linux/futex.h>
#include <sched.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "workload.h"

#define STACK_BYTES (1 << 20)
#define FLAGS                                                                                      \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM |        \
	 CLONE_CHILD_CLEARTID)

/* begin(flags, stack, unused, word): clone(), in whose new thread it counts, and ends. The kernel
 * clears the word then. */
long begin(unsigned long flags, void *stack, void *parent_word, volatile int *word);
__asm__(".globl begin\n"
	".type begin, @function\n"
	"begin:\n"
	"	.cfi_startproc\n"
	"	mov %rcx, %r10\n"
	"	xor %r8d, %r8d\n"
	"	mov $56, %eax\n"
	"	syscall\n"
	"	test %rax, %rax\n"
	"	jnz 2f\n"
	"	mov $20000, %ecx\n"
	"1:	pause\n"
	"	dec %ecx\n"
	"	jnz 1b\n"
	"	xor %edi, %edi\n"
	"	mov $60, %eax\n"
	"	syscall\n"
	"2:	ret\n"
	"	.cfi_endproc\n"
	".size begin, . - begin\n");

static CALLEE void steady(void)
{
	for (;;) {
		char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE,
				   MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
		volatile int word = 1;

		if (stack == MAP_FAILED || begin(FLAGS, stack + STACK_BYTES / 2, NULL, &word) < 0)
			_exit(1);
		while (word)
			syscall(SYS_futex, &word, FUTEX_WAIT, 1, NULL, NULL, 0);
		munmap(stack, STACK_BYTES);
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
