/* SPDX-License-Identifier: MIT */
/* Walks stacks and checks steps in the caller's process, by lib/code/unwind and lib/code/callflow.
 * The caller's functions in the options read JIT code and find unwind rules. */
#ifndef WORKER_WALKS_IN_PROCESS_H
#define WORKER_WALKS_IN_PROCESS_H

#include "daemon/worker/walks.h"

struct walks_in_process_options {
	struct runtime_code_options code; /* reads JIT code */
	dwarf_walk_rule_fn *find_rule;	  /* as in struct dwarf_walk_options */
	void *rules;
};

/* The options are copied. 0 or -ENOMEM. */
int walks_in_process_new(const struct walks_in_process_options *options, struct walks **ret_walks);

/* Returns the struct dwarf_walk of walks that walks_in_process_new() has made; it belongs to them.
 */
struct dwarf_walk *walks_in_process_walk(const struct walks *walks);

#endif
