/* SPDX-License-Identifier: MIT */
/* Begins and ends a trial of regions; see region_trial.h. */
#include "daemon/regions/region_trial.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <time.h>

#include "stackd_abi.h"

#define SECOND_NS 1000000000ull

/* Returns how many entries within a trial are too many. The number is larger than the states that
 * the same map can have (STACKD_REGION_IS_...). */
static uint32_t entries_in_trial(uint64_t limit)
{
	const uint64_t per_trial = SECOND_NS / STACKD_REGION_TRIAL_NS;
	const uint64_t entries = limit / per_trial;

	if (entries <= STACKD_REGION_IS_GONE)
		return STACKD_REGION_IS_GONE + 1;
	return entries < UINT32_MAX ? (uint32_t)entries : UINT32_MAX;
}

int region_trial_begin(int off_fd, uint32_t count, uint64_t limit)
{
	const uint32_t entries = entries_in_trial(limit);

	for (uint32_t number = 1; number <= count; number++) {
		if (bpf_map_update_elem(off_fd, &number, &entries, BPF_ANY))
			return -errno;
	}
	return 0;
}

static void wait_ns(uint64_t ns)
{
	struct timespec left = {(time_t)(ns / SECOND_NS), (long)(ns % SECOND_NS)};

	while (nanosleep(&left, &left) && errno == EINTR)
		;
}

int region_trial_end(int off_fd, uint32_t count)
{
	const uint32_t measured = STACKD_REGION_IS_MEASURED;
	int n_off = 0;

	wait_ns(STACKD_REGION_TRIAL_NS);
	for (uint32_t number = 1; number <= count; number++) {
		uint32_t state;

		if (bpf_map_lookup_elem(off_fd, &number, &state))
			return -errno;
		if (state == STACKD_REGION_IS_OFF)
			n_off++;
		else if (bpf_map_update_elem(off_fd, &number, &measured, BPF_ANY))
			return -errno;
	}
	return n_off;
}
