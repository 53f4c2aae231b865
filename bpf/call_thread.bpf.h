/* SPDX-License-Identifier: GPL-2.0-only */
/* The table of a thread whose calls of MPI libstackmpi counts (call.bpf.h), for samples and probes,
 * too: while the library is in a call, the time is that call's. */
#ifndef CALL_THREAD_BPF_H
#define CALL_THREAD_BPF_H

#include "scratch.bpf.h"

SETTING __u32 with_calls = 0; /* calls are counted by the library */

/* The registers in stackd_call_probe.kept. */
enum call_kept {
#define X(name, number) CALL_KEPT_##name,
	STACKD_SAVED_REGS(X)
#undef X
};

struct call_thread {
	__u32 table; /* number of its table + 1; 0: it has none */
	__u32 pad;
	struct stackd_call_probe probe; /* a copy of what the library has given last */
};

struct {
	__uint(type, BPF_MAP_TYPE_TASK_STORAGE);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, int);
	__type(value, struct call_thread);
} call_threads SEC(".maps");

#ifndef BPF_SHIM_H /* unit tests have no maps of maps (tests/unit/bpf_shim.h), nor the library */
struct call_table {
	__uint(type, BPF_MAP_TYPE_ARRAY);
	__uint(max_entries, 1);
	__uint(map_flags, BPF_F_MMAPABLE);
	__uint(key_size, sizeof(__u32)); /* of the element of a map, clang keeps no types */
	__uint(value_size, sizeof(struct stackd_calls));
};

/* The daemon makes a table for each thread that asks for one. */
struct {
	__uint(type, BPF_MAP_TYPE_ARRAY_OF_MAPS);
	__uint(max_entries, STACKD_CALL_TABLES);
	__type(key, __u32);
	__array(values, struct call_table);
} call_tables SEC(".maps");

/* Returns the table of a thread; NULL: it has none. */
static __always_inline struct stackd_calls *calls_of(struct task_struct *task)
{
	struct call_thread *thread;
	__u32 index, only = 0;
	void *table;

	if (!with_calls)
		return NULL;
	thread = CHECKED(bpf_task_storage_get(&call_threads, task, 0, 0));
	if (!thread || !thread->table)
		return NULL;
	index = thread->table - 1;
	table = CHECKED(bpf_map_lookup_elem(&call_tables, &index));
	if (!table)
		return NULL;
	return CHECKED(bpf_map_lookup_elem(table, &only));
}
#else
static inline struct stackd_calls *calls_of(struct task_struct *task)
{
	(void)task;
	return NULL;
}
#endif

#endif
