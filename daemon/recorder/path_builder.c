/* SPDX-License-Identifier: MIT */
/* Makes call paths of records, kind by kind; see path_builder.h. */
#include "daemon/recorder/path_builder.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/record.h"
#include "daemon/recorder/copied_text.h"
#include "daemon/recorder/data_code.h"
#include "daemon/recorder/jit_tracker.h"
#include "daemon/recorder/machines_walked.h"
#include "daemon/recorder/backoff.h"
#include "daemon/recorder/planted_returns.h"
#include "daemon/recorder/root_check.h"
#include "daemon/recorder/caller_check.h"
#include "daemon/recorder/managed_chain.h"
#include "daemon/tables/path_tables.h"

/* Limits the origins made for heights of first frames; paths beyond it have no height. */
#define MAX_HEIGHT_ORIGINS (1u << 20)

/* Times that a walk goes on from a runtime's code: the loop waits for a worker each time. More only
 * as often as GOES_ON_EARNED records allow one, up to MOST_SAVED: while a program starts, calls of
 * its code and the runtime's alternate on the stack. */
#define MOST_GOES_ON   2
#define GOES_ON_EARNED 8
#define MOST_SAVED     512

struct path_builder {
	struct path_builder_options with;
	struct caller_check *check;
	struct copied_text *copied;
	struct planted_returns put;
	struct root_check root;
	unsigned go_on_credit;	      /* may_go_on() */
	struct backoff reloads;	      /* when to read mappings of processes again */
	struct stackd_tag_record tag; /* the tag that was read together with the next walk */
	bool met_made, met_file; /* the walk of the current record came to JIT code; it came to JIT
				  * code where the table of mappings has a file */
	struct walk_frame frames[DWARF_WALK_MAX_FRAMES];
	bool is_confirmed[DWARF_WALK_MAX_FRAMES]; /* by frame: its caller is known to call it; for
						   * judge_jit */
};

int path_builder_new(const struct path_builder_options *options, struct path_builder **ret_builder)
{
	const struct caller_check_options check = {.objects = options->objects,
						   .locations = options->locations,
						   .walks = options->walks,
						   .jit = options->jit};
	struct path_builder *b = calloc(1, sizeof(*b));
	int err;

	if (!b)
		return -ENOMEM;
	b->with = *options;
	b->go_on_credit = MOST_SAVED * GOES_ON_EARNED;
	b->put = (struct planted_returns){.locator = options->locator,
					  .objects = options->objects,
					  .locations = options->locations,
					  .tables = options->tables};
	err = caller_check_new(&check, &b->check);
	b->root = (struct root_check){
		.check = b->check,
		.objects = options->objects,
		.locations = options->locations,
		.tables = options->tables,
		.mappings_of = locator_mappings,
		.processes = options->locator,
	};
	if (!err)
		err = copied_text_new(options->locator, "/proc", &b->copied);
	if (err) {
		path_builder_free(b);
		return err;
	}
	*ret_builder = b;
	return 0;
}

void path_builder_free(struct path_builder *b)
{
	if (!b)
		return;
	caller_check_free(b->check);
	copied_text_free(b->copied);
	planted_returns_fini(&b->put);
	root_check_fini(&b->root);
	backoff_fini(&b->reloads);
	free(b);
}

void path_builder_forget(struct path_builder *b, pid_t tid)
{
	branches_forget(b->with.branches, tid);
}

void path_builder_begin_anew(struct path_builder *b)
{
	caller_check_begin_anew(b->check);
	planted_returns_begin_anew(&b->put);
	root_check_begin_anew(&b->root);
}

void path_builder_trim(struct path_builder *b)
{
	walks_tick(b->with.walks);
	caller_check_tick(b->check);
	if (planted_returns_look_again(&b->put))
		caller_check_recheck_kept(b->check);
}

void path_builder_get_stats(const struct path_builder *b, struct dwarf_walk_stats *ret_stats)
{
	walks_get_stats(b->with.walks, ret_stats);
}

uint64_t path_builder_unchecked_returns(const struct path_builder *b)
{
	return planted_returns_unchecked(&b->put);
}

struct caller_check_counts path_builder_steps(const struct path_builder *b)
{
	return caller_check_counts(b->check);
}

/* --- parts of every path --------------------------------------------------------------------- */

/* If a tag was read at the moment of the walk, checks the path by it, and learns that the tag
 * stands for the path. 0 or -ENOMEM. */
static int learn_tag(struct path_builder *b, const struct stackd_header *record,
		     const struct path *path, enum stackd_end_reason reason)
{
	const struct stackd_header *tag = &b->tag.header;

	if (!b->with.tags || tag->tid != record->tid || tag->time_ns != record->time_ns)
		return 0;
	return tag_paths_learn(b->with.tags, &b->tag, path->locations, path->count, reason);
}

/* Gives a walked path an origin that has the height of its first frame (bytes to the end of the
 * stack), unless branch records have given it an origin. 0 or -ENOMEM. */
static int add_height(struct path_builder *b, const struct path *path, uint32_t *origin)
{
	const struct origin walked = {.height = path->heights[path->cut]};

	if (*origin != ORIGIN_WALKED || !b->with.has_heights || !path->count ||
	    origin_count(b->with.origins) >= MAX_HEIGHT_ORIGINS)
		return 0;
	return origin_intern(b->with.origins, &walked, origin);
}

/* Checks the steps between the user frames of a path and its outermost frame, before kernel frames
 * are added. If the path is cut, it loses its origin, because an origin counts frames from the
 * root. 0 or -ENOMEM. */
static int check_steps(struct path_builder *b, struct path *path, pid_t pid, enum stackd_root root,
		       bool is_kernels, struct path_builder_end *end)
{
	bool is_proven = true;
	int err = caller_check_path(b->check, path, end->reason, is_kernels);

	if (!err && !path->cut && end->reason == STACKD_END_ENTRY)
		err = root_check_path(&b->root, path, pid, root, is_kernels, &is_proven);
	if (!err && (path->cut || !is_proven)) {
		end->reason = path->cut_reason;
		end->origin = ORIGIN_WALKED;
	}
	return err;
}

/* Adds the kernel frames behind the user frames. For a waker, leaves out the frames behind
 * try_to_wake_up(), which are those of the BPF program. 0 or -ENOMEM. */
static int add_kernel(struct path_builder *b, const struct stackd_header *record, struct path *path)
{
	const uint64_t *kernel = record_kernel(record);
	int err = 0;

	path->user = path->count;
	for (size_t i = record->n_kernel; i-- > 0 && !err;) {
		path->heights[path->count] = 0;
		err = locator_of_kernel(b->with.locator, kernel[i], i > 0,
					&path->locations[path->count++]);
		if (record->event == STACKD_EVENT_WAKE &&
		    locator_is_wakeup(b->with.locator, kernel[i]))
			break;
	}
	return err;
}

/* If the walk came to JIT code, searches the process for copied text (copied_text.h). 1: found
 * some, so the stack is to be walked again; 0; -ENOMEM. */
static int look_for_text(struct path_builder *b, const struct stackd_header *header)
{
	pid_t pid = (pid_t)record_pid(header);
	int found = 0;

	if (b->met_made)
		found = copied_text_look(b->copied, pid, header->time_ns, b->met_file);
	b->met_made = b->met_file = false;
	return found;
}

static int keep_origin(struct path_builder *b, const struct branches_path *found,
		       struct path_builder_end *end)
{
	end->origin = ORIGIN_WALKED;
	return found->origin.n_runs ? origin_intern(b->with.origins, &found->origin, &end->origin)
				    : 0;
}

/* --- STACK ----------------------------------------------------------------------------------- */

/* Compares the walk in b->frames with the sample's branch records. */
static int walk_with_branches(struct path_builder *b, const struct stackd_header *header,
			      const struct walk_input *in, size_t *count,
			      struct path_builder_end *end)
{
	struct branches_path found;
	int err;

	if (!branches_belong(b->with.branches, header) || header->flags & STACKD_JUDGE)
		return 0;
	err = branches_on_walk(b->with.branches, (pid_t)header->tid, in, b->frames,
			       DWARF_WALK_MAX_FRAMES, count, end->reason, &found);
	if (!err)
		err = keep_origin(b, &found, end);
	if (!err)
		end->reason = found.end;
	return err;
}

/* Makes the frame that the sample hit, for a stack that cannot be walked. Returns the number of
 * frames: 1; 0: no mapping has the program counter. */
static size_t hit_frame(const struct walk_input *in, struct walk_frame *frame)
{
	*frame = (struct walk_frame){.address = in->regs.r[STACKD_REG_PC],
				     .offset = in->regs.r[STACKD_REG_PC]};
	return in->find(in->arg, frame->address, &frame->object, &frame->offset);
}

static struct walk_input input_of(const struct path_builder *b,
				  const struct stackd_stack_record *record,
				  struct locator_process *process)
{
	size_t n_more_holes;
	const uint64_t *more_holes = record_more_holes(record, &n_more_holes);

	return (struct walk_input){
		.regs = record->regs,
		.stack =
			(const uint8_t *)(record_kernel(&record->header) + record->header.n_kernel),
		.stack_bytes = record->stack_bytes,
		.below = record->below,
		.stack_cut = record->header.flags & STACKD_STACK_CUT,
		.stack_end = record->stack_end,
		.stack_holes = record->holes,
		.stack_more_holes = more_holes,
		.n_stack_more_holes = n_more_holes,
		.pid = process->pid,
		.leaf = record->leaf,
		.has_code = true,
		.is_uncalled = record->is_uncalled,
		.has_words = b->with.machines && machines_has_words(b->with.machines, process->pid),
		.code = record_code(record),
		.code_count = record->code_count,
		.find = locator_find_code,
		.arg = process,
	};
}

/* Walks the user stack of a record into b->frames. */
static int walk(struct path_builder *b, const struct stackd_stack_record *record, size_t *ret_count,
		struct path_builder_end *ret_end)
{
	struct locator_process process = {.locator = b->with.locator, .pid = (pid_t)record->pid};
	const struct walk_input in = input_of(b, record, &process);
	int err;

	*ret_count = 0;
	ret_end->reason = STACKD_END_NO_USER;
	if (!(record->header.flags & STACKD_HAS_REGS))
		return 0;
	ret_end->reason = STACKD_END_FOREIGN_ABI;
	if (record->header.flags & STACKD_COMPAT) {
		*ret_count = hit_frame(&in, b->frames);
		return 0;
	}
	ret_end->reason = walks_stack(b->with.walks, record, &in, b->frames, DWARF_WALK_MAX_FRAMES,
				      ret_count);
	err = walk_with_branches(b, &record->header, &in, ret_count, ret_end);
	if (err)
		return err;
	if (ret_end->reason != STACKD_END_ENTRY && record->header.flags & STACKD_IN_EXEC) {
		*ret_count = 0; /* at an exec the stack of the old program is gone, and that of the
				 * new one has not begun */
		ret_end->reason = STACKD_END_NO_USER;
		ret_end->origin = ORIGIN_WALKED;
	}
	return 0;
}

/* Returns the address of the end of a record's stack; 0: the copy does not reach that far. */
static uint64_t stack_end(const struct stackd_stack_record *record)
{
	if (record->header.flags & (STACKD_STACK_CUT | STACKD_STACK_FAULT))
		return 0;
	return record->stack_bytes ? record->regs.r[STACKD_REG_SP] + record->stack_bytes : 0;
}

/* Sets b->met_made: whether the walk came to JIT code. Also if the kernel half found no rule
 * although it knows the file and has its table, because JIT code may have replaced the file at that
 * address. */
static void note_made(struct path_builder *b, const struct stackd_stack_record *record,
		      size_t count)
{
	b->met_made = record->header.end_reason == STACKD_END_NO_RECIPE && !record->wanted &&
		      !record->unknown.key.inode;
	for (size_t i = 0; i < count && !b->met_made; i++)
		b->met_made = b->frames[i].object && b->frames[i].object->kind == OBJECT_JIT;
}

/* If a walk has ended at an address in no mapping, reads the mappings of the process again, because
 * another process, which shares the memory and is not recorded, may have made the mapping. 1: the
 * address is mapped now; 0; -ENOMEM. */
static int look_for_mapping(struct path_builder *b, const struct stackd_stack_record *record,
			    size_t count)
{
	pid_t pid = (pid_t)record->pid;
	const struct walk_frame *last = &b->frames[count - 1];
	uint64_t time_ns = record->header.time_ns;
	int found = 0;

	if (!count || last->object)
		return 0;
	found = backoff_are_over(&b->reloads, pid, time_ns, false);
	if (found <= 0)
		return found;
	if (locator_reload(b->with.locator, pid) == -ENOMEM)
		return -ENOMEM;
	found = locator_mapping(b->with.locator, pid, last->address - last->is_return) != NULL;
	backoff_begin(&b->reloads, pid, time_ns, found);
	return found;
}

/* Walks the stack of a record, and again as long as that makes copied text or a mapping known.
 * Errors as of walk(). */
static int walk_in_text(struct path_builder *b, const struct stackd_stack_record *record,
			size_t *ret_count, struct path_builder_end *ret_end)
{
	int err, found;

	do {
		err = walk(b, record, ret_count, ret_end);
		if (err)
			return err;
		note_made(b, record, *ret_count);
		found = look_for_text(b, &record->header);
		if (!found && ret_end->reason == STACKD_END_NO_MAPPING)
			found = look_for_mapping(b, record, *ret_count);
	} while (found > 0);
	return found;
}

/* Cuts a walk off behind the first frame whose code is in its file's data segment and differs from
 * the file's bytes (data_code.h). */
static void end_at_changed(struct path_builder *b, const struct stackd_stack_record *record,
			   size_t *count, struct path_builder_end *end)
{
	for (size_t i = 0; i + 1 < *count; i++) {
		const struct walk_frame *f = &b->frames[i];

		if (!f->object ||
		    !data_code_has_changed(locator_memory(b->with.locator), f->object, f->offset,
					   (pid_t)record->pid, f->address - f->is_return))
			continue;
		*count = i + 1;
		b->frames[i].provenance = PROVENANCE_NONE;
		end->reason = STACKD_END_RUNTIME_CODE;
		end->origin = ORIGIN_WALKED;
	}
}

/* Walks on from the last frame, of which `regs` are known. Returns whether it has found a caller.
 */
static bool walk_on(struct path_builder *b, const struct stackd_stack_record *record,
		    const struct walk_input *in, const struct stackd_regs *regs, size_t *count,
		    struct path_builder_end *end)
{
	struct walk_frame *last = &b->frames[*count - 1];
	const struct walk_frame before = *last;
	struct walk_input from = *in;
	size_t n = 0;

	from.stack_start = record->regs.r[STACKD_REG_SP];
	from.regs = *regs;
	from.is_return = true;
	from.is_uncalled = false;
	from.known = 1u << STACKD_REG_SP | (regs->r[STACKD_REG_FP] ? 1u << STACKD_REG_FP : 0);
	end->reason = walks_stack(b->with.walks, NULL, &from, last,
				  DWARF_WALK_MAX_FRAMES - *count + 1, &n);
	last->slot = before.slot;
	*count += n ? n - 1 : 0;
	return n > 1;
}

/* Returns whether a walk that has gone on `times` times may do so once more. */
static bool may_go_on(struct path_builder *b, int times)
{
	if (times < MOST_GOES_ON)
		return true;
	if (b->go_on_credit < GOES_ON_EARNED)
		return false;
	b->go_on_credit -= GOES_ON_EARNED;
	return true;
}

/* Corrects a walk that has missed frames in the code of a runtime, or has ended there. */
static void correct_walk(struct path_builder *b, const struct stackd_stack_record *record,
			 size_t *count, struct path_builder_end *end)
{
	struct locator_process process = {.locator = b->with.locator, .pid = (pid_t)record->pid};
	const struct walk_input in = input_of(b, record, &process);
	enum machines_walk walk;
	struct stackd_regs regs;
	int times = 0;

	if (!*count)
		return;
	b->go_on_credit += b->go_on_credit < MOST_SAVED * GOES_ON_EARNED;
	do {
		walk = machines_correct(b->with.machines, record, &in,
					end->reason == STACKD_END_ENTRY, b->frames, count, &regs);
		if (walk != MACHINES_WALK_GOES_ON)
			break;
		end->origin = ORIGIN_WALKED;
		if (!may_go_on(b, times++)) {
			end->reason = STACKD_END_RUNTIME_CODE;
			break;
		}
	} while (walk_on(b, record, &in, &regs, count, end));
	if (walk == MACHINES_WALK_SAME || walk == MACHINES_WALK_RIGHT ||
	    (walk == MACHINES_WALK_GOES_ON && end->reason == STACKD_END_ENTRY))
		return;
	end->origin = ORIGIN_WALKED;
	b->frames[*count - 1].provenance = PROVENANCE_NONE;
	end->reason = STACKD_END_RUNTIME_CODE;
}

static int frames_of_stack(struct path_builder *b, const struct stackd_stack_record *record,
			   struct path *path, struct path_builder_end *ret_end)
{
	const uint64_t end = stack_end(record);
	const uint32_t known = location_count(b->with.locations);
	size_t count;
	int err = walk_in_text(b, record, &count, ret_end);

	if (!err)
		end_at_changed(b, record, &count, ret_end);
	if (!err && b->with.machines)
		correct_walk(b, record, &count, ret_end);
	if (!err && b->with.tables && (record->wanted || record->unknown.key.inode))
		err = path_tables_want(b->with.tables, b->frames, count);
	for (size_t i = 0; i < count && !err; i++) {
		const struct walk_frame *frame = &b->frames[count - 1 - i];
		uint64_t height = end > frame->slot ? end - frame->slot : 0;

		err = locator_of_frame(b->with.locator, frame, (pid_t)record->pid,
				       record->header.time_ns, &path->locations[i]);
		path->heights[i] = frame->slot && height <= UINT32_MAX ? (uint32_t)height : 0;
		path->count += !err;
	}
	planted_returns_note(&b->put, (pid_t)record->pid, known);
	return err;
}

/* Judges the frames of a walk through JIT code (judge_jit.h) that were not cut off when its steps
 * were checked. */
static void judge_stack(struct path_builder *b, const struct stackd_stack_record *record,
			const struct path *path)
{
	struct locator_process process = {.locator = b->with.locator, .pid = (pid_t)record->pid};
	const struct walk_input in = input_of(b, record, &process);
	const struct judge_jit_walk walk = {.in = &in,
					    .frames = b->frames,
					    .is_confirmed = b->is_confirmed,
					    .count = path->count - path->cut};

	if (!b->with.judge_jit || !walk.count)
		return;
	for (size_t i = 0; i + 1 < walk.count; i++)
		b->is_confirmed[i] =
			caller_check_is_confirmed(b->check, path->locations[path->count - 2 - i],
						  path->locations[path->count - 1 - i]);
	judge_jit_take(b->with.judge_jit, &walk);
}

/* Returns how the walk in b->frames knows that it has reached an entry. */
static enum stackd_root root_of(const struct path_builder *b, const struct path *path)
{
	return path->count ? (enum stackd_root)b->frames[path->count - 1].root : STACKD_ROOT_PROVEN;
}

/* Adds the managed frames that came with a record. 0 or -ENOMEM. */
static int add_chain(struct path_builder *b, const struct stackd_stack_record *record,
		     struct path *path, enum stackd_end_reason reason)
{
	const struct managed_chain chain = {.tables = b->with.tables,
					    .managed = b->with.managed,
					    .locations = b->with.locations};

	return b->with.tables ? managed_chain_add(&chain, record, b->frames, reason, path) : 0;
}

/* Adds the frames of managed code. 0 or -ENOMEM. */
static int add_managed(struct path_builder *b, const struct stackd_stack_record *record,
		       struct path *path, enum stackd_end_reason reason)
{
	bool has_moved = false;
	int err = b->with.machines
			  ? machines_name(b->with.machines, record, b->frames, path, &has_moved)
			  : 0;

	return err || has_moved ? err : add_chain(b, record, path, reason);
}

/* Returns whether the rootmost frame of the daemon's walk is in code whose callers the kernel half
 * alone can find. */
static bool is_beyond(const struct path_builder *b, const struct path *path)
{
	const struct location *root =
		path->count > path->cut ? location_at(b->with.locations, path->locations[path->cut])
					: NULL;
	const struct object *code = root ? object_table_at(b->with.objects, root->object) : NULL;

	return code && code->kind == OBJECT_JIT && b->with.jit &&
	       jit_tracker_is_stepped(b->with.jit, code);
}

static int take_stack(struct path_builder *b, const struct stackd_stack_record *record,
		      struct path *path, struct path_builder_end *ret_end)
{
	const struct stackd_header *header = &record->header;
	int err = frames_of_stack(b, record, path, ret_end);

	if (err)
		return err;
	err = check_steps(b, path, (pid_t)record->pid, root_of(b, path), false, ret_end);
	if (err)
		return err;
	if (header->flags & STACKD_JUDGE) {
		judge_hold(b->with.judge, header, path, ret_end->reason, is_beyond(b, path));
		err = add_chain(b, record, path, ret_end->reason);
		judge_hold_managed(b->with.judge, header, path);
		ret_end->is_sample = false;
		return err;
	}
	judge_stack(b, record, path);
	err = learn_tag(b, header, path, ret_end->reason);
	if (!err)
		err = add_managed(b, record, path, ret_end->reason);
	if (!err)
		err = add_height(b, path, &ret_end->origin);
	return err ? err : add_kernel(b, header, path);
}

/* --- ahead ----------------------------------------------------------------------------------- */

bool path_builder_may_wait(const struct path_builder *b, const struct stackd_header *record)
{
	uint8_t kind = record->kind & STACKD_KIND_MASK;

	return walks_can_prefetch(b->with.walks) && kind == STACKD_RECORD_STACK &&
	       record->flags & STACKD_HAS_REGS && !(record->flags & STACKD_COMPAT);
}

bool path_builder_ask(struct path_builder *b, const struct stackd_header *record, bool is_next)
{
	const struct stackd_stack_record *stack = (const struct stackd_stack_record *)record;
	struct locator_process process = {.locator = b->with.locator, .pid = (pid_t)stack->pid};
	const struct walk_input in = input_of(b, stack, &process);

	return walks_prefetch(b->with.walks, record, &in, is_next);
}

bool path_builder_has_asked(const struct path_builder *b, const struct stackd_header *record)
{
	return walks_is_prefetched(b->with.walks, record);
}

bool path_builder_has_walked(struct path_builder *b, const struct stackd_header *record)
{
	return walks_is_made(b->with.walks, record);
}

void path_builder_drop(struct path_builder *b, const struct stackd_header *record)
{
	walks_drop(b->with.walks, record);
}

/* --- WALKED ---------------------------------------------------------------------------------- */

/* Finds the object of an address that, to the kernel half, lies in memory without a file: JIT code
 * or copied text. 0 or -ENOMEM. */
static int made_location(struct path_builder *b, const struct stackd_header *header,
			 uint64_t address, const struct object **ret_object)
{
	pid_t pid = (pid_t)record_pid(header);
	const struct mapping *m = locator_mapping(b->with.locator, pid, address);

	if (!m)
		return locator_nowhere(b->with.locator, ret_object);
	b->met_made = true;
	b->met_file |= m->object->kind == OBJECT_ELF && !m->is_copy;
	if (m->object->kind == OBJECT_JIT) {
		*ret_object = m->object;
		return 0;
	}
	return locator_made(b->with.locator, pid, ret_object);
}

/* Finds the object of an address in a record without a walk, which the kernel half has not looked
 * up in the mappings. *address becomes the offset in the object, if a mapping has the address. 0 or
 * -ENOMEM. */
static int plain_location(struct path_builder *b, const struct stackd_header *header,
			  uint64_t *address, const struct object **ret_object)
{
	struct locator_process process = {.locator = b->with.locator,
					  .pid = (pid_t)record_pid(header)};
	uint64_t offset;

	if (locator_find_code(&process, *address, ret_object, &offset) && *ret_object) {
		*address = offset;
		return 0;
	}
	return made_location(b, header, *address, ret_object);
}

static bool has_no_walk(const struct stackd_header *header)
{
	return header->end_reason == STACKD_END_LEFT || header->end_reason == STACKD_END_STACK_CUT;
}

/* Returns the object whose file has a number in a record; NULL: none has. Records that come without
 * tables, as in tests, have the object's number plus one. */
static const struct object *file_object(const struct path_builder *b, uint32_t file)
{
	uint32_t object = file - 1;

	return !b->with.tables || tables_object(b->with.tables, file, &object)
		       ? object_table_at(b->with.objects, object)
		       : NULL;
}

/* Finds the location of a frame of a WALKED record. 0; -EBADMSG: the frame names a file or slice
 * that does not exist; -ENOMEM. */
static int walked_location(struct path_builder *b, const struct stackd_header *header,
			   const struct record_frame *frame, struct location *ret_location)
{
	const struct object *object = NULL;
	uint64_t offset = frame->location & STACKD_LOCATION_MASK, base;
	uint32_t file = (uint32_t)(frame->location >> 48);
	int err = 0;

	if (frame->has_slice) {
		if (!b->with.tables || !tables_slice(b->with.tables, frame->slice, &file, &base))
			return -EBADMSG;
		offset = base + frame->location;
	}
	if (file == STACKD_FILE_MANAGED)
		return managed_locate(b->with.managed,
				      header->is_unproven ? STACKD_MANAGED_UNPROVEN
							  : frame->location & ((1ull << 48) - 1),
				      ret_location);
	if (file == STACKD_FILE_NONE) {
		err = has_no_walk(header) ? plain_location(b, header, &offset, &object)
					  : made_location(b, header, offset, &object);
	} else {
		object = file_object(b, file);
		if (!object)
			return -EBADMSG;
		err = locator_prove(b->with.locator, (pid_t)record_pid(header), header->time_ns,
				    &object);
	}
	if (err)
		return err;
	*ret_location = (struct location){
		.file_id = object->file_id,
		.offset = offset,
		.object = object->number,
		.is_return = !frame->is_exact,
	};
	return 0;
}

/* Returns the provenance (what a rule was made from) of the rule by which the kernel half has
 * walked on from a location: the frame pointer for JIT code, and none for an address in no
 * mapping. */
static uint8_t walked_provenance(const struct path_builder *b, const struct location *l)
{
	const struct object *object = object_table_at(b->with.objects, l->object);

	if (object->kind == OBJECT_MANAGED)
		return PROVENANCE_RUNTIME_TABLE;
	if (object->kind != OBJECT_ELF && object->kind != OBJECT_VDSO)
		return object->owner.pid ? PROVENANCE_FRAME_POINTER : PROVENANCE_NONE;
	return b->with.tables ? tables_provenance(b->with.tables, object, l->offset)
			      : PROVENANCE_CFI;
}

/* Sets the provenance of the new locations: those from number `known` on. */
static void note_provenances(struct path_builder *b, uint32_t known)
{
	for (uint32_t i = known; i < location_count(b->with.locations); i++)
		location_set_provenance(b->with.locations, i,
					walked_provenance(b, location_at(b->with.locations, i)));
}

/* Has the CPU prefetch the trie's entries for the next `n` new frames of the path, which come leaf
 * first. */
static void prefetch(const struct path_builder *b, const struct stackd_header *header,
		     const struct path *path, size_t n)
{
	if (path->count == header->kept && n < LOCATIONS_AT_ONCE)
		tag_trie_prefetch_index(b->with.trie, path->kept_tag, &path->ids[path->count], n);
}

/* Adds the record's next frames, LOCATIONS_AT_ONCE at most, to the path. 1; 0: there are no more;
 * -ENOMEM; -EBADMSG: the record is damaged. */
static int add_walked(struct path_builder *b, const struct stackd_header *header,
		      struct record_frames *frames, struct path *path)
{
	struct location locations[LOCATIONS_AT_ONCE];
	uint64_t *ids = &path->ids[path->count];
	uint32_t known = location_count(b->with.locations);
	struct record_frame frame;
	size_t n = 0;
	int more = 1, err = 0;

	while (!err && n < LOCATIONS_AT_ONCE && path->count + n < PATH_MAX_USER &&
	       (more = record_frames_next(frames, &frame)) > 0) {
		path->heights[path->count + n] = frame.height;
		err = walked_location(b, header, &frame, &locations[n]);
		if (!err)
			ids[n] = location_id(locations[n].file_id, locations[n].offset);
		n++;
	}
	if (more < 0)
		err = more;
	if (err)
		return err;
	prefetch(b, header, path, n);
	err = location_intern_all(b->with.locations, locations, ids, n,
				  &path->locations[path->count]);
	if (err)
		return err;
	note_provenances(b, known);
	planted_returns_note(&b->put, (pid_t)record_pid(header), known);
	path->count += n;
	return n == LOCATIONS_AT_ONCE;
}

#define SWAP(a, b)                                                                                 \
	do {                                                                                       \
		__typeof__(a) old_ = (a);                                                          \
		(a) = (b);                                                                         \
		(b) = old_;                                                                        \
	} while (0)

/* Reverses the order of the path's frames from `from` on, which were added leaf first. */
static void reverse(struct path *path, size_t from)
{
	for (size_t i = from, j = path->count; i + 1 < j; i++) {
		j--;
		SWAP(path->locations[i], path->locations[j]);
		SWAP(path->ids[i], path->ids[j]);
		SWAP(path->heights[i], path->heights[j]);
	}
}

/* Adds the record's frames up to where the iteration ends (record_frames_until()). */
static int add_all_walked(struct path_builder *b, const struct stackd_header *header,
			  struct record_frames *frames, struct path *path)
{
	int more;

	do {
		more = add_walked(b, header, frames, path);
	} while (more > 0);
	return more;
}

/* Adds the new frames of a WALKED record to the path, which has the frames that the record keeps of
 * the thread's last path. Errors as of path_builder_take(). */
static int frames_of_walked(struct path_builder *b, const struct stackd_header *header,
			    struct path *path)
{
	struct record_frames frames;
	struct stackd_part part = {0};
	size_t before;
	int err;

	record_part(header, &part);
	record_frames(header, b->with.has_heights, &frames);
	if (part.flags & STACKD_PART_JOINS) {
		record_frames_until(header, part.number, &frames);
		err = add_all_walked(b, header, &frames, path);
		if (!err)
			err = thread_paths_join(b->with.paths, header, part.skipped, path);
		if (err)
			return err;
		record_frames_until(header, SIZE_MAX, &frames);
	}
	before = path->count;
	err = add_all_walked(b, header, &frames, path);
	path->beyond = path->count - before;
	if (!err)
		reverse(path, path->kept);
	return err;
}

/* Moves all frames of the path by `added`, to make room at its root. */
static void shift(struct path *path, size_t added)
{
	_Static_assert(LBR_MAX_FRAMES <= PATH_MAX_FRAMES, "paths of lib/code/lbr must have room");
	memmove(path->locations + added, path->locations, path->count * sizeof(path->locations[0]));
	memmove(path->heights + added, path->heights, path->count * sizeof(path->heights[0]));
	memmove(path->ids + added, path->ids, path->count * sizeof(path->ids[0]));
	path->count += added;
	path->added = added;
}

/* Adds the `added` frames that branch records have found at the path's root. 0 or -ENOMEM. */
static int add_at_root(struct path_builder *b, size_t added, struct path *path)
{
	int err = 0;

	shift(path, added);
	for (size_t i = 0; i < added && !err; i++) {
		struct location location = branches_added(b->with.branches, i);

		err = location_intern(b->with.locations, &location, &path->locations[i]);
		path->heights[i] = 0;
	}
	return err;
}

/* Compares the path with the sample's branch records, which may confirm it, or add frames at the
 * root where the walk has stopped. 0 or -ENOMEM. */
static int add_branches(struct path_builder *b, const struct stackd_header *header,
			struct path *path, struct path_builder_end *end)
{
	struct locator_process process = {.locator = b->with.locator,
					  .pid = (pid_t)record_pid(header)};
	const struct walk_input in = {.find = locator_find_code, .arg = &process};
	struct branches_path found;
	int err;

	if (!branches_belong(b->with.branches, header) || !path->count)
		return 0;
	err = branches_on_path(b->with.branches, (pid_t)header->tid, &in, b->with.locations,
			       path->locations, path->count, end->reason, &found);
	if (!err)
		err = keep_origin(b, &found, end);
	if (err || !found.more)
		return err;
	end->reason = found.end;
	return add_at_root(b, found.more, path);
}

static int take_walked(struct path_builder *b, const struct stackd_header *header,
		       struct path *path, struct path_builder_end *end)
{
	const struct machines_walked_names names = {.managed = b->with.managed,
						    .locations = b->with.locations,
						    .objects = b->with.objects};
	int err = thread_paths_recall(b->with.paths, header, path);

	end->reason = header->end_reason;
	if (!err)
		err = frames_of_walked(b, header, path);
	if (!err && look_for_text(b, header) < 0)
		err = -ENOMEM;
	if (err)
		return err;
	err = check_steps(b, path, (pid_t)record_pid(header), (enum stackd_root)header->root, true,
			  end);
	if (err)
		return err;
	judge_expect(b->with.judge, header, path, end->reason);
	err = learn_tag(b, header, path, end->reason);
	if (!err && b->with.machines)
		err = machines_walked_name(b->with.machines, &names, header, path);
	if (!err && !path->cut)
		err = add_branches(b, header, path, end);
	if (!err)
		err = add_height(b, path, &end->origin);
	return err ? err : add_kernel(b, header, path);
}

/* --- TAG ------------------------------------------------------------------------------------- */

/* Makes the origin of a path whose `frames` user frames, except for the leaf, come from a tag. 0 or
 * -ENOMEM. */
static int tag_origin(struct path_builder *b, uint32_t frames, uint32_t *ret_origin)
{
	const struct origin_run run = {
		.frames = frames - 1, .source = FRAME_SOURCE_TAG, .confidence = 100};
	const struct origin origin = {.is_complete = true, .n_runs = 1, .runs = &run};

	return frames > 1 ? origin_intern(b->with.origins, &origin, ret_origin) : 0;
}

static int take_tag(struct path_builder *b, const struct stackd_tag_record *record,
		    struct path *path, struct path_builder_end *ret_end)
{
	const struct object *object;
	struct tag_path found;
	uint64_t offset;
	int err = 0;

	b->tag = *record;
	ret_end->is_sample = !record->is_followed && b->with.tags;
	if (!ret_end->is_sample)
		return 0;
	if (!locator_find(b->with.locator, (pid_t)record->pid, record->pc, &object, &offset)) {
		offset = record->pc;
		err = locator_nowhere(b->with.locator, &object);
	}
	if (!err)
		err = tag_paths_take(b->with.tags, record, object, offset, &found);
	if (err)
		return err;
	path->node = found.node;
	ret_end->reason = found.reason;
	err = tag_origin(b, found.frames, &ret_end->origin);
	return err ? err : add_kernel(b, &record->header, path);
}

/* --- records --------------------------------------------------------------------------------- */

int path_builder_take(struct path_builder *b, const struct stackd_header *record, struct path *path,
		      struct path_builder_end *ret_end)
{
	path->added = path->kept = path->user = path->count = path->beyond = path->cut = 0;
	path->is_weak = path->is_unread = false;
	*ret_end = (struct path_builder_end){.is_sample = true, .origin = ORIGIN_WALKED};
	switch (record->kind & STACKD_KIND_MASK) {
	case STACKD_RECORD_WALKED:
		return take_walked(b, record, path, ret_end);
	case STACKD_RECORD_TAG:
		return take_tag(b, (const struct stackd_tag_record *)record, path, ret_end);
	case STACKD_RECORD_BRANCHES:
		if (b->with.branches)
			branches_keep(b->with.branches,
				      (const struct stackd_branch_record *)record);
		ret_end->is_sample = false;
		return 0;
	default:
		return take_stack(b, (const struct stackd_stack_record *)record, path, ret_end);
	}
}
