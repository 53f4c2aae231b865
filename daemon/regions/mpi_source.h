/* SPDX-License-Identifier: MIT */
/*
 * Calls of MPI that libstackmpi counts (--mpi=library): attaches the kernel half's programs, and
 * says which functions need no probe, because the library has them.
 */
#ifndef REGIONS_MPI_SOURCE_H
#define REGIONS_MPI_SOURCE_H

#include <stdbool.h>

#include "daemon/base/options.h"
#include "daemon/capture/sampler.h"
#include "daemon/regions/probe.h"

struct mpi_source {
	struct probe call;
	int switches; /* link to sched_switch; -1: none */
};

#define MPI_SOURCE_NONE                                                                            \
	{                                                                                          \
		.call = {-1, -1}, .switches = -1                                                   \
	}

/* Attaches. 0 or -errno. */
int mpi_source_start(const struct options *options, const struct sampler_regions *kernel,
		     struct mpi_source *ret_source);
void mpi_source_stop(struct mpi_source *source);

/* Returns whether the library has a function of MPI's interface, so that the function needs no
 * probe. MPI_Init() has one nevertheless: by that the kernel half sees programs in which the
 * library is not. */
bool mpi_source_has(const char *name);

#endif
