/* SPDX-License-Identifier: MIT */
/*
 * Nothing but signals: a good part of the time the kernel is replacing the thread's registers, for
 * the handler or as it returns.
 *
 * EXPECT: main;steady;send_signal;@sigret;on_sent
 */
#include <sys/syscall.h>

#include "workload.h"

static CALLEE void on_sent(int number)
{
	(void)number;
}

static CALLEE void send_signal(long pid)
{
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(pid), "S"(pid), "d"((long)SIGUSR1)
			 : "rcx", "r11", "memory");
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
