/* SPDX-License-Identifier: MIT */
/*
 * To the target: its processes, or all CPUs, get the event, and the recorder learns what runs
 * already. Errors are said here.
 */
#ifndef ATTACH_H
#define ATTACH_H

#include "event_choice.h"
#include "exit_status.h"
#include "options.h"
#include "recorder.h"
#include "sampler.h"
#include "target.h"

struct attach { /* all borrowed */
	const struct options *options;
	const struct event_choice *event;
	const struct target *target;
	struct recorder *recorder;
	struct sampler *sampler;
};

enum exit_status attach(const struct attach *attach);

#endif
