/* SPDX-License-Identifier: MIT */
/*
 * Code without unwind information for which a stale return address, that of a call by address that
 * has returned long ago, lies where its own would be if it had been called. All baits are those of
 * `liar`, which is called before. By turns:
 *
 *   island     runs by a jump of `jumps` in that function's frame, with the bait on top
 *   between    the same, and calls `inner`
 *   routine    is entered by a return, on a stack of its own full of baits; calls `inside`
 *   coroutine  has call frame information, and is entered by a jump on such a stack; calls
 * `deepest`
 *
 *   exchanges  changes to such a stack, and calls `beyond`
 *
 *   pushes     pushes baits in a loop, and takes them off again
 *
 *   shared     is called, and is entered in the middle by a jump of `enters`, whose frame is
 * larger: its own return address would be where the bait is
 *
 *   stored     as shared, but the jump of `points` takes the address from a variable
 *
 *   counted    as shared, but the jump of `counts` adds a number to the function's address
 *
 *   interprets as shared, but has a table of eight addresses in it, by which it jumps itself, and
 * from which `picks` takes one
 *
 *   resumes    calls its own code, which writes the address of `resumed` over the return address,
 * and returns there
 *
 *   unsaid     releases its frame, which its call frame information does not say; is called by
 *              `holds`, whose frame is full of baits
 *
 *   hides      is called by `based`, whose frame counts from r12; keeps r12 in a register of
 *              floating point, while r12 leads to the bait
 *
 *   asks       ends with a long system call, behind which `answered` begins
 *
 * Code with call frame information, which `tells` or `leans` has called before by its address:
 *
 *   emptied    is entered by a jump; above it are the return address in `tells`, and a 0
 *
 *   copied     is entered by a jump on a copy of the thread's stack, from the frame of `tells` on
 *
 *   crossed    is entered by a jump; above it is the return address in `leans`, whose frame counts
 *              from rbp, which still leads to its frame on the thread's stack
 *
 * EXPECT: main;steady;jumps;liar;decoy
 * EXPECT: main;steady;enters;liar;decoy
 * EXPECT: main;steady;island
 * EXPECT: main;steady;between;inner
 * EXPECT: main;steady;begins
 * EXPECT: @bottom;routine;inside
 * EXPECT: main;steady;starts
 * EXPECT: @bottom;coroutine;deepest
 * EXPECT: @bottom;coroutine;ends
 * EXPECT: main;steady;ends
 * EXPECT: @bottom;exchanges;beyond
 * EXPECT: main;steady;exchanges
 * EXPECT: main;steady;pushes
 * EXPECT: main;steady;shared
 * EXPECT: main;steady;stored
 * EXPECT: main;steady;points;liar;decoy
 * EXPECT: main;steady;counted
 * EXPECT: main;steady;counts;liar;decoy
 * EXPECT: main;steady;interprets
 * EXPECT: main;steady;picks;liar;decoy
 * EXPECT: main;steady;resumes+
 * EXPECT: main;steady;resumed
 * EXPECT: main;steady;holds;unsaid;inmost
 * EXPECT: main;steady;based;liar;decoy
 * EXPECT: main;steady;based;hides
 * EXPECT: main;steady;asks
 * EXPECT: main;steady;answered
 * EXPECT: main;steady;tells;empties;starts_at
 * EXPECT: main;steady;tells;empties;ends
 * EXPECT: @bottom;emptied;lowest
 * EXPECT: @bottom;emptied;ends
 * EXPECT: main;steady;tells;copies;starts_at
 * EXPECT: main;steady;tells;copies;ends
 * EXPECT: @bottom;copied;undermost
 * EXPECT: @bottom;copied;ends
 * EXPECT: main;steady;leans;crosses;starts_at
 * EXPECT: main;steady;leans;crosses;ends
 * EXPECT: @bottom;crossed;nethermost
 * EXPECT: @bottom;crossed;ends
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
void starts(uint64_t *stack);
void ends(void);
void pushes(const void *bait);
void shared(void);
void enters(void (*called)(void));
void based(void (*called)(void));
void stored(void), counted(void), interprets(void);
void points(void (*called)(void)), counts(void (*called)(void)), picks(void (*called)(void));
void resumes(void);
void holds(const void *bait);
void asks(void *to, unsigned long bytes, unsigned flags);
void inner(void), inside(void), beyond(void), inmost(void);
void starts_at(void (*function)(void), uint64_t *stack);
void tells(void (*called)(void)), leans(void (*called)(void));
void lowest(void), undermost(void), nethermost(void);
extern const char bait[] __asm__(".Lbait"), routine[] __asm__("routine");
extern const char told[] __asm__(".Ltold"), leant[] __asm__(".Lleant");
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

BARE(starts, "push %rbx\npush %rbp\nmov %rsp, steadys_stack(%rip)\nmov %rdi, %rsp\njmp coroutine");
BARE(ends, "mov steadys_stack(%rip), %rsp\npop %rbp\npop %rbx\nret");

BARE(exchanges, "push %rbx\npush %rbp\npush %r12\nmov %rdi, %r12\nxchg %rsp, %r12\ncall beyond\n"
		"mov %r12, %rsp\npop %r12\npop %rbp\npop %rbx\nret");

BARE(pushes, "push %rbx\nmov $16, %ebx\n1: push %rdi\nmov $50, %ecx\n2: dec %ecx\njnz 2b\n"
	     "dec %ebx\njnz 1b\nmov $16, %ebx\n1: pop %rax\nmov $50, %ecx\n2: dec %ecx\njnz 2b\n"
	     "dec %ebx\njnz 1b\npop %rbx\nret");

BARE(starts_at, ".cfi_startproc\npush %rbx\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbx, -16\n"
		"push %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -24\n"
		"mov %rsp, steadys_stack(%rip)\nmov %rsi, %rsp\njmp *%rdi\n.cfi_endproc");
BARE(tells, ".cfi_startproc\nsub $8, %rsp\n.cfi_adjust_cfa_offset 8\ncall *%rdi\n"
	    ".Ltold: add $8, %rsp\n.cfi_adjust_cfa_offset -8\nret\n.cfi_endproc");
BARE(leans, ".cfi_startproc\npush %rbp\n.cfi_adjust_cfa_offset 8\n.cfi_offset %rbp, -16\n"
	    "mov %rsp, %rbp\n.cfi_def_cfa_register %rbp\ncall *%rdi\n"
	    ".Lleant: pop %rbp\n.cfi_def_cfa %rsp, 8\nret\n.cfi_endproc");

#define SHARED(name)                                                                               \
	BARE(name,                                                                                 \
	     "sub $40, %rsp\nxor %edx, %edx\nmov $400, %ecx\n.L" #name ": dec %ecx\njnz .L" #name  \
	     "\ntest %rdx, %rdx\njnz 1f\nadd $40, %rsp\nret\n1: jmp *%rdx")
#define ENTERS(name, jump)                                                                         \
	BARE(name,                                                                                 \
	     "push %rbx\ncall liar\nsub $64, %rsp\nlea 1f(%rip), %rdx\nmov $400, %ecx\n" jump      \
	     "\n1: add $64, %rsp\npop %rbx\nret")

SHARED(shared);
ENTERS(enters, "jmp .Lshared");
SHARED(stored);
ENTERS(points, "mov address(%rip), %rax\njmp *%rax");
SHARED(counted);
ENTERS(counts, "lea counted(%rip), %rax\nadd $11, %rax\njmp *%rax");
__asm__(".pushsection .data.rel\n.balign 8\naddress: .quad .Lstored\n.popsection\n");

#define LABEL(n, next) ".Llabel" #n ": mov $60, %ecx\n1: dec %ecx\njnz 1b\n" next
#define GOES_ON	       "inc %esi\njmp *(%rax,%rsi,8)\n"
BARE(interprets, "sub $40, %rsp\nxor %edx, %edx\nxor %esi, %esi\nmov table(%rip), %rax\n"
		 "jmp *(%rax,%rsi,8)\n" LABEL(0, GOES_ON) LABEL(1, GOES_ON) LABEL(2, GOES_ON)
			 LABEL(3, GOES_ON) LABEL(4, GOES_ON) LABEL(5, GOES_ON) LABEL(6, GOES_ON)
				 LABEL(7, "test %rdx, %rdx\njnz 1f\nadd $40, %rsp\nret\n"
					  "1: jmp *%rdx"));
ENTERS(picks, "mov table(%rip), %rax\nxor %esi, %esi\njmp *(%rax)");
__asm__(".pushsection .data.rel\n.balign 8\ntable: .quad labels\nlabels: .quad .Llabel0, .Llabel1, .Llabel2, .Llabel3\n"
	".quad .Llabel4, .Llabel5, .Llabel6, .Llabel7\n.popsection\n");

BARE(resumed, "sub $16, %rsp\ncall *%rdi\n.Lresumed: add $16, %rsp\nret");
BARE(resumes, "sub $16, %rsp\nlea .Lresumed(%rip), %rax\ncall 2f\n1: pause\njmp 1b\n"
	      "2: mov %rax, (%rsp)\n" SPINS "nop\nret");

BARE(unsaid, ".cfi_startproc\npush %rbx\n.cfi_def_cfa_offset 16\n.cfi_offset %rbx, -16\n"
	     "sub $48, %rsp\n.cfi_def_cfa_offset 64\ncall inmost\nadd $48, %rsp\n" SPINS
	     "pop %rbx\nret\n.cfi_endproc");
BARE(holds, "push %rdi\npush %rdi\npush %rdi\npush %rdi\npush %rdi\npush %rdi\npush %rdi\n"
	    "call unsaid\nadd $56, %rsp\nret");

BARE(hides, "movq %r12, %xmm7\nmov %rdx, %r12\n" SPINS "movq %xmm7, %r12\nret");
BARE(based, "push %r12\nmov %rsp, %r12\nsub $64, %rsp\nand $-64, %rsp\ncall liar\n"
	    "lea -24(%rsp), %rdx\nsub $128, %rsp\ncall hides\nmov %r12, %rsp\npop %r12\nret");

/* getrandom() into memory of the caller's */
BARE(asks, "sub $24, %rsp\nmov $318, %eax\nsyscall");
__asm__(".pushsection .text\n.type answered, @function\nanswered: add $24, %rsp\nret\n"
	".size answered, . - answered\n.popsection\n");

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

CALLEE void deepest(void)
{
	SPIN(25 * SHORT);
}

CALLEE __attribute__((noreturn)) void coroutine(void)
{
	deepest();
	KEEP;
	ends();
	__builtin_unreachable();
}

CALLEE void inmost(void)
{
	SPIN(SHORT);
}

#define WORDS 4096 /* of a stack; a signal's frame fits below the last ones */
#define TOP   512

static uint64_t spare[2 * WORDS] __attribute__((aligned(16)));
static const uint64_t *steadys_end; /* of the thread's stack */

#define COROUTINE(name, inner)                                                                     \
	CALLEE void inner(void)                                                                    \
	{                                                                                          \
		SPIN(25 * SHORT);                                                                  \
	}                                                                                          \
	CALLEE __attribute__((noreturn)) void name(void)                                           \
	{                                                                                          \
		inner();                                                                           \
		KEEP;                                                                              \
		ends();                                                                            \
		__builtin_unreachable();                                                           \
	}
COROUTINE(emptied, lowest)
COROUTINE(copied, undermost)
COROUTINE(crossed, nethermost)

static CALLEE void empties(void)
{
	uint64_t *at = &spare[WORDS + 1];

	at[0] = (uintptr_t)told;
	at[1] = at[2] = at[3] = 0;
	starts_at(emptied, at);
	KEEP;
}

static CALLEE void copies(void)
{
	const uint64_t *from = (uint64_t *)__builtin_dwarf_cfa() - 1;
	uint64_t *at = &spare[2 * WORDS - 1 - (steadys_end - from) / 2 * 2];

	for (long i = 0; i < steadys_end - from; i++)
		__asm__("mov %1, %0" : "=m"(at[i]) : "r"(from[i]));
	starts_at(copied, at);
	KEEP;
}

static CALLEE void crosses(void)
{
	uint64_t *at = &spare[WORDS + 1];

	at[0] = (uintptr_t)leant;
	starts_at(crossed, at);
	KEEP;
}

static CALLEE void steady(void)
{
	static uint64_t stack[WORDS] __attribute__((aligned(16)));
	static char random_bytes[256];

	for (;;) {
		for (unsigned i = WORDS - TOP; i < WORDS; i++)
			stack[i] = (uintptr_t)bait;
		stack[WORDS - TOP + 1] = (uintptr_t)routine;
		jumps(decoy, 0);
		jumps(decoy, 1);
		begins(&stack[WORDS - TOP + 1]);
		starts(&stack[WORDS - TOP + 1]);
		exchanges(&stack[WORDS - TOP]);
		pushes(bait);
		shared();
		enters(decoy);
		stored();
		points(decoy);
		counted();
		counts(decoy);
		interprets();
		picks(decoy);
		resumes();
		holds(bait);
		based(decoy);
		asks(random_bytes, sizeof random_bytes, 0);
		tells(empties);
		tells(copies);
		leans(crosses);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	steadys_end = (uint64_t *)argv + 1;
	workload_ready(argc, argv);
	steady();
	return 0;
}
