/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Branch records (LBR): the processor's last calls or branches, which the kernel has read at the
 * sample. They are sent in a record of their own, before the sample's record and with the same
 * thread and time, so that the walk and its record need no change.
 *
 * If the BPF helper returns no branch records (the event was opened without them, the processor has
 * none, or the kernel could not read them), that is counted, and no record is sent.
 */
#ifndef BRANCH_BPF_H
#define BRANCH_BPF_H

#include "scratch.bpf.h"

SETTING __u32 with_branches = 0;

/* Reads the branch records into the scratch area; returns their number. */
static __always_inline __u32 read_branches(struct scratch *s, struct bpf_perf_event_data *ctx)
{
	long got;

	if (!with_branches)
		return 0;
	got = bpf_read_branch_records(ctx, s->branches.entries, sizeof(s->branches.entries), 0);
	if (got <= 0 || got > (long)sizeof(s->branches.entries)) {
		count(STACKD_COUNT_NO_BRANCHES);
		return 0;
	}
	count(STACKD_COUNT_BRANCHES);
	return (__u64)got / sizeof(struct stackd_branch);
}

#endif
