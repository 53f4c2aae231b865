/* SPDX-License-Identifier: MIT */
/*
 * From samples to frames; see import_stack.h.
 *
 * The kernel's markers divide a call chain by privilege level:
 *
 *   KERNEL  pc  return addresses...  USER  pc  return addresses...
 *
 * The kernel's part is always kept. The user's part comes from the kernel's walk by frame pointers
 * and is used only where there is no better source, since it holds random addresses for programs
 * without frame pointers.
 */
#include "perf/import_stack.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>

#include "perf/import_note.h"
#include "lbr/lbr_code.h"
#include "unwind/dwarf_walk.h"

#define MAX_CHAIN     8192 /* most words of a call chain */
#define MAX_FRAMES    (MAX_CHAIN + LBR_MAX_FRAMES)
#define DEFAULT_DEPTH 127 /* kernel.perf_event_max_stack */

struct import_stack {
	const struct perfdata *reader;
	struct import_processes *processes;
	struct origin_table *origins;
	struct dwarf_walk *walk;
	struct lbr *lbr;
	struct lbr_code_files *files;

	/* The current sample. */
	const struct perfdata_record *record;
	const struct perfdata_event *event;
	/* frames of the sample, leaf first: the kernel's, then the user's */
	struct import_frame frames[MAX_FRAMES];
	size_t n_kernel;
	struct import_frame chain[MAX_CHAIN]; /* user part of the call chain */
	size_t n_chain;
	struct walk_input in; /* registers and stack; stack_bytes 0: no stack */

	struct lbr_entry entries[LBR_MAX_ENTRIES];
	struct lbr_walked walked[LBR_MAX_FRAMES];
	struct lbr_frame lbr_frames[LBR_MAX_FRAMES];
	struct origin_run runs[LBR_MAX_FRAMES];
	struct import_stack_counts counts;
	/* recorded on another architecture, so that neither registers nor code can be
	 * interpreted */
	bool is_foreign;
};

/* Gives lib/code/lbr the code and the recorded branch kinds. `view` must be the first member,
 * because the callbacks of lbr_code cast a pointer to this struct to a pointer to `view`. */
struct branch_view {
	struct lbr_code_view view;
	struct lbr_code code;
	const struct perfdata_sample *sample;
	size_t known, unknown; /* branches whose kind is known, and others */
};

int import_stack_new(const struct perfdata *reader, struct import_processes *processes,
		     struct origin_table *origins, struct import_stack **ret_stack)
{
	struct import_stack *s = calloc(1, sizeof(*s));
	int err;

	if (!s)
		return -ENOMEM;
	s->reader = reader;
	s->processes = processes;
	s->origins = origins;
	s->is_foreign = import_note_is_foreign(perfdata_info(reader));
	err = dwarf_walk_new(&(struct dwarf_walk_options){0}, &s->walk);
	if (!err)
		err = lbr_new(&s->lbr);
	if (!err)
		err = lbr_code_new(s->walk, &s->files);
	if (err) {
		import_stack_free(s);
		return err;
	}
	*ret_stack = s;
	return 0;
}

void import_stack_free(struct import_stack *s)
{
	if (!s)
		return;
	lbr_code_free(s->files);
	lbr_free(s->lbr);
	dwarf_walk_free(s->walk);
	free(s);
}

void import_stack_event(struct import_stack *s, const struct perfdata_record *r)
{
	if (r->kind == PERFDATA_EXIT || (r->kind == PERFDATA_COMM && r->comm.is_exec))
		lbr_forget(s->lbr, (pid_t)r->tid);
}

const struct import_stack_counts *import_stack_counts(const struct import_stack *s)
{
	return &s->counts;
}

enum import_branches import_stack_branches(const struct perfdata_event *e)
{
	const uint64_t filters = PERF_SAMPLE_BRANCH_ANY_CALL | PERF_SAMPLE_BRANCH_ANY_RETURN |
				 PERF_SAMPLE_BRANCH_IND_CALL | PERF_SAMPLE_BRANCH_ABORT_TX |
				 PERF_SAMPLE_BRANCH_IN_TX | PERF_SAMPLE_BRANCH_NO_TX |
				 PERF_SAMPLE_BRANCH_COND | PERF_SAMPLE_BRANCH_IND_JUMP |
				 PERF_SAMPLE_BRANCH_CALL;

	if (!(e->sample_type & PERF_SAMPLE_BRANCH_STACK))
		return IMPORT_BRANCHES_NONE;
	if (e->branch_type & PERF_SAMPLE_BRANCH_CALL_STACK)
		return IMPORT_BRANCHES_CALL_STACK;
	return e->branch_type & filters ? IMPORT_BRANCHES_SOME : IMPORT_BRANCHES_ANY;
}

/* --- the call chain -------------------------------------------------------------------------- */

/* Returns the mode of the frames after a marker. */
static enum perfdata_mode mode_of_marker(uint64_t marker)
{
	switch (marker) {
	case (uint64_t)PERF_CONTEXT_KERNEL:
		return PERFDATA_MODE_KERNEL;
	case (uint64_t)PERF_CONTEXT_USER:
		return PERFDATA_MODE_USER;
	case (uint64_t)PERF_CONTEXT_HV:
		return PERFDATA_MODE_HYPERVISOR;
	case (uint64_t)PERF_CONTEXT_GUEST_USER:
		return PERFDATA_MODE_GUEST_USER;
	case (uint64_t)PERF_CONTEXT_GUEST_KERNEL:
	case (uint64_t)PERF_CONTEXT_GUEST:
		return PERFDATA_MODE_GUEST_KERNEL;
	default:
		return PERFDATA_MODE_UNKNOWN;
	}
}

static void add_frame(struct import_stack *s, uint64_t address, enum perfdata_mode mode,
		      bool is_return)
{
	struct import_frame frame = {.address = address,
				     .flags = is_return ? IMPORT_FRAME_RETURN : 0};

	if (mode == PERFDATA_MODE_KERNEL)
		frame.flags |= IMPORT_FRAME_KERNEL;
	else if (mode != PERFDATA_MODE_USER)
		frame.flags |= IMPORT_FRAME_UNKNOWN;
	if (mode == PERFDATA_MODE_USER)
		s->chain[s->n_chain++] = frame;
	else
		s->frames[s->n_kernel++] = frame;
}

static void split_chain(struct import_stack *s)
{
	const struct perfdata_sample *sample = &s->record->sample;
	enum perfdata_mode mode = sample->mode;
	bool is_first = true;

	s->n_kernel = s->n_chain = 0;
	for (size_t i = 0; i < sample->n_callchain; i++) {
		uint64_t word = sample->callchain[i];

		if (word >= (uint64_t)PERF_CONTEXT_MAX) {
			mode = mode_of_marker(word);
			is_first = true;
			continue;
		}
		add_frame(s, word, mode, !is_first);
		is_first = false;
	}
	if (!s->n_kernel && !s->n_chain)
		add_frame(s, sample->ip, sample->mode, false);
}

/* Determines the end reason of the call chain from its root frame. */
static enum stackd_end_reason chain_end(const struct import_stack *s)
{
	const struct import_frame *root = s->n_chain ? &s->chain[s->n_chain - 1] : NULL;
	const struct object *object;
	uint64_t offset;
	size_t depth = s->event->max_stack ? s->event->max_stack : DEFAULT_DEPTH;
	bool is_return = root && root->flags & IMPORT_FRAME_RETURN;

	if (!root)
		return s->record->sample.has_callchain && !s->event->exclude_user_chain &&
				       !s->event->exclude_user
			       ? STACKD_END_NO_USER
			       : STACKD_END_AS_RECORDED;
	if (import_processes_find(s->processes, s->record->pid, root->address - is_return, &object,
				  &offset) &&
	    dwarf_walk_is_entry(s->walk, object, offset, is_return))
		return STACKD_END_ENTRY;
	return s->n_kernel + s->n_chain >= depth ? STACKD_END_TOO_DEEP : STACKD_END_AS_RECORDED;
}

static enum stackd_end_reason take_chain(struct import_stack *s, size_t *ret_user)
{
	memcpy(s->frames + s->n_kernel, s->chain, s->n_chain * sizeof(*s->chain));
	*ret_user = s->n_chain;
	return chain_end(s);
}

/* --- registers and stack --------------------------------------------------------------------- */

static bool find_code(void *arg, uint64_t address, const struct object **ret_object,
		      uint64_t *ret_offset)
{
	const struct import_stack *s = arg;

	return import_processes_find(s->processes, s->record->pid, address, ret_object, ret_offset);
}

/* Returns the user address from which the kernel was entered, if the last branch in user code led
 * into the kernel; else 0. */
static uint64_t entered_from(const struct perfdata_sample *sample)
{
	for (size_t i = 0; i < sample->n_branches; i++) {
		const struct perfdata_branch *b = &sample->branches[i];

		if (lbr_was_taken(b->flags) && b->from && !(b->from >> 63))
			return b->to >> 63 ? b->from : 0;
	}
	return 0;
}

/* Returns the user-mode program counter; 0: unknown. */
static uint64_t user_ip(const struct import_stack *s)
{
	const struct perfdata_sample *sample = &s->record->sample;

	if (sample->mode == PERFDATA_MODE_USER)
		return sample->ip;
	return s->n_chain ? s->chain[0].address : entered_from(sample);
}

static void prepare_walk(struct import_stack *s)
{
	const struct perfdata_sample *sample = &s->record->sample;

	s->in = (struct walk_input){.find = find_code, .arg = s};
	if (!s->is_foreign && perfdata_user_regs(sample, &s->in.regs)) {
		s->in.stack = sample->stack;
		s->in.stack_bytes = sample->stack_bytes;
		s->in.stack_cut = sample->stack_bytes == sample->stack_room;
	} else {
		s->in.regs.r[STACKD_REG_PC] = user_ip(s);
	}
}

static bool has_stack(const struct import_stack *s)
{
	return s->in.stack_bytes > 0;
}

/* Returns whether the sample was taken within exec(2), when the old program's stack was already
 * gone, but the registers were still those of the old program. */
static bool is_in_exec(struct import_stack *s)
{
	const struct perfdata_record *r = s->record;
	const struct object *object;
	uint64_t offset;

	if (!import_processes_is_in_exec(s->processes, r->pid))
		return false;
	if (r->sample.mode == PERFDATA_MODE_KERNEL && !has_stack(s) &&
	    !find_code(s, s->in.regs.r[STACKD_REG_PC], &object, &offset))
		return true;
	import_processes_runs(s->processes, r->pid);
	return false;
}

/* Walks the user stack of a sample that has registers, into s->walked; *ret_count is the number of
 * frames. Returns the end reason. */
static enum stackd_end_reason walk(struct import_stack *s, size_t *ret_count)
{
	struct lbr_code_view view = {.files = s->files, .in = &s->in};
	const struct perfdata_sample *sample = &s->record->sample;

	*ret_count = 0;
	if (sample->regs_abi == PERFDATA_REGS_NONE)
		return STACKD_END_NO_USER;
	if (sample->regs_abi == PERFDATA_REGS_32 || s->is_foreign)
		return STACKD_END_FOREIGN_ABI;
	if (is_in_exec(s))
		return STACKD_END_NO_USER;
	return lbr_code_walk(&view, s->walked, LBR_MAX_FRAMES, ret_count);
}

static enum stackd_end_reason take_walk(struct import_stack *s, size_t *ret_user)
{
	enum stackd_end_reason end = walk(s, ret_user);

	for (size_t i = 0; i < *ret_user; i++)
		s->frames[s->n_kernel + i] = (struct import_frame){
			.address = s->walked[i].address,
			.flags = (s->walked[i].is_return ? IMPORT_FRAME_RETURN : 0) |
				 IMPORT_FRAME_PROVENANCE(s->walked[i].provenance),
		};
	if (!*ret_user && s->n_chain)
		take_chain(s, ret_user); /* keeps at least the sampled address */
	return end;
}

/* --- branch records -------------------------------------------------------------------------- */

static unsigned ring_size(const struct perfdata *reader)
{
	const char *at = strstr(perfdata_info(reader)->cpu_caps, "branches=");
	unsigned long n = at ? strtoul(at + strlen("branches="), NULL, 10) : 0;

	return n <= LBR_MAX_ENTRIES ? (unsigned)n : 0;
}

static void prepare_branches(struct import_stack *s, struct lbr_input *ret_in)
{
	const struct perfdata_sample *sample = &s->record->sample;
	size_t n = 0;

	for (size_t i = 0; i < sample->n_branches && n < LBR_MAX_ENTRIES; i++) {
		const struct perfdata_branch *b = &sample->branches[i];

		if (lbr_was_taken(b->flags))
			s->entries[n++] = (struct lbr_entry){.from = b->from, .to = b->to};
	}
	*ret_in = (struct lbr_input){
		.ip = user_ip(s),
		.entries = s->entries,
		.n_entries = n,
		.ring = ring_size(s->reader),
		.top = sample->hw_index > INT64_MAX ? -1 : (int64_t)sample->hw_index,
	};
	if (has_stack(s)) {
		ret_in->memory = (struct lbr_memory){
			.bytes = s->in.stack,
			.start = s->in.regs.r[STACKD_REG_SP],
			.len = s->in.stack_bytes,
			.is_cut = s->in.stack_cut,
		};
		ret_in->ip = s->in.regs.r[STACKD_REG_PC];
	}
}

/* Sets the frames with which the branch records are compared: those of a walk; if there is no
 * stack, and the branches are of every kind, those of the call chain. */
static void prepare_walked(struct import_stack *s, bool with_chain, struct lbr_input *in)
{
	in->walked = s->walked;
	if (has_stack(s)) {
		in->walk_end = walk(s, &in->n_walked);
		return;
	}
	in->walk_end = STACKD_END_AS_RECORDED;
	if (!with_chain || !s->n_chain)
		return;
	in->n_walked = s->n_chain < LBR_MAX_FRAMES ? s->n_chain : LBR_MAX_FRAMES;
	for (size_t i = 0; i < in->n_walked; i++)
		s->walked[i] = (struct lbr_walked){
			.address = s->chain[i].address,
			.is_return = s->chain[i].flags & IMPORT_FRAME_RETURN,
			.is_guess = true,
		};
	in->walk_end = chain_end(s);
}

/* Returns the kind of a branch as it was recorded, which newer processors do, and perf with
 * --branch-filter save_type; LBR_KIND_UNKNOWN if it was not. */
static enum lbr_kind recorded_kind(const struct perfdata_sample *sample, uint64_t from, uint64_t to)
{
	for (size_t i = 0; i < sample->n_branches; i++) {
		if (sample->branches[i].from != from || sample->branches[i].to != to)
			continue;
		switch (PERFDATA_BRANCH_TYPE(sample->branches[i].flags)) {
		case PERF_BR_CALL:
		case PERF_BR_IND_CALL:
		case PERF_BR_COND_CALL:
			return LBR_KIND_CALL;
		case PERF_BR_RET:
		case PERF_BR_COND_RET:
			return LBR_KIND_RETURN;
		case PERF_BR_COND:
		case PERF_BR_UNCOND:
		case PERF_BR_IND:
			return LBR_KIND_JUMP;
		default:
			return LBR_KIND_UNKNOWN;
		}
	}
	return LBR_KIND_UNKNOWN;
}

/* Returns the kind of a branch: the kind that the code shows, or if that is unknown, the recorded
 * one. The code comes first, because only it shows that a jump is a longjmp(). */
static enum lbr_kind branch_kind(void *arg, uint64_t from, uint64_t to)
{
	struct branch_view *v = arg;
	enum lbr_kind kind = v->code.kind(arg, from, to);

	if (kind == LBR_KIND_UNKNOWN)
		kind = recorded_kind(v->sample, from, to);
	if (kind == LBR_KIND_UNKNOWN)
		v->unknown++;
	else
		v->known++;
	return kind;
}

static int replay(struct import_stack *s, struct lbr_input *in, struct lbr_result *ret_result)
{
	struct branch_view v = {
		.view = {.files = s->files, .in = &s->in},
		.sample = &s->record->sample,
	};
	int err;

	v.code = in->code = lbr_code_of(&v.view);
	in->code.kind = branch_kind;
	in->code.arg = &v;
	err = lbr_replay(in, s->lbr_frames, LBR_MAX_FRAMES, ret_result);
	s->counts.replayed += !err && v.known && !v.unknown;
	s->counts.unknown_code += !err && v.unknown;
	return err;
}

static int reconstruct(struct import_stack *s, struct lbr_input *in, struct lbr_result *ret_result)
{
	struct lbr_code_view view = {.files = s->files, .in = &s->in};

	in->code = lbr_code_of(&view);
	return lbr_reconstruct(s->lbr, (pid_t)s->record->tid, in, s->lbr_frames, LBR_MAX_FRAMES,
			       ret_result);
}

static int keep_origin(struct import_stack *s, const struct lbr_result *result,
		       uint32_t *ret_origin)
{
	const struct origin origin = {
		.is_complete = result->end == STACKD_END_ENTRY,
		.runs = s->runs,
		.n_runs = lbr_runs(s->lbr_frames, result->n_frames, s->runs),
	};

	*ret_origin = ORIGIN_WALKED;
	return origin.n_runs ? origin_intern(s->origins, &origin, ret_origin) : 0;
}

static int take_branches(struct import_stack *s, bool is_call_stack,
			 struct import_stack_frames *ret, size_t *ret_user)
{
	struct lbr_result result = {0};
	struct lbr_input in;
	int err;

	prepare_branches(s, &in);
	prepare_walked(s, !is_call_stack, &in);
	err = is_call_stack ? reconstruct(s, &in, &result) : replay(s, &in, &result);
	if (err)
		return err;
	for (size_t i = 0; i < result.n_frames; i++)
		s->frames[s->n_kernel + i] = (struct import_frame){
			.address = s->lbr_frames[i].address,
			.flags = s->lbr_frames[i].is_return ? IMPORT_FRAME_RETURN : 0,
		};
	*ret_user = result.n_frames;
	ret->end = result.end;
	ret->stale = result.n_stale;
	return keep_origin(s, &result, &ret->origin);
}

/* --- samples --------------------------------------------------------------------------------- */

int import_stack_take(struct import_stack *s, const struct perfdata_record *record,
		      struct import_stack_frames *ret_frames)
{
	const struct perfdata_sample *sample = &record->sample;
	struct import_stack_frames result = {.frames = s->frames, .origin = ORIGIN_WALKED};
	bool is_call_stack, has_branches;
	size_t n_user = 0;
	int err = 0;

	s->record = record;
	s->event = perfdata_event(s->reader, record->event);
	is_call_stack = import_stack_branches(s->event) == IMPORT_BRANCHES_CALL_STACK;
	has_branches = sample->n_branches &&
		       (is_call_stack || import_stack_branches(s->event) == IMPORT_BRANCHES_ANY);
	split_chain(s);
	prepare_walk(s);
	if (has_branches)
		err = take_branches(s, is_call_stack, &result, &n_user);
	if (!err && !n_user)
		result.end = s->event->sample_type & PERF_SAMPLE_STACK_USER
				     ? take_walk(s, &n_user)
				     : take_chain(s, &n_user);
	result.count = s->n_kernel + n_user;
	if (!err)
		*ret_frames = result;
	return err;
}
