/* SPDX-License-Identifier: MIT */
/*
 * What is sampled by: the event that the options name, with branch records if they ask for them,
 * and what the user has to know when this machine has no such thing. Errors are said here.
 */
#ifndef CAPTURE_EVENT_CHOICE_H
#define CAPTURE_EVENT_CHOICE_H

#include "daemon/capture/event_spec.h"
#include "daemon/base/exit_status.h"
#include "daemon/base/options.h"
#include "proc/branch_caps.h"

struct event_choice {
	struct event_spec spec;
	struct branch_caps branches; /* with --lbr */
	const char *note;	     /* what the recording should say of it; NULL: nothing */
};

/* From the options alone, and what the machine says of itself. */
enum exit_status event_choice_make(const struct options *options, struct event_choice *ret_choice);

/* Tries the event, and takes the one that it may fall back to. */
enum exit_status event_choice_probe(struct event_choice *choice, bool quiet);

/* Says why the kernel refused the event with -errno `err`. */
enum exit_status event_choice_explain(const struct event_choice *choice, int err);

#endif
