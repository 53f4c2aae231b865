/* SPDX-License-Identifier: MIT */
/*
 * Data flow over code: the frame before each instruction that function starts lead to.
 *
 * Flow goes from instruction to instruction over all the code at once, so that jumps into other
 * parts of a function (.cold) keep its frame. Where ways meet, frames are joined. A call is
 * followed by the next instruction if the function called returns (returns.h, noreturn.h), unless
 * nothing but padding follows, or jumps lead there with another frame.
 */
#ifndef ANALYSIS_SOLVE_H
#define ANALYSIS_SOLVE_H

#include "analysis/analysis.h"
#include "analysis/code.h"
#include "analysis/frame_state.h"
#include "analysis/preserved.h"
#include "analysis/noreturn.h"

struct solver;

/* Makes a solver of some code, which is borrowed and whose marks it changes; what callers count on
 * is entered into `preserved`. Returns 0 or -ENOMEM; the caller frees *ret_solver with
 * solve_free(). */
int solve_new(struct code *code, struct noreturn *noreturn, struct preserved *preserved,
	      struct solver **ret_solver);
void solve_free(struct solver *s); /* NULL is fine */

/* From now on code that may be a function is believed to be one only if it returns. Otherwise a
 * jump out of the code, or a saved register, will do, as tail calls and functions that never return
 * have. */
void solve_need_returns(struct solver *s);

/* A function certainly begins at `vaddr`: flow will begin there, and flow that comes by does not go
 * on into it. Addresses outside of the code are ignored. Returns 0 or -ENOMEM, as all that follow.
 */
int solve_add_function(struct solver *s, uint64_t vaddr);

/* The same for the file's entry, which has no caller. */
int solve_add_entry(struct solver *s, uint64_t vaddr);

/* Follows flow from the certain functions. This and the next three also return -E2BIG: the flow
 * takes longer than that of any sane code; then there are no rules. */
int solve_certain(struct solver *s);

/* Then from main(), which need not return; 0: it is not known. */
int solve_main(struct solver *s, uint64_t vaddr);

/* Then from where functions may begin, as far as nothing led there: from a pointer, which may be
 * one to anything; and from the code's marks, by falling trust. What leads to a contradiction, or
 * never returns, has no rules. */
int solve_pointer(struct solver *s, uint64_t vaddr);
int solve_likely(struct solver *s);

/* The rule before the instruction at byte `at`. Returns 0: there is none, since nothing led there;
 * 1: ret_rule is set; 2: none, *ret_why is. */
int solve_rule(const struct solver *s, uint32_t at, struct stackd_rule *ret_rule,
	       enum analysis_abstained *ret_why);

/* A number that instructions of one area have in common only if their rules are the same; 0:
 * nothing led to byte `at`. SOLVE_NO_KEY: its rule may be its own. */
uint64_t solve_rule_key(const struct solver *s, uint32_t at);
#define SOLVE_NO_KEY UINT64_MAX

/* Bytes of the instruction at byte `at` that flow reached; 0: nothing led there. */
uint32_t solve_length(const struct solver *s, uint32_t at);

/* Whether one of the above has failed since flow finds more instructions than sane code has. */
bool solve_is_full(const struct solver *s);

/* The number of function starts that flow began from. */
uint64_t solve_function_count(const struct solver *s);

#endif
