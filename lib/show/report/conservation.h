/* SPDX-License-Identifier: MIT */
/*
 * Whether the samples of a recording add up to the CPU time of what was recorded.
 *
 * stackd adds up the CPU time of the tasks in scope, as the scheduler counts it, and the periods of
 * the samples, and of those that hit CPUs on their way from the idle loop to a task, whose time
 * that is for the scheduler (idle.bpf.h). Samples are drawn, so the two differ by chance: if they
 * fell on the tasks' time independently, the standard deviation of their number n would be its
 * root; it is less where tasks run for long. What chance and the measurement allow together is
 *
 *   5 sqrt(n) periods        for chance: exceeded in one of 1.7 million recordings
 *   stackd's own time        in interrupts, which the scheduler counts as the task's: the time that
 *                            the program takes, and 10 us a sample around it. A sample can fall on
 *                            it only where the task runs for longer than a period
 *   cut time                 beyond the second that a late sample stands for at most (late.bpf.h)
 *   stolen time              of a virtual machine: a sample can fall on the end of it
 *   20 ms for each thread,   since the scheduler's sums are up to a tick behind, when the recording
 *   or CPU if these are      begins and ends; 1 s for the windows of a service, and while it is
 *   fewer                    recorded: there, samples of the last moments are on their way
 */
#ifndef REPORT_CONSERVATION_H
#define REPORT_CONSERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_put.h"
#include "base/text.h"
#include "report/report.h"

struct conservation {
	bool is_known;	       /* the recording has both */
	uint64_t scheduler_ns; /* CPU time, as the scheduler counts it */
	uint64_t sampled_ns;   /* the sum of the samples' periods */
	uint64_t
		waking_ns; /* which the scheduler counts as tasks': their CPUs left the idle loop */
	uint64_t allowed_ns; /* by how much they may differ */
};

/* Compares. Recordings of other events than a clock of user and kernel mode, imported ones, and
 * those of a cgroup that does not tell its time are not known. */
struct conservation conservation_of(const struct store_tables *tables);

/* Returns whether they differ by more than is allowed. */
bool conservation_is_violated(const struct conservation *c);

/* Appends the two as a sentence, without a line's end. */
void conservation_text(const struct conservation *c, struct buf *b);

/* Writes the member "cpu_time" of a JSON object; null: not known. */
void conservation_json(const struct conservation *c, struct json *j);

#endif
