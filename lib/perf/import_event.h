/* SPDX-License-Identifier: MIT */
/*
 * Names of perf's events. Hybrid processors count one event on two kinds of core, under two names
 * ("cpu_core/cycles/" and "cpu_atom/cycles/"): for a reader that is one event.
 */
#ifndef PERF_IMPORT_EVENT_H
#define PERF_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>

/* Do two names count the same? */
bool import_event_is_same(const char *a, const char *b);

/* Is an event one of those that somebody asked for? "cycles" asks for "cycles:u" as well. */
bool import_event_is_among(const char *name, const char *const *wanted, size_t n_wanted);

#endif
