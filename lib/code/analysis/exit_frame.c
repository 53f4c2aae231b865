/* SPDX-License-Identifier: MIT */
/*
 * Follows paths forward, and tracks the distance of the stack pointer from its value at the start;
 * see exit_frame.h.
 *
 * A path (struct way) keeps the words that it has pushed or stored, so if it reads them back, no
 * register of its caller is restored. It also remembers a frame pointer that it sets, since it may
 * set the stack pointer from it again. A path yields no result if it gives the stack pointer an
 * unknown value, or returns with a callee-saved register changed. But if all returns have changed
 * callee-saved registers, as in V8's code, whose functions preserve only the frame pointer, they
 * count, and the rule lists the changed registers (a *loose* search).
 */
#include "analysis/exit_frame.h"

#include <string.h>

#include "arch/code_form.h"
#include "arch/insn.h"
#include "base/int_map.h"

/* Chosen by hand: they bound the time for an address to about half a millisecond. */
#define WAYS	     64	 /* limit of the paths that wait to be followed */
#define WORDS	     16	 /* limit of the words that a path has written to the stack */
#define CALLEE	     128 /* instructions of a callee that are searched for its return */
#define MOST_REMOVED 255 /* most words that a return takes off the stack, by a rule's width */
#define TAKES	     32 /* instructions of a callee that are searched for a pop of its return address */
#define HANDS	     6 /* instructions between a pop of the return address and the jump to a handler */
#define ENOUGH	     4 /* if so many returns are found, the search ends; they must agree */

/* Callee-saved registers in the order of rules, by the processor's numbers. */
static const uint8_t preserved[STACKD_SAVED_COUNT] = INSN_SAVED_REGS;

struct word {
	int64_t at;	   /* distance from the base */
	uint8_t preserved; /* the register whose value of the start is in the word; INSN_NO_REG:
			    * none */
	bool has_number;   /* the word is a known number, which may be an address to which a
			    * return leads */
	uint64_t number;
};

enum known {
	AS_BEFORE, /* it has its value of the start */
	RESTORED,  /* it was loaded from a word that was there at the start */
	CHANGED,   /* it has another value */
};

struct way {
	uint64_t at;
	uint8_t base;  /* INSN_SP or INSN_FP: distances are relative to this register's value at
			* the start */
	int64_t sp;    /* the stack pointer's distance from the base */
	int64_t frame; /* if has_frame, the frame pointer's distance from the base */
	bool has_frame;
	uint32_t removes; /* words that its return takes off the stack besides the return address */
	bool is_lost;  /* the stack pointer is not known until it is set from the frame pointer */
	bool is_reset; /* the stack pointer was set from the frame pointer */
	uint8_t word_count;
	uint8_t known[STACKD_SAVED_COUNT];
	/* for registers that are RESTORED: the distance of the word from the base */
	int64_t slot[STACKD_SAVED_COUNT];
	struct word words[WORDS];
	uint8_t number_in; /* register that holds `number`; INSN_NO_REG: none */
	uint64_t number;
	uint8_t popped_in; /* register that holds a number that was popped; INSN_NO_REG: none */
	uint64_t popped;
};

static const struct way begin_of_way = {
	.base = INSN_SP, .number_in = INSN_NO_REG, .popped_in = INSN_NO_REG};

struct exits {
	exit_frame_read_fn *read;
	exit_frame_outside_fn *outside; /* NULL: code outside is not used */
	void *arg;
	struct insn_decoder decoder;
	struct int_map seen; /* by vaddr: depth_of() of the path that came first */
	struct way ways[WAYS];
	size_t way_count;
	unsigned steps;
	unsigned returns;
	bool has_failed;
	bool is_uneven;	  /* paths have met with different stack pointers, which were not reset */
	bool has_counted; /* a path has returned without a reset of its stack pointer */
	bool is_open;	  /* a path has ended at a jump to an unknown target */
	bool is_loose;	  /* a path may change all callee-saved registers but the frame pointer */
	bool may_leave;	  /* a path may end as leaves_by_jump() says */
	bool could_leave; /* a path has come to such an end */
	struct way found; /* the path at its return */
};

/* Returns a register's index in a rule's `saved`; STACKD_SAVED_COUNT: it has none. */
static unsigned place_of(unsigned reg)
{
	unsigned k = 0;

	while (k < STACKD_SAVED_COUNT && preserved[k] != reg)
		k++;
	return k;
}

/* --- one instruction ----------------------------------------------------------------------- */

/* Returns whether a word was below the stack pointer at the start, so that only the path can have
 * written it. */
static bool is_own(const struct way *w, int64_t at)
{
	return w->base == INSN_SP && at < 0;
}

static bool put_word(struct way *w, const struct word *word)
{
	for (unsigned i = 0; i < w->word_count; i++) {
		if (w->words[i].at == word->at) {
			w->words[i] = *word;
			return true;
		}
	}
	if (word->preserved == INSN_NO_REG && !word->has_number && is_own(w, word->at))
		return true;
	if (w->word_count == WORDS)
		return false;
	w->words[w->word_count++] = *word;
	return true;
}

static bool write_word(struct way *w, int64_t at, unsigned reg)
{
	unsigned k = place_of(reg);
	struct word word = {.at = at, .preserved = INSN_NO_REG};

	if (k < STACKD_SAVED_COUNT && w->known[k] == AS_BEFORE)
		word.preserved = preserved[k];
	word.has_number = reg < INSN_NO_REG && (reg == w->number_in || reg == w->popped_in);
	if (word.has_number)
		word.number = reg == w->popped_in ? w->popped : w->number;
	return put_word(w, &word);
}

/* Loads a register from a word of the stack. */
static void read_word(struct way *w, int64_t at, unsigned reg)
{
	unsigned k = place_of(reg);

	if (k == STACKD_SAVED_COUNT)
		return;
	w->known[k] = is_own(w, at) ? CHANGED : RESTORED;
	w->slot[k] = at;
	for (unsigned i = 0; i < w->word_count; i++) {
		if (w->words[i].at == at)
			w->known[k] = w->words[i].preserved == reg ? AS_BEFORE : CHANGED;
	}
}

/* Applies an instruction that sets the stack pointer to the frame pointer + disp. If the path
 * itself has set the frame pointer, its distance from the base is known. Else the frame pointer of
 * the start becomes the base, unless it was changed, or a register was already restored from a word
 * at a distance from the old base. Returns whether the stack pointer is known. */
static bool set_to_fp(struct way *w, int32_t disp)
{
	if (w->has_frame) {
		w->sp = w->frame + disp;
		w->is_lost = false;
		w->is_reset = true;
		return true;
	}
	if (w->base != INSN_SP || w->known[0] != AS_BEFORE)
		return false;
	for (unsigned k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (w->known[k] == RESTORED)
			return false;
	}
	w->base = INSN_FP;
	w->sp = disp;
	w->is_lost = false;
	w->is_reset = true;
	w->word_count = 0;
	return true;
}

/* Gives the stack pointer an unknown value, for example because it is aligned. Returns whether the
 * path can still find it again, from the frame pointer. */
static bool lose_rsp(struct way *w)
{
	w->is_lost = true;
	return w->has_frame || (w->base == INSN_SP && w->known[0] == AS_BEFORE);
}

static void set_fp(struct way *w, const struct insn *i)
{
	w->has_frame = i->src == INSN_SP && !w->is_lost;
	w->frame = w->sp + i->disp;
}

static bool copy(struct way *w, const struct insn *i)
{
	unsigned k = place_of(i->dst);

	if (i->dst == INSN_SP && i->src == INSN_SP) {
		w->sp += i->disp;
		return true;
	}
	if (i->dst == INSN_SP)
		return i->src == INSN_FP && set_to_fp(w, i->disp);
	if (k == STACKD_SAVED_COUNT || (i->dst == i->src && !i->disp))
		return true;
	w->known[k] = CHANGED;
	if (i->dst == INSN_FP)
		set_fp(w, i);
	return true;
}

static bool load(struct way *w, const struct insn *i)
{
	unsigned k = place_of(i->dst);

	if (i->dst == INSN_SP)
		return false;
	if (i->src == INSN_SP && !w->is_lost)
		read_word(w, w->sp + i->disp, i->dst);
	else if (i->src == INSN_FP && w->has_frame)
		read_word(w, w->frame + i->disp, i->dst);
	else if (i->src == INSN_FP && w->base == INSN_FP && w->known[0] == AS_BEFORE)
		read_word(w, i->disp, i->dst);
	else if (k < STACKD_SAVED_COUNT)
		w->known[k] = CHANGED;
	w->has_frame &= i->dst != INSN_FP;
	return true;
}

static bool store(struct way *w, const struct insn *i)
{
	if (i->dst == INSN_SP && !w->is_lost)
		return write_word(w, w->sp + i->disp, i->src);
	return i->dst != INSN_FP || !w->has_frame || write_word(w, w->frame + i->disp, i->src);
}

static bool push(struct way *w, const struct insn *i)
{
	if (w->is_lost)
		return true;
	w->sp -= 8;
	return write_word(w, w->sp, i->src);
}

static bool pop(struct way *w, const struct insn *i)
{
	unsigned k = place_of(i->dst);

	if (i->dst == INSN_SP)
		return false;
	if (!w->is_lost)
		read_word(w, w->sp, i->dst);
	else if (k < STACKD_SAVED_COUNT)
		w->known[k] = CHANGED;
	w->has_frame &= i->dst != INSN_FP;
	w->sp += 8;
	return true;
}

static bool leave_frame(struct way *w)
{
	const struct insn of_fp = {.dst = INSN_FP};

	return set_to_fp(w, 0) && pop(w, &of_fp);
}

static bool change_others(struct way *w, const struct insn *i)
{
	if (i->written >> INSN_SP & 1 && !lose_rsp(w))
		return false;
	w->has_frame &= !(i->written >> INSN_FP & 1);
	for (unsigned k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (i->written >> preserved[k] & 1)
			w->known[k] = CHANGED;
	}
	return true;
}

/* Gives the number that the path has written to a word of the stack. Returns false if it is not
 * known. */
static bool number_at(const struct way *w, int64_t at, uint64_t *ret_number)
{
	for (unsigned i = 0; i < w->word_count; i++) {
		if (w->words[i].at == at && w->words[i].has_number) {
			*ret_number = w->words[i].number;
			return true;
		}
	}
	return false;
}

/* Follows a number that a pop has taken off the stack, until its register is written. */
static void follow_popped(struct way *w, const struct insn *i)
{
	if (i->op == INSN_POP && i->dst < INSN_NO_REG && !w->is_lost &&
	    number_at(w, w->sp - 8, &w->popped))
		w->popped_in = i->dst;
	else if (w->popped_in < INSN_NO_REG && i->written >> w->popped_in & 1)
		w->popped_in = INSN_NO_REG;
}

/* Follows a number in a register through an instruction. PyPy's code computes the addresses to
 * which it jumps from a number by additions. */
static void follow_number(struct way *w, const struct insn *i, const uint8_t *bytes)
{
	bool is_sum = i->op == INSN_COPY && i->src == w->number_in && i->src < INSN_NO_REG;

	follow_popped(w, i);
	if (code_form_number(i, bytes, &w->number_in, &w->number))
		return;
	if (i->idiom == INSN_ADDRESS) {
		w->number_in = i->dst;
		w->number = i->target;
	} else if (is_sum && i->dst == w->number_in) {
		w->number += (uint64_t)(int64_t)i->disp;
	} else if (w->number_in < INSN_NO_REG && i->written >> w->number_in & 1) {
		w->number_in = INSN_NO_REG;
	}
}

/* Applies an instruction to a path. Returns false if the path ends without a result. */
static bool apply(struct way *w, const struct insn *i)
{
	switch (i->op) {
	case INSN_PUSH:
		return push(w, i);
	case INSN_POP:
		return pop(w, i);
	case INSN_COPY:
		return copy(w, i);
	case INSN_LOAD:
		return load(w, i);
	case INSN_STORE:
		return store(w, i);
	case INSN_LEAVE:
		return leave_frame(w);
	case INSN_ALIGN:
		return lose_rsp(w);
	case INSN_ZERO:
		return copy(w, &(struct insn){.dst = i->dst, .src = INSN_NO_REG});
	default:
		return change_others(w, i);
	}
}

/* --- paths --------------------------------------------------------------------------------- */

static bool is_same_register(const struct way *a, const struct way *b, unsigned k)
{
	return a->known[k] == b->known[k] && (a->known[k] != RESTORED || a->slot[k] == b->slot[k]);
}

/* Returns whether two paths release the same frame. In a loose search, a register about which they
 * differ counts as changed. */
static bool is_same_frame(const struct exits *e, const struct way *a, struct way *b)
{
	for (unsigned k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (is_same_register(a, b, k))
			continue;
		if (!k || !e->is_loose)
			return false;
		b->known[k] = CHANGED;
	}
	return a->base == b->base && a->sp == b->sp;
}

/* Returns whether a path itself has written a word of the stack. */
static bool has_written(const struct way *w, int64_t at)
{
	unsigned i = 0;

	while (i < w->word_count && w->words[i].at != at)
		i++;
	return i < w->word_count || is_own(w, at);
}

/* Takes the result of a path at a return. If the path itself has written the return address, the
 * return is a jump. */
static void take_return(struct exits *e, const struct way *w)
{
	struct way end = *w;

	if (w->is_lost || has_written(w, w->sp) || w->known[0] == CHANGED)
		return;
	if (!e->is_loose && memchr(w->known, CHANGED, sizeof(w->known)))
		return;
	if (e->returns++) {
		e->has_failed |= !is_same_frame(e, &e->found, &end);
		end.removes = end.removes == e->found.removes ? end.removes : 0;
	}
	e->has_counted |= !end.is_reset;
	e->found = end;
}

/* Ends a path that continues in other code: the rule that e->outside has for that code gives the
 * location of the return address. A rule by the frame pointer is not used, since the frame pointer
 * may belong to another code's frame. */
static void leave_code(struct exits *e, const struct way *w)
{
	struct stackd_rule rule;
	struct way end = *w;

	if (!e->outside || w->is_lost || w->base != INSN_SP || !e->outside(e->arg, w->at, &rule) ||
	    rule.cfa != STACKD_CFA_REG || rule.reg != STACKD_REG_SP || rule.ra_offset != -8)
		return;
	end.sp += rule.cfa_offset - 8;
	for (unsigned k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (rule.saved[k])
			read_word(&end, end.sp + 8 + rule.saved[k], preserved[k]);
	}
	take_return(e, &end);
}

static void add_way(struct exits *e, const struct way *w, uint64_t at)
{
	if (e->way_count == WAYS)
		return;
	e->ways[e->way_count] = *w;
	e->ways[e->way_count++].at = at;
}

/* A path's stack pointer as a number: DEPTH_LOST, if it is not known; else at least DEPTH_LEAST,
 * with two bits that say whether it is reset, and whether the frame pointer is its base. */
#define DEPTH_LOST  1
#define DEPTH_BASE  1
#define DEPTH_RESET 2
#define DEPTH_LEAST 4

static uint32_t depth_of(const struct way *w)
{
	uint32_t words = (uint32_t)(w->sp / 8) & INT32_MAX >> 2;

	if (w->is_lost)
		return DEPTH_LOST;
	return DEPTH_LEAST * (1 + words) + (w->is_reset ? DEPTH_RESET : 0) +
	       (w->base == INSN_FP ? DEPTH_BASE : 0);
}

static bool are_different(uint32_t a, uint32_t b)
{
	return a >= DEPTH_LEAST && b >= DEPTH_LEAST && (a & DEPTH_BASE) == (b & DEPTH_BASE) &&
	       a / DEPTH_LEAST != b / DEPTH_LEAST;
}

/* Returns whether a path is the first that reaches its instruction. If a second one has another
 * stack pointer there, it has been through a loop that moves it, or past a call that takes words
 * off the stack. Then the search fails, since the distance to the frame's end is not known, unless
 * none of the two has set the stack pointer from the frame pointer yet, and all paths to returns do
 * so later. */
static bool is_first(struct exits *e, const struct way *w)
{
	const uint32_t depth = depth_of(w);
	uint32_t before;

	if (int_map_enter(&e->seen, w->at, 0, &before))
		return false;
	if (are_different(before, depth)) {
		e->has_failed |= ((before | depth) & DEPTH_RESET) != 0;
		e->is_uneven = true;
	}
	return !before && !int_map_set(&e->seen, w->at, depth);
}

static bool decode(const struct exits *e, uint64_t at, struct insn *i, uint8_t *bytes)
{
	size_t got = e->read(e->arg, at, bytes, INSN_MAX_BYTES);

	/* Zeros follow a call that never returns, such as V8's calls to give up code. */
	bool is_data = got > 1 && !bytes[0] && !bytes[1];

	return got && !is_data && insn_decode(&e->decoder, bytes, got, at, i);
}

/* Returns the number of bytes that a function takes off the stack besides its return address, if
 * its first instructions show that. Functions of C take none. */
static int32_t taken_by(const struct exits *e, uint64_t at)
{
	uint8_t bytes[INSN_MAX_BYTES];
	struct insn i;

	for (int n = 0; n < CALLEE && decode(e, at, &i, bytes); n++) {
		if (i.flow == INSN_RETURN)
			return code_form_return_removes(bytes);
		if (i.flow == INSN_JUMP_INDIRECT || i.flow == INSN_STOP)
			return 0;
		at = i.flow == INSN_JUMP ? i.target : at + i.length;
	}
	return 0;
}

/* Returns whether a pop takes off the return address in order to remove the arguments above it: it
 * is popped into a register, the stack pointer is moved, and the register is pushed again. V8's
 * functions return in this way. */
static bool is_return_address(const struct exits *e, uint64_t at, const struct insn *pop)
{
	uint8_t bytes[INSN_MAX_BYTES];
	struct insn i;

	at += pop->length;
	if (pop->op != INSN_POP || pop->dst >= INSN_NO_REG || pop->dst == INSN_SP ||
	    place_of(pop->dst) < STACKD_SAVED_COUNT || !decode(e, at, &i, bytes) ||
	    i.flow != INSN_NEXT || i.op == INSN_PUSH || i.op == INSN_POP || i.op == INSN_LEAVE ||
	    i.written != 1u << INSN_SP)
		return false;
	at += i.length;
	if (!decode(e, at, &i, bytes) || i.op != INSN_PUSH || i.src != pop->dst)
		return false;
	at += i.length;
	return decode(e, at, &i, bytes) && i.flow == INSN_RETURN &&
	       code_form_is_plain_return(bytes);
}

/* Returns whether the pop of `code` takes the return address off, to hand it to the code to which a
 * jump by a register leads. Java's stubs leave so: they hand the return address of a method that
 * has raised an exception to a handler in its caller. */
static bool leaves_by_jump(const struct exits *e, uint64_t at, const struct insn *pop,
			   const uint8_t *code)
{
	uint8_t bytes[INSN_MAX_BYTES];
	struct insn i = *pop;

	if (pop->op != INSN_POP || !code_form_pops_raise(code))
		return false;
	for (int n = 0; n < HANDS; n++) {
		at += i.length;
		if (!decode(e, at, &i, bytes))
			return false;
		if (i.flow == INSN_JUMP_INDIRECT)
			return i.idiom == INSN_NO_IDIOM && i.src < INSN_NO_REG && i.src != pop->dst;
		if (i.flow != INSN_NEXT || i.op == INSN_PUSH || i.op == INSN_POP ||
		    i.op == INSN_LEAVE || i.written >> INSN_SP & 1)
			return false;
	}
	return false;
}

/* Returns the target of a call, or of a jump by a register; 0: not known. */
static uint64_t target_of(const struct way *w, const struct insn *i)
{
	if (i->flow == INSN_CALL)
		return i->target;
	return i->idiom == INSN_NO_IDIOM && i->src < INSN_NO_REG && i->src == w->number_in
		       ? w->number
		       : 0;
}

/* A function that is followed along its first instructions; branches count as not taken. */
struct entry {
	uint64_t at;
	int64_t depth;	 /* bytes that it has pushed */
	uint8_t address; /* register with its return address; INSN_NO_REG: it is on the stack */
};

/* Passes an instruction of a callee's entry. Returns whether the function continues in a known way,
 * with its return address at a known location. */
static bool pass_entry(const struct exits *e, struct entry *f)
{
	uint8_t bytes[INSN_MAX_BYTES];
	struct insn i;

	if (!decode(e, f->at, &i, bytes) ||
	    (i.flow != INSN_NEXT && i.flow != INSN_BRANCH && i.flow != INSN_JUMP))
		return false;
	if (f->address != INSN_NO_REG && i.op == INSN_PUSH && i.src == f->address)
		return false;
	if (f->address != INSN_NO_REG) {
		f->at = i.flow == INSN_JUMP ? i.target : f->at + i.length;
		return !(i.written >> f->address & 1);
	}
	if (i.op == INSN_POP && !f->depth) {
		if (is_return_address(e, f->at, &i) || i.dst >= INSN_NO_REG)
			return false;
		f->address = i.dst;
	} else if (i.op == INSN_PUSH || i.op == INSN_POP) {
		f->depth += i.op == INSN_PUSH ? 8 : -8;
	} else if (i.op == INSN_COPY && i.dst == INSN_SP && i.src == INSN_SP) {
		f->depth -= i.disp;
	} else if (i.op == INSN_LEAVE || i.op == INSN_ALIGN || i.written >> INSN_SP & 1) {
		return false;
	}
	f->at = i.flow == INSN_JUMP ? i.target : f->at + i.length;
	return f->depth >= 0;
}

/* Returns whether a function takes its return address off the stack for another reason than to
 * return. */
static bool takes_return_address(const struct exits *e, uint64_t at)
{
	struct entry f = {.at = at, .address = INSN_NO_REG};

	for (int n = 0; n < TAKES && f.address == INSN_NO_REG; n++) {
		if (!pass_entry(e, &f))
			return false;
	}
	return f.address != INSN_NO_REG;
}

/* Continues the path in a callee, which is followed as a part of the caller. */
static bool enter_callee(struct way *w, uint64_t callee, uint64_t next)
{
	struct word pushed = {
		.at = w->sp - 8, .preserved = INSN_NO_REG, .has_number = true, .number = next};

	w->sp -= 8;
	w->at = callee;
	return !w->is_lost && put_word(w, &pushed);
}

/* Follows a return. If the path itself has pushed the address, continues there and returns true.
 * Else the path ends: returns false. */
static bool follow_return(struct exits *e, struct way *w, const uint8_t *bytes)
{
	uint64_t next;

	if (code_form_is_far_return(bytes))
		return false;
	if (w->is_lost || !number_at(w, w->sp, &next)) {
		w->removes = (uint32_t)code_form_return_removes(bytes) / 8;
		take_return(e, w);
		return false;
	}
	w->sp += 8 + code_form_return_removes(bytes);
	w->at = next;
	return true;
}

/* Returns whether the same instruction as a call, of `bytes`, is right before or behind it. Only
 * calls that do not return stand in a row: V8's functions end in such calls, and data follows
 * them. */
static bool is_repeated(const struct exits *e, uint64_t at, const struct insn *call,
			const uint8_t *bytes)
{
	uint8_t other[INSN_MAX_BYTES];
	const size_t n = call->length;

	return call->flow == INSN_CALL_INDIRECT && call->src == INSN_NO_REG &&
	       ((e->read(e->arg, at - n, other, n) == n && !memcmp(other, bytes, n)) ||
		(e->read(e->arg, at + n, other, n) == n && !memcmp(other, bytes, n)));
}

/* Continues after a call, where caller-saved registers are not known. Returns whether the path
 * continues. */
static bool pass_call(const struct exits *e, struct way *w, const struct insn *i,
		      const uint8_t *bytes)
{
	uint64_t target = target_of(w, i), next = w->at + i->length;

	if (is_repeated(e, w->at, i, bytes))
		return false;
	if (target && takes_return_address(e, target))
		return enter_callee(w, target, next);
	if (target)
		w->sp += taken_by(e, target);
	if (place_of(w->number_in) == STACKD_SAVED_COUNT)
		w->number_in = INSN_NO_REG;
	w->popped_in = INSN_NO_REG;
	w->at = next;
	return true;
}

/* Passes an instruction. Returns whether the path continues. */
static bool pass(struct exits *e, struct way *w, const struct insn *i, const uint8_t *bytes)
{
	uint64_t next = w->at + i->length;

	switch (i->flow) {
	case INSN_RETURN:
		return follow_return(e, w, bytes);
	case INSN_STOP:
		return false;
	case INSN_JUMP_INDIRECT:
		next = target_of(w, i);
		e->is_open |= !next;
		break;
	case INSN_JUMP:
		next = i->target;
		break;
	case INSN_BRANCH:
		add_way(e, w, i->target);
		break;
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		return pass_call(e, w, i, bytes);
	default:
		e->could_leave |= leaves_by_jump(e, w->at, i, bytes);
		if (is_return_address(e, w->at, i) ||
		    (e->may_leave && leaves_by_jump(e, w->at, i, bytes))) {
			take_return(e, w);
			return false;
		}
		if (!apply(w, i))
			return false;
		follow_number(w, i, bytes);
	}
	w->at = next;
	return next;
}

/* Follows a path to its end. */
static void follow(struct exits *e, struct way *w)
{
	uint8_t bytes[INSN_MAX_BYTES];
	struct insn i;

	while (e->steps++ < EXIT_FRAME_INSTRUCTIONS) {
		if (!decode(e, w->at, &i, bytes)) {
			leave_code(e, w); /* for each path that ends so, since all must agree */
			return;
		}
		if (!is_first(e, w) || !pass(e, w, &i, bytes))
			return;
	}
}

static bool fits(int64_t offset)
{
	return offset == (int16_t)offset && offset;
}

static bool rule_of(const struct way *w, struct stackd_rule *ret_rule)
{
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_REG,
		.reg = w->base == INSN_FP ? STACKD_REG_FP : STACKD_REG_SP,
		.cfa_offset = (int32_t)(w->sp + 8),
		.ra_offset = -8,
	};

	if (w->sp + 8 != rule.cfa_offset || w->removes > MOST_REMOVED)
		return false;
	rule.cfa_add = (int16_t)(w->removes << 6);
	for (unsigned k = 0; k < STACKD_SAVED_COUNT; k++) {
		int64_t slot = w->slot[k] - rule.cfa_offset;

		if (w->known[k] == CHANGED)
			rule.cfa_add |= (int16_t)(1 << k);
		if (w->known[k] != RESTORED)
			continue;
		if (!fits(slot))
			return false;
		rule.saved[k] = (int16_t)slot;
	}
	*ret_rule = rule;
	return true;
}

static bool find(const struct exits *code, const struct way *begin, bool is_loose, bool may_leave,
		 struct exits *ret_exits)
{
	struct exits e = *code;

	e.way_count = 1;
	e.is_loose = is_loose;
	e.may_leave = may_leave;
	e.ways[0] = *begin;
	insn_decoder_init(&e.decoder);
	while (e.way_count && !e.has_failed && e.returns < ENOUGH) {
		struct way w = e.ways[--e.way_count];

		follow(&e, &w);
	}
	int_map_fini(&e.seen);
	e.has_failed |= e.is_uneven && e.has_counted;
	*ret_exits = e;
	return e.returns;
}

static bool find_rule(const struct exits *code, const struct way *begin,
		      struct stackd_rule *ret_rule)
{
	struct exits e;

	if (!(find(code, begin, false, false, &e) || find(code, begin, true, false, &e) ||
	      (e.could_leave && find(code, begin, true, true, &e))) ||
	    e.has_failed || !rule_of(&e.found, ret_rule))
		return false;
	ret_rule->cfa_add |= e.is_open ? EXIT_FRAME_OPEN : 0;
	return true;
}

bool exit_frame_find_outside(exit_frame_read_fn *read, exit_frame_outside_fn *outside, void *arg,
			     uint64_t vaddr, struct stackd_rule *ret_rule)
{
	const struct exits code = {.read = read, .outside = outside, .arg = arg};
	struct way begin = begin_of_way;

	begin.at = vaddr;
	return find_rule(&code, &begin, ret_rule);
}

bool exit_frame_find(exit_frame_read_fn *read, void *arg, uint64_t vaddr,
		     struct stackd_rule *ret_rule)
{
	return exit_frame_find_outside(read, NULL, arg, vaddr, ret_rule);
}

bool exit_frame_is_taken(exit_frame_read_fn *read, void *arg, uint64_t callee, uint64_t vaddr,
			 struct exit_frame_return *ret_where)
{
	struct exits code = {.read = read, .arg = arg};
	struct entry f = {.at = callee, .address = INSN_NO_REG};

	insn_decoder_init(&code.decoder);
	if (!takes_return_address(&code, callee))
		return false;
	for (int n = 0; n < TAKES && f.at != vaddr; n++) {
		if (!pass_entry(&code, &f))
			return false;
	}
	if (f.at != vaddr)
		return false;
	ret_where->reg =
		f.address == INSN_NO_REG ? STACKD_REG_COUNT : (uint8_t)insn_dwarf_number(f.address);
	ret_where->at = f.depth;
	return true;
}

bool exit_frame_find_taken(exit_frame_read_fn *read, exit_frame_outside_fn *outside, void *arg,
			   uint64_t vaddr, const struct exit_frame_return *where, uint64_t address,
			   struct stackd_rule *ret_rule)
{
	const struct exits code = {.read = read, .outside = outside, .arg = arg};
	const struct word word = {
		.at = where->at, .preserved = INSN_NO_REG, .has_number = true, .number = address};
	struct way begin = begin_of_way;

	begin.at = vaddr;
	if (where->reg == STACKD_REG_COUNT)
		begin.words[begin.word_count++] = word;
	for (uint8_t r = 0; r < INSN_NO_REG && where->reg != STACKD_REG_COUNT; r++) {
		if (insn_dwarf_number(r) == where->reg) {
			begin.popped_in = r;
			begin.popped = address;
		}
	}
	return find_rule(&code, &begin, ret_rule);
}
