/* SPDX-License-Identifier: MIT */
/*
 * Compares names of perf's events. Hybrid processors count one event on two kinds of core, under
 * two names ("cpu_core/cycles/" and "cpu_atom/cycles/"), which an import treats as one event.
 */
#ifndef PERF_IMPORT_EVENT_H
#define PERF_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether two names mean the same event: they differ at most in the PMU. */
bool import_event_is_same(const char *a, const char *b);

/* Returns whether an event is among the `n_wanted` names. A name without modifiers ("cycles") also
 * matches events with modifiers ("cycles:u"). */
bool import_event_is_among(const char *name, const char *const *wanted, size_t n_wanted);

#endif
