/* SPDX-License-Identifier: MIT */
/*
 * Which lanes a timeline has, in the order of display: a lane for each process, and below it one
 * for each of its threads, but one for all threads of a pool (web/pool.h) that is not unfolded.
 */
#ifndef WEB_LANE_LIST_H
#define WEB_LANE_LIST_H

#include "base/vec.h"
#include "web/ask.h"
#include "web/pool.h"
#include "web/thread_totals.h"

#define LANE_NONE UINT32_MAX
#define LANE_ID	  (POOL_NAME + 16) /* size of a lane's id */

enum lane_kind { LANE_PROCESS, LANE_POOL, LANE_THREAD };

struct lane {
	enum lane_kind kind;
	uint32_t parent;  /* the lane of its process; LANE_NONE: it is one itself */
	uint32_t process; /* number in the tables */
	uint32_t thread;  /* number of its first thread */
	uint32_t n_threads;
	char id[LANE_ID], pool[POOL_NAME];
	struct thread_totals totals;
};

struct lane_list {
	VEC(struct lane) lanes;
	/* by thread: the lane of its process, and its own or its pool's; LANE_NONE: there is none
	 */
	uint32_t *process_lane, *own_lane;
	uint32_t left_out; /* lanes beyond the limit */
	uint64_t left_cpu_ns;
};

/* Makes the list from the question's parameters `lanes`, `sort`, `unfold` and `threads`. Returns 0,
 * -EINVAL after ask_fail(), or -ENOMEM. The caller frees *ret_list in any case. */
int lane_list_make(struct ask *ask, const struct store_tables *tables,
		   const struct thread_totals *totals, struct lane_list *ret_list);
void lane_list_free(struct lane_list *list);

/* Returns the name of a lane; it lives as long as the list and the tables. */
const char *lane_name(const struct store_tables *tables, const struct lane *lane);

/* Returns the word of a kind. */
const char *lane_kind_name(enum lane_kind kind);

#endif
