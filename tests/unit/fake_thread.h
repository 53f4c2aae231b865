/* SPDX-License-Identifier: MIT */
/*
 * Threads that run a generated program: they call, return, allocate on the stack, take signals and
 * switch stacks at random, and write to the stack as compiled code would. The true call path and
 * the registers are known at every moment.
 *
 * The program is hard to guess about: few functions, few call sites and few frame sizes, so that
 * the same return addresses recur in the same slots; frames with holes, in which return addresses
 * of earlier calls stay; callee-saved registers that keep their values from other frames; calls
 * through pointers, in which different functions return to one address.
 *
 *   main stack   coroutine's stack   alternate signal stack     one mapping for each thread
 *
 *   file 1: functions, restore_rt   file 2 or 3: more, the same code   no file: JIT code, if any
 */
#ifndef FAKE_THREAD_H
#define FAKE_THREAD_H

#include "base/hash.h"
#include "bpf_shim.h"
#include "stackd_abi.h"

#define FAKE_THREADS   3
#define FAKE_FUNCTIONS 12
#define FAKE_SITES     2
#define FAKE_DEPTH     1400 /* more than are remembered; of most programs */
#define FAKE_SHALLOW   64
#define FAKE_REGS      16

#define FAKE_STACK_BYTES (256u * 1024)
#define FAKE_AREA_BYTES	 (32u * 1024) /* of the coroutine, and of signals */

#define FAKE_RESTORE_RT 0x800 /* offset in file 1 */

enum fake_module { FAKE_PROGRAM, FAKE_PLUGIN, FAKE_JIT, FAKE_MODULES };

static const uint64_t fake_base[FAKE_MODULES] = {0x400000, 0x7f1200000000, 0x7f5500000000};

enum fake_shape {
	FAKE_BY_RSP,	    /* CFA = rsp + size */
	FAKE_BY_REGISTER,   /* CFA = rbp, or rbx, + 16; the stack pointer moves */
	FAKE_REALIGNED,	    /* CFA = *(rbp - 8) */
	FAKE_FRAME_POINTER, /* no recipe */
	FAKE_OUTERMOST,
};

struct fake_function {
	enum fake_shape shape;
	enum fake_module module;
	uint32_t size;	/* bytes of locals */
	uint32_t saves; /* a bit for each callee-saved register */
	uint8_t base;	/* BY_REGISTER: which one */
};

/* A call that has not returned. */
struct fake_call {
	int function; /* -1: restore_rt */
	uint64_t pc, cfa;
	uint64_t low_rsp; /* where rsp may return to after allocations */
	bool in_body;
	bool is_interrupted; /* by a signal: the pc is no return address */
	uint64_t caller[FAKE_REGS];
};

/* A chain of calls on a stack. */
struct fake_chain {
	struct fake_call calls[FAKE_DEPTH];
	int depth;
	uint64_t r[FAKE_REGS];
	uint64_t top, bytes; /* of its stack */
	uint64_t signal_top; /* of the other that it may be on */
};

struct fake_thread {
	uint32_t tid;
	uint64_t start_time;
	uint64_t main_top, coroutine_top, signal_top;
	struct fake_chain chains[2];
	int current;
};

struct fake_frame {
	uint64_t pc;
	bool is_exact;
};

struct fake_machine {
	bool has_jit; /* whose stacks the kernel half leaves to the daemon */
	uint64_t random;
	uint64_t n_sites, n_callees, most_allocated;
	int most_calls;
	int callees[FAKE_FUNCTIONS]; /* the functions that are called at all */
	struct fake_function functions[FAKE_FUNCTIONS];
	struct fake_thread threads[FAKE_THREADS];
};

static const uint8_t fake_saved_regs[STACKD_SAVED_COUNT] = {
#define X(name, number) number,
	STACKD_SAVED_REGS(X)
#undef X
};

static inline uint64_t fake_random(struct fake_machine *m, uint64_t below)
{
	return hash_mix64(m->random++) % below;
}

static inline bool fake_chance(struct fake_machine *m, uint64_t percent)
{
	return fake_random(m, 100) < percent;
}

static inline uint64_t fake_address(const struct fake_machine *m, int function)
{
	return fake_base[m->functions[function].module] + 0x1000 + 0x100 * (uint64_t)function;
}

/* A return address; one may be interrupted at it as well. */
static inline uint64_t fake_site(struct fake_machine *m, int function)
{
	return fake_address(m, function) + 0x20 + 0x10 * fake_random(m, m->n_sites);
}

static inline struct fake_chain *fake_chain(struct fake_thread *t)
{
	return &t->chains[t->current];
}

static inline struct fake_call *fake_leaf(struct fake_chain *c)
{
	return &c->calls[c->depth - 1];
}

static inline void fake_push(struct fake_chain *c, uint64_t word)
{
	c->r[STACKD_REG_SP] -= 8;
	shim_write_word(c->r[STACKD_REG_SP], word);
}

/* --- functions ----------------------------------------------------------------------------- */

/* Most programs are tiny: the fewer ways there are, the more often two different stacks look alike.
 */
static inline void fake_make_callees(struct fake_machine *m)
{
	bool is_tiny = fake_chance(m, 75);

	m->most_calls = fake_chance(m, 3) ? FAKE_DEPTH : FAKE_SHALLOW;
	m->n_sites = 1 + fake_random(m, FAKE_SITES);
	m->n_callees = is_tiny ? 2 + fake_random(m, 3) : FAKE_FUNCTIONS - 1;
	m->most_allocated = is_tiny ? 2 : 8;
	for (int i = 0; i < FAKE_FUNCTIONS - 1; i++)
		m->callees[i] = 1 + (is_tiny ? (int)fake_random(m, FAKE_FUNCTIONS - 1) : i);
}

static inline int fake_callee(struct fake_machine *m)
{
	return m->callees[fake_random(m, m->n_callees)];
}

/* A callee other than JIT code, whose caller must have been called by an instruction. */
static inline int fake_first_callee(struct fake_machine *m)
{
	int function = fake_callee(m);

	return m->functions[function].module == FAKE_JIT ? 1 : function;
}

static inline void fake_make_functions(struct fake_machine *m)
{
	static const uint32_t sizes[] = {0, 16, 16, 16, 32, 48, 64, 256, 1000, 3000, 9000};

	fake_make_callees(m);
	for (int i = 0; i < FAKE_FUNCTIONS; i++) {
		struct fake_function *f = &m->functions[i];
		uint64_t kind = fake_random(m, 10), most = m->n_callees < 5 ? 5 : 11;

		*f = (struct fake_function){
			.size = sizes[fake_random(m, fake_chance(m, 90) ? most * 2 / 3 : most)] &
				~15u,
			.base = fake_chance(m, 70) ? STACKD_REG_FP : 3};
		f->module = i > 9 && m->has_jit ? FAKE_JIT : i > 6 ? FAKE_PLUGIN : FAKE_PROGRAM;
		f->shape = kind < 4 ? FAKE_BY_RSP : kind < 8 ? FAKE_BY_REGISTER : FAKE_REALIGNED;
		if (f->module == FAKE_JIT)
			f->shape = FAKE_FRAME_POINTER;
		if (!i)
			f->shape = FAKE_OUTERMOST;
		if (fake_chance(m, 50))
			f->saves = (uint32_t)fake_random(m, 1u << STACKD_SAVED_COUNT);
	}
}

static inline bool fake_saves(const struct fake_function *f, int i)
{
	return f->saves >> i & 1 &&
	       (f->shape == FAKE_BY_RSP ||
		(f->shape == FAKE_BY_REGISTER && fake_saved_regs[i] != f->base) ||
		(f->shape == FAKE_REALIGNED && fake_saved_regs[i] != STACKD_REG_FP));
}

/* The recipe of a function's body. */
static inline struct stackd_rule fake_rule(const struct fake_function *f)
{
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_REG, .reg = STACKD_REG_SP, .cfa_offset = 8, .ra_offset = -8};
	int16_t at = -16;

	if (f->shape == FAKE_OUTERMOST || f->shape == FAKE_FRAME_POINTER)
		return (struct stackd_rule){.cfa = f->shape == FAKE_OUTERMOST ? STACKD_CFA_END
									      : STACKD_CFA_NONE};
	if (f->shape == FAKE_BY_REGISTER) {
		rule.reg = f->base;
		rule.cfa_offset = 16;
		rule.saved[f->base == STACKD_REG_FP ? 0 : 1] = -16;
		at = -24;
	} else if (f->shape == FAKE_REALIGNED) {
		rule.cfa = STACKD_CFA_DEREF;
		rule.reg = rule.saved_reg = STACKD_REG_FP;
		rule.cfa_offset = -8;
		rule.saved_via_reg = 1;
	} else {
		rule.cfa_offset += (int32_t)f->size;
	}
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (!fake_saves(f, i))
			continue;
		rule.saved[i] = at;
		at -= 8;
		if (f->shape == FAKE_BY_RSP)
			rule.cfa_offset += 8;
		if (f->shape == FAKE_REALIGNED)
			rule.saved_via_reg |= (uint8_t)(1u << i);
	}
	return rule;
}

/* --- running ------------------------------------------------------------------------------- */

/* A value for a register that the body has saved: any, preferably one that it or another register
 * held in some other frame. */
static inline uint64_t fake_junk(struct fake_machine *m, struct fake_chain *c)
{
	const struct fake_call *other = &c->calls[fake_random(m, (uint64_t)c->depth)];

	switch (fake_random(m, 4)) {
	case 0:
		return fake_random(m, UINT64_MAX);
	case 1:
		return other->cfa - 16;
	case 2:
		return other->caller[STACKD_REG_FP];
	}
	return other->caller[fake_saved_regs[fake_random(m, STACKD_SAVED_COUNT)]];
}

/* From a function's first instruction to its body. */
static inline void fake_prologue(struct fake_machine *m, struct fake_chain *c)
{
	struct fake_call *call = fake_leaf(c);
	const struct fake_function *f = &m->functions[call->function];
	uint64_t *r = c->r;

	if (f->shape == FAKE_BY_REGISTER || f->shape == FAKE_FRAME_POINTER) {
		int base = f->shape == FAKE_BY_REGISTER ? f->base : STACKD_REG_FP;

		fake_push(c, r[base]);
		r[base] = r[STACKD_REG_SP];
	} else if (f->shape == FAKE_REALIGNED) {
		r[STACKD_REG_SP] = (call->cfa - 8) & ~UINT64_C(63);
		fake_push(c, c->depth > 1 ? call[-1].pc : 0); /* gcc copies it, for debuggers */
		fake_push(c, r[STACKD_REG_FP]);
		r[STACKD_REG_FP] = r[STACKD_REG_SP];
		fake_push(c, call->cfa);
	}
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (!fake_saves(f, i))
			continue;
		fake_push(c, r[fake_saved_regs[i]]);
		if (fake_chance(m, 80))
			r[fake_saved_regs[i]] = fake_junk(m, c);
	}
	r[STACKD_REG_SP] -= f->size;
	call->low_rsp = r[STACKD_REG_SP];
	call->in_body = true;
	call->pc = fake_site(m, call->function) + fake_random(m, 2);
}

/* A call whose return address stands at the top of the stack. */
static inline void fake_enter(struct fake_machine *m, struct fake_chain *c, int function,
			      const uint64_t *caller)
{
	struct fake_call *call = &c->calls[c->depth++];

	*call = (struct fake_call){.function = function,
				   .pc = fake_address(m, function),
				   .cfa = c->r[STACKD_REG_SP] + 8};
	memcpy(call->caller, caller, sizeof(call->caller));
	c->r[0] = fake_random(m, UINT64_MAX);
	c->r[10] = fake_random(m, UINT64_MAX);
	if (m->functions[function].shape == FAKE_FRAME_POINTER)
		fake_prologue(m, c);
}

static inline bool fake_has_room(const struct fake_machine *m, const struct fake_chain *c)
{
	uint64_t rsp = c->r[STACKD_REG_SP];
	uint64_t low =
		c->top - rsp <= c->bytes ? c->top - c->bytes : c->signal_top - FAKE_AREA_BYTES;

	return c->depth < m->most_calls - 4 && rsp > low + 12000;
}

static inline void fake_do_call(struct fake_machine *m, struct fake_chain *c)
{
	struct fake_call *leaf = fake_leaf(c);
	uint64_t caller[FAKE_REGS];

	if (!fake_has_room(m, c))
		return;
	if (!leaf->in_body)
		fake_prologue(m, c);
	if (!fake_has_room(m, c))
		return;
	memcpy(caller, c->r, sizeof(caller));
	leaf->pc = fake_site(m, leaf->function);
	fake_push(c, leaf->pc);
	fake_enter(m, c, fake_callee(m), caller);
}

static inline void fake_do_return(struct fake_chain *c)
{
	if (c->depth < 2)
		return;
	memcpy(c->r, fake_leaf(c)->caller, sizeof(c->r));
	c->depth--;
	if (fake_leaf(c)->function < 0) {
		memcpy(c->r, fake_leaf(c)->caller, sizeof(c->r));
		c->depth--;
	}
	fake_leaf(c)->is_interrupted = false;
}

/* alloca(), and the end of its block. */
static inline void fake_do_allocate(struct fake_machine *m, struct fake_chain *c)
{
	struct fake_call *leaf = fake_leaf(c);
	enum fake_shape shape = m->functions[leaf->function].shape;

	if (!leaf->in_body || shape == FAKE_BY_RSP || shape == FAKE_OUTERMOST ||
	    !fake_has_room(m, c))
		return;
	if (fake_chance(m, 40))
		c->r[STACKD_REG_SP] = leaf->low_rsp;
	else
		c->r[STACKD_REG_SP] -= 16 * (1 + fake_random(m, m->most_allocated));
}

static inline void fake_do_signal(struct fake_machine *m, struct fake_thread *t)
{
	static const uint8_t order[FAKE_REGS] = {8, 9, 10, 11, 12, 13, 14, 15,
						 5, 4, 6,  3,  1,  0,  2,  7};
	struct fake_chain *c = fake_chain(t);
	uint64_t rsp = c->r[STACKD_REG_SP], at, caller[FAKE_REGS];
	bool is_on_other = c->top - rsp > c->bytes;

	if (!fake_has_room(m, c) || is_on_other)
		return;
	if (t->current == 0 && fake_chance(m, 70))
		rsp = c->signal_top;
	at = ((rsp - 128 - 1024) & ~UINT64_C(15)) - 8;
	shim_write_word(at, fake_base[FAKE_PROGRAM] + FAKE_RESTORE_RT);
	for (int i = 0; i < FAKE_REGS; i++)
		shim_write_word(at + 48 + 8 * (uint64_t)i, c->r[order[i]]);
	shim_write_word(at + 48 + 128, fake_leaf(c)->pc);
	fake_leaf(c)->is_interrupted = true;
	memcpy(caller, c->r, sizeof(caller));
	c->calls[c->depth] =
		(struct fake_call){.function = -1, .pc = fake_base[FAKE_PROGRAM] + FAKE_RESTORE_RT};
	memcpy(c->calls[c->depth++].caller, caller, sizeof(caller));
	c->r[STACKD_REG_SP] = at;
	fake_enter(m, c, fake_first_callee(m), caller);
}

/* Begins a chain anew, on a stack that holds whatever it holds. Some know that they are the
 * outermost by their recipe, others by a return address of 0 at the end of the mapping. */
static inline void fake_start(struct fake_machine *m, struct fake_chain *c, uint64_t top,
			      uint64_t bytes)
{
	const uint64_t mapped = FAKE_STACK_BYTES + 2 * FAKE_AREA_BYTES;
	bool is_end = (top & ((1u << 24) - 1)) == mapped;

	c->depth = 0;
	c->top = top;
	c->bytes = bytes;
	for (int i = 0; i < FAKE_REGS; i++)
		c->r[i] = fake_chance(m, 50) ? 0 : fake_random(m, UINT64_MAX);
	c->r[STACKD_REG_SP] = top - 64;
	if (fake_chance(m, 50) || !is_end) {
		c->calls[c->depth++] = (struct fake_call){
			.function = 0, .pc = fake_site(m, 0), .cfa = top, .in_body = true};
		fake_do_call(m, c);
	} else {
		fake_push(c, 0);
		fake_enter(m, c, fake_first_callee(m), c->r);
	}
}

static inline void fake_thread_start(struct fake_machine *m, struct fake_thread *t)
{
	t->current = 0;
	t->chains[0].signal_top = t->signal_top;
	fake_start(m, &t->chains[0], t->main_top, FAKE_STACK_BYTES);
	fake_start(m, &t->chains[1], t->coroutine_top, FAKE_AREA_BYTES);
	for (int i = FAKE_SHALLOW; i < m->most_calls; i++)
		fake_do_call(m, &t->chains[0]);
}

/* One thing that a thread can do. */
static inline void fake_run(struct fake_machine *m, struct fake_thread *t)
{
	struct fake_chain *c = fake_chain(t);
	uint64_t what = fake_random(m, 100);

	/* Stacks grow and shrink in waves. */
	if (what < (m->random >> 8 & 1 ? 30u : 50u))
		fake_do_call(m, c);
	else if (what < 78)
		fake_do_return(c);
	else if (what < 88)
		fake_do_allocate(m, c);
	else if (what < 93)
		fake_do_signal(m, t);
	else if (what < 96)
		t->current = !t->current;
	else if (what < 97)
		fake_start(m, &t->chains[1], t->coroutine_top, FAKE_AREA_BYTES);
	else if (what < 99 && !fake_leaf(c)->in_body)
		fake_prologue(m, c);
	else
		for (int i = 0; i < 6; i++)
			fake_do_return(c);
}

/* --- the truth ----------------------------------------------------------------------------- */

/* The call path, root first; how many frames. */
static inline int fake_path(struct fake_thread *t, struct fake_frame *ret_frames)
{
	const struct fake_chain *c = fake_chain(t);

	for (int i = 0; i < c->depth; i++)
		ret_frames[i] = (struct fake_frame){c->calls[i].pc, c->calls[i].is_interrupted ||
									    i == c->depth - 1};
	return c->depth;
}

#endif
