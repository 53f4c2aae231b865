/* SPDX-License-Identifier: MIT */
/* Keeps the threads' last paths, and enters new ones into the trie; see thread_paths.h. */
#include "daemon/recorder/thread_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/vec.h"
#include "daemon/capture/record.h"

#define ENDED_THREADS 256
#define IDS_AT_ONCE   32u

struct step {
	uint32_t location, node, height;
};

/* The user part of a thread's last path, root first. */
struct last_path {
	pid_t tid;
	uint8_t sequence; /* sequence number of the record that the path came from */
	bool has_ended;	  /* the thread has ended; see thread_paths_on_exit() */
	bool is_weak;	  /* as path.is_weak */
	bool is_open;	  /* it is an open walk (thread_paths_join()), whose steps are leaf first */
	bool has_entry;
	uint32_t base;	       /* of an open walk: the node below which its steps were entered;
				* TAG_TRIE_ROOT: they were not entered */
	struct location entry; /* where the thread's stack begins */
	struct step *steps;
	size_t count, room;
	struct location *apart; /* copies of the steps' locations, after the tables were cleared,
				 * until enter_again(); NULL: the steps are in the tables */
	UT_hash_handle hh;
};

struct thread_paths {
	struct tag_trie *trie;
	struct location_table *locations;
	struct last_path *threads;
	pid_t ended[ENDED_THREADS]; /* ring of the ids of the threads that ended last */
	size_t n_ended;
	uint64_t out_of_sequence;
	bool has_heights;
	VEC(uint32_t) sizes; /* by node: bytes of stack of its frame; empty without heights */
};

int thread_paths_new(struct tag_trie *trie, struct location_table *locations, bool has_heights,
		     struct thread_paths **ret_paths)
{
	struct thread_paths *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->trie = trie;
	p->locations = locations;
	p->has_heights = has_heights;
	*ret_paths = p;
	return 0;
}

static void drop(struct thread_paths *p, struct last_path *last)
{
	HASH_DEL(p->threads, last);
	free(last->apart);
	free(last->steps);
	free(last);
}

void thread_paths_free(struct thread_paths *p)
{
	struct last_path *last, *next;

	if (!p)
		return;
	HASH_ITER (hh, p->threads, last, next)
		drop(p, last);
	free(p->sizes.items);
	free(p);
}

/* --- nodes ----------------------------------------------------------------------------------- */

uint32_t thread_paths_size(const struct thread_paths *p, uint32_t node)
{
	return node < p->sizes.count ? p->sizes.items[node] : 0;
}

/* Stores how many bytes of stack the frame of a step takes, if the step's node is new. `below`: its
 * caller's height; 0: not known. 0 or -ENOMEM. */
static int note_size(struct thread_paths *p, const struct step *step, uint32_t below)
{
	const struct location *l = location_at(p->locations, step->location);

	if (!p->has_heights || step->node < p->sizes.count)
		return 0;
	if (VEC_RESERVE(&p->sizes, step->node + 1 - p->sizes.count) < 0)
		return -ENOMEM;
	while (p->sizes.count <= step->node)
		p->sizes.items[p->sizes.count++] = 0;
	if (l->is_return && below && step->height > below)
		p->sizes.items[step->node] = step->height - below;
	return 0;
}

static uint64_t id_of(const struct thread_paths *p, uint32_t location)
{
	const struct location *l = location_at(p->locations, location);

	return location_id(l->file_id, l->offset);
}

/* Stores the stack size of frame `i` of a path, which was entered as `node`. `steps`: the thread's
 * kept path, whose first step is frame path->added, and in which the frame's step is stored; NULL:
 * the path is not kept. 0 or -ENOMEM. */
static int take_step(struct thread_paths *p, const struct path *path, size_t i, uint32_t node,
		     struct step *steps)
{
	const struct step step = {
		.location = path->locations[i], .node = node, .height = path->heights[i]};

	if (steps)
		steps[i - path->added] = step;
	return note_size(p, &step, i > path->cut ? path->heights[i - 1] : 0);
}

/* Frames of a path that are to be entered. */
struct range {
	size_t from, end;
	const uint64_t *ids; /* location ids of all frames of the path; NULL: not known */
	struct step *steps;  /* `steps` of take_step() */
};

/* Enters a range of at most IDS_AT_ONCE frames below *node, which becomes the node of the last
 * frame. 0 or -ENOMEM. */
static int enter_some(struct thread_paths *p, const struct path *path, const struct range *range,
		      uint32_t *node)
{
	size_t from = range->from;
	uint64_t made[IDS_AT_ONCE];
	const uint64_t *ids = range->ids ? range->ids + from : made;
	int err = 0;

	for (size_t i = from; i < range->end && !range->ids; i++)
		made[i - from] = id_of(p, path->locations[i]);
	tag_trie_prefetch(p->trie, *node, ids, range->end - from);
	for (size_t i = from; i < range->end && !err; i++) {
		err = tag_trie_child(p->trie, *node, path->locations[i], ids[i - from], node);
		if (!err)
			err = take_step(p, path, i, *node, range->steps);
	}
	return err;
}

/* Enters a range of frames below *node, which becomes the node of the last frame. 0 or -ENOMEM. */
static int enter_range(struct thread_paths *p, const struct path *path, struct range range,
		       uint32_t *node)
{
	const size_t end = range.end;
	int err = 0;

	while (range.from < end && !err &&
	       tag_trie_next_is_child(p->trie, *node, path->locations[range.from]))
		err = take_step(p, path, range.from++, ++*node, range.steps);
	for (; range.from < end && !err; range.from = range.end) {
		range.end = end - range.from < IDS_AT_ONCE ? end : range.from + IDS_AT_ONCE;
		err = enter_some(p, path, &range, node);
	}
	return err;
}

/* --- threads --------------------------------------------------------------------------------- */

static struct last_path *path_of_thread(struct thread_paths *p, pid_t tid)
{
	struct last_path *last;

	HASH_FIND_INT(p->threads, &tid, last);
	if (last)
		return last;
	last = calloc(1, sizeof(*last));
	if (!last)
		return NULL;
	last->tid = tid;
	HASH_ADD_INT(p->threads, tid, last);
	return last;
}

/* Copies the locations of a thread's path to last->apart, since the table of locations is about to
 * be cleared. 0 or -ENOMEM. */
static int set_apart(const struct thread_paths *p, struct last_path *last)
{
	struct location *apart = vec_alloc(last->count + 1, sizeof(*apart));

	if (!apart)
		return -ENOMEM;
	for (size_t i = 0; i < last->count; i++)
		apart[i] = *location_at(p->locations, last->steps[i].location);
	last->apart = apart;
	return 0;
}

int thread_paths_begin_anew(struct thread_paths *p)
{
	struct last_path *last, *next;
	int err = 0;

	HASH_ITER (hh, p->threads, last, next) {
		if (last->apart || set_apart(p, last) == 0)
			continue;
		err = -ENOMEM;
		drop(p, last);
	}
	free(p->sizes.items);
	p->sizes = (typeof(p->sizes)){0};
	return err;
}

/* Enters the steps of a thread's path into the cleared tables, if set_apart() has copied them. 0 or
 * -ENOMEM. */
static int enter_again(struct thread_paths *p, struct last_path *last)
{
	uint32_t node = TAG_TRIE_ROOT;
	int err = 0;

	for (size_t i = 0; last->apart && i < last->count && !err; i++) {
		const struct location *l = &last->apart[i];
		struct step *step = &last->steps[i];

		err = location_intern(p->locations, l, &step->location);
		if (last->is_open)
			continue;
		if (!err)
			err = tag_trie_child(p->trie, node, step->location,
					     location_id(l->file_id, l->offset), &node);
		step->node = node;
		if (!err)
			err = note_size(p, step, i ? step[-1].height : 0);
	}
	if (!err && last->apart) {
		last->base = TAG_TRIE_ROOT;
		free(last->apart);
		last->apart = NULL;
	}
	return err;
}

static int make_room(struct last_path *last, size_t room)
{
	return VEC_GROW(last->steps, last->room, room);
}

int thread_paths_recall(struct thread_paths *p, const struct stackd_header *record,
			struct path *path)
{
	struct last_path *last = path_of_thread(p, (pid_t)record->tid);
	size_t kept = record->kept;

	if (!last || enter_again(p, last))
		return -ENOMEM;
	if (kept && (kept > last->count || last->is_open ||
		     record->sequence != (uint8_t)(last->sequence + 1))) {
		p->out_of_sequence++;
		return -EBADMSG;
	}
	for (size_t i = 0; i < kept; i++) {
		path->locations[i] = last->steps[i].location;
		path->heights[i] = last->steps[i].height;
	}
	path->kept = path->user = path->count = kept;
	path->is_weak = kept && last->is_weak;
	path->node = kept ? last->steps[kept - 1].node : TAG_TRIE_ROOT;
	path->kept_tag = tag_trie_at(p->trie, path->node)->tag;
	return 0;
}

int thread_paths_join(struct thread_paths *p, const struct stackd_header *record, uint32_t skipped,
		      struct path *path)
{
	const struct last_path *last = path_of_thread(p, (pid_t)record->tid);

	if (!last)
		return -ENOMEM;
	if (!last->is_open || skipped > last->count ||
	    last->count - skipped > PATH_MAX_USER - path->count ||
	    record->sequence != (uint8_t)(last->sequence + 1)) {
		p->out_of_sequence++;
		return -EBADMSG;
	}
	for (size_t i = skipped; i < last->count; i++) {
		const struct step *step = &last->steps[i];

		path->locations[path->count] = step->location;
		path->heights[path->count] = step->height;
		path->ids[path->count++] = id_of(p, step->location);
	}
	path->is_weak |= last->is_weak;
	return 0;
}

int thread_paths_entry(struct thread_paths *p, pid_t tid, uint32_t *ret_node)
{
	const struct last_path *last = path_of_thread(p, tid);
	uint32_t number;
	int err;

	if (!last)
		return -ENOMEM;
	*ret_node = TAG_TRIE_ROOT;
	if (!last->has_entry)
		return 0;
	err = location_intern(p->locations, &last->entry, &number);
	return err ? err : tag_trie_child(p->trie, *ret_node, number, id_of(p, number), ret_node);
}

/* Keeps the location of the frame at which the thread's stack begins, if the walk came to it. 0 or
 * -ENOMEM. */
static int note_entry(struct thread_paths *p, const struct stackd_header *record,
		      const struct path *path)
{
	struct last_path *last;

	if (path->kept || path->added || !path->user || record->end_reason != STACKD_END_ENTRY)
		return 0;
	last = path_of_thread(p, (pid_t)record->tid);
	if (!last)
		return -ENOMEM;
	last->entry = *location_at(p->locations, path->locations[0]);
	last->has_entry = true;
	return 0;
}

/* Keeps user frames of an open walk as the thread's steps, leaf first: the first `root` frames of
 * the path. `adds`: appends them to the steps that are kept already, instead of replacing these. 0
 * or -ENOMEM. */
static int keep_open(struct last_path *last, const struct path *path, size_t root, bool adds)
{
	size_t count = adds ? last->count : 0;

	if (make_room(last, count + root))
		return -ENOMEM;
	while (root--)
		last->steps[count++] = (struct step){.location = path->locations[root],
						     .height = path->heights[root]};
	last->count = count;
	last->base = TAG_TRIE_ROOT;
	return 0;
}

/* Completes a thread's open walk with a path that has come to the thread's entry: adds the path's
 * frames beyond it, and enters all steps, now root first, as those of other walks are. The path
 * itself may have only a part of them. 0 or -ENOMEM. */
static int close_open(struct thread_paths *p, struct last_path *last, const struct path *path)
{
	uint32_t node = TAG_TRIE_ROOT;
	int err = keep_open(last, path, path->beyond, true);

	for (size_t i = 0, j = last->count; i + 1 < j && !err; i++) {
		const struct step step = last->steps[i];

		last->steps[i] = last->steps[--j];
		last->steps[j] = step;
	}
	last->is_open = false;
	for (size_t i = 0; i < last->count && !err; i++) {
		struct step *step = &last->steps[i];

		err = tag_trie_child(p->trie, node, step->location, id_of(p, step->location),
				     &node);
		step->node = node;
		if (!err)
			err = note_size(p, step, i ? step[-1].height : 0);
	}
	return err;
}

/* Keeps a walk that came to the limit of frames (an open walk), or one that went on from the end of
 * an open walk. 0 or -ENOMEM. */
static int keep_deep(struct thread_paths *p, const struct stackd_header *record,
		     const struct path *path)
{
	bool joins = record->part & STACKD_PART_JOINS;
	struct last_path *last = path_of_thread(p, (pid_t)record->tid);
	int err;

	if (!last)
		return -ENOMEM;
	last->sequence = record->sequence;
	if (record->part & STACKD_PART_OPEN)
		err = keep_open(last, path, joins ? path->beyond : path->user, joins);
	else
		err = close_open(p, last, path);
	last->is_open = record->part & STACKD_PART_OPEN;
	last->is_weak = path->is_weak;
	return err;
}

/* Enters the frames of the thread's open walk below *node, unless they were entered there before,
 * and then the path's frames nearer to the leaf. *node becomes the node of the last frame. 0 or
 * -ENOMEM. */
static int enter_on_open(struct thread_paths *p, const struct stackd_header *record,
			 const struct path *path, struct range range, uint32_t *node)
{
	struct last_path *last = path_of_thread(p, (pid_t)record->tid);
	uint32_t below = *node;
	struct stackd_part part;
	int err = last ? 0 : -ENOMEM;

	if (err || !record_part(record, &part) || !last->is_open || part.skipped > last->count)
		return err ? err : enter_range(p, path, range, node);
	for (size_t i = last->count; i-- > 0 && last->base != *node && !err;) {
		struct step *step = &last->steps[i];

		err = tag_trie_child(p->trie, below, step->location, id_of(p, step->location),
				     &below);
		step->node = below;
	}
	if (err)
		return err;
	last->base = *node;
	if (part.skipped < last->count)
		*node = last->steps[part.skipped].node;
	range.from += last->count - part.skipped;
	return enter_range(p, path, range, node);
}

/* Enters the user frames of a WALKED record, without those that branch records have added. Keeps
 * them for the thread, if the record says that the kernel half remembers the walk. 0 or -ENOMEM. */
static int enter_walk(struct thread_paths *p, const struct stackd_header *record,
		      const struct path *path, uint32_t *node)
{
	struct range new = {.from = path->added + path->kept, .end = path->user, .ids = path->ids};
	struct last_path *last;
	int err = 0;

	if (!(record->flags & STACKD_NOT_REMEMBERED) &&
	    record->part & (STACKD_PART_OPEN | STACKD_PART_JOINS))
		err = keep_deep(p, record, path);
	if (err)
		return err;
	if (record->part & STACKD_PART_JOINS && record->flags & STACKD_NOT_REMEMBERED &&
	    *node != TAG_TRIE_ROOT)
		return enter_on_open(p, record, path, new, node);
	if (record->flags & STACKD_NOT_REMEMBERED ||
	    record->part & (STACKD_PART_OPEN | STACKD_PART_JOINS))
		return enter_range(p, path, new, node);
	last = path_of_thread(p, (pid_t)record->tid);
	if (!last || make_room(last, path->user - path->added))
		return -ENOMEM;
	last->count = path->user - path->added;
	last->sequence = record->sequence;
	last->is_weak = path->is_weak;
	last->is_open = false;
	new.steps = last->steps;
	return enter_range(p, path, new, node);
}

static int enter_walked(struct thread_paths *p, const struct stackd_header *record,
			const struct path *path, uint32_t *ret_node)
{
	struct range kernel = {.from = path->user, .end = path->count};
	int err;

	*ret_node = path->node;
	err = note_entry(p, record, path);
	if (err)
		return err;
	err = enter_walk(p, record, path, ret_node);
	if (path->added || path->cut) {
		kernel.from = path->cut;
		*ret_node = TAG_TRIE_ROOT;
	}
	return err ? err : enter_range(p, path, kernel, ret_node);
}

/* Enters all frames of a path that was not walked by the kernel half. Frames that it shares with
 * the thread's kept path, from the root on, are not looked up again. 0 or -ENOMEM. */
static int enter_whole(struct thread_paths *p, pid_t tid, const struct path *path,
		       uint32_t *ret_node)
{
	struct range remainder = {.from = path->cut, .end = path->count};
	struct last_path *last;

	*ret_node = TAG_TRIE_ROOT;
	HASH_FIND_INT(p->threads, &tid, last);
	if (last && last->apart)
		last = NULL;
	while (last && !last->is_open && !path->cut && remainder.from < path->count &&
	       remainder.from < last->count &&
	       last->steps[remainder.from].location == path->locations[remainder.from])
		*ret_node = last->steps[remainder.from++].node;
	return enter_range(p, path, remainder, ret_node);
}

int thread_paths_enter(struct thread_paths *p, const struct stackd_header *record,
		       const struct path *path, uint32_t *ret_node)
{
	struct range all = {.end = path->count};

	if ((record->kind & STACKD_KIND_MASK) == STACKD_RECORD_WALKED)
		return enter_walked(p, record, path, ret_node);
	if (record->kind == STACKD_RECORD_STACK)
		return enter_whole(p, (pid_t)record->tid, path, ret_node);
	*ret_node = path->node; /* node of the tag's path */
	return enter_range(p, path, all, ret_node);
}

void thread_paths_forget(struct thread_paths *p, pid_t tid)
{
	struct last_path *last;

	HASH_FIND_INT(p->threads, &tid, last);
	if (last)
		drop(p, last);
}

/* Between the exit event and the thread's last instruction in the kernel there can be more samples,
 * which build on its path. So the path is dropped only when ENDED_THREADS more threads have ended.
 * (thread_paths_forget() drops it for a new thread of the same id.) */
void thread_paths_on_exit(struct thread_paths *p, pid_t tid)
{
	pid_t *oldest = &p->ended[p->n_ended++ % ENDED_THREADS];
	struct last_path *last;

	HASH_FIND_INT(p->threads, oldest, last);
	if (last && last->has_ended)
		drop(p, last);
	*oldest = tid;
	HASH_FIND_INT(p->threads, &tid, last);
	if (last)
		last->has_ended = true;
}

uint64_t thread_paths_out_of_sequence(const struct thread_paths *p)
{
	return p->out_of_sequence;
}
