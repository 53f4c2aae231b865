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

#define ATTACH_CROWD 1000 /* threads; for more, events are those of CPUs */

struct attach {	       /* all borrowed */
	bool is_crowd; /* the sampler filters processes */
	const struct options *options;
	const struct event_choice *event;
	const struct target *target;
	struct recorder *recorder;
	struct sampler *sampler;
};

/* Opens the event on the target. Logs what fails; returns the status to exit with. */
enum exit_status attach(const struct attach *attach);

#endif
