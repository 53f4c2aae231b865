/* SPDX-License-Identifier: MIT */
/* Compares two clocks; see sampler_clocks.h. */
#include "daemon/capture/sampler_clocks.h"

#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <time.h>

#include "stackd.skel.h"

#define TRIES	   16
#define EACH_NS	   UINT64_C(1000000000)
#define DRIFT_BITS 32
#define MOST_DRIFT 1e-3 /* more is no drift: the machine was suspended */

/* Returns the distance between the clocks in ns; 0: not known. */
static int64_t compare(const struct stackd_bpf *skel)
{
	const int program = bpf_program__fd(skel->progs.stackd_tie_clocks);
	int64_t least = 0;

	for (int i = 0; i < TRIES; i++) {
		LIBBPF_OPTS(bpf_test_run_opts, options);
		struct timespec own;
		int64_t seen;

		clock_gettime(CLOCK_THREAD_CPUTIME_ID, &own);
		if (bpf_prog_test_run_opts(program, &options))
			return 0;
		seen = skel->bss->clock_seen_apart;
		if (!seen)
			return 0;
		if (!least || seen < least)
			least = seen;
	}
	return least;
}

/* Returns the change of the clocks' distance per nanosecond, in units of 2^-DRIFT_BITS. */
static int64_t drift_of(int64_t more, uint64_t ns)
{
	double drift = (double)more / (double)ns;

	return drift > -MOST_DRIFT && drift < MOST_DRIFT
		       ? (int64_t)(drift * (double)(INT64_C(1) << DRIFT_BITS))
		       : 0;
}

void sampler_clocks_tie(struct stackd_bpf *skel, uint64_t now_ns)
{
	const uint32_t ties = skel->bss->clock_ties, last = ties & 1, next = last ^ 1;
	const uint64_t passed = now_ns - skel->bss->clock_tie_ns[last];
	int64_t apart;

	if (ties && passed < EACH_NS)
		return;
	apart = compare(skel);
	if (!apart)
		return;
	skel->bss->clock_tie_drift[next] =
		ties ? drift_of(apart - skel->bss->clock_tie_apart[last], passed) : 0;
	skel->bss->clock_tie_apart[next] = apart;
	skel->bss->clock_tie_ns[next] = now_ns;
	__atomic_store_n(&skel->bss->clock_ties, ties + 1 ? ties + 1 : 2, __ATOMIC_RELEASE);
}
