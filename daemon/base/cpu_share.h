/* SPDX-License-Identifier: MIT */
/*
 * A share of a core, or of a thread's time, for work that is done when others ask for it: time is
 * saved up while there is none, and what was spent is paid off before the work goes on. Times are
 * of any clock.
 */
#ifndef DAEMON_CPU_SHARE_H
#define DAEMON_CPU_SHARE_H

#include <stdbool.h>
#include <stdint.h>

struct cpu_share {
	double share; /* of a core; 0: no limit */
	double most_ns, saved_ns;
	uint64_t as_of_ns;
};

/* Begins with all that can be saved, `most_ns` of CPU time. */
struct cpu_share cpu_share_begin(double share, uint64_t most_ns, uint64_t now_ns);

/* Sets the share from now on. Unless `keeps_saved`, what was saved is given up; a debt stays. */
void cpu_share_change(struct cpu_share *share, double part_of_core, bool keeps_saved);

/* Notes that `spent_ns` of CPU time were spent up to `now_ns`. */
void cpu_share_spend(struct cpu_share *share, uint64_t spent_ns, uint64_t now_ns);

/* Returns how long to wait, from `now_ns` on, until work may begin; 0: it may. */
uint64_t cpu_share_wait_ns(struct cpu_share *share, uint64_t now_ns);

#endif
