/* SPDX-License-Identifier: MIT */
/*
 * Finds instances of regions (single passes), from their entry to their exit. The store has two
 * times of an instance, in two series: its own time, without the instances within it, and the time
 * of those. The span of an instance is the sum of both.
 */
#ifndef MODEL_INSTANCES_H
#define MODEL_INSTANCES_H

#include <stdbool.h>
#include <stdint.h>

#include "base/vec.h"
#include "model/profile.h"
#include "store/store_reader.h"

struct instance {
	uint64_t start_ns;	    /* when the instance began, CLOCK_MONOTONIC */
	struct store_sample record; /* its time_ns is when the instance ended */
};

struct instances {
	VEC(struct instance) all; /* by thread, then end; none lies within another */
	uint64_t within;	  /* number of instances that lie within others, and are left out */
};

/* Which instances to find. */
struct instances_choice {
	bool (*chooses)(void *arg, const struct profile_symbol *region);
	void *arg;
	bool only_included; /* only the instances that profile_includes() selects */
};

/* Finds instances. Returns 0, -ENOMEM, or an error of store_reader_all_records(); the caller frees
 * them in any case. */
int instances_find(struct profile *profile, const struct instances_choice *choice,
		   struct instances *ret_instances);
void instances_free(struct instances *instances);

#endif
