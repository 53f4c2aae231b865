/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What the steps of all runtimes share: the facts about a process that user space has sent, reading
 * single words from anywhere in the process's memory, and the arrival at a caller on another stack.
 * runtime.bpf.h includes this header and those of the runtimes.
 */
#ifndef RUNTIME_BASE_BPF_H
#define RUNTIME_BASE_BPF_H

#include "scratch.bpf.h"
#include "stack_window.bpf.h"

/* The result of a step if the code is not that runtime's. The other results are WALK_GO_ON,
 * WALK_AGAIN and end reasons. */
#define RUNTIME_NOT 253

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, struct stackd_runtime_key);
	__type(value, union stackd_runtime_facts);
} runtime_facts SEC(".maps");

/* Bit i is 1 if the map has facts about a process of runtime i; else the look-up is saved. */
__u32 runtimes_told;

static __always_inline bool is_runtime_told(enum stackd_runtime runtime)
{
	return runtimes_told >> runtime & 1;
}

/* Returns the facts about a runtime in the sampled process; NULL: there are none. */
static __always_inline const union stackd_runtime_facts *
runtime_facts_of(const struct scratch *s, enum stackd_runtime runtime)
{
	const struct stackd_runtime_key key = {s->record.pid, runtime};

	return CHECKED(bpf_map_lookup_elem(&runtime_facts, &key));
}

/* Reads a word anywhere in the process's memory. Returns false if it cannot be read. */
static __always_inline bool read_apart(__u64 address, __s64 offset, __u64 *ret_word)
{
	return !bpf_probe_read_user(ret_word, sizeof(*ret_word), (const void *)(address + offset));
}

/* Moves the walk to the caller, whose CFA and pc are given. As after a return, the stack pointer is
 * the CFA. Returns WALK_GO_ON or, if pc is 0, an end reason. */
static __always_inline int arrive(struct walk *w, __u64 cfa, __u64 pc, bool is_exact)
{
	w->valid = 1u << STACKD_REG_SP;
	w->deref = 0;
	walk_arrive(w, cfa, pc, cfa - 8, is_exact);
	return pc ? WALK_GO_ON : STACKD_END_STACK_SWITCH;
}

#endif
