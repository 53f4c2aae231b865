/* SPDX-License-Identifier: MIT */
/*
 * Compares names of perf's events. Hybrid processors count one event on two kinds of core, under
 * two names ("cpu_core/cycles/" and "cpu_atom/cycles/"), which an import treats as one event.
 */
#ifndef PERF_IMPORT_EVENT_H
#define PERF_IMPORT_EVENT_H

#include <stdbool.h>
#include <stddef.h>

/* Returns whether two names are of the same event, that is, differ at most in the PMU. */
bool import_event_is_same(const char *a, const char *b);

/* Returns whether an event is one of the `n_wanted` names. A name without modifiers ("cycles") also
 * stands for events with modifiers ("cycles:u"). */
bool import_event_is_among(const char *name, const char *const *wanted, size_t n_wanted);

#endif
