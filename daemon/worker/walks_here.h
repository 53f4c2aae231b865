/* SPDX-License-Identifier: MIT */
/* Walks and checks of steps in the caller's process: lib/code/unwind's walk and lib/code/callflow's
 * checks, over memory that functions of the options read. */
#ifndef WORKER_WALKS_HERE_H
#define WORKER_WALKS_HERE_H

#include "daemon/worker/walks.h"

struct walks_here_options {
	struct runtime_code_options code; /* reads JIT code */
	dwarf_walk_rule_fn *find_rule;	  /* as in struct dwarf_walk_options */
	void *rules;
};

/* The options are copied. 0 or -ENOMEM. */
int walks_here_new(const struct walks_here_options *options, struct walks **ret_walks);

/* Returns the walk, of walks that walks_here_new() has made. It is theirs. */
struct dwarf_walk *walks_here_walk(const struct walks *walks);

#endif
