/* SPDX-License-Identifier: MIT */
/* A program sends itself SIGUSR1 by a system call in its own code, so that its frames alone are
 * below the handler's. */
#ifndef SEND_SIGNAL_H
#define SEND_SIGNAL_H

#include <sys/syscall.h>

#include "workload.h"

static CALLEE void send_signal(long pid)
{
#if defined(__aarch64__)
	register long number __asm__("x8") = SYS_tgkill;
	register long process __asm__("x0") = pid;
	register long thread __asm__("x1") = pid;
	register long signal __asm__("x2") = SIGUSR1;

	__asm__ volatile("svc #0"
			 : "+r"(process)
			 : "r"(number), "r"(thread), "r"(signal)
			 : "memory");
#else
	long result = SYS_tgkill;

	__asm__ volatile("syscall"
			 : "+a"(result)
			 : "D"(pid), "S"(pid), "d"((long)SIGUSR1)
			 : "rcx", "r11", "memory");
#endif
}

#endif
