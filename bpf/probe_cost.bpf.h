/* SPDX-License-Identifier: GPL-2.0-only */
/* Notes the time at which a probe's program runs, from which stackd measures the cost of a probe
 * (daemon/capture/probe_cost.h). */
#ifndef PROBE_COST_BPF_H
#define PROBE_COST_BPF_H

__u64 probe_seen_ns = 0;

SEC("uprobe")
int stackd_probe_cost(struct pt_regs *ctx)
{
	(void)ctx;
	probe_seen_ns = bpf_ktime_get_ns();
	return 0;
}

#endif
