/* SPDX-License-Identifier: MIT */
/* Parses the argument of --counter: the name of a number that the kernel keeps for a thread, a
 * variable of the program, a probe, or an event. */
#ifndef BASE_COUNTER_SPEC_H
#define BASE_COUNTER_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "stackd_abi.h"

/* The possible arguments, for messages. */
#define COUNTER_SPEC_NAMES                                                                         \
	"page-faults, major-faults, context-switches, read-bytes, written-bytes, resident-bytes, " \
	"allocated-bytes, var:SYMBOL[@OBJECT], probe:PLACE, or an event such as instructions, "    \
	"cache-misses:u or r1a8; {EVENT,EVENT} are counted at the same time"

/* The error message if the options ask for no regions. */
#define COUNTER_SPEC_REGIONS                                                                       \
	"--counter: counters are read within regions: give --region, --mark or --mpi"

struct counter_spec {
	enum stackd_counter_kind kind;
	const char *name;     /* as it was given; borrowed */
	const char *variable; /* SYMBOL[@OBJECT]: a part of the name; NULL: it is no variable */
	const char *probe;    /* FUNC[@OBJECT] or FILE:LINE: a part of the name; NULL: it is no
			       * probe */
	unsigned brace;	      /* of an event: the number of its {group}; 0: it is in none */
};

/* Adds the argument of --counter, a counter or the events of a {group}, to `*n` of at most
 * STACKD_MOST_COUNTERS counters, whose first one is always CPU time. Anything else counts as the
 * name of an event, which event_groups_open() checks. Names refer to the text, which is cut to
 * pieces. Returns NULL, or a message, with the part at fault in *ret_at. */
const char *counter_specs_add(struct counter_spec *specs, size_t *n, char *text,
			      const char **ret_at);

/* Returns whether one of `n` counters is allocated-bytes, which needs --alloc. */
bool counter_specs_need_alloc(const struct counter_spec *specs, size_t n);

#endif
