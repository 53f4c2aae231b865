/* SPDX-License-Identifier: MIT */
/* Names from the kernel's arch/x86/entry, of 6.1 to 6.18; see ../kernel_entry.h. */
#include "arch/kernel_entry.h"

#include <stddef.h>
#include <string.h>

const char *const kernel_entry_page_fault = "asm_exc_page_fault";

static bool begins_with(const char *function, const char *name)
{
	return !strncmp(function, name, strlen(name));
}

bool kernel_entry_is_interrupt(const char *function)
{
	static const char common[] = "asm_common_interrupt";
	char behind;

	if (begins_with(function, "asm_sysvec_"))
		return true;
	if (!begins_with(function, common))
		return false;
	behind = function[sizeof(common) - 1];
	return !behind || behind == '.';
}

bool kernel_entry_is_restart(const char *function)
{
	static const char *const names[] = {"__x64_sys_restart_syscall", "__do_sys_restart_syscall",
					    "x64_sys_call", "do_syscall_64"};

	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++)
		if (begins_with(function, names[i]))
			return true;
	return false;
}
