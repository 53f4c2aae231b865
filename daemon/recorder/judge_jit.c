/* SPDX-License-Identifier: MIT */
/*
 * Follows chains of frame pointers, and compares walks with them; see judge_jit.h.
 *
 * STACKD_DEBUG in the environment prints the wrong walks.
 */
#include "daemon/recorder/judge_jit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "arch/call_site.h"

#define MOST_LINKS 256 /* most links of a chain that are followed */
/* Most calls, and most leaves, that are kept. With more calls, all of them are forgotten; further
 * leaves are not judged. */
#define MOST_KNOWN (1u << 16)
#define LEARNED	   2 /* a call's distance is used once so many links have shown it */
/* so many before another distance counts as wrong, since interpreters' distances vary */
#define CERTAIN 32

/* The distance by which the stack pointer is below the frame pointer at a call, and in how many
 * links it was seen. */
struct call {
	uint64_t distance; /* 0: not always the same */
	uint32_t seen;
};

/* Samples at one leaf address whose walks all assumed that the leaf had set up its frame, or all
 * assumed that it had not. */
struct leaf {
	uint32_t seen;
	uint32_t against; /* samples whose stack looks as if the opposite were true */
};

struct link {
	uint64_t slot, pc, fp; /* address of the return address; return address; saved frame
				* pointer */
};

struct judge_jit {
	runtime_code_window_fn *window;
	void *arg;
	struct judge_jit_counts counts;
	VEC(struct call) calls;
	VEC(struct leaf) leaves;
	struct int_map call_of, leaf_of; /* by key: index */
	struct link links[MOST_LINKS];
	size_t link_count;
	uint64_t end_fp; /* saved frame pointer of the last link; without links, the sample's frame
			  * pointer */
};

int judge_jit_new(runtime_code_window_fn *window, void *arg, struct judge_jit **ret_judge)
{
	struct judge_jit *j = calloc(1, sizeof(*j));

	if (!j)
		return -ENOMEM;
	j->window = window;
	j->arg = arg;
	*ret_judge = j;
	return 0;
}

void judge_jit_free(struct judge_jit *j)
{
	if (!j)
		return;
	free(j->calls.items);
	free(j->leaves.items);
	int_map_fini(&j->call_of);
	int_map_fini(&j->leaf_of);
	free(j);
}

/* --- the stack and the code ------------------------------------------------------------------ */

static bool read_word(const struct walk_input *in, uint64_t address, uint64_t *ret_word)
{
	uint64_t at = address - in->regs.r[STACKD_REG_SP];

	if (address & 7 || at > in->stack_bytes || in->stack_bytes - at < 8)
		return false;
	memcpy(ret_word, in->stack + at, 8);
	return true;
}

/* Returns the mark of the code block at an address; NULL: the sample has no such mark, since the
 * address is not in JIT code, or the kernel half has not come to it. */
static const struct stackd_code_mark *mark_of(const struct walk_input *in, uint64_t address)
{
	for (size_t i = 0; i < in->code_count; i++) {
		if (in->code[i].address &&
		    in->code[i].address / STACKD_CODE_BLOCK == address / STACKD_CODE_BLOCK)
			return &in->code[i];
	}
	return NULL;
}

/* Returns whether an address lies in JIT code right behind a call instruction, by the code's bytes
 * at the sample. */
static bool is_return_address(const struct judge_jit *j, const struct walk_input *in, uint64_t pc)
{
	const struct stackd_code_mark *mark = mark_of(in, pc);
	uint8_t bytes[STACKD_CODE_BYTES];
	uint64_t at;

	if (!mark || !mark->hashes[STACKD_CODE_BEFORE] || !mark->hashes[STACKD_CODE_BEFORE - 1] ||
	    !j->window(j->arg, in->pid, mark, bytes))
		return false;
	at = pc - (pc / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE) * STACKD_CODE_BLOCK;
	return call_site_ends(bytes + at - CALL_SITE_BYTES, CALL_SITE_BYTES);
}

/* Returns a key for an address and the version of the JIT code there at the sample. */
static uint64_t key_of(const struct walk_input *in, uint64_t address)
{
	const struct stackd_code_mark *mark = mark_of(in, address);

	return hash_mix64((mark ? stackd_code_key((uint32_t)in->pid, mark) : 0) ^ address << 8);
}

/* --- chains ---------------------------------------------------------------------------------- */

/* Follows the chain from the frame pointer, as long as return addresses lie in JIT code. The frame
 * pointer of a link's caller must lead on, too, since that of a word which looks like a link by
 * chance does not. */
static void follow_chain(struct judge_jit *j, const struct walk_input *in)
{
	uint64_t fp = in->regs.r[STACKD_REG_FP], saved, pc, next;

	j->link_count = 0;
	while (j->link_count < MOST_LINKS && read_word(in, fp, &saved) &&
	       read_word(in, fp + 8, &pc) && saved > fp + 8 && read_word(in, saved, &next) &&
	       next > saved && is_return_address(j, in, pc)) {
		j->links[j->link_count++] = (struct link){fp + 8, pc, saved};
		fp = saved;
	}
	j->end_fp = fp;
}

/* Returns whether the return address at `slot`, to which a walk has stepped, belongs to the chain:
 * it is that of a link; or the one above the last link, with which JIT code returns to the code
 * that called it. */
static bool is_in_chain(const struct judge_jit *j, uint64_t slot)
{
	for (size_t i = 0; i < j->link_count; i++) {
		if (j->links[i].slot == slot)
			return true;
	}
	return slot == j->end_fp + 8;
}

/* --- calls ----------------------------------------------------------------------------------- */

static void forget(struct judge_jit *j)
{
	j->calls.count = 0;
	int_map_clear(&j->call_of);
}

/* Learns from a link by how much the stack pointer is below the frame pointer at its call. */
static void learn(struct judge_jit *j, const struct walk_input *in, const struct link *link)
{
	uint64_t key = key_of(in, link->pc), distance = link->fp - link->slot;
	uint32_t index = int_map_find(&j->call_of, key);
	struct call *call;

	if (index == INT_MAP_NONE) {
		if (j->calls.count == MOST_KNOWN)
			forget(j);
		if (VEC_RESERVE(&j->calls, 1) ||
		    int_map_set(&j->call_of, key, (uint32_t)j->calls.count))
			return;
		j->calls.items[j->calls.count++] = (struct call){distance, 1};
		return;
	}
	call = &j->calls.items[index];
	call->seen++;
	if (call->distance != distance)
		call->distance = 0;
}

/* Judges the frame pointer `fp` by the distance that is known for the call of the return address at
 * `slot`. 1: it is the frame pointer of that call's function; -1: it is not; 0: not known, since
 * there is no return address at `slot`, or fewer than `least` links have shown the distance. */
static int says_of(const struct judge_jit *j, const struct walk_input *in, uint64_t slot,
		   uint64_t fp, uint32_t least)
{
	const struct call *call;
	uint32_t index;
	uint64_t pc;

	if (!read_word(in, slot, &pc) || !is_return_address(j, in, pc))
		return 0;
	index = int_map_find(&j->call_of, key_of(in, pc));
	if (index == INT_MAP_NONE)
		return 0;
	call = &j->calls.items[index];
	if (call->seen < least || !call->distance)
		return 0;
	return call->distance == fp - slot ? 1 : -1;
}

/* --- leaves ---------------------------------------------------------------------------------- */

enum looks { FRAMED, MAYBE_BARE, BARE };

/* Returns how the stack looks: as if the leaf had set up no frame yet, or had only pushed the frame
 * pointer (BARE), so that its return address is the first or second word of the stack; as if that
 * were possible (MAYBE_BARE); or neither (FRAMED). */
static enum looks looks_of(const struct judge_jit *j, const struct walk_input *in)
{
	uint64_t sp = in->regs.r[STACKD_REG_SP], fp = in->regs.r[STACKD_REG_FP], pc;
	enum looks looks = FRAMED;

	for (uint64_t slot = sp; slot <= sp + 8; slot += 8) {
		if (says_of(j, in, slot, fp, LEARNED) > 0)
			return BARE;
		if (read_word(in, slot, &pc) && is_return_address(j, in, pc))
			looks = MAYBE_BARE;
		if (!read_word(in, slot, &pc) || pc != fp)
			break;
	}
	return looks;
}

static uint64_t wrong_at(const struct leaf *leaf)
{
	return leaf->seen == leaf->against && leaf->seen >= JUDGE_JIT_AT_LEAST ? leaf->seen : 0;
}

static void show_leaf(const struct judge_jit *j, const struct walk_input *in,
		      const struct leaf *leaf)
{
	uint64_t sp = in->regs.r[STACKD_REG_SP];
	uint64_t word = 0;

	if (!getenv("STACKD_DEBUG"))
		return;
	fprintf(stderr,
		"judge: pid %d leaf %llx: %u of %u look otherwise; sp %llx fp %llx:", in->pid,
		(unsigned long long)in->regs.r[STACKD_REG_PC], leaf->against, leaf->seen,
		(unsigned long long)sp, (unsigned long long)in->regs.r[STACKD_REG_FP]);
	for (uint64_t at = sp; at < sp + 64 && read_word(in, at, &word); at += 8)
		fprintf(stderr, " %llx%s", (unsigned long long)word,
			is_return_address(j, in, word) ? "*" : "");
	fputc('\n', stderr);
}

/* Counts a sample at a leaf's address. `by_frame`: its walk assumed that the leaf has set up its
 * frame; else that it has not. `is_against`: the stack looks as if the opposite were true. Samples
 * with is_against count as unproven; as wrong, if all samples at this address whose walks assumed
 * the same have it. */
static void take_leaf(struct judge_jit *j, const struct walk_input *in, bool by_frame,
		      bool is_against)
{
	uint64_t key = key_of(in, in->regs.r[STACKD_REG_PC]) ^ by_frame, more;
	uint32_t index = int_map_find(&j->leaf_of, key);
	struct leaf *leaf;

	if (index == INT_MAP_NONE) {
		if (j->leaves.count == MOST_KNOWN || VEC_RESERVE(&j->leaves, 1) ||
		    int_map_set(&j->leaf_of, key, (uint32_t)j->leaves.count)) {
			j->counts.unproven += is_against;
			return;
		}
		index = (uint32_t)j->leaves.count;
		j->leaves.items[j->leaves.count++] = (struct leaf){0};
	}
	leaf = &j->leaves.items[index];
	more = -wrong_at(leaf);
	leaf->seen++;
	leaf->against += is_against;
	more += wrong_at(leaf);
	if (more)
		show_leaf(j, in, leaf);
	j->counts.wrong += more;
	j->counts.unproven += is_against - more;
}

/* --- walks ----------------------------------------------------------------------------------- */

static bool is_made(const struct walk_frame *frame)
{
	return frame->object && frame->object->kind == OBJECT_JIT;
}

/* Returns whether a walk passes over a link of the chain, so that it has left out a caller. */
static bool skips_link(const struct judge_jit *j, const struct judge_jit_walk *walk)
{
	uint64_t last = walk->frames[walk->count - 1].slot;
	size_t frame = 1;

	for (size_t i = 0; i < j->link_count && j->links[i].slot <= last; i++) {
		while (frame < walk->count && walk->frames[frame].slot < j->links[i].slot)
			frame++;
		if (frame == walk->count || walk->frames[frame].slot != j->links[i].slot)
			return true;
	}
	return false;
}

enum verdict { RIGHT, WRONG, NEAREST, UNPROVEN, COUNTED };

/* Returns the verdict on a leaf whose walk assumed that the leaf has set up its frame. */
static enum verdict verdict_on_framed(struct judge_jit *j, const struct walk_input *in)
{
	enum looks looks = looks_of(j, in);

	take_leaf(j, in, true, looks == BARE);
	if (looks == BARE)
		return COUNTED;
	return looks == FRAMED && is_in_chain(j, in->regs.r[STACKD_REG_FP] + 8) ? RIGHT : UNPROVEN;
}

static enum verdict verdict_on_leaf(struct judge_jit *j, const struct judge_jit_walk *walk)
{
	const struct walk_input *in = walk->in;
	uint64_t sp = in->regs.r[STACKD_REG_SP], fp = in->regs.r[STACKD_REG_FP], saved = fp;
	uint64_t slot = walk->frames[1].slot;
	bool is_against;

	if (slot == fp + 8 && fp > sp)
		return verdict_on_framed(j, in);
	/* The walk must have assumed that the leaf has pushed nothing, or only the frame
	 * pointer. */
	if (slot != sp &&
	    (slot != sp + 8 || !read_word(in, sp, &saved) || (fp != saved && fp != sp)))
		return UNPROVEN;
	if (says_of(j, in, slot, saved, LEARNED) > 0) {
		take_leaf(j, in, false, false);
		return RIGHT;
	}
	is_against = says_of(j, in, slot, saved, CERTAIN) < 0;
	take_leaf(j, in, false, is_against);
	return is_against ? COUNTED : UNPROVEN;
}

/* Judges the step out of the leaf, and then learns from the sample's chain; not before, because a
 * sample must not be evidence for itself. */
static enum verdict judge_leaf(struct judge_jit *j, const struct judge_jit_walk *walk)
{
	enum verdict verdict = verdict_on_leaf(j, walk);

	for (size_t i = 0; i < j->link_count; i++)
		learn(j, walk->in, &j->links[i]);
	return verdict == UNPROVEN && walk->is_confirmed[0] ? RIGHT : verdict;
}

/* Returns whether no caller can have been left out between a frame and the next one, because no
 * word of the stack between their return addresses (for the leaf, from the stack pointer on) is a
 * return address. */
static bool is_nearest(const struct judge_jit *j, const struct judge_jit_walk *walk, size_t frame)
{
	const struct walk_input *in = walk->in;
	uint64_t at = frame ? walk->frames[frame].slot + 8 : in->regs.r[STACKD_REG_SP], word,
		 offset;
	const struct object *object;

	for (; at < walk->frames[frame + 1].slot; at += 8) {
		if (!read_word(in, at, &word))
			return false;
		if (in->find(in->arg, word - 1, &object, &offset) &&
		    (object->kind != OBJECT_JIT || !mark_of(in, word) ||
		     is_return_address(j, in, word)))
			return false;
	}
	return at == walk->frames[frame + 1].slot;
}

static void count(struct judge_jit *j, enum verdict verdict)
{
	j->counts.nearest += verdict == NEAREST;

	j->counts.right += verdict == RIGHT;
	j->counts.wrong += verdict == WRONG;
	j->counts.unproven += verdict == UNPROVEN;
}

static void show_wrong(const struct judge_jit *j, const struct judge_jit_walk *walk)
{
	if (!getenv("STACKD_DEBUG"))
		return;
	fprintf(stderr, "judge: pid %d made code: sp %llx fp %llx\n  walk:", walk->in->pid,
		(unsigned long long)walk->in->regs.r[STACKD_REG_SP],
		(unsigned long long)walk->in->regs.r[STACKD_REG_FP]);
	for (size_t i = 0; i < walk->count; i++)
		fprintf(stderr, " %llx@%llx", (unsigned long long)walk->frames[i].address,
			(unsigned long long)walk->frames[i].slot);
	fprintf(stderr, "\n  chain:");
	for (size_t i = 0; i < j->link_count; i++)
		fprintf(stderr, " %llx@%llx", (unsigned long long)j->links[i].pc,
			(unsigned long long)j->links[i].slot);
	fputc('\n', stderr);
}

void judge_jit_take(struct judge_jit *j, const struct judge_jit_walk *walk)
{
	bool is_leaf = walk->count > 1 && is_made(&walk->frames[0]);
	enum verdict verdict;

	if (is_leaf) {
		follow_chain(j, walk->in);
		if (skips_link(j, walk)) {
			count(j, WRONG);
			show_wrong(j, walk);
			return;
		}
		verdict = judge_leaf(j, walk);
		count(j, verdict == UNPROVEN && is_nearest(j, walk, 0) ? NEAREST : verdict);
	}
	for (size_t i = is_leaf; i + 1 < walk->count; i++) {
		bool is_right = walk->is_confirmed[i] ||
				(is_leaf && is_in_chain(j, walk->frames[i + 1].slot));

		if (!is_made(&walk->frames[i]))
			continue;
		verdict = is_right ? RIGHT : is_nearest(j, walk, i) ? NEAREST : UNPROVEN;
		count(j, verdict);
	}
}

struct judge_jit_counts judge_jit_counts(const struct judge_jit *j)
{
	return j ? j->counts : (struct judge_jit_counts){0};
}
