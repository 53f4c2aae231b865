/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Sends the environment variables by which MPI's launchers give a program its rank. They are sent
 * when the program is executed, since it may have ended before the daemon handles its first record.
 */
#ifndef RANK_BPF_H
#define RANK_BPF_H

#include "region.bpf.h"

/* strings of an environment that are read; a long string counts as several */
#define MOST_STRINGS (1u << 16)

struct environment {
	struct stackd_launched *record;
	__u64 at, end;
	__u32 is_inside; /* `at` is within a string that is longer than one read */
};

/* The first eight bytes of a string, as a number. */
#define NAME(a, b, c, d, e, f, g, h)                                                               \
	((__u64)(a) | (__u64)(b) << 8 | (__u64)(c) << 16 | (__u64)(d) << 24 | (__u64)(e) << 32 |   \
	 (__u64)(f) << 40 | (__u64)(g) << 48 | (__u64)(h) << 56)

/* Returns whether a string may be a variable that the daemon reads (lib/record/proc/mpi_rank.c). */
static __always_inline bool may_tell_rank(const char *string)
{
	switch (*(const __u64 *)string) {
	case NAME('O', 'M', 'P', 'I', '_', 'C', 'O', 'M'):
	case NAME('M', 'V', '2', '_', 'C', 'O', 'M', 'M'):
	case NAME('P', 'M', 'I', '_', 'R', 'A', 'N', 'K'):
	case NAME('P', 'M', 'I', '_', 'S', 'I', 'Z', 'E'):
	case NAME('P', 'M', 'I', 'X', '_', 'R', 'A', 'N'):
	case NAME('S', 'L', 'U', 'R', 'M', '_', 'P', 'R'):
	case NAME('S', 'L', 'U', 'R', 'M', '_', 'N', 'T'):
	case NAME('S', 'L', 'U', 'R', 'M', '_', 'S', 'T'):
		return true;
	}
	return false;
}

/* Reads the next string, and keeps it if it may have the rank. Returns 1 to end the loop. */
static long read_string(__u32 i, struct environment *e)
{
	struct stackd_launched *record = e->record;
	char *string;
	long n;

	(void)i;
	if (e->at >= e->end || record->n >= STACKD_LAUNCHED_STRINGS)
		return 1;
	string = record->strings[record->n];
	n = bpf_probe_read_user_str(string, STACKD_LAUNCHED_BYTES, (const void *)e->at);
	if (n <= 0)
		return 1;
	if (n < STACKD_LAUNCHED_BYTES) {
		record->n += n > 8 && !e->is_inside && may_tell_rank(string);
		e->is_inside = 0;
		e->at += n;
	} else {
		e->is_inside = 1;
		e->at += n - 1;
	}
	return 0;
}

SEC("raw_tp/sched_process_exec")
int stackd_rank_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct task_struct *task = bpf_get_current_task_btf();
	__u64 pid_tgid = bpf_get_current_pid_tgid();
	struct environment e = {0};

	(void)ctx;
	if (!in_scope(task, pid_tgid >> 32))
		return 0;
	e.record = bpf_ringbuf_reserve(&ring, sizeof(*e.record), 0);
	if (!e.record) { /* the daemon then reads /proc, if the program still runs */
		count_region(STACKD_REGION_LAUNCHES_LOST);
		return 0;
	}
	__builtin_memset(e.record, 0, sizeof(*e.record));
	e.record->header.version = STACKD_ABI_VERSION;
	e.record->header.kind = STACKD_RECORD_LAUNCHED;
	e.record->header.tid = (__u32)pid_tgid;
	e.record->header.time_ns = bpf_ktime_get_ns();
	e.record->header.cpu = (__u16)bpf_get_smp_processor_id();
	e.record->pid = pid_tgid >> 32;
	e.at = BPF_CORE_READ(task, mm, env_start);
	e.end = BPF_CORE_READ(task, mm, env_end);
	bpf_loop(MOST_STRINGS, read_string, &e, 0);
	bpf_ringbuf_submit(e.record, BPF_RB_NO_WAKEUP);
	return 0;
}

#endif
