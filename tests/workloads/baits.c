/* SPDX-License-Identifier: MIT */
/*
 * Code without unwind information for which a stale return address, that of a call by address that
 * has returned long ago, lies where its own would be if it had been called. All baits are those of
 * `liar`, which is called before. By turns:
 *
 *   island     runs by a jump of `jumps` in that function's frame, with the bait on top
 *   between    the same, and calls `inner`
 *   routine    is entered by a return, on a stack of its own full of baits; calls `inside`
 *   exchanges  changes to such a stack, and calls `beyond`
 *   pushes     pushes baits in a loop, and takes them off again
 *   shared     is called, and is entered in the middle by a jump of `enters`, whose frame is
 *              larger: its own return address would be where the bait is
 *   hides      is called by `based`, whose frame counts from r12; keeps r12 in a register of
 *              floating point, while r12 leads to the bait
 *
 * EXPECT: main;steady;jumps;liar;decoy
 * EXPECT: main;steady;enters;liar;decoy
 * EXPECT: main;steady;island
 * EXPECT: main;steady;between;inner
 * EXPECT: main;steady;begins
 * EXPECT: @bottom;routine;inside
 * EXPECT: @bottom;exchanges;beyond
 * EXPECT: main;steady;exchanges
 * EXPECT: main;steady;pushes
 * EXPECT: main;steady;shared
 * EXPECT: main;steady;based;liar;decoy
 * EXPECT: main;steady;based;hides
 */
#include <stdint.h>

#include "workload.h"

#define BARE(name, code)                                                                           \
	__asm__(".pushsection .text\n.balign 16\n.type " #name ", @function\n" #name ":\n" code    \
		"\n.size " #name ", . - " #name "\n.popsection\n")
#define SPINS "mov $900, %ecx\n9: dec %ecx\njnz 9b\n"

void jumps(void (*called)(void), long is_between);
void begins(uint64_t *stack);
void exchanges(uint64_t *stack);
void pushes(const void *bait);
void shared(void);
void enters(void (*called)(void));
void based(void (*called)(void));
void inner(void), inside(void), beyond(void);
extern const char bait[] __asm__(".Lbait"), routine[] __asm__("routine");
uint64_t *steadys_stack __attribute__((visibility("hidden")));

BARE(liar, "sub $8, %rsp\ncall *%rdi\n.Lbait: add $8, %rsp\nret");

/* The bait is 32 bytes below the return address of `jumps`. */
BARE(jumps, "push %rbx\nmov %rsi, %rbx\ncall liar\nsub $24, %rsp\nlea 1f(%rip), %rdx\n"
	    "lea island(%rip), %rax\nlea between(%rip), %rcx\ntest %ebx, %ebx\ncmovne %rcx, %rax\n"
	    "mov %rdx, %rbx\njmp *%rax\n1: add $24, %rsp\npop %rbx\nret");
BARE(island, SPINS "jmp *%rdx");
BARE(between, "sub $8, %rsp\ncall inner\nadd $8, %rsp\njmp *%rbx");

BARE(begins, "push %rbx\npush %rbp\nmov %rsp, steadys_stack(%rip)\nmov %rdi, %rsp\nret");
BARE(routine, "sub $24, %rsp\ncall inside\nmov steadys_stack(%rip), %rsp\npop %rbp\npop %rbx\nret");

BARE(exchanges, "push %rbx\npush %rbp\npush %r12\nmov %rdi, %r12\nxchg %rsp, %r12\ncall beyond\n"
		"mov %r12, %rsp\npop %r12\npop %rbp\npop %rbx\nret");

BARE(pushes, "push %rbx\nmov $16, %ebx\n1: push %rdi\nmov $50, %ecx\n2: dec %ecx\njnz 2b\n"
	     "dec %ebx\njnz 1b\nmov $16, %ebx\n1: pop %rax\nmov $50, %ecx\n2: dec %ecx\njnz 2b\n"
	     "dec %ebx\njnz 1b\npop %rbx\nret");

BARE(shared, "sub $40, %rsp\nxor %edx, %edx\nmov $400, %ecx\n.Lshared: dec %ecx\njnz .Lshared\n"
	     "test %rdx, %rdx\njnz 1f\nadd $40, %rsp\nret\n1: jmp *%rdx");
BARE(enters, "push %rbx\ncall liar\nsub $64, %rsp\nlea 1f(%rip), %rdx\nmov $400, %ecx\n"
	     "jmp .Lshared\n1: add $64, %rsp\npop %rbx\nret");

BARE(hides, "movq %r12, %xmm7\nmov %rdx, %r12\n" SPINS "movq %xmm7, %r12\nret");
BARE(based, "push %r12\nmov %rsp, %r12\nsub $64, %rsp\nand $-64, %rsp\ncall liar\n"
	    "lea -24(%rsp), %rdx\nsub $128, %rsp\ncall hides\nmov %r12, %rsp\npop %r12\nret");

static CALLEE void decoy(void)
{
	SPIN(SHORT);
}

CALLEE void inner(void)
{
	SPIN(25 * SHORT);
}

CALLEE void inside(void)
{
	SPIN(25 * SHORT);
}

CALLEE void beyond(void)
{
	SPIN(25 * SHORT);
}

#define WORDS 4096 /* of a stack; a signal's frame fits below the last ones */
#define TOP   512

static CALLEE void steady(void)
{
	static uint64_t stack[WORDS] __attribute__((aligned(16)));

	for (;;) {
		for (unsigned i = WORDS - TOP; i < WORDS; i++)
			stack[i] = (uintptr_t)bait;
		stack[WORDS - TOP + 1] = (uintptr_t)routine;
		jumps(decoy, 0);
		jumps(decoy, 1);
		begins(&stack[WORDS - TOP + 1]);
		exchanges(&stack[WORDS - TOP]);
		pushes(bait);
		shared();
		enters(decoy);
		based(decoy);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	workload_ready(argc, argv);
	steady();
	return 0;
}
