/* SPDX-License-Identifier: MIT */
/*
 * Work inside of signal handlers: one signal that the program sends itself by a system call in
 * its own code, and one timer's that may hit anywhere in `busy` and its leaf, prologues
 * included. With -DALTERNATE=FLAGS the handlers run on a stack of their own. With the flag
 * SS_AUTODISARM the kernel does not know of that stack while a handler runs.
 *
 * EXPECT: main;steady;send_signal;@sigret;on_sent;sent_leaf
 * EXPECT: main;steady;busy;busy_leaf
 * EXPECT: main;steady;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;busy;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;busy;busy_leaf;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;send_signal;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;send_signal;@sigret;on_sent;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;send_signal;@sigret;on_sent;sent_leaf;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;send_signal;@sigret;@sigret;on_timer;timer_leaf
 * EXPECT: main;steady;send_signal;@sigret;@sigret;on_sent;sent_leaf
 */
#include <sys/time.h>

#include "send_signal.h"
#include "workload.h"

static CALLEE void sent_leaf(void)
{
	SPIN(LONG);
}

static CALLEE void on_sent(int number)
{
	sent_leaf();
	KEEP;
	(void)number;
}

static CALLEE void timer_leaf(void)
{
	SPIN(LONG / 2);
}

static CALLEE void on_timer(int number)
{
	timer_leaf();
	KEEP;
	(void)number;
}

static CALLEE void busy_leaf(void)
{
	SPIN(SHORT);
}

static CALLEE void busy(void)
{
	busy_leaf();
	KEEP;
}

static CALLEE void steady(long pid)
{
	for (;;) {
		send_signal(pid);
		for (unsigned i = 0; i < 20000; i++) {
			busy();
			KEEP;
		}
	}
}

static void catch_signal(int number, void (*handler)(int))
{
	struct sigaction action = {.sa_handler = handler};

#ifdef ALTERNATE
	action.sa_flags = SA_ONSTACK;
#endif
	if (sigaction(number, &action, NULL))
		_exit(1);
}

int main(int argc, char **argv)
{
	struct itimerval every = {.it_interval = {.tv_usec = 5000}, .it_value = {.tv_usec = 5000}};

#ifdef ALTERNATE
	stack_t stack = {.ss_sp = malloc(65536), .ss_size = 65536, .ss_flags = ALTERNATE};

	if (!stack.ss_sp || sigaltstack(&stack, NULL))
		return 1;
#endif
	catch_signal(SIGUSR1, on_sent);
	catch_signal(SIGVTALRM, on_timer);
	workload_ready(argc, argv);
	setitimer(ITIMER_VIRTUAL, &every, NULL);
	steady(getpid());
	return 0;
}
