/* SPDX-License-Identifier: MIT */
/*
 * Compares branch records with walks; see branches.h.
 *
 * A walk by the daemon has addresses and the copied stack, as lib/code/lbr needs them. A walk by
 * the kernel half is a list of locations. So that walk and the records' addresses are passed to
 * lib/code/lbr as packed locations, object + 1 << OBJECT_SHIFT | offset. That suffices, because it
 * only looks up the code at an address and compares the address with others of the same file.
 */
#include "daemon/recorder/branches.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lbr/lbr_code.h"

#define OBJECT_SHIFT 47
#define OBJECT_MAX   0x7fff
#define OFFSET_MASK  (((uint64_t)1 << OBJECT_SHIFT) - 1)

struct branches {
	const struct object_table *objects;
	struct lbr *lbr;
	struct lbr_code_files *files;
	bool is_call_stack;
	unsigned ring;

	uint32_t tid;
	uint64_t time_ns;
	size_t n;
	struct lbr_entry entries[STACKD_MAX_BRANCHES], packed[STACKD_MAX_BRANCHES];

	struct lbr_walked walked[LBR_MAX_FRAMES];
	struct lbr_frame frames[LBR_MAX_FRAMES]; /* the path, leaf first */
	size_t n_frames;
	struct origin_run runs[LBR_MAX_FRAMES];
};

int branches_new(struct dwarf_walk *walk, const struct object_table *objects, bool is_call_stack,
		 unsigned entries, struct branches **ret_branches)
{
	struct branches *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->objects = objects;
	b->is_call_stack = is_call_stack;
	b->ring = entries;
	err = lbr_new(&b->lbr);
	if (!err)
		err = lbr_code_new(walk, &b->files);
	if (err) {
		branches_free(b);
		return err;
	}
	*ret_branches = b;
	return 0;
}

void branches_free(struct branches *b)
{
	if (!b)
		return;
	lbr_code_free(b->files);
	lbr_free(b->lbr);
	free(b);
}

void branches_forget(struct branches *b, pid_t tid)
{
	if (b)
		lbr_forget(b->lbr, tid);
}

void branches_keep(struct branches *b, const struct stackd_branch_record *record)
{
	const struct stackd_branch *from = (const struct stackd_branch *)(record + 1);
	size_t n = record->n < STACKD_MAX_BRANCHES ? record->n : STACKD_MAX_BRANCHES;

	b->tid = record->header.tid;
	b->time_ns = record->header.time_ns;
	b->n = 0;
	for (size_t i = 0; i < n; i++) {
		if (lbr_was_taken(from[i].flags))
			b->entries[b->n++] =
				(struct lbr_entry){.from = from[i].from, .to = from[i].to};
	}
}

bool branches_belong(const struct branches *b, const struct stackd_header *header)
{
	return b && b->n && b->tid == header->tid && b->time_ns == header->time_ns;
}

/* --- lib/code/lbr
 * --------------------------------------------------------------------------------- */

static int reconstruct(struct branches *b, pid_t tid, struct lbr_input *in,
		       struct lbr_code_view *view, struct branches_path *ret_path)
{
	struct lbr_result result;
	int err;

	in->walked = b->walked;
	in->n_entries = b->n;
	in->ring = b->ring;
	in->top = -1; /* the BPF helper does not say which entry is the newest */
	in->code = lbr_code_of(view);
	if (b->is_call_stack)
		err = lbr_reconstruct(b->lbr, tid, in, b->frames, LBR_MAX_FRAMES, &result);
	else
		err = lbr_replay(in, b->frames, LBR_MAX_FRAMES, &result);
	if (err)
		return err;
	b->n_frames = result.n_frames;
	*ret_path = (struct branches_path){
		.end = result.end,
		.origin = {.is_complete = result.end == STACKD_END_ENTRY,
			   .runs = b->runs,
			   .n_runs = lbr_runs(b->frames, b->n_frames, b->runs)},
	};
	return 0;
}

int branches_on_walk(struct branches *b, pid_t tid, const struct walk_input *walk,
		     struct walk_frame *frames, size_t max, size_t *count,
		     enum stackd_end_reason end, struct branches_path *ret_path)
{
	struct lbr_code_view view = {.files = b->files, .in = walk};
	struct lbr_input in = {
		.ip = walk->regs.r[STACKD_REG_PC],
		.entries = b->entries,
		.memory = {walk->stack, walk->regs.r[STACKD_REG_SP], walk->stack_bytes,
			   walk->stack_cut},
		.walk_end = end,
		.n_walked = *count < LBR_MAX_FRAMES ? *count : LBR_MAX_FRAMES,
	};
	int err;

	for (size_t i = 0; i < in.n_walked; i++)
		b->walked[i] = (struct lbr_walked){.address = frames[i].address,
						   .slot = frames[i].slot,
						   .is_return = frames[i].is_return,
						   .is_guess = frames[i].is_guess};
	err = reconstruct(b, tid, &in, &view, ret_path);
	if (err)
		return err;
	*count = b->n_frames < max ? b->n_frames : max;
	for (size_t i = 0; i < *count; i++) {
		const struct lbr_frame *f = &b->frames[i];

		frames[i] = (struct walk_frame){.address = f->address,
						.offset = f->address,
						.slot = f->slot,
						.is_return = f->is_return,
						.is_guess = !f->is_verified};
		walk->find(walk->arg, f->address - f->is_return, &frames[i].object,
			   &frames[i].offset);
	}
	return 0;
}

/* --- packed locations ------------------------------------------------------------------------ */

static uint64_t pack(const struct object *object, uint64_t offset)
{
	if (object->number >= OBJECT_MAX || offset > OFFSET_MASK)
		return 0;
	return (uint64_t)(object->number + 1) << OBJECT_SHIFT | offset;
}

static uint64_t pack_address(const struct walk_input *in, uint64_t address)
{
	const struct object *object;
	uint64_t offset;

	if (!in->find(in->arg, address, &object, &offset))
		return 0;
	return pack(object, offset);
}

/* The callback walk_input.find for addresses that are packed locations. */
static bool find_packed(void *arg, uint64_t packed, const struct object **ret_object,
			uint64_t *ret_offset)
{
	const struct branches *b = arg;
	uint64_t number = packed >> OBJECT_SHIFT;

	if (!number || number > object_table_count(b->objects))
		return false;
	*ret_object = object_table_at(b->objects, (uint32_t)(number - 1));
	*ret_offset = packed & OFFSET_MASK;
	return true;
}

int branches_on_path(struct branches *b, pid_t tid, const struct walk_input *walk,
		     const struct location_table *locations, const uint32_t *path, size_t count,
		     enum stackd_end_reason end, struct branches_path *ret_path)
{
	const struct walk_input packed = {.find = find_packed, .arg = b};
	struct lbr_code_view view = {.files = b->files, .in = &packed};
	struct lbr_input in = {
		.entries = b->packed,
		.walk_end = end,
		.n_walked = count < LBR_MAX_FRAMES ? count : LBR_MAX_FRAMES,
	};
	int err;

	for (size_t i = 0; i < b->n; i++)
		b->packed[i] = (struct lbr_entry){.from = pack_address(walk, b->entries[i].from),
						  .to = pack_address(walk, b->entries[i].to)};
	for (size_t i = 0; i < in.n_walked; i++) {
		const struct location *l = location_at(locations, path[count - 1 - i]);

		b->walked[i] = (struct lbr_walked){
			.address = pack(object_table_at(b->objects, l->object), l->offset) +
				   l->is_return,
			.is_return = l->is_return};
	}
	err = reconstruct(b, tid, &in, &view, ret_path);
	if (err)
		return err;
	if (b->n_frames <
	    in.n_walked) { /* lib/code/lbr has left out frames: keep the walk as it is */
		ret_path->origin = (struct origin){.is_complete = end == STACKD_END_ENTRY};
		ret_path->end = end;
		return 0;
	}
	ret_path->more = b->n_frames - in.n_walked;
	return 0;
}

struct location branches_added(const struct branches *b, size_t i)
{
	const struct lbr_frame *f = &b->frames[b->n_frames - 1 - i];
	uint64_t packed = f->address - f->is_return;
	const struct object *object =
		object_table_at(b->objects, (uint32_t)(packed >> OBJECT_SHIFT) - 1);

	return (struct location){.file_id = object->file_id,
				 .offset = packed & OFFSET_MASK,
				 .object = object->number,
				 .is_return = f->is_return};
}
