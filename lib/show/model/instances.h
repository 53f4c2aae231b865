/* SPDX-License-Identifier: MIT */
/*
 * Finds instances of regions (single passes), from their entry to their exit. The store has two
 * times of an instance, in two series: its own time, without the instances nested in it, and the
 * time of the nested instances. An instance lasts for the sum of both.
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
	/* number of instances that were left out because they are nested in others */
	uint64_t within;
};

/* Which instances to find. */
struct instances_choice {
	bool (*chooses)(void *arg, const struct profile_symbol *region);
	void *arg;
	bool only_included; /* only the instances that profile_includes() selects */
};

/* Finds the instances that `choice` selects. Returns 0, -ENOMEM, or an error of
 * store_reader_all_records(); the caller frees them in any case. */
int instances_find(struct profile *profile, const struct instances_choice *choice,
		   struct instances *ret_instances);
void instances_free(struct instances *instances);

#endif
