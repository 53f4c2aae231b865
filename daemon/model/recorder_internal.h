/* SPDX-License-Identifier: MIT */
/* Defines struct recorder for the recorder's own files, recorder*.c; see recorder.h. */
#ifndef MODEL_RECORDER_INTERNAL_H
#define MODEL_RECORDER_INTERNAL_H

#include "base/vec.h"
#include "daemon/capture/event.h"
#include "daemon/model/branches.h"
#include "daemon/model/judge.h"
#include "daemon/model/left_out.h"
#include "daemon/model/locator.h"
#include "daemon/model/jit_tracker.h"
#include "daemon/model/members.h"
#include "daemon/model/mpi_pending.h"
#include "daemon/model/new_mappings.h"
#include "daemon/model/outbox.h"
#include "daemon/model/ranks.h"
#include "daemon/model/readings.h"
#include "daemon/model/recorder.h"
#include "daemon/model/reorder.h"
#include "daemon/model/shared_memory.h"
#include "daemon/model/thread_paths.h"
#include "daemon/model/wait_frames.h"
#include "daemon/model/wait_object.h"
#include "daemon/model/path_builder.h"
#include "daemon/worker/ask_worker.h"
#include "daemon/worker/walks.h"
#include "proc/cgroup_table.h"
#include "proc/fuse_devices.h"
#include "proc/process.h"
#include "stack/location.h"
#include "stack/origin.h"
#include "stack/tag_trie.h"

#define WAKEUP_FRAMES 1024 /* a power of two */

struct recorder {
	struct recorder_options with;

	struct object_table *objects;
	struct process_table *processes;
	struct open_files *open_files; /* NULL: files stay open */
	struct written_files *written; /* NULL: nothing tells of writes, */
	int watch_error;	       /* for this reason */
	struct cgroup_table *cgroups;
	struct location_table *locations;
	struct tag_trie *trie;
	struct origin_table *origins;

	struct members *members;
	struct shared_memory shared; /* which new processes share their parent's */
	struct new_mappings new_mappings;
	struct fuse_devices fuse_devices;
	struct locator *locator;
	struct jit_tracker *jit;
	struct walks *walks;
	struct branches *branches; /* NULL: there are no branch records */
	struct path_builder *builder;
	struct thread_paths *paths;
	struct judge *judge;	     /* NULL: walks are not judged */
	struct judge_jit *judge_jit; /* NULL likewise */
	struct outbox *outbox;
	struct live_blocks *blocks;	 /* of sampled allocations */
	struct alloc_coverage *coverage; /* NULL: programs without allocations are not counted */
	struct ask_files *files;	 /* who reads files; NULL: this process does */
	struct ranks *ranks;
	struct mpi_pending *pending; /* receives of MPI */
	struct readings *readings;   /* of counters */
	struct tagger *tagger;	     /* NULL: tags are not looked at */
	struct tag_paths *tags;

	VEC(const struct object *) marks; /* by their index, what their instances are frames of */

	struct wait_objects *wait_objects; /* names of what threads waited for */
	struct wait_frames *wait_frames;
	struct left_out left_out; /* frames for stack that is too deep */

	struct {
		bool is_known; /* was it looked for? */
		uint64_t start, end;
	} page_fault; /* the kernel's entry for page faults; 0: it is not known */

	struct {
		bool is_known;
		uint64_t ns;
	} wait_mean; /* of the last wait, in this window */

	struct {
		uint64_t address;
		unsigned is;		/* enum wakeup_frame */
	} wakeup_frames[WAKEUP_FRAMES]; /* kernel frames of wakers: what was found out of each */

	uint32_t n_tasks_before; /* processes and threads when it last began anew */
	uint64_t periods;	 /* the sum of those of samples */
	struct path path;	 /* of the sample at hand: too large for the stack */

	unsigned taken_since_look; /* records, since stacks to be walked were looked for */
	uint64_t sideband_lost;
	uint64_t paths_forgotten, locations_forgotten;
	uint64_t taken[STACKD_EVENT_COUNT];   /* records, by the kind of their event */
	uint64_t partial[STACKD_EVENT_COUNT]; /* of these, those whose path is not complete */
	uint64_t unread;		      /* records that could not be read */
	uint64_t end_reasons[STACKD_END_COUNT];
};

/* Finds the thread of an event, with a row, and its cgroup if the record has it; *ret_process is
 * the row of its process. NULL for lack of memory. */
const struct thread *recorder_thread_of(struct recorder *r, const struct event *event,
					uint32_t *ret_process);

/* Keeps a record of a series: a row, with this as its value. 0 or -ENOMEM. */
int recorder_keep(struct recorder *r, enum metric_series series, uint64_t value,
		  struct store_sample row);

/* Requests what the kernel half has missed in a walk: a file's inode, or its table. `early`: the
 * record is not in the order of time yet. 0 or -ENOMEM. */
int recorder_request_table(struct recorder *r, const struct stackd_header *record, bool early);

/* Adds up the counters of kinds of event. */
void recorder_count_events(const struct recorder *r, struct recorder_counts *counts);

/* Adds a frame to a path that stands for an object which is no code: a mark, or what a wait was
 * for. 0 or -ENOMEM. */
int recorder_add_frame(struct recorder *r, const struct object *object, uint32_t *node);

/* --- handlers of kinds of event, in the table of recorder_sample.c ---------------------------- */

/* Gives the row of a pass the time at which it ended, and of one that was left its end reason.
 * Returns 0. */
int recorder_place_pass(struct recorder *r, const struct event *event, struct store_sample *row);

/* The same of a mark, which is a frame below the function where the pass ended. 0; -ENOMEM;
 * -EBADMSG: there is no such mark. */
int recorder_place_mark(struct recorder *r, const struct event *event, struct store_sample *row);

/* Keeps a pass: its own time and CPU time, apart from those of the passes within it; and what a
 * call of MPI has sent and received. 0 or -ENOMEM. */
int recorder_pass(struct recorder *r, const struct event *event, struct store_sample *row);

/* Keeps what a receive of MPI has brought, under the path of the call that posted it. 0 or
 * -ENOMEM. */
int recorder_complete(struct recorder *r, const struct event *event);

/* Keeps a sampled allocation. The row becomes that of the thread in whose memory the block is. 0 or
 * -ENOMEM. */
int recorder_alloc(struct recorder *r, const struct event *event, struct store_sample *row);

/* Keeps the end of a sampled allocation. 0 or -ENOMEM. */
int recorder_free_block(struct recorder *r, const struct event *event);

/* Keeps a sampled page fault. 0 or -ENOMEM. */
int recorder_fault(struct recorder *r, const struct event *event, struct store_sample *row);

/* Keeps a call of mmap() or brk(). 0 or -ENOMEM. */
int recorder_map(struct recorder *r, const struct event *event, struct store_sample *row);

/* Looks up the name of what a wait was for. 0 or -ENOMEM. */
int recorder_prefetch_wait(struct recorder *r, const struct event *event);

/* Keeps the parts of a wait that were sampled. 0 or -ENOMEM. */
int recorder_wait(struct recorder *r, const struct event *event, struct store_sample *row);

/* Keeps who ended a thread's wait: the row's thread, by its path. 0 or -ENOMEM. */
int recorder_wake(struct recorder *r, const struct event *event, struct store_sample *row);

/* Keeps a wait with a switch that was not traced, without a path. 0 or -ENOMEM. */
int recorder_untraced(struct recorder *r, const struct event *event);

/* Keeps when a thread began or ended. 0 or -ENOMEM. */
int recorder_life(struct recorder *r, const struct event *event);

#endif
