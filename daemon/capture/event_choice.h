/* SPDX-License-Identifier: MIT */
/*
 * Chooses the event by which samples are taken: the one that the options name, with branch records
 * if the options ask for these. Logs its own errors, and explains what this machine lacks.
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
	const char *note;	     /* a remark on the choice, for the recording; a static string,
				      * or NULL */
};

/* Chooses the event by the options, and with --lbr by which branch records the processor has,
 * without opening the event. Returns STATUS_DONE or the status to exit with. */
enum exit_status event_choice_make(const struct options *options, struct event_choice *ret_choice);

/* Opens the event once as a trial, and falls back to cpu-clock if spec.may_fall_back. `quiet`: does
 * not log that it has fallen back. Returns STATUS_DONE or the status to exit with. */
enum exit_status event_choice_probe(struct event_choice *choice, bool quiet);

/* Logs why the kernel refused the event with the negative errno `err`; returns the status to exit
 * with. */
enum exit_status event_choice_explain(const struct event_choice *choice, int err);

#endif
