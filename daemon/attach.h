/* SPDX-License-Identifier: MIT */
/*
 * Attaches to the target: opens the event on its processes or on all CPUs, and loads the running
 * processes into the recorder. Logs its own errors.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include <stdbool.h>

#include "daemon/capture/event_choice.h"
#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/model/recorder.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"

struct attach {	       /* all borrowed */
	bool is_crowd; /* events are those of CPUs, and the sampler filters processes */
	const struct options *options;
	const struct event_choice *event;
	const struct target *target;
	struct recorder *recorder;
	struct sampler *sampler;
};

/*
 * Returns whether events of the CPUs cost less than those of the target's threads, which the kernel
 * starts and stops at each switch: threads are many, or they switch often. It takes 50 ms to tell.
 */
bool attach_is_crowd(const struct options *options, const struct target *target);

/* Returns whether so many switches in a time cost more than a rate of samples on all CPUs. */
bool attach_switches_often(uint64_t switches, uint64_t ns, uint64_t cpus, uint64_t rate_hz);

/* Opens the event on the target. Logs what fails; returns the status to exit with. */
enum exit_status attach(const struct attach *attach);

/*
 * Opens a thread's event again, which the kernel has taken away at the exec of a program that gains
 * rights by it (setuid). Where events are those of CPUs, there is nothing to do. Logs what fails.
 * Of `attach`, `is_crowd`, `options`, `event` and `sampler` are used.
 */
void attach_again(const struct attach *attach, pid_t tid);

#endif
