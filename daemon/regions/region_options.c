/* SPDX-License-Identifier: MIT */
/* Decides by the options; see region_options.h. */
#include "daemon/regions/region_options.h"

#include "daemon/regions/mark_spec.h"

enum stackd_scope regions_scope(const struct options *options)
{
	if (options->target == TARGET_ALL)
		return STACKD_SCOPE_ALL;
	return options->target == TARGET_CGROUP ? STACKD_SCOPE_CGROUP : STACKD_SCOPE_PROCESSES;
}

bool regions_are_wanted(const struct options *options)
{
	return options->n_regions || options->n_marks || options->alloc_bytes || options->mpi ||
	       options->annotated;
}

bool regions_have_functions(const struct options *options)
{
	bool found = options->mpi;

	for (size_t i = 0; i < options->n_regions && !found; i++)
		found = !mark_spec_is_span(options->regions[i]);
	return found;
}

bool marks_are_wanted(const struct options *options)
{
	bool found = options->n_marks > 0;

	for (size_t i = 0; i < options->n_regions && !found; i++)
		found = mark_spec_is_span(options->regions[i]);
	for (size_t i = 0; i < options->n_counters && !found; i++)
		found = options->counters[i].probe != NULL;
	return found;
}
