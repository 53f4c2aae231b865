/* SPDX-License-Identifier: MIT */
/* Signals in the middle of calls; handlers that call, nest, and leave by siglongjmp. Their returns
 * take branch records that are not theirs. With an argument the handlers of one signal run on a
 * stack of their own, from which the interrupted one cannot be seen. */
#include <setjmp.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "common.h"

static sigjmp_buf back;
static volatile int nested;

static NOINLINE uint64_t in_handler(int depth)
{
	uint64_t got = depth ? in_handler(depth - 1) : work(30);

	NOT_LAST;
	return got + 1;
}

static void on_usr1(int number)
{
	in_handler((int)random_below(5));
	if (!nested && random_below(4) == 0) {
		nested = 1;
		raise(SIGUSR2);
		nested = 0;
	}
	(void)number;
}

static void on_usr2(int number)
{
	(void)number;
	in_handler((int)random_below(3));
	if (!nested && random_below(6) == 0)
		siglongjmp(back, 1);
}

static NOINLINE uint64_t caller(int depth)
{
	uint64_t got;

	if (depth == 0) {
		raise(random_below(2) ? SIGUSR1 : SIGUSR2);
		return work(30);
	}
	got = caller(depth - 1);
	NOT_LAST;
	return got + work(5);
}

static NOINLINE uint64_t one_round(int depth)
{
	if (sigsetjmp(back, 1)) {
		nested = 0;
		return work(10);
	}
	return caller(depth) + 1;
}

int main(int argc, char **argv)
{
	struct sigaction usr1 = {.sa_handler = on_usr1, .sa_flags = SA_NODEFER};
	struct sigaction usr2 = {.sa_handler = on_usr2,
				 .sa_flags = SA_NODEFER | (argc > 1 ? SA_ONSTACK : 0)};
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536};
	uint64_t sum = 0;

	(void)argv;
	sigaltstack(&stack, NULL);
	sigaction(SIGUSR1, &usr1, NULL);
	sigaction(SIGUSR2, &usr2, NULL);
	for (int i = 0; i < 3000; i++)
		sum += one_round((int)random_below(20));
	return sum == 42;
}
