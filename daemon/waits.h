/* SPDX-License-Identifier: MIT */
/*
 * Measures waits: attaches the kernel half's programs (bpf/wait.bpf.h) to the scheduler, and makes
 * them look at the threads of the target at the start and at the end.
 *
 * A thread is in scope if its waits are measured. Threads that are in scope when the recording
 * begins pass that on to threads that they create. A command is in scope from its exec on, as its
 * samples begin there, too.
 */
#ifndef WAITS_H
#define WAITS_H

#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"

#define WAITS_PROGRAMS 7

struct waits {
	struct sampler_waits kernel;
	int attached[WAITS_PROGRAMS];
	int n_attached;
};

/* Begins to measure, if the options ask for it. Logs what fails; returns the status to exit with.
 * waits_stop() follows in any case. */
enum exit_status waits_start(struct waits *waits, const struct options *options,
			     struct sampler *sampler, const struct target *target);

/* Ends the measurement: makes the kernel half send the waits that have not ended yet, and detaches
 * its programs. May be called again. */
void waits_stop(struct waits *waits);

/* Returns the mean waiting time that a sampled wait represents, in ns, after a budget has changed
 * the rate of samples from the requested `full_hz` to `rate_hz`. */
uint64_t waits_mean_ns(const struct options *options, uint64_t full_hz, uint64_t rate_hz);

/* Returns the id of the cgroup whose folder is open as `fd`; 0: the id cannot be read, or `fd` is
 * -1. */
uint64_t waits_cgroup_id(int fd);

#endif
