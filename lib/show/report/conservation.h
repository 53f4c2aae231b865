/* SPDX-License-Identifier: MIT */
/*
 * Checks whether the samples of a recording add up to the CPU time of the tasks in scope.
 *
 * stackd adds up the CPU time of the tasks in scope, as the scheduler counts it, and the periods of
 * the samples. Samples are drawn, so the two differ by chance: if they fell on the tasks' time
 * independently, the standard deviation of their number n would be its root; it is less where tasks
 * run for long. The scheduler also counts as a woken task's the time in which its CPU is still idle
 * or in another task, on its way to it (idle.bpf.h), and no sample of that is the woken task's. It
 * is known by samples that hit such a CPU, but as a clock of a virtual machine fires late, some of
 * these were due before the wake-up: so what they add up to is the most by which the scheduler's
 * count may be larger for this reason. The events of a cgroup, and of threads (--lbr, -c 1), do not
 * count there: then it is not known, and samples that fall short are not judged. What chance and
 * the measurement allow together is
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
 *                            (preempted.bpf.h), also by samples, and at most
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
	uint64_t scheduler_ns; /* CPU time, as the scheduler counts it */
	uint64_t sampled_ns;   /* the sum of the samples' periods */
	uint64_t waking_ns; /* samples' periods on CPUs that were about to switch to a woken task */
	bool has_waking;    /* waking_ns is known */
	uint64_t preempted_ns; /* samples' periods in which another task was to run */
	uint64_t own_ns;       /* stackd's own time in interrupts, and time that was cut */
	uint64_t allowed_ns;   /* by how much the sums may differ for all other reasons together */
};

/* Compares the sums of a recording. is_known is false for events other than a clock of user and
 * kernel mode, for imported recordings, and for a cgroup without a count of its CPU time. */
struct conservation conservation_of(const struct store_tables *tables);

/* Returns whether the sums differ by more than is allowed, as far as that is known. */
bool conservation_is_violated(const struct conservation *c);

/* Appends both sums as a sentence, without a line end. */
void conservation_text(const struct conservation *c, struct buf *b);

/* Writes the member "cpu_time" of a JSON object; null if it is not known. */
void conservation_json(const struct conservation *c, struct json *j);

#endif
