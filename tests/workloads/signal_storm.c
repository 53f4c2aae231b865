/* SPDX-License-Identifier: MIT */
/*
 * Nothing but signals: a good part of the time the kernel is replacing the thread's registers, for
 * the handler or as it returns.
 *
 * EXPECT: main;steady;send_signal;@sigret;on_sent
 */
#include "send_signal.h"
#include "workload.h"

static CALLEE void on_sent(int number)
{
	(void)number;
}

static CALLEE void steady(long pid)
{
	for (;;) {
		send_signal(pid);
		KEEP;
	}
}

int main(int argc, char **argv)
{
	signal(SIGUSR1, on_sent);
	workload_ready(argc, argv);
	steady(getpid());
	return 0;
}
