/* SPDX-License-Identifier: MIT */
/*
 * To the target: its processes, or all CPUs, get the event, and the recorder learns what runs
 * already. Errors are said here.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include "daemon/capture/event_choice.h"
#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "daemon/model/recorder.h"
#include "daemon/capture/sampler.h"
#include "daemon/capture/target.h"

struct attach { /* all borrowed */
	const struct options *options;
	const struct event_choice *event;
	const struct target *target;
	struct recorder *recorder;
	struct sampler *sampler;
};

enum exit_status attach(const struct attach *attach);

#endif
