// SPDX-License-Identifier: GPL-2.0-only
/*
 * Programs to compare stackd's with: the kernel's own walk along frame pointers, and an empty
 * program, whose time is the overhead of measuring.
 */
#include <linux/bpf.h>
#include <linux/bpf_perf_event.h>
#include <bpf/bpf_helpers.h>

#define MAX_FRAMES 1024

struct {
	__uint(type, BPF_MAP_TYPE_PERCPU_ARRAY);
	__uint(max_entries, 1);
	__type(key, __u32);
	__type(value, __u64[MAX_FRAMES]);
} buffers SEC(".maps");

__u64 frames; /* of all samples */

SEC("perf_event")
int empty(struct bpf_perf_event_data *ctx)
{
	(void)ctx;
	return 0;
}

SEC("perf_event")
int get_stack(struct bpf_perf_event_data *ctx)
{
	__u32 zero = 0;
	void *buffer = bpf_map_lookup_elem(&buffers, &zero);
	long bytes;

	if (!buffer)
		return 0;
	bytes = bpf_get_stack(ctx, buffer, MAX_FRAMES * sizeof(__u64), BPF_F_USER_STACK);
	if (bytes > 0)
		__sync_fetch_and_add(&frames, bytes / sizeof(__u64));
	return 0;
}

char LICENSE[] SEC("license") = "GPL";
