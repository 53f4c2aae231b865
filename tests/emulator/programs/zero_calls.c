/* SPDX-License-Identifier: MIT */
/* Calls to the next instruction, the old way to get the program counter: branch records that no
 * return takes out. */
#include "common.h"

static NOINLINE uint64_t where(int depth);

static NOINLINE uint64_t here(void)
{
	uint64_t pc;

	/* Below the red zone, which belongs to the function. */
	__asm__ volatile("lea -128(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset 128\n\t"
			 "call 1f\n\t.cfi_adjust_cfa_offset 8\n"
			 "1:\tpop %0\n\t.cfi_adjust_cfa_offset -8\n\t"
			 "lea 128(%%rsp), %%rsp\n\t.cfi_adjust_cfa_offset -128"
			 : "=r"(pc));
	return pc + work(8);
}

static NOINLINE uint64_t other(int depth)
{
	uint64_t got = here() + where(depth);

	NOT_LAST;
	return got + work(3);
}

static NOINLINE uint64_t where(int depth)
{
	uint64_t got = depth ? other(depth - 1) : here();

	NOT_LAST;
	return got + work(5);
}

int main(void)
{
	uint64_t sum = 0;

	for (int i = 0; i < 9000; i++)
		sum += where((int)random_below(12));
	return sum == 42;
}
