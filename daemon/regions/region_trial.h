/* SPDX-License-Identifier: MIT */
/*
 * Puts regions on trial: before stackd measures regions of running processes, it counts their
 * entries for a quarter of a second (STACKD_REGION_TRIAL_NS). So a region that a thread enters too
 * often, such as MPI_Comm_rank() in a loop, is found before its records slow the program for a
 * whole second. The kernel half counts the entries (bpf/region.bpf.h). Instances (passes) during
 * the trial are not measured, as if the probes had been attached later. For a command there is no
 * trial, because it is not running yet, and its first instances must be measured.
 */
#ifndef REGIONS_REGION_TRIAL_H
#define REGIONS_REGION_TRIAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Puts the regions 1 to `count` on trial. To be called before their probes are attached. `off_fd`
 * is the map of states; `limit` is how often a thread may enter one in a second, at least 1. 0 or
 * -errno. */
int region_trial_begin(int off_fd, uint32_t count, uint64_t limit);

/* Waits for as long as a trial takes, then ends it: regions that were not switched off are measured
 * from now on. Returns how many are off, or -errno. */
int region_trial_end(int off_fd, uint32_t count);

#endif
