/* SPDX-License-Identifier: MIT */
/*
 * Code made at run time whose prologues begin with something else than push %rbp, and code that is
 * rewritten in place, every 5 ms, with another frame: of 8 or 56 bytes, with a return address of
 * long ago where the other one would have its own. No unwind information, and no map of names:
 * addresses in it are shown as [jit].
 *
 * EXPECT: main;steady;first;second;third
 */
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "workload.h"

#define REWRITTEN 0    /* offsets of the functions */
#define CHECKS	  1024 /* calls COUNTS */
#define COUNTS	  2048 /* calls BARE */
#define BARE	  3072
#define PERIOD_NS 5000000

typedef void function(void);

static unsigned char *code;
static function *volatile rewritten, *volatile checks;

/* sub $N,%rsp; mov $400,%ecx; 1: dec %ecx; jnz 1b; add $N,%rsp; ret */
static unsigned char frame[] = {0x48, 0x83, 0xec, 8,	0xb9, 0x90, 0x01, 0, 0,
				0xff, 0xc9, 0x75, 0xfc, 0x48, 0x83, 0xc4, 8, 0xc3};

/* cmp %rsp,%rsp; jne away; mov -8(%rsp),%rdx; push %rbp; mov %rsp,%rbp; push %rdx; push %rdx;
 * call COUNTS; mov %rbp,%rsp; pop %rbp; cmp %rsp,%rsp; jne away; ret; away: ud2 */
static const unsigned char checking[] = {0x48, 0x39, 0xe4, 0x75, 28,   0x48, 0x8b, 0x54, 0x24,
					 0xf8, 0x55, 0x48, 0x89, 0xe5, 0x52, 0x52, 0xe8, 0xeb,
					 0x03, 0,    0,	   0x48, 0x89, 0xec, 0x5d, 0x48, 0x39,
					 0xe4, 0x75, 3,	   0x90, 0xc3, 0x90, 0x0f, 0x0b};

/* endbr64; push %rax; lea 0x7c0(%rip),%rax; incq (%rax); pop %rax; push %rbp; mov %rsp,%rbp;
 * sub $32,%rsp; call BARE; leave; nop; ret */
static const unsigned char counting[] = {0xf3, 0x0f, 0x1e, 0xfa, 0x50, 0x48, 0x8d, 0x05, 0xc0,
					 0x07, 0,    0,	   0x48, 0xff, 0x00, 0x58, 0x55, 0x48,
					 0x89, 0xe5, 0x48, 0x83, 0xec, 0x20, 0xe8, 0xe3, 0x03,
					 0,    0,    0xc9, 0x0f, 0x1f, 0x00, 0xc3};

/* mov $40,%ecx; 1: dec %ecx; jnz 1b; ret */
static const unsigned char bare[] = {0xb9, 40, 0, 0, 0, 0xff, 0xc9, 0x75, 0xfc, 0xc3};

/* Leaves return addresses all over the stack below. */
static CALLEE void bait(int depth)
{
	if (depth)
		bait(depth - 1);
	KEEP;
}

static CALLEE void third(void)
{
	bait(12);
	rewritten();
	checks();
	KEEP;
}

static CALLEE void second(void)
{
	third();
	KEEP;
}

static CALLEE void first(void)
{
	second();
	KEEP;
}

static CALLEE void steady(void)
{
	long last = -1;
	int turns = 0;

	for (;;) {
		struct timespec now;
		long period;

		clock_gettime(CLOCK_MONOTONIC, &now);
		period = now.tv_sec * (1000000000 / PERIOD_NS) + now.tv_nsec / PERIOD_NS;
		if (period != last) {
			frame[3] = frame[16] = turns++ & 1 ? 8 : 56;
			memcpy(code + REWRITTEN, frame, sizeof(frame));
		}
		last = period;
		first();
	}
}

int main(int argc, char **argv)
{
	code = mmap(NULL, 4096, PROT_READ | PROT_WRITE | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		    0);
	if (code == MAP_FAILED)
		return 1;
	memcpy(code + CHECKS, checking, sizeof(checking));
	memcpy(code + COUNTS, counting, sizeof(counting));
	memcpy(code + BARE, bare, sizeof(bare));
	rewritten = (function *)(code + REWRITTEN);
	checks = (function *)(code + CHECKS);
	workload_ready(argc, argv);
	steady();
	return 0;
}
