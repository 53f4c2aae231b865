/* SPDX-License-Identifier: MIT */
/* Walks copied stacks, and checks steps, by asking a worker: stackd's side of walk_service.c. */
#ifndef WORKER_ASK_WALKS_H
#define WORKER_ASK_WALKS_H

#include "daemon/worker/walk_wire.h"
#include "daemon/worker/worker.h"
#include "daemon/worker/walks.h"
#include "proc/mapping_set.h"

/* Functions that answer the worker's questions during a walk, and their arguments. */
struct ask_walks_options {
	struct worker *worker; /* borrowed, as all below */
	const struct object_table *objects;
	dwarf_walk_rule_fn *find_rule; /* NULL: there are no tables, and the worker analyses code */
	void *rules;
	runtime_code_read_fn *read_code;
	runtime_code_window_fn *window; /* NULL: no bytes of JIT code are kept */
	void *code;			/* argument of read_code() and window() */
	/* Returns all mappings of a process, valid until the next event; NULL: the process has
	 * none. */
	const struct mapping_set *(*mappings_of)(void *arg, pid_t pid);
	void *processes; /* argument of mappings_of() */
};

struct ask_walks;

/* The options are copied. 0 or -ENOMEM. */
int ask_walks_new(const struct ask_walks_options *options, struct ask_walks **ret_walks);
void ask_walks_free(struct ask_walks *walks); /* NULL is fine */

/* Calls dwarf_walk_trim() and runtime_code_tick() in the worker. To be called now and then. */
void ask_walks_tick(struct ask_walks *walks);

/* Walks a copied stack as dwarf_walk_stack() does, but with the mappings of process in->pid instead
 * of in->find. If the worker fails, the file that it was reading is refused, and another worker
 * walks as far as it can without that file. */
enum stackd_end_reason ask_walks_stack(struct ask_walks *walks, const struct walk_input *in,
				       struct walk_frame *frames, size_t max_frames,
				       size_t *ret_count);

/* --- the parts of a walk, for the caller of the worker (walk_queue.c)
 * --------------------------- */

/* Appends the request of a walk to `request`, and gives the header that it has there. */
void ask_walks_put(struct ask_walks *walks, const struct walk_input *in, size_t max_frames,
		   struct buf *request, struct walk_wire_head *ret_head);

/* Answers a question that the worker asks during a walk: a worker_answer_fn. `head`: the header of
 * the walk's request, which says about which processes the worker may ask. */
int ask_walks_answer(struct ask_walks *walks, const struct walk_wire_head *head, uint32_t kind,
		     struct buf_reader *question, struct buf *answer, int *ret_fd);

/* Reads the reply of a walk: frames, their number, and the end reason. 0; -EBADMSG: the reply is
 * invalid. */
int ask_walks_get(struct ask_walks *walks, struct buf_reader *reply, struct walk_frame *frames,
		  size_t max_frames, size_t *ret_count, enum stackd_end_reason *ret_reason);

/* Gives the frames of a walk in which all workers have failed: the leaf alone. Returns the end
 * reason. */
enum stackd_end_reason ask_walks_leaf(const struct ask_walks *walks, const struct walk_input *in,
				      struct walk_frame *frames, size_t *ret_count);

/* Returns the version of a process's mappings now; 0: there are none. */
uint64_t ask_walks_version(const struct ask_walks *walks, pid_t pid);

/* Returns ask_walks_options.objects. */
const struct object_table *ask_walks_objects(const struct ask_walks *walks);

#define ASK_WALKS_TRIES 3 /* how often a walk is tried, if workers fail in it */

/* Does what walks_check() does, in one call of the worker. If the worker fails at a step, the
 * step's verdict is CALLFLOW_STEP_UNCHECKED. */
size_t ask_walks_check(struct ask_walks *walks, const struct walks_step *steps, size_t count,
		       uint64_t budget_ns, struct walks_verdict *ret_verdicts);

/* Gives the sums of the walks so far. */
void ask_walks_get_stats(const struct ask_walks *walks, struct dwarf_walk_stats *ret_stats);

/* Returns the CPU time of the worker so far, for budgets. */
uint64_t ask_walks_cpu_ns(const struct ask_walks *walks);

#endif
