/* SPDX-License-Identifier: MIT */
/*
 * Turns an event's name into the attributes of perf_event_open(). Names are libpfm4's ("cycles:u",
 * "perf::CPU-CLOCK", and those of the processor) and perf's raw codes ("r1a8", "r1a8:u").
 */
#ifndef CAPTURE_EVENT_SPEC_H
#define CAPTURE_EVENT_SPEC_H

#include <linux/perf_event.h>
#include <stdbool.h>
#include <stdint.h>

#define EVENT_SPEC_NONE "none" /* the event name that stands for no samples */

struct event_spec {
	struct perf_event_attr attr; /* type, config, exclude_*, freq, sample_period/_freq */
	char name[128];		     /* the name as it is shown: "cpu-clock:u" */
	bool may_fall_back; /* the event is cycles, and if the machine cannot count it, cpu-clock
			     * may replace it */
	bool is_none;	    /* "none": no event is opened, and there are no samples */
};

/* Parses an event's name; NULL means cycles, "none" no event. Exactly one of `frequency` and
 * `period` is not 0. 0; -ENOENT: no such event, and *ret_error is a malloc()ed sentence. */
int event_spec_parse(const char *name, uint64_t frequency, uint64_t period,
		     struct event_spec *ret_spec, char **ret_error);

/* Returns whether the event can have branch records, which software events cannot. */
bool event_spec_may_branch(const struct event_spec *spec);

/* Requests branch records with each sample, of user mode: calls that have not returned
 * (`is_call_stack`), or branches of every kind. event_spec_fall_back() undoes this, since cpu-clock
 * can have none. */
void event_spec_add_branches(struct event_spec *spec, bool is_call_stack);

/* Turns the event into cpu-clock, with the same modifiers. A period of cycles becomes one of
 * nanoseconds. */
void event_spec_fall_back(struct event_spec *spec);

/* Returns whether the event counts nanoseconds on the CPU. */
bool event_spec_is_clock(const struct event_spec *spec);

/* Returns whether the event counts all nanoseconds on the CPU, in user and kernel mode, so that
 * periods add up to the CPU time. */
bool event_spec_is_cpu_time(const struct event_spec *spec);

/* Returns whether the event counts context switches. */
bool event_spec_is_switches(const struct event_spec *spec);

/* Returns the period of samples, if it is known beforehand: the requested one, or that of a clock
 * at the requested frequency. 0: it varies, or exceeds 32 bits. */
uint32_t event_spec_usual_period(const struct event_spec *spec);

/* Returns kernel.perf_event_max_sample_rate; 0 if it cannot be read. */
uint64_t event_spec_max_frequency(void);

#endif
