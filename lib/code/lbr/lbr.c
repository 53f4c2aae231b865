/* SPDX-License-Identifier: MIT */
/*
 * Makes a call path from branch records; see lbr.h.
 *
 *   walk ──► frames, each confirmed by an entry that has its return address
 *     │ stops
 *     ▼
 *   stack memory: the next entry whose return address is in it ──► walk on from there
 *     │ none, or no memory
 *     ▼
 *   chain: entries whose targets lead to each other
 *     │ the ring ends
 *     ▼
 *   the thread's previous stack (lbr_thread.c)
 *
 * `next` is the index of the first entry after the last one that a frame has used. It only grows,
 * so an entry makes at most one frame, and the entries between two used entries are stale (their
 * frames are gone).
 */
#include "lbr/lbr.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "lbr/lbr_run.h"

#define WALK_ON_FRAMES 512 /* limit of the frames of one call of walk_on() */

/* --- entries --------------------------------------------------------------------------------- */

/* The longest call instruction that compilers emit has 7 bytes; 8 with a prefix. */
#define MAX_CALL 8

static bool is_return_of(const struct lbr_entry *entry, uint64_t address)
{
	return address - entry->from - 1 < MAX_CALL;
}

/* Returns whether an entry can be a call in user code that may still have to return: it is not
 * empty, not in the kernel, and not a call of the next instruction, which never returns. */
static bool is_usable(const struct lbr_input *in, const struct lbr_entry *entry)
{
	uint64_t end;

	if (!entry->from || !entry->to || entry->from >> 63 || entry->to >> 63)
		return false;
	if (entry->to <= entry->from || entry->to - entry->from > MAX_CALL)
		return true;
	end = in->code.call_end ? in->code.call_end(in->code.arg, entry->from) : entry->from + 5;
	return entry->to != end;
}

/* Returns the index of the first entry, from `at` on, that can have made a frame; n_entries:
 * none. */
static size_t next_usable(const struct lbr_input *in, size_t at)
{
	while (at < in->n_entries && !is_usable(in, &in->entries[at]))
		at++;
	return at;
}

static uint64_t call_end(const struct lbr_input *in, uint64_t from)
{
	return in->code.call_end ? in->code.call_end(in->code.arg, from) : 0;
}

static enum callflow_fit fit(const struct lbr_input *in, uint64_t to, uint64_t pc)
{
	return in->code.fit ? in->code.fit(in->code.arg, to, pc) : CALLFLOW_FIT_UNKNOWN;
}

static bool is_return_address(const struct lbr_input *in, uint64_t address)
{
	return !in->code.is_return_address || in->code.is_return_address(in->code.arg, address);
}

/* Returns an entry's index in the processor's ring; -1: it is not known. */
static int ring_position(const struct lbr_input *in, size_t entry)
{
	int64_t ring = in->ring;

	if (in->top < 0 || in->top >= ring || entry >= in->ring)
		return -1;
	return (int)((in->top - (int64_t)entry + ring) % ring);
}

/* --- frames ---------------------------------------------------------------------------------- */

static bool is_full(const struct lbr_run *run)
{
	return run->n >= run->max;
}

static struct callflow_step *add_frame(struct lbr_run *run, const struct lbr_frame *frame)
{
	struct callflow_step *step = &run->steps[run->n];

	run->frames[run->n++] = *frame;
	*step = (struct callflow_step){.address = frame->address,
				       .slot = frame->slot,
				       .position = -1,
				       .is_return = frame->is_return};
	return step;
}

static void set_entry(struct lbr_run *run, struct callflow_step *step, size_t entry)
{
	step->entry = run->in->entries[entry];
	step->position = ring_position(run->in, entry);
}

/* Returns the address by which the last frame's code is looked up. */
static uint64_t last_pc(const struct lbr_run *run)
{
	const struct callflow_step *step = &run->steps[run->n - 1];

	return step->entry.from ? step->entry.from : step->address - step->is_return;
}

static uint64_t last_slot(const struct lbr_run *run)
{
	return run->n ? run->steps[run->n - 1].slot : 0;
}

/* --- the walk -------------------------------------------------------------------------------- */

/* Returns the index of the unused entry that a return address confirms; n_entries: none. */
static size_t entry_of(const struct lbr_run *run, uint64_t address)
{
	size_t i = run->next;

	while (i < run->in->n_entries && !is_return_of(&run->in->entries[i], address))
		i++;
	return i;
}

static void add_walked(struct lbr_run *run, const struct lbr_walked *walked)
{
	size_t entry = walked->is_return ? entry_of(run, walked->address) : run->in->n_entries;
	bool in_ring = entry < run->in->n_entries;
	struct callflow_step *step =
		add_frame(run, &(struct lbr_frame){.address = walked->address,
						   .slot = walked->slot,
						   .source = in_ring ? FRAME_SOURCE_BRANCH
								     : FRAME_SOURCE_WALKED,
						   .is_return = walked->is_return,
						   .is_verified = in_ring || !walked->is_guess});

	if (in_ring) {
		set_entry(run, step, entry);
		run->next = entry + 1;
	}
}

static bool memory_word(const struct lbr_memory *m, uint64_t address, uint64_t *ret_word)
{
	uint64_t at = address - m->start;

	if (m->len < 8 || at > m->len - 8)
		return false;
	memcpy(ret_word, m->bytes + at, 8);
	return true;
}

/* Searches for the return address of an entry's call in the stack, from `slot` on, below `end` (0:
 * to the end of the copy). Takes the lowest one, since those above may be left from earlier frames.
 * Returns false if there is none. */
static bool find_return(const struct lbr_run *run, size_t entry, uint64_t slot, uint64_t end,
			uint64_t *ret_slot, uint64_t *ret_address)
{
	const struct lbr_entry *e = &run->in->entries[entry];
	uint64_t exact = call_end(run->in, e->from), word;

	for (; (!end || slot < end) && memory_word(&run->in->memory, slot, &word); slot += 8) {
		if (exact ? word != exact : !is_return_of(e, word))
			continue;
		*ret_slot = slot;
		*ret_address = word;
		return true;
	}
	return false;
}

/* Adds the frame of an entry whose return address is in memory. */
static void add_from_entry(struct lbr_run *run, size_t entry, uint64_t slot, uint64_t address)
{
	set_entry(run,
		  add_frame(run, &(struct lbr_frame){.address = address,
						     .slot = slot,
						     .source = FRAME_SOURCE_BRANCH,
						     .is_return = true,
						     .is_verified = true}),
		  entry);
	run->next = entry + 1;
}

/* Returns the address in the stack from which to search for return addresses of the last frame's
 * callers; 0: not known. */
static uint64_t search_from(const struct lbr_run *run)
{
	const struct lbr_memory *m = &run->in->memory;
	uint64_t slot = last_slot(run);

	if (!m->len)
		return 0;
	if (slot)
		return slot + 8;
	return run->n <= 1 ? m->start : 0;
}

/* Returns whether a step by the frame pointer has jumped over a call in the ring. Such a step is a
 * guess, which skips the callers of functions that keep no frame pointer. */
static bool is_jumped_over(const struct lbr_run *run, const struct lbr_walked *guess)
{
	size_t entry = next_usable(run->in, run->next);
	uint64_t from = search_from(run), slot, address;

	return from && guess->slot && entry < run->in->n_entries &&
	       entry_of(run, guess->address) != entry &&
	       find_return(run, entry, from, guess->slot, &slot, &address);
}

/* Returns whether the walk has left out a caller, and must end: its rule takes a return address
 * from a register, but the call of the next entry led to the last frame, and the return address of
 * that call is still on the stack. longjmp() is such a case while it sets the registers of its
 * target. */
static bool is_ahead(const struct lbr_run *run, const struct lbr_walked *walked)
{
	const struct lbr_input *in = run->in;
	size_t entry = next_usable(in, run->next);
	uint64_t from = search_from(run), slot, address;

	return run->n && walked->is_return && !walked->slot && from && entry < in->n_entries &&
	       !is_return_of(&in->entries[entry], walked->address) &&
	       fit(in, in->entries[entry].to, last_pc(run)) == CALLFLOW_FIT_SAME &&
	       find_return(run, entry, from, 0, &slot, &address);
}

/* Returns whether the return address of the next entry's call was overwritten: the walk has found
 * the return address of a call that cannot have led to the last frame. */
static bool is_replaced(const struct lbr_run *run, const struct lbr_walked *walked)
{
	const struct lbr_input *in = run->in;
	size_t entry = next_usable(in, run->next);

	return run->n && walked->is_return && walked->slot && entry < in->n_entries &&
	       in->code.call_fit && !is_return_of(&in->entries[entry], walked->address) &&
	       fit(in, in->entries[entry].to, last_pc(run)) >= CALLFLOW_FIT_JUMP &&
	       in->code.call_fit(in->code.arg, walked->address, last_pc(run)) == CALLFLOW_FIT_NO &&
	       call_end(in, in->entries[entry].from);
}

static void add_replaced(struct lbr_run *run, const struct lbr_walked *walked)
{
	size_t entry = next_usable(run->in, run->next);

	set_entry(run,
		  add_frame(run, &(struct lbr_frame){.address = call_end(
							     run->in, run->in->entries[entry].from),
						     .slot = walked->slot,
						     .source = FRAME_SOURCE_BRANCH,
						     .is_return = true}),
		  entry);
	run->next = entry + 1;
	run->must_walk = true;
}

/*
 * Adds the calls that lead into their own function and have not returned. The next frame's rule
 * finds that function's caller, beyond the return addresses of such calls. The thunk of a retpoline
 * makes one, to overwrite its return address with the address to which it jumps; the call has not
 * returned as long as its return address is there.
 */
static void add_local_calls(struct lbr_run *run, const struct lbr_walked *walked)
{
	const struct lbr_input *in = run->in;

	while (run->n && !is_full(run) && walked->is_return && walked->slot && in->code.is_local) {
		size_t entry = next_usable(in, run->next);
		uint64_t from = search_from(run), slot, address;

		if (!from || entry >= in->n_entries ||
		    !in->code.is_local(in->code.arg, &in->entries[entry]) ||
		    fit(in, in->entries[entry].to, last_pc(run)) != CALLFLOW_FIT_SAME ||
		    !find_return(run, entry, from, walked->slot, &slot, &address))
			return;
		add_from_entry(run, entry, slot, address);
	}
}

/* Adds the walked frames, up to one that contradicts the entries. Returns why it stopped. */
static enum stackd_end_reason take_walk(struct lbr_run *run, const struct lbr_walked *walked,
					size_t n, enum stackd_end_reason end)
{
	for (size_t i = 0; i < n; i++) {
		if (is_full(run))
			return STACKD_END_TOO_DEEP;
		if ((walked[i].is_guess && is_jumped_over(run, &walked[i])) ||
		    is_ahead(run, &walked[i]))
			return STACKD_END_NO_RECIPE;
		if (walked[i].is_return && !is_return_address(run->in, walked[i].address))
			return STACKD_END_BAD_RETURN;
		add_local_calls(run, &walked[i]);
		if (is_full(run))
			return STACKD_END_TOO_DEEP;
		if (is_replaced(run, &walked[i])) {
			add_replaced(run, &walked[i]);
			return STACKD_END_NO_RECIPE;
		}
		run->met_signal |= run->n && !walked[i].is_return;
		add_walked(run, &walked[i]);
	}
	return end;
}

/* --- entries against memory ------------------------------------------------------------------ */

/* Adds the next entry whose return address is in memory, above the last frame's slot. Returns false
 * if there is none. */
static bool add_from_memory(struct lbr_run *run)
{
	uint64_t from = search_from(run), slot, address;
	size_t i;

	for (i = next_usable(run->in, run->next); from && i < run->in->n_entries;
	     i = next_usable(run->in, i + 1)) {
		if (find_return(run, i, from, 0, &slot, &address))
			break;
	}
	if (!from || i >= run->in->n_entries)
		return false;
	add_from_entry(run, i, slot, address);
	return true;
}

/* Walks on from the last frame, and adds the frames. Returns why the walk ended. */
static enum stackd_end_reason walk_on(struct lbr_run *run)
{
	const struct lbr_code *code = &run->in->code;
	const struct callflow_step *last = &run->steps[run->n - 1];
	struct lbr_walked walked[WALK_ON_FRAMES];
	size_t count = 0;
	enum stackd_end_reason end;

	if (!code->walk_on || !last->is_return)
		return STACKD_END_NO_RECIPE;
	end = code->walk_on(code->arg, last->address, last->slot, walked, WALK_ON_FRAMES, &count);
	return take_walk(run, walked, count, end);
}

static enum stackd_end_reason by_memory(struct lbr_run *run, enum stackd_end_reason end)
{
	while (!is_full(run) && end != STACKD_END_ENTRY &&
	       (run->must_walk || (end != STACKD_END_STACK_CUT && add_from_memory(run)))) {
		run->must_walk = false;
		end = walk_on(run);
	}
	return end;
}

/* --- entries and their targets --------------------------------------------------------------- */

/* Returns the index of the next entry that led to `pc`; n_entries: none. The first entry is taken
 * even if its target leads to `pc` only by an indirect jump, perhaps; a later entry's must lead
 * there for certain. */
static size_t next_fitting(const struct lbr_run *run, uint64_t pc)
{
	const struct lbr_input *in = run->in;
	size_t first = next_usable(in, run->next), i;

	if (first < in->n_entries && fit(in, in->entries[first].to, pc) != CALLFLOW_FIT_NO)
		return first;
	for (i = first; i < in->n_entries; i = next_usable(in, i + 1)) {
		if (fit(in, in->entries[i].to, pc) >= CALLFLOW_FIT_JUMP)
			return i;
	}
	return i;
}

static void add_entry(struct lbr_run *run, size_t entry)
{
	const struct lbr_entry *e = &run->in->entries[entry];
	uint64_t end = call_end(run->in, e->from);
	struct callflow_step *step =
		add_frame(run, &(struct lbr_frame){.address = end ? end : e->from,
						   .source = FRAME_SOURCE_BRANCH,
						   .is_return = end != 0});

	set_entry(run, step, entry);
	run->next = entry + 1;
}

/* Adds the target of the newest call as the leaf, if the sample has no program counter. */
static void add_unknown_leaf(struct lbr_run *run)
{
	size_t first = next_usable(run->in, 0);

	if (first < run->in->n_entries)
		add_frame(run, &(struct lbr_frame){.address = run->in->entries[first].to,
						   .source = FRAME_SOURCE_BRANCH});
}

static void by_chain(struct lbr_run *run)
{
	while (run->n && !is_full(run)) {
		size_t entry = next_fitting(run, last_pc(run));

		if (entry >= run->in->n_entries)
			return;
		add_entry(run, entry);
	}
}

static bool is_at_root(const struct lbr_run *run)
{
	const struct lbr_code *code = &run->in->code;
	const struct callflow_step *last = run->n ? &run->steps[run->n - 1] : NULL;

	return last && code->is_entry && code->is_entry(code->arg, last->address, last->is_return);
}

/* --- the whole path -------------------------------------------------------------------------- */

/* Returns the number of entries of user code that no frame has used; `so_far`: only of those newer
 * than the last used entry. */
static size_t count_stale(const struct lbr_run *run, bool so_far)
{
	size_t used = 0, there = 0, end = so_far ? run->next : run->in->n_entries;

	for (size_t i = 0; i < end; i++)
		there += run->in->entries[i].from && !(run->in->entries[i].from >> 63);
	for (size_t i = 0; i < run->n; i++)
		used += run->frames[i].source == FRAME_SOURCE_BRANCH && run->steps[i].entry.from;
	return there > used ? there - used : 0;
}

/* Returns whether entries may be used without a return address in memory. */
static bool may_chain(const struct lbr_run *run, enum stackd_end_reason end)
{
	if (!run->in->memory.len && !run->in->n_walked)
		return true;
	/* If all of the stack is in memory, an entry whose return address is not there is stale. */
	return (!run->in->memory.len || run->in->memory.is_cut || end == STACKD_END_STACK_CUT) &&
	       !run->met_signal && !count_stale(run, true);
}

/* Makes the frames that this sample alone gives, without the thread's previous stack. Returns why
 * the path ended. */
static enum stackd_end_reason own_frames(struct lbr_run *run)
{
	const struct lbr_input *in = run->in;
	enum stackd_end_reason end = STACKD_END_STACK_CUT;

	if (in->n_walked)
		end = take_walk(run, in->walked, in->n_walked, in->walk_end);
	else if (in->ip)
		add_frame(run, &(struct lbr_frame){.address = in->ip,
						   .source = FRAME_SOURCE_BRANCH,
						   .is_verified = true});
	else
		add_unknown_leaf(run);
	if (in->memory.len && (in->n_walked || in->ip))
		end = by_memory(run, in->n_walked ? end : STACKD_END_NO_RECIPE);
	if (end == STACKD_END_ENTRY)
		return end;
	if (may_chain(run, end))
		by_chain(run);
	return is_at_root(run) ? STACKD_END_ENTRY : end;
}

int lbr_reconstruct(struct lbr *lbr, pid_t tid, const struct lbr_input *in,
		    struct lbr_frame *frames, size_t max, struct lbr_result *ret_result)
{
	struct lbr_run run = {.in = in, .frames = frames, .max = max};
	struct lbr_thread *thread = lbr_thread_of(lbr, tid);
	enum stackd_end_reason end;

	if (in->n_entries > LBR_MAX_ENTRIES)
		return -E2BIG;
	if (run.max > LBR_MAX_FRAMES)
		run.max = LBR_MAX_FRAMES;
	if (!thread)
		return -ENOMEM;
	run.steps = lbr_scratch(lbr);
	end = own_frames(&run);
	ret_result->n_stale = count_stale(&run, false);
	if (end != STACKD_END_ENTRY && may_chain(&run, end))
		end = lbr_thread_continue(thread, &run, end, ret_result->n_stale == 0);
	ret_result->end = is_full(&run) ? STACKD_END_TOO_DEEP : end;
	ret_result->n_frames = run.n;
	return lbr_thread_remember(thread, &run, ret_result->end);
}

static uint8_t confidence_of(const struct lbr_frame *frame)
{
	if (frame->is_verified)
		return 100;
	if (frame->source == FRAME_SOURCE_PREFIX)
		return LBR_CONFIDENCE_PREFIX;
	return frame->source == FRAME_SOURCE_BRANCH ? LBR_CONFIDENCE_CHAIN : LBR_CONFIDENCE_STITCH;
}

uint32_t lbr_runs(const struct lbr_frame *frames, size_t n, struct origin_run *runs)
{
	uint32_t count = 0;

	for (size_t i = n; i-- > 0;) {
		struct origin_run run = {1, frames[i].source, confidence_of(&frames[i])};

		if (count && runs[count - 1].source == run.source &&
		    runs[count - 1].confidence == run.confidence)
			runs[count - 1].frames++;
		else
			runs[count++] = run;
	}
	return count;
}
