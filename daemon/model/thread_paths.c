/* SPDX-License-Identifier: MIT */
/* Threads' last paths, and nodes for new ones; see paths.h. */
#include "daemon/model/thread_paths.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/vec.h"

#define ENDED_THREADS 256
#define IDS_AT_ONCE   32u

struct step {
	uint32_t location, node, height;
};

/* The user part of a thread's remembered path, root first. */
struct last_path {
	pid_t tid;
	uint8_t sequence; /* of the record that it came from */
	bool has_ended;	  /* the thread; see thread_paths_on_exit() */
	struct step *steps;
	size_t count, room;
	UT_hash_handle hh;
};

struct thread_paths {
	struct trie *trie;
	struct location_table *locations;
	struct last_path *threads;
	pid_t ended[ENDED_THREADS]; /* the last ones that did, in turn */
	size_t n_ended;
	uint64_t out_of_sequence;
	bool has_heights;
	VEC(uint32_t) sizes; /* by node, where there are heights */
};

int thread_paths_new(struct trie *trie, struct location_table *locations,
		     struct thread_paths **ret_paths)
{
	struct thread_paths *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->trie = trie;
	p->locations = locations;
	*ret_paths = p;
	return 0;
}

static void drop(struct thread_paths *p, struct last_path *last)
{
	HASH_DEL(p->threads, last);
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

void thread_paths_use_heights(struct thread_paths *p)
{
	p->has_heights = true;
}

uint32_t thread_paths_size(const struct thread_paths *p, uint32_t node)
{
	return node < p->sizes.count ? p->sizes.items[node] : 0;
}

/* Notes how much stack lies between frame i of a path and its caller, for the node that was just
 * entered for it. */
static int note_size(struct thread_paths *p, const struct path *path, size_t i, uint32_t node)
{
	const struct location *l = location_at(p->locations, path->locations[i]);
	const uint32_t *heights = path->heights;

	if (!p->has_heights || node < p->sizes.count)
		return 0;
	if (VEC_RESERVE(&p->sizes, node + 1 - p->sizes.count) < 0)
		return -ENOMEM;
	while (p->sizes.count <= node)
		p->sizes.items[p->sizes.count++] = 0;
	if (i && l->is_return && heights[i - 1] && heights[i] > heights[i - 1])
		p->sizes.items[node] = heights[i] - heights[i - 1];
	return 0;
}

static uint64_t id_of(const struct thread_paths *p, uint32_t location)
{
	const struct location *l = location_at(p->locations, location);

	return location_id(l->file_id, l->offset);
}

/* Notes that frame i of a path is at a node. `steps`: NULL: not wanted. */
static int take_step(struct thread_paths *p, const struct path *path, size_t i, uint32_t node,
		     struct step *steps)
{
	if (steps)
		steps[i] = (struct step){
			.location = path->locations[i], .node = node, .height = path->heights[i]};
	return note_size(p, path, i, node);
}

/* Enters frames [from, end) of a path, at most IDS_AT_ONCE; `ids`: of its frames, NULL: not known.
 */
static int enter_some(struct thread_paths *p, const struct path *path, const uint64_t *ids,
		      size_t from, size_t end, struct step *steps, uint32_t *node)
{
	uint64_t made[IDS_AT_ONCE];
	int err = 0;

	for (size_t i = from; i < end && !ids; i++)
		made[i - from] = id_of(p, path->locations[i]);
	ids = ids ? ids + from : made;
	trie_prefetch(p->trie, *node, ids, end - from);
	for (size_t i = from; i < end && !err; i++) {
		err = trie_child(p->trie, *node, path->locations[i], ids[i - from], node);
		if (!err)
			err = take_step(p, path, i, *node, steps);
	}
	return err;
}

/* `steps` (NULL: not wanted) gets what was entered. */
static int enter_steps(struct thread_paths *p, const struct path *path, const uint64_t *ids,
		       size_t from, struct step *steps, uint32_t node, uint32_t *ret_node)
{
	size_t end;
	int err = 0;

	while (from < path->count && !err &&
	       trie_next_is_child(p->trie, node, path->locations[from]))
		err = take_step(p, path, from++, ++node, steps);
	for (; from < path->count && !err; from = end) {
		end = path->count - from < IDS_AT_ONCE ? path->count : from + IDS_AT_ONCE;
		err = enter_some(p, path, ids, from, end, steps, &node);
	}
	*ret_node = node;
	return err;
}

int thread_paths_enter(struct thread_paths *p, const struct path *path, size_t from, uint32_t node,
		       uint32_t *ret_node)
{
	return enter_steps(p, path, NULL, from, NULL, node, ret_node);
}

int thread_paths_enter_whole(struct thread_paths *p, pid_t tid, const struct path *path,
			     uint32_t *ret_node)
{
	struct last_path *last;
	uint32_t node = TRIE_ROOT;
	size_t same = 0;

	HASH_FIND_INT(p->threads, &tid, last);
	while (last && same < path->count && same < last->count &&
	       last->steps[same].location == path->locations[same])
		node = last->steps[same++].node;
	return thread_paths_enter(p, path, same, node, ret_node);
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

static int make_room(struct last_path *last, size_t room)
{
	struct step *steps;

	if (room <= last->room)
		return 0;
	steps = reallocarray(last->steps, room + 32, sizeof(*steps));
	if (!steps)
		return -ENOMEM;
	last->steps = steps;
	last->room = room + 32;
	return 0;
}

int thread_paths_recall(struct thread_paths *p, const struct stackd_header *record,
			struct path *path, uint32_t *ret_node)
{
	const struct last_path *last = path_of_thread(p, (pid_t)record->tid);
	size_t kept = record->kept;

	if (!last)
		return -ENOMEM;
	if (kept && (kept > last->count || record->sequence != (uint8_t)(last->sequence + 1))) {
		p->out_of_sequence++;
		return -EBADMSG;
	}
	for (size_t i = 0; i < kept; i++) {
		path->locations[i] = last->steps[i].location;
		path->heights[i] = last->steps[i].height;
	}
	path->count = kept;
	*ret_node = kept ? last->steps[kept - 1].node : TRIE_ROOT;
	path->tag = trie_at(p->trie, *ret_node)->tag;
	return 0;
}

int thread_paths_enter_walked(struct thread_paths *p, const struct stackd_header *record,
			      const struct path *path, uint32_t node, uint32_t *ret_node)
{
	struct last_path *last;
	int err;

	if (record->flags & STACKD_NOT_REMEMBERED)
		return enter_steps(p, path, path->ids, record->kept, NULL, node, ret_node);
	last = path_of_thread(p, (pid_t)record->tid);
	if (!last || make_room(last, path->count))
		return -ENOMEM;
	err = enter_steps(p, path, path->ids, record->kept, last->steps, node, ret_node);
	last->count = path->count;
	last->sequence = record->sequence;
	return err;
}

void thread_paths_forget(struct thread_paths *p, pid_t tid)
{
	struct last_path *last;

	HASH_FIND_INT(p->threads, &tid, last);
	if (last)
		drop(p, last);
}

/* Between the exit event and the thread's last instruction in the kernel there can be samples
 * yet, which build on its path: that is forgotten when some more threads have ended. (A new
 * thread of the same number begins without: thread_paths_forget().) */
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
