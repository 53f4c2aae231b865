/* SPDX-License-Identifier: MIT */
/*
 * Walks copied stacks, and checks the steps of walks (whether the caller's code calls the callee):
 * one interface with two implementations.
 *
 *   walks_in_worker.h    a worker makes them. Prefetched walks are made while the loop goes on
 *   walks_in_process.h   the caller's process makes them: a worker itself, stackd with --lbr, tests
 *
 * The owner calls walks_free(); the functions below are for one thread at a time.
 */
#ifndef WORKER_WALKS_H
#define WORKER_WALKS_H

#include "callflow/callflow_root.h"
#include "callflow/callflow_step.h"
#include "unwind/dwarf_walk.h"
#include "unwind/runtime_code.h"

/* What is to be found out about a step. */
enum walks_question {
	WALKS_CALLS,	/* does the caller call the callee? */
	WALKS_ROOT,	/* what says the caller's code about a stack's begin there? */
	WALKS_SWITCHES, /* does the caller change stacks before its call, or a leaf before it? */
	WALKS_NORETURN, /* does the caller never return? (callflow_noreturn.h) */
	WALKS_QUESTIONS,
};

/* A step of a walk from a callee to its caller; each is an object and an offset in it. `is_entry`:
 * the caller begins the thread's stack. `may_be_bare`: the step followed a frame pointer out of JIT
 * code, which may maintain none. `is_doubted`: as in struct callflow_step_pair. The last three
 * questions are about the caller alone, which is the callee, too. */
struct walks_step {
	const struct object *caller, *callee;
	uint64_t caller_offset, callee_offset;
	bool is_entry, may_be_bare, is_doubted, callee_is_return;
	enum walks_question question;
};

struct walks_verdict {
	enum callflow_step step;
	enum runtime_code_frame frame; /* valid if may_be_bare */
	enum callflow_root root;       /* WALKS_ROOT */
	bool switches;		       /* WALKS_SWITCHES */
	bool is_noreturn;	       /* WALKS_NORETURN */
	bool is_unanswered; /* the worker has failed, or was not asked: nothing is known */
};

struct walks;

struct walks_ops {
	void (*free)(struct walks *walks);
	enum stackd_end_reason (*stack)(struct walks *walks, const void *key,
					const struct walk_input *in, struct walk_frame *frames,
					size_t max_frames, size_t *ret_count);
	size_t (*check)(struct walks *walks, const struct walks_step *steps, size_t count,
			uint64_t budget_ns, struct walks_verdict *ret_verdicts);
	void (*tick)(struct walks *walks);
	void (*get_stats)(const struct walks *walks, struct dwarf_walk_stats *ret_stats);
	uint64_t (*cpu_ns)(const struct walks *walks);

	bool can_prefetch;
	bool (*prefetch)(struct walks *walks, const void *key, const struct walk_input *in,
			 bool is_next);
	bool (*is_prefetched)(struct walks *walks, const void *key);
	bool (*is_made)(struct walks *walks, const void *key);
	void (*drop)(struct walks *walks, const void *key);
	void (*go_on)(struct walks *walks);
	int (*poll_fd)(const struct walks *walks);
	bool (*is_busy)(const struct walks *walks);
	size_t (*pending)(const struct walks *walks);
};

struct walks { /* the first member of an implementation's struct */
	const struct walks_ops *ops;
};

static inline void walks_free(struct walks *walks) /* NULL is fine */
{
	if (walks)
		walks->ops->free(walks);
}

/* Walks a copied stack as dwarf_walk_stack() does, with the mappings of process in->pid. `key`: the
 * key of walks_prefetch(), whose result is then used; NULL: the walk was not prefetched. */
static inline enum stackd_end_reason walks_stack(struct walks *walks, const void *key,
						 const struct walk_input *in,
						 struct walk_frame *frames, size_t max_frames,
						 size_t *ret_count)
{
	return walks->ops->stack(walks, key, in, frames, max_frames, ret_count);
}

/* Checks steps by callflow_step_check(), and those with may_be_bare also by runtime_code_frame(),
 * for about `budget_ns` of CPU time. If several steps involve JIT code, it must be that of one
 * process. Returns how many steps, from the first one on, now have a verdict: at least one. */
static inline size_t walks_check(struct walks *walks, const struct walks_step *steps, size_t count,
				 uint64_t budget_ns, struct walks_verdict *ret_verdicts)
{
	return walks->ops->check(walks, steps, count, budget_ns, ret_verdicts);
}

/* Calls dwarf_walk_trim() and runtime_code_tick(). To be called about once a second. */
static inline void walks_tick(struct walks *walks)
{
	walks->ops->tick(walks);
}

/* Gives the sums of the walks so far. */
static inline void walks_get_stats(const struct walks *walks, struct dwarf_walk_stats *ret_stats)
{
	walks->ops->get_stats(walks, ret_stats);
}

/* Returns the CPU time that walks and checks have used so far outside of the calling thread, for
 * budgets. */
static inline uint64_t walks_cpu_ns(const struct walks *walks)
{
	return walks->ops->cpu_ns(walks);
}

/* --- walks before they are needed
 * ------------------------------------------------------------------ */

/* Returns whether walks are made while the caller goes on. If not, walks_stack() makes the walk,
 * and prefetching does nothing. */
static inline bool walks_can_prefetch(const struct walks *walks)
{
	return walks->ops->can_prefetch;
}

/* Requests a walk, which `key` identifies. The input's stack is borrowed until walks_stack() or
 * walks_drop(). `is_next`: it is the next one to be taken. false: there is no room. */
static inline bool walks_prefetch(struct walks *walks, const void *key, const struct walk_input *in,
				  bool is_next)
{
	return walks->ops->prefetch(walks, key, in, is_next);
}

/* Returns whether walks_prefetch() need not be called for a walk, because it was called already, or
 * would do nothing. */
static inline bool walks_is_prefetched(struct walks *walks, const void *key)
{
	return walks->ops->is_prefetched(walks, key);
}

/* Returns whether the prefetched walk is made, so that walks_stack() will not wait for it. Drops
 * the walk if the mappings have changed since. */
static inline bool walks_is_made(struct walks *walks, const void *key)
{
	return walks->ops->is_made(walks, key);
}

/* Drops a prefetched walk, if there is one with this key. To be called before its input is
 * freed. */
static inline void walks_drop(struct walks *walks, const void *key)
{
	walks->ops->drop(walks, key);
}

/* Sends requests and receives results of prefetched walks, without waiting. To be called when
 * walks_poll_fd() is readable, and each WORKER_LOOK_MS while walks are under way. */
static inline void walks_go_on(struct walks *walks)
{
	walks->ops->go_on(walks);
}

/* Returns a descriptor that is readable when there is something to receive; -1: walks are not
 * prefetched. */
static inline int walks_poll_fd(const struct walks *walks)
{
	return walks->ops->poll_fd(walks);
}

/* Returns whether walks are under way. */
static inline bool walks_is_busy(const struct walks *walks)
{
	return walks->ops->is_busy(walks);
}

/* Returns how many walks were requested and are not made yet. */
static inline size_t walks_pending(const struct walks *walks)
{
	return walks->ops->pending(walks);
}

#endif
