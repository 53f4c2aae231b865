/* SPDX-License-Identifier: MIT */
/* A program sends itself SIGUSR1 by a system call in its own code, so that its frames alone are
 * below the handler's. */
#ifndef SEND_SIGNAL_H
#define SEND_SIGNAL_H

#include <sys/syscall.h>

#include "workload.h"

static CALLEE void send_signal(long pid)
{
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(pid), "S"(pid), "d"((long)SIGUSR1)
			 : "rcx", "r11", "memory");
}

#endif
