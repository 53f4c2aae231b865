/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Reads the tag that an instrumented program keeps of its call path (docs/TAGS.md): one read of
 * thread-local memory replaces a walk.
 *
 * The variable is at the same distance from the thread pointer in all threads of a process. The
 * daemon finds the distance and enters the process in a map. Between an exec and the daemon's
 * update, the entry is stale. So the kernel half stores the key of the process between two execs
 * (space_of()) when it first uses an entry, and ignores the entry after another exec.
 *
 * A tag of 0 never replaces a walk, since either no instrumented function was called yet, or the
 * memory is not a tag.
 */
#ifndef TAG_BPF_H
#define TAG_BPF_H

#include "mapping.bpf.h"
#include "scratch.bpf.h"

SETTING __u32 tag_mode = STACKD_TAGS_OFF; /* enum stackd_tags */

/* The number of entries in the map `tagged`; 0 saves the look-up. */
__u32 n_tagged;

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 8192);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32); /* thread group id */
	__type(value, struct stackd_tagged);
} tagged SEC(".maps");

struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 1); /* set by the daemon */
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, struct stackd_known_tag);
	__type(value, __u32);
} known_tags SEC(".maps");

enum tag_use {
	TAG_WALK,   /* there is no tag */
	TAG_LEARN,  /* there is a tag whose path is not known, so the stack is walked as well */
	TAG_ENOUGH, /* the tag replaces the walk */
};

/* Returns the process's entry, if it was made since the last exec; NULL: none. */
static __always_inline struct stackd_tagged *tag_process(const struct scratch *s,
							 struct task_struct *task)
{
	__u32 pid = s->record.pid;
	struct stackd_tagged *process =
		n_tagged ? CHECKED(bpf_map_lookup_elem(&tagged, &pid)) : NULL;
	__u64 space;

	if (!process)
		return NULL;
	space = space_of(task, pid);
	if (!process->space)
		process->space = space;
	return process->space == space ? process : NULL;
}

/* Reads the thread's tag into s->tagged.record, and returns how it is to be used. */
static __always_inline enum tag_use tag_read(struct scratch *s, struct task_struct *task)
{
	struct stackd_tag_record *record = &s->tagged.record;
	struct stackd_tagged *process = tag_process(s, task);
	struct stackd_known_tag key = {0};

	record->program = 0;
	record->tag = 0;
	if (!process ||
	    bpf_probe_read_user(&record->tag, sizeof(record->tag),
				(const void *)(ARCH_THREAD_POINTER(task) + process->offset)))
		return tag_mode == STACKD_TAGS_ONLY ? TAG_ENOUGH : TAG_WALK;
	record->program = process->program;
	if (tag_mode == STACKD_TAGS_ONLY)
		return TAG_ENOUGH;
	key.tag = record->tag;
	key.program = record->program;
	return key.tag && CHECKED(bpf_map_lookup_elem(&known_tags, &key)) ? TAG_ENOUGH : TAG_LEARN;
}

#endif
