/* SPDX-License-Identifier: MIT */
/*
 * A 32-bit program without a C library, which needs none to be installed: cold() calls hot().
 * It ends by itself after some hundred million turns.
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

void _start(void)
{
	cold();
	/* exit. A thread in a system call has the address behind the call, where this function goes
	 * on: else it would have no name. */
	__asm__ volatile("int $0x80; hlt" ::"a"(1), "b"(0));
	__builtin_unreachable();
}
