/* SPDX-License-Identifier: MIT */
/* Matches managed frames with activations twice: first to find out how many frames the path gets,
 * then to put them there; see managed_chain.h. */
#include "daemon/recorder/managed_chain.h"

#include <errno.h>

#include "daemon/capture/record.h"

struct match {
	const struct managed_chain *with;
	const struct walk_frame *frames;
	size_t count; /* of these that have a caller on the path */
	uint64_t sp;
	const uint64_t *words; /* the chain, without the file's number */
	size_t n_words, at;
	const struct object *object; /* the interpreter's file */
	const struct stackd_interpreter *is;
	bool has_met, has_frames; /* an activation was met; one has had frames */
	bool is_unlinked;	  /* the innermost activation does not yet lead to the one before */
	bool has_ended;		  /* no more frames are proven */
	bool is_unread;		  /* the frames of an activation are not known */
};

/* What an activation gets. */
struct share {
	const uint64_t *words; /* frames, leaf first */
	size_t count;
	bool is_unproven; /* a frame that says that they are not proven */
};

static bool is_activation(const struct managed_chain *with, const struct walk_frame *frame)
{
	struct stackd_rule rule;

	return frame->object && tables_interpreter(with->tables, frame->object) &&
	       !tables_rule(with->tables, frame->object, frame->offset, &rule) &&
	       (rule.cfa == STACKD_CFA_EVAL || rule.cfa == STACKD_CFA_EVAL_REGS);
}

/* Returns whether a frame was interrupted where the thread's state leads to the new activation,
 * whose own links are not set yet. */
static bool is_linking(const struct match *m, const struct walk_frame *frame)
{
	uint64_t at = frame->offset - m->is->eval;

	return !frame->is_return && at >= m->is->linked_from && at < m->is->linked_to;
}

/* Returns whether a frame was interrupted where its managed frame is not yet in the thread's chain,
 * or not any more. */
static bool is_unchained(const struct match *m, const struct walk_frame *frame)
{
	uint64_t at = frame->offset - m->is->eval;

	if (!frame->is_return && at < m->is->linked_to)
		return true;
	for (size_t i = 0; i < STACKD_INTERPRETER_LEFT; i++) {
		if (at >= m->is->left_from[i] && at < m->is->left_to[i])
			return true;
	}
	return false;
}

/* Returns whether a frame was interrupted where its last managed frame does not lead to its caller
 * yet, so that the words are of a chain that may have been there before. */
static bool is_pushing(const struct match *m, const struct walk_frame *frame)
{
	uint32_t at = (uint32_t)(frame->offset - m->is->eval);

	for (size_t i = 0; i < STACKD_INTERPRETER_PUSHES && !frame->is_return; i++) {
		if (at >= m->is->pushed_from[i] && at < m->is->pushed_to[i])
			return true;
	}
	return false;
}

/* Gives the frames of an activation to it. */
static void give(struct match *m, size_t count, struct share *ret_share)
{
	ret_share->words = m->words + m->at;
	ret_share->count = count;
	m->has_frames |= count != 0;
}

/* Ends the frames at an activation, which gets one that says so. But a path without managed frames
 * stays as it is. */
static void give_up(struct match *m, struct share *ret_share)
{
	ret_share->is_unproven = m->has_frames;
	m->has_ended = m->is_unread = true;
}

/* Gives the next activation's frames to frame `i`, if the address behind them is in it. */
static void match_by_address(struct match *m, size_t i, struct share *ret_share)
{
	const bool has_cframe = m->is->form != STACKD_INTERPRETER_OWNER;
	uint64_t low = i ? m->frames[i].slot : m->sp, high = m->frames[i + 1].slot, address;
	size_t end = m->at;

	while (end < m->n_words && !(m->words[end] & STACKD_CHAIN_END))
		end++;
	address = end < m->n_words ? m->words[end] & ~STACKD_CHAIN_END : 0;
	if (address >= high && !m->has_frames && !m->frames[i].is_return)
		return; /* just entered, or about to be left: what calls has its frames */
	if (has_cframe && is_linking(m, &m->frames[i])) {
		m->is_unlinked = address >= low;
		return;
	}
	if (m->is_unlinked || address < low || address >= high) {
		give_up(m, ret_share);
		return;
	}
	if (!is_pushing(m, &m->frames[i]))
		give(m, end - m->at, ret_share);
	else if (!has_cframe)
		give_up(m, ret_share);
	m->at = end + 1;
}

/* Gives what frame `i` of the walk gets, which is nothing if it is no activation. To be called for
 * one frame after the other. */
static struct share share_of(struct match *m, size_t i)
{
	struct share share = {0};
	bool is_first = !m->has_met;

	if (!is_activation(m->with, &m->frames[i]))
		return share;
	m->has_met = true;
	if (m->has_ended) {
		m->is_unread = true;
	} else if (m->frames[i].object != m->object || i >= m->count) {
		give_up(m, &share);
	} else if (m->is->form != STACKD_INTERPRETER_OBJECT) {
		match_by_address(m, i, &share);
	} else if (!is_first || !is_unchained(m, &m->frames[i])) {
		give(m, 1, &share);
		m->at++;
	}
	return share;
}

/* Begins to match. Without a chain, all activations are unread. */
static struct match begin(const struct managed_chain *with,
			  const struct stackd_stack_record *record, const struct walk_frame *frames,
			  size_t count)
{
	struct match m = {.with = with,
			  .frames = frames,
			  .count = count,
			  .sp = record->regs.r[STACKD_REG_SP],
			  .has_ended = true};
	size_t n;
	const uint64_t *words = record_chain(record, &n);

	if (n < 2)
		return m;
	m.words = words + 1;
	m.n_words = n - 1;
	for (size_t i = 0; i < count && !m.object; i++) {
		if (frames[i].object && tables_number(with->tables, frames[i].object) == words[0])
			m.object = frames[i].object;
	}
	m.is = m.object ? tables_interpreter(with->tables, m.object) : NULL;
	m.has_ended = !m.is;
	return m;
}

/* Returns whether all frames of the thread have found their activations, if no address shows it. */
static bool are_as_many(const struct match *m, enum stackd_end_reason reason)
{
	return reason == STACKD_END_ENTRY && m->at + 1 == m->n_words &&
	       m->words[m->at] & STACKD_CHAIN_END;
}

/* Puts a frame before the path's frames from *at on. 0 or -ENOMEM. */
static int put(const struct managed_chain *with, uint64_t word, struct path *path, size_t *at)
{
	const uint32_t known = location_count(with->locations);
	struct location location;
	int err = managed_locate(with->managed, word, &location);

	--*at;
	path->heights[*at] = 0;
	if (!err)
		err = location_intern(with->locations, &location, &path->locations[*at]);
	if (!err && path->locations[*at] >= known)
		location_set_provenance(with->locations, path->locations[*at],
					PROVENANCE_RUNTIME_TABLE);
	return err;
}

/* Moves the path's frames, and puts their managed frames before them. 0 or -ENOMEM. */
static int put_all(struct match m, size_t n_frames, size_t more, struct path *path)
{
	size_t at = path->count + more;
	int err = 0;

	for (size_t i = 0; i < n_frames && at > path->count - 1 - i && !err; i++) {
		const size_t from = path->count - 1 - i;
		const struct share share = share_of(&m, i);

		at--;
		path->locations[at] = path->locations[from];
		path->heights[at] = path->heights[from];
		for (size_t j = 0; j < share.count && !err; j++)
			err = put(m.with, share.words[j], path, &at);
		if (share.is_unproven && !err)
			err = put(m.with, (uint64_t)STACKD_MANAGED_UNPROVEN << STACKD_MANAGED_SHIFT,
				  path, &at);
	}
	path->count += more;
	return err;
}

int managed_chain_add(const struct managed_chain *with, const struct stackd_stack_record *record,
		      const struct walk_frame *frames, enum stackd_end_reason reason,
		      struct path *path)
{
	const size_t n_frames = path->count - path->cut;
	struct match m = begin(with, record, frames, n_frames ? n_frames - 1 : 0), first = m;
	size_t more = 0;

	for (size_t i = 0; i < n_frames; i++) {
		const struct share share = share_of(&m, i);

		more += share.count + share.is_unproven;
	}
	path->is_unread = m.is_unread;
	if (!more)
		return 0;
	if (path->count + more > PATH_MAX_USER ||
	    (m.is->form == STACKD_INTERPRETER_OBJECT && !are_as_many(&m, reason))) {
		path->is_unread = true;
		return 0;
	}
	return put_all(first, n_frames, more, path);
}
