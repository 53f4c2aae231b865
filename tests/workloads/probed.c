/* SPDX-License-Identifier: MIT */
/*
 * Functions of unusual form to be measured as regions, each passed through so often:
 *
 *   first, second   HITS times: first() ends in a jump to second()
 *   two_bytes       HITS times: a nop and a return
 *   one_byte        HITS times: a return, so its entry is its exit
 *   stay            once: it is entered before READY is said, and left after a line of input
 *   after           HITS times, after that
 *
 * `broken` has a byte that is no instruction, which is not run; `data` is no code.
 */
#include <stdio.h>

#include "workload.h"

#define HITS 100

asm(".text\n"
    ".type two_bytes, @function\n"
    "two_bytes: nop\n"
    "	ret\n"
    ".size two_bytes, .-two_bytes\n"
    ".type one_byte, @function\n"
    "one_byte: ret\n"
    ".size one_byte, .-one_byte\n"
    ".type broken, @function\n"
    "broken: test %edi, %edi\n"
    "	je 1f\n"
    "	.byte 0x06\n"
    "1:	ret\n"
    ".size broken, .-broken\n");

void two_bytes(void), one_byte(void);
void broken(int is_run);

int data[4] = {1, 2, 3, 4};

CALLEE void second(unsigned n)
{
	SPIN(n);
	KEEP;
}

CALLEE void first(unsigned n)
{
	SPIN(n);
	second(n);
}

CALLEE void stay(void)
{
	if (puts("READY") < 0 || fflush(stdout) || getchar() < 0)
		exit(1);
	KEEP;
}

CALLEE void after(void)
{
	SPIN(100);
	KEEP;
}

int main(void)
{
	stay();
	broken(0);
	for (int i = 0; i < HITS; i++) {
		first(100);
		two_bytes();
		one_byte();
		after();
	}
	printf("%d\n", data[0]);
	return 0;
}
