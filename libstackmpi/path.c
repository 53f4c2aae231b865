/* SPDX-License-Identifier: MIT */
/* Compares stacks with known paths; see path.h. */
#include "path.h"

#include <stddef.h>
#include <string.h>

#include "unload.h"

static uint32_t hash_of(const struct call *call)
{
	uint64_t hash = ((uintptr_t)call->slot ^ *call->slot) * 0x9e3779b97f4a7c15u + call->number;

	return (uint32_t)((hash * 0x9e3779b97f4a7c15u) >> 40) & (STACKD_CALL_PATHS - 1);
}

static bool is_of_call(const struct stackd_call_path *path, const struct call *call)
{
	return path->function == call->number && path->slot == (uintptr_t)call->slot &&
	       path->caller == *call->slot;
}

/* Returns whether all words hold. If those before a word do, the word's address is in the frame of
 * a caller of this thread. */
static bool words_hold(const struct stackd_call_path *path, const struct call *call)
{
	const struct stackd_call_word *word = &call->calls->words[path->first];
	const struct stackd_call_word *end = word + path->count;

	if (path->has_fp && path->fp != call->kept[0])
		return false;
	for (; word < end; word++) {
		if (*(const volatile uint64_t *)(uintptr_t)word->slot != word->word)
			return false;
	}
	return true;
}

/* Returns the next path with a path's hash; both index + 1. It is an older one: a signal handler
 * that began a region while a path was taken may have linked that to itself. */
static uint32_t next_of(const struct stackd_calls *calls, uint32_t at)
{
	const uint32_t next = calls->paths[at - 1].next;

	return next < at ? next : 0;
}

struct stackd_call_path *path_find(const struct call *call)
{
	struct stackd_calls *calls = call->calls;

	if (__atomic_load_n(&unload_under_way, __ATOMIC_RELAXED))
		return NULL;
	for (uint32_t at = calls->heads[hash_of(call)]; at; at = next_of(calls, at)) {
		struct stackd_call_path *path = &calls->paths[at - 1];

		if (is_of_call(path, call) && path_is_of(path, calls) &&
		    unload_is_current(path, calls) && words_hold(path, call))
			return path;
	}
	return NULL;
}

/* Returns the index for the path of a call for which path_find() found none, by which the kernel
 * half may fill it in: that of the same path as it was before, or a new one; STACKD_CALL_PATHS:
 * there is none left. */
static uint32_t index_for(const struct call *call)
{
	struct stackd_calls *calls = call->calls;

	if (__atomic_load_n(&unload_under_way, __ATOMIC_RELAXED))
		return STACKD_CALL_PATHS;
	for (uint32_t at = calls->heads[hash_of(call)]; at; at = next_of(calls, at)) {
		struct stackd_call_path *path = &calls->paths[at - 1];

		if (is_of_call(path, call) && unload_is_current(path, calls) &&
		    words_hold(path, call))
			return at - 1;
	}
	return calls->n_paths;
}

/* Takes a path that the kernel half may have filled in. Returns the path; NULL: it has not. */
static struct stackd_call_path *taken(const struct call *call, uint32_t index, uint32_t epoch)
{
	struct stackd_calls *calls = call->calls;
	struct stackd_call_path *path;
	uint32_t hash = hash_of(call);

	if (index >= STACKD_CALL_PATHS || calls->paths[index].generation != calls->generation)
		return NULL;
	path = &calls->paths[index];
	if (index < calls->n_paths)
		return path;
	/* The daemon sees the path's sums with the walk that they belong to. */
	__atomic_thread_fence(__ATOMIC_RELEASE);
	path->function = (uint32_t)call->number;
	path->caller = *call->slot;
	path->slot = (uintptr_t)call->slot;
	path->epoch = epoch;
	path->next = calls->heads[hash];
	calls->heads[hash] = (uint16_t)(index + 1);
	calls->n_paths = index + 1;
	return path;
}

void path_walk(struct call *call, uint64_t function, uint32_t depth, struct stackd_call_probe probe)
{
	probe.kind = STACKD_CALL_ENDED;
	probe.table = table_of_thread.number;
	const uint32_t epoch = __atomic_load_n(&unload_epoch, __ATOMIC_ACQUIRE);
	const uint32_t index = probe.path ? probe.path : index_for(call);

	probe.path = depth ? STACKD_CALL_PATH(index, depth) : index;
	probe.function = function;
	probe.slot = (uintptr_t)call->slot;
	memcpy(probe.kept, call->kept, sizeof(probe.kept));
	call_probe(&probe);
	call->path = taken(call, index, epoch);
}
