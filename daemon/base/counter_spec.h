/* SPDX-License-Identifier: MIT */
/* Parses what --counter asks for: the name of a number that the kernel keeps of a thread, or a
 * variable of the program. */
#ifndef BASE_COUNTER_SPEC_H
#define BASE_COUNTER_SPEC_H

#include <stdbool.h>
#include <stddef.h>

#include "stackd_abi.h"

/* What can be given, for messages. */
#define COUNTER_SPEC_NAMES                                                                         \
	"page-faults, major-faults, context-switches, read-bytes, written-bytes, resident-bytes, " \
	"allocated-bytes, var:SYMBOL[@OBJECT] or probe:PLACE (counters of the processor: record "  \
	"with perf, and stackctl import)"

/* Said where there are none. */
#define COUNTER_SPEC_REGIONS                                                                       \
	"--counter: counters are read within regions: give --region, --mark or --mpi"

struct counter_spec {
	enum stackd_counter_kind kind;
	const char *name;     /* as it was given; borrowed */
	const char *variable; /* SYMBOL[@OBJECT]: a part of the name; NULL: it is none */
	const char *probe;    /* FUNC[@OBJECT] or FILE:LINE: the same */
};

/* Parses; the spec refers to the text. 0; -EINVAL: there is no such counter. */
int counter_spec_parse(const char *text, struct counter_spec *ret_spec);

/* Whether one of `n` counters is of sampled allocations. */
bool counter_specs_need_alloc(const struct counter_spec *specs, size_t n);

#endif
