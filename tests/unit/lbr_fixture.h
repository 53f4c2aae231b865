/* SPDX-License-Identifier: MIT */
/*
 * Generated code for lib/code/lbr: a function is a page (its number is the address >> 12), calls
 * are five bytes long, and a table says which functions jump into which.
 */
#ifndef LBR_FIXTURE_H
#define LBR_FIXTURE_H

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "lbr/lbr.h"

#define MAX    64
#define STACK  0x7fff0000
#define WORDS  64
#define THREAD 7

/* A call at `at` in function `f` to function `g`. */
#define CALL(f, at, g) ((struct lbr_entry){IN(f, at), IN(g, 0)})
#define IN(f, at)      (((uint64_t)(f) << 12) + (at))
#define RETURN(f, at)  (IN(f, at) + 5)
#define COUNT(x)       (sizeof(x) / sizeof((x)[0]))
#define ENTRIES(in, ...)                                                                           \
	set_entries(in, (const struct lbr_entry[]){__VA_ARGS__},                                   \
		    COUNT(((const struct lbr_entry[]){__VA_ARGS__})))

static struct fixture {
	struct lbr *lbr;
	struct lbr_input in;
	struct lbr_entry entries[MAX];
	uint64_t stack[WORDS];
	struct lbr_frame frames[MAX];
	struct lbr_result result;

	uint64_t jumps[2];	   /* from function, into function */
	uint64_t maybe;		   /* a function with an indirect jump */
	uint64_t unknown;	   /* an unknown function */
	uint64_t root;		   /* the function where the thread begins */
	uint64_t direct[2];	   /* a return address, and the function that its call is of */
	struct lbr_walked on[MAX]; /* what walk_on finds from the address `on_from` */
	size_t n_on;
	uint64_t on_from;
	enum stackd_end_reason on_end;
} f;

static inline enum callflow_fit fake_fit(void *arg, uint64_t to, uint64_t pc)
{
	(void)arg;
	if (to >> 12 == pc >> 12)
		return CALLFLOW_FIT_SAME;
	if (to >> 12 == f.unknown)
		return CALLFLOW_FIT_UNKNOWN;
	if (to >> 12 == f.jumps[0] && pc >> 12 == f.jumps[1])
		return CALLFLOW_FIT_JUMP;
	return to >> 12 == f.maybe ? CALLFLOW_FIT_MAYBE : CALLFLOW_FIT_NO;
}

static inline enum callflow_fit fake_call_fit(void *arg, uint64_t address, uint64_t pc)
{
	return address == f.direct[0] ? fake_fit(arg, f.direct[1] << 12, pc) : CALLFLOW_FIT_UNKNOWN;
}

static inline uint64_t fake_call_end(void *arg, uint64_t from)
{
	(void)arg;
	return from + 5;
}

/* Within the page, and not to its start. */
static inline bool fake_is_local(void *arg, const struct lbr_entry *call)
{
	(void)arg;
	return call->from >> 12 == call->to >> 12 && call->to & 0xfff;
}

/* By the last digit: calls at 0, returns at f, longjmp at e, unknown at d, jumps elsewhere. */
static inline enum lbr_kind fake_kind(void *arg, uint64_t from, uint64_t to)
{
	(void)arg;
	(void)to;
	switch (from & 0xf) {
	case 0:
		return LBR_KIND_CALL;
	case 0xf:
		return LBR_KIND_RETURN;
	case 0xe:
		return LBR_KIND_LONG_JUMP;
	case 0xd:
		return LBR_KIND_UNKNOWN;
	}
	return LBR_KIND_JUMP;
}

static inline enum stackd_end_reason fake_walk_on(void *arg, uint64_t address, uint64_t slot,
						  struct lbr_walked *frames, size_t max,
						  size_t *ret_count)
{
	(void)arg;
	(void)slot;
	*ret_count = 0;
	if (address != f.on_from || max < f.n_on)
		return STACKD_END_NO_RECIPE;
	memcpy(frames, f.on, f.n_on * sizeof(f.on[0]));
	*ret_count = f.n_on;
	return f.on_end;
}

static inline bool fake_is_entry(void *arg, uint64_t address, bool is_return)
{
	(void)arg;
	(void)is_return;
	return f.root && address >> 12 == f.root;
}

static inline int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	f.in.top = -1;
	f.in.entries = f.entries;
	f.in.code = (struct lbr_code){.fit = fake_fit,
				      .call_end = fake_call_end,
				      .call_fit = fake_call_fit,
				      .is_local = fake_is_local,
				      .kind = fake_kind,
				      .is_entry = fake_is_entry,
				      .walk_on = fake_walk_on};
	return lbr_new(&f.lbr);
}

static inline int tear_down(void **state)
{
	(void)state;
	lbr_free(f.lbr);
	return 0;
}

static inline void set_entries(struct lbr_input *in, const struct lbr_entry *entries, size_t n)
{
	memcpy(f.entries, entries, n * sizeof(*entries));
	in->n_entries = n;
}

static inline void use_stack(bool is_cut)
{
	f.in.memory = (struct lbr_memory){(const uint8_t *)f.stack, STACK, sizeof(f.stack), is_cut};
}

static inline void reconstruct(void)
{
	assert_int_equal(lbr_reconstruct(f.lbr, THREAD, &f.in, f.frames, MAX, &f.result), 0);
}

static inline void expect(size_t n, const uint64_t *addresses)
{
	assert_int_equal(f.result.n_frames, n);
	for (size_t i = 0; i < n; i++)
		assert_int_equal(f.frames[i].address, addresses[i]);
}

#define EXPECT(...)                                                                                \
	expect(COUNT(((const uint64_t[]){__VA_ARGS__})), (const uint64_t[]){__VA_ARGS__})

#endif
