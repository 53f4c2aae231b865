/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the samples of a recording add up to the CPU time of the tasks in scope.
 *
 * stackd adds up the CPU time of the tasks in scope, as the scheduler counts it, and the periods of
 * the samples. Samples are drawn, so the two sums differ by chance: if the n samples hit the tasks'
 * time independently of each other, their number would have the standard deviation sqrt(n); it is
 * less where tasks run for long. The scheduler also adds to a woken task's time the time in which
 * the task's CPU is still idle, or still runs another task, before it switches (idle.bpf.h); no
 * sample of that time is the woken task's. Its length is known from samples that hit such a CPU.
 * The clock of a virtual machine fires late, so only periods that were due since the wake-up count.
 * The events of a cgroup are off on such a CPU. For a cgroup, this time is the scheduler's count
 * less the time for which the events were on. For events of threads (-c 1) it is not known, so the
 * check cannot find that there are too few samples. Chance and the measurement together allow
 *
 *   5 sqrt(n) periods        for chance: exceeded in one of 1.7 million recordings
 *   stolen time              of a virtual machine: a sample can fall on the end of it
 *   20 ms for each thread,   since the scheduler's sums are up to a tick behind, when the recording
 *   or CPU if these are      begins and ends; 1 s for the windows of a service, and while it is
 *   fewer                    recorded: there, samples of the last moments are on their way
 *
 * and, where the scheduler's count is the larger one, the time that no sample can hit:
 *
 *   stackd's own time        in interrupts, which the scheduler counts as the task's: the run time
 *                            of the BPF program, and 10 us a sample around it (see conservation.c)
 *   cut time                 beyond the second that a late sample stands for at most (late.bpf.h)
 *   waking time              as above
 *
 * and, where the samples' sum is the larger one, what the scheduler counts as another task's:
 *
 *   preempted time           between the wake-up of another task and the switch to it
 *                            (preempted.bpf.h), also by samples
 */
#ifndef REPORT_CONSERVATION_H
#define REPORT_CONSERVATION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/json_put.h"
#include "base/text.h"
#include "report/report.h"

struct conservation {
	bool is_known;	       /* The recording has both sums. */
	const char *unknown;   /* if not: why, for a sentence; else NULL */
	uint64_t scheduler_ns; /* CPU time, as the scheduler counts it */
	uint64_t sampled_ns;   /* the sum of the samples' periods */
	/* periods of the samples on CPUs that were about to switch to a woken task */
	uint64_t waking_ns;
	bool has_waking;       /* waking_ns is known */
	uint64_t preempted_ns; /* periods of the samples that hit while another task was to run */
	uint64_t own_ns;       /* stackd's own time in interrupts, and time that was cut */
	/* by how much the two sums may differ for all other reasons together */
	uint64_t allowed_ns;
};

/* Compares the two sums of a recording. is_known is false, and `unknown` says why, if the event is
 * no clock of both user and kernel mode, for imported recordings, and for a cgroup whose CPU time
 * was not counted. */
struct conservation conservation_of(const struct store_tables *tables);

/* Returns whether the sums differ by more than is allowed; false if that is not known. */
bool conservation_is_violated(const struct conservation *c);

/* Appends both sums as a sentence, without a line end. */
void conservation_text(const struct conservation *c, struct buf *b);

/* Writes the member "cpu_time" of a JSON object; null if it is not known, and then also the member
 * "cpu_time_unknown": why. */
void conservation_json(const struct conservation *c, struct json *j);

#endif
