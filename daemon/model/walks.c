/* SPDX-License-Identifier: MIT */
/* From records to paths; see walks.h. */
#include "daemon/model/walks.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/model/branches.h"
#include "daemon/capture/record.h"

struct walks {
	const struct object_table *objects;
	struct location_table *locations;
	struct origin_table *origins;
	struct locator *places;
	const struct trie *trie;
	const struct tables *tables; /* NULL: none */
	struct dwarf_walk *walk;
	struct branches *branches; /* NULL: there are no branch records */
	bool has_heights;
	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
};

int walks_new(const struct walks_options *options, struct walks **ret_walks)
{
	struct walks *w = calloc(1, sizeof(*w));
	int err;

	if (!w)
		return -ENOMEM;
	w->objects = options->objects;
	w->locations = options->locations;
	w->origins = options->origins;
	w->places = options->places;
	w->trie = options->trie;
	err = dwarf_walk_new(&w->walk);
	if (err) {
		walks_free(w);
		return err;
	}
	*ret_walks = w;
	return 0;
}

void walks_free(struct walks *w)
{
	if (!w)
		return;
	branches_free(w->branches);
	dwarf_walk_free(w->walk);
	free(w);
}

void walks_use_heights(struct walks *w)
{
	w->has_heights = true;
}

void walks_use_tables(struct walks *w, const struct tables *tables)
{
	w->tables = tables;
}

int walks_use_branches(struct walks *w, bool is_call_stack, unsigned entries)
{
	return branches_new(w->walk, w->objects, is_call_stack, entries, &w->branches);
}

void walks_keep_branches(struct walks *w, const struct stackd_branch_record *record)
{
	if (w->branches)
		branches_keep(w->branches, record);
}

void walks_forget(struct walks *w, pid_t tid)
{
	branches_forget(w->branches, tid);
}

void walks_rest(struct walks *w)
{
	dwarf_walk_trim(w->walk);
}

void walks_get_stats(const struct walks *w, struct dwarf_walk_stats *ret_stats)
{
	dwarf_walk_get_stats(w->walk, ret_stats);
}

static int keep_origin(struct walks *w, const struct branches_path *found, struct walks_end *end)
{
	end->origin = ORIGIN_WALKED;
	return found->origin.n_runs ? origin_intern(w->origins, &found->origin, &end->origin) : 0;
}

/* --- STACK ----------------------------------------------------------------------------------- */

/* Holds the walk in w->frames against the sample's branch records. */
static int walk_with_branches(struct walks *w, const struct stackd_header *header,
			      const struct walk_input *in, size_t *count, struct walks_end *end)
{
	struct branches_path found;
	int err;

	if (!branches_belong(w->branches, header) || header->flags & STACKD_JUDGE)
		return 0;
	err = branches_on_walk(w->branches, (pid_t)header->tid, in, w->frames,
			       DWARF_WALK_MAX_FRAMES, count, end->reason, &found);
	if (!err)
		err = keep_origin(w, &found, end);
	if (!err)
		end->reason = found.end;
	return err;
}

/* Walks the user stack of a record into w->frames. */
static int walk(struct walks *w, const struct stackd_stack_record *record, size_t *ret_count,
		struct walks_end *ret_end)
{
	struct place_of of = {.places = w->places, .pid = (pid_t)record->pid};
	const struct walk_input in = {
		.regs = record->regs,
		.stack =
			(const uint8_t *)(record_kernel(&record->header) + record->header.n_kernel),
		.stack_bytes = record->stack_bytes,
		.stack_cut = record->header.flags & STACKD_STACK_CUT,
		.stack_holes = record->holes,
		.leaf = record->leaf,
		.find = locator_find_code,
		.arg = &of,
	};
	int err;

	*ret_count = 0;
	*ret_end = (struct walks_end){STACKD_END_NO_USER, ORIGIN_WALKED};
	if (!(record->header.flags & STACKD_HAS_REGS))
		return 0;
	ret_end->reason = STACKD_END_FOREIGN_ABI;
	if (record->header.flags & STACKD_COMPAT)
		return 0;
	ret_end->reason =
		dwarf_walk_stack(w->walk, &in, w->frames, DWARF_WALK_MAX_FRAMES, ret_count);
	err = walk_with_branches(w, &record->header, &in, ret_count, ret_end);
	if (err)
		return err;
	if (ret_end->reason != STACKD_END_ENTRY && record->header.flags & STACKD_IN_EXEC) {
		*ret_count = 0; /* the old program's stack is gone, the new one's not begun */
		*ret_end = (struct walks_end){STACKD_END_NO_USER, ORIGIN_WALKED};
	}
	return 0;
}

/* Where the stack of a record ends, if its copy goes that far. */
static uint64_t stack_end(const struct stackd_stack_record *record)
{
	if (record->header.flags & (STACKD_STACK_CUT | STACKD_STACK_FAULT))
		return 0;
	return record->stack_bytes ? record->regs.r[STACKD_REG_RSP] + record->stack_bytes : 0;
}

int walks_of_stack(struct walks *w, const struct stackd_stack_record *record, struct path *path,
		   struct walks_end *ret_end)
{
	const uint64_t end = stack_end(record);
	size_t count;
	int err = walk(w, record, &count, ret_end);

	path->count = 0;
	for (size_t i = 0; i < count && !err; i++) {
		const struct walk_frame *frame = &w->frames[count - 1 - i];
		uint64_t height = end > frame->slot ? end - frame->slot : 0;

		err = locator_of_frame(w->places, frame, &path->locations[i]);
		path->heights[i] = frame->slot && height <= UINT32_MAX ? (uint32_t)height : 0;
		path->count += !err;
	}
	return err;
}

/* --- WALKED ---------------------------------------------------------------------------------- */

/* The location of a frame, which may be new. -EBADMSG: no such thing. */
static int walked_location(struct walks *w, const struct stackd_header *header,
			   const struct record_frame *frame, struct location *ret_location)
{
	const struct object *object = NULL;
	uint64_t offset = frame->place & STACKD_LOCATION_MASK, base;
	uint32_t file = (uint32_t)(frame->place >> 48);

	if (frame->has_segment) {
		if (!w->tables || !tables_segment(w->tables, frame->segment, &file, &base))
			return -EBADMSG;
		offset = base + frame->place;
	}
	if (file == STACKD_FILE_NONE) {
		pid_t pid = (pid_t)record_pid(header);
		int err = 0;

		if (!locator_find(w->places, pid, offset, &object, &offset))
			err = locator_nowhere(w->places, &object);
		if (err)
			return err;
	} else if (file > object_table_count(w->objects)) {
		return -EBADMSG;
	} else {
		object = object_table_at(w->objects, file - 1);
	}
	*ret_location = (struct location){
		.file_id = object->file_id,
		.offset = offset,
		.object = object->number,
		.is_return = !frame->is_exact,
	};
	return 0;
}

/* Asks memory for what entering the frames that a record adds will read: they are the path's next
 * n, leaf first. */
static void foresee(const struct walks *w, const struct stackd_header *header,
		    const struct path *path, size_t n)
{
	if (path->count == header->kept && n < LOCATIONS_AT_ONCE)
		trie_prefetch_index(w->trie, path->tag, &path->ids[path->count], n);
}

/* Adds some of the record's next frames to the path. 1; 0: there are no more; -errno. */
static int add_walked(struct walks *w, const struct stackd_header *header,
		      struct record_frames *frames, struct path *path)
{
	struct location locations[LOCATIONS_AT_ONCE];
	uint64_t *ids = &path->ids[path->count];
	struct record_frame frame;
	size_t n = 0;
	int more = 1, err = 0;

	while (!err && n < LOCATIONS_AT_ONCE && path->count + n < DWARF_WALK_MAX_FRAMES &&
	       (more = record_frames_next(frames, &frame)) > 0) {
		path->heights[path->count + n] = frame.height;
		err = walked_location(w, header, &frame, &locations[n]);
		if (!err)
			ids[n] = location_id(locations[n].file_id, locations[n].offset);
		n++;
	}
	if (more < 0)
		err = more;
	if (err)
		return err;
	foresee(w, header, path, n);
	err = location_intern_all(w->locations, locations, ids, n, &path->locations[path->count]);
	if (err)
		return err;
	path->count += n;
	return n == LOCATIONS_AT_ONCE;
}

static void swap(uint32_t *a, uint32_t *b)
{
	uint32_t old = *a;

	*a = *b;
	*b = old;
}

static void swap_ids(uint64_t *a, uint64_t *b)
{
	uint64_t old = *a;

	*a = *b;
	*b = old;
}

/* Turns the path's frames from `from` on round: they came leaf first. */
static void turn_round(struct path *path, size_t from)
{
	for (size_t i = from, j = path->count; i + 1 < j; i++) {
		swap(&path->locations[i], &path->locations[--j]);
		swap_ids(&path->ids[i], &path->ids[j]);
		swap(&path->heights[i], &path->heights[j]);
	}
}

int walks_of_walked(struct walks *w, const struct stackd_header *header, struct path *path)
{
	const size_t kept = path->count;
	struct record_frames frames;
	int more;

	record_frames(header, w->has_heights, &frames);
	do {
		more = add_walked(w, header, &frames, path);
	} while (more > 0);
	if (!more)
		turn_round(path, kept);
	return more;
}

/* Puts the frames that branch records have added at the path's root. */
static int add_at_root(struct walks *w, size_t more, struct path *path)
{
	int err = 0;

	_Static_assert(LBR_MAX_FRAMES <= PATH_MAX_FRAMES, "what lib/lbr makes must have room");
	memmove(path->locations + more, path->locations, path->count * sizeof(path->locations[0]));
	memmove(path->heights + more, path->heights, path->count * sizeof(path->heights[0]));
	path->count += more;
	for (size_t i = 0; i < more && !err; i++) {
		struct location added = branches_added(w->branches, i);

		err = location_intern(w->locations, &added, &path->locations[i]);
		path->heights[i] = 0;
	}
	return err;
}

int walks_add_branches(struct walks *w, const struct stackd_header *header, struct path *path,
		       struct walks_end *end, bool *ret_added)
{
	struct place_of of = {.places = w->places, .pid = (pid_t)record_pid(header)};
	const struct walk_input in = {.find = locator_find_code, .arg = &of};
	struct branches_path found;
	int err;

	*ret_added = false;
	if (!branches_belong(w->branches, header) || !path->count)
		return 0;
	err = branches_on_path(w->branches, (pid_t)header->tid, &in, w->locations, path->locations,
			       path->count, end->reason, &found);
	if (!err)
		err = keep_origin(w, &found, end);
	if (err || !found.more)
		return err;
	*ret_added = true;
	end->reason = found.end;
	return add_at_root(w, found.more, path);
}
