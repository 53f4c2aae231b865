/* SPDX-License-Identifier: MIT */
/* Names from the kernel's arch/arm64/kernel, of 6.1 to 6.12; see ../kernel_entry.h. */
#include "arch/kernel_entry.h"

#include <stddef.h>
#include <string.h>

static bool is_one_of(const char *function, const char *const *names)
{
	for (; *names; names++)
		if (!strncmp(function, *names, strlen(*names)))
			return true;
	return false;
}

/* el0_da is the entry of faults by loads and stores; el0_ia, of instructions that are not there, is
 * much rarer. */
const char *const kernel_entry_page_fault = "el0_da";

bool kernel_entry_is_interrupt(const char *function)
{
	static const char *const names[] = {"el0t_64_irq",   "el0t_64_fiq", "el0t_32_irq",
					    "el1h_64_irq",   "el1h_64_fiq", "el0_interrupt",
					    "el1_interrupt", NULL};

	return is_one_of(function, names);
}

bool kernel_entry_is_restart(const char *function)
{
	static const char *const names[] = {"__arm64_sys_restart_syscall",
					    "__do_sys_restart_syscall",
					    "invoke_syscall",
					    "el0_svc_common",
					    "do_el0_svc",
					    NULL};

	return is_one_of(function, names);
}
