/* SPDX-License-Identifier: MIT */
/* Recognises functions of the kernel by name; see wakeup_frame.h. */
#include "daemon/recorder/wakeup_frame.h"

#include <stddef.h>
#include <string.h>

#include "arch/kernel_entry.h"

/* A trailing '*' stands for any ending. */
static const struct {
	const char *name;
	enum wakeup_frame frame;
} functions[] = {
	{"__do_softirq", WAKEUP_SOFTIRQ},	{"handle_softirqs", WAKEUP_SOFTIRQ},
	{"run_ksoftirqd", WAKEUP_WORKER},	{"run_backlog_napi", WAKEUP_WORKER},
	{"napi_threaded_poll*", WAKEUP_WORKER}, {"process_backlog", WAKEUP_DELIVERY},
	{"veth_poll", WAKEUP_DELIVERY},		{"gro_cell_poll", WAKEUP_DELIVERY},
	{"tun_napi_poll", WAKEUP_DELIVERY},
};

/* Compilers add endings to names: .part.0, .isra.0, .constprop.0, .cold. */
static bool is_named(const char *function, const char *name)
{
	size_t len = strlen(name);

	if (name[len - 1] == '*')
		return !strncmp(function, name, len - 1);
	return !strncmp(function, name, len) && (!function[len] || function[len] == '.');
}

enum wakeup_frame wakeup_frame_of(const char *function)
{
	if (kernel_entry_is_interrupt(function))
		return WAKEUP_INTERRUPT;
	for (size_t i = 0; i < sizeof(functions) / sizeof(*functions); i++) {
		if (is_named(function, functions[i].name))
			return functions[i].frame;
	}
	return WAKEUP_OTHER;
}

bool wakeup_is_by_interrupt(unsigned frames)
{
	if (frames & (WAKEUP_INTERRUPT | WAKEUP_WORKER))
		return true;
	return frames & WAKEUP_SOFTIRQ && !(frames & WAKEUP_DELIVERY);
}
