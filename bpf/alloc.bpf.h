/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Allocations: each sample that libstackalloc tells of (docs/ALLOC.md) becomes a record with its
 * call path, as an instance of a region does, and the end of each one without a path. The path ends
 * at the call of the allocator: most of the library's wrappers have left no frames, so the walk
 * begins at the last byte of the call instruction, with the registers as they were before it.
 */
#ifndef ALLOC_BPF_H
#define ALLOC_BPF_H

#include "region.bpf.h"

SEC("uprobe")
int stackd_alloc(struct pt_regs *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 code = ctx->rip, slot = ctx->rsp, caller = 0;
	bool has_caller;
	struct scratch *s;

	if (!in_scope(task, bpf_get_current_pid_tgid() >> 32))
		return 0;
	count_region(STACKD_REGION_ALLOCS);
	s = take_scratch(bpf_get_smp_processor_id());
	if (!s) {
		count_region(STACKD_REGION_ALLOCS_LOST);
		return 0;
	}
	has_caller = !bpf_probe_read_user(&caller, sizeof(caller), (const void *)slot);
	if (has_caller) {
		code = caller - 1;
		slot += 8;
	}
	s->is_at_entry = !has_caller;
	fill_instance(&s->record, ctx, code, slot);
	s->record.instance.address = ctx->rdi;
	s->record.instance.size = ctx->rsi;
	s->record.instance.weight = ctx->rdx;
	s->record.instance.region = STACKD_ALLOCATION;
	send_instance(s, task);
	return 0;
}

/* The end of a sampled block. Its record has one frame, as the form asks for one. */
SEC("uprobe")
int stackd_free(struct pt_regs *ctx)
{
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct stackd_instance instance = {.address = ctx->rdi, .region = STACKD_FREE};
	struct lone_instance record = {};

	if (!in_scope(bpf_get_current_task_btf(), pid_tgid >> 32))
		return 0;
	count_region(STACKD_REGION_FREES);
	fill_lone(&record, pid_tgid, &instance, ctx->rip);
	send_lone(&record);
	return 0;
}

#endif
