/* SPDX-License-Identifier: MIT */
/*
 * Data flow over code: computes the frame before each instruction that is reached from function
 * starts.
 *
 * Flow goes from instruction to instruction through all the code at once, so a jump to another part
 * of a function (.cold) keeps its frame. Where paths meet, their frames are joined. Flow continues
 * after a call if the callee returns (returns.h, noreturn.h), unless only padding follows, or jumps
 * lead there with another frame.
 */
#ifndef ANALYSIS_SOLVE_H
#define ANALYSIS_SOLVE_H

#include "analysis/analysis.h"
#include "analysis/code.h"
#include "analysis/frame_state.h"
#include "analysis/unclobbered.h"
#include "analysis/noreturn.h"

struct solver;

/* Makes a solver of some code, which is borrowed and whose marks it changes. Registers that callers
 * rely on are entered into `preserved`. Returns 0 or -ENOMEM; the caller frees *ret_solver with
 * solve_free(). */
int solve_new(struct code *code, struct noreturn *noreturn, struct unclobbered *preserved,
	      struct solver **ret_solver);
void solve_free(struct solver *s); /* NULL is fine */

/* From now on, a guessed function is believed only if it returns. Otherwise a jump out of the code,
 * or a saved register, is enough, as in tail calls and functions that never return. */
void solve_need_returns(struct solver *s);

/* Adds a function that certainly begins at `vaddr`: flow begins there, and flow from code before it
 * does not continue into it. Addresses outside of the code are ignored. Returns 0 or -ENOMEM, as do
 * all functions below that return int. */
int solve_add_function(struct solver *s, uint64_t vaddr);

/* The same for the file's entry, which has no caller. */
int solve_add_entry(struct solver *s, uint64_t vaddr);

/* Follows flow from the certain functions. This function and the next three also return -E2BIG:
 * flow takes longer than in any sane code, and there are no rules. */
int solve_certain(struct solver *s);

/* Follows flow from main(), which need not return; 0: it is not known. */
int solve_main(struct solver *s, uint64_t vaddr);

/* Follows flow from code that may begin a function and that no flow has reached: from a pointer,
 * which may lead to anything; then from the code's marks, in the order of trust. Code that leads to
 * a contradiction, or never returns, gets no rules. */
int solve_pointer(struct solver *s, uint64_t vaddr);
int solve_likely(struct solver *s);

/* Gives the rule before the instruction at byte `at`. Returns 0: no flow has reached it; 1:
 * ret_rule is set; 2: it has no rule, and ret_why is set. */
int solve_rule(const struct solver *s, uint32_t at, struct stackd_rule *ret_rule,
	       enum analysis_abstained *ret_why);

/* Returns a number that two instructions of one area share only if their rules are the same; 0: no
 * flow has reached byte `at`; SOLVE_NO_KEY: not known. */
uint64_t solve_rule_key(const struct solver *s, uint32_t at);
#define SOLVE_NO_KEY UINT64_MAX

/* Returns the length of the instruction at byte `at`; 0: no flow has reached it. */
uint32_t solve_length(const struct solver *s, uint32_t at);

/* Returns whether a function above has failed because flow has found more instructions than sane
 * code has. */
bool solve_is_full(const struct solver *s);

/* Returns the number of function starts from which flow began. */
uint64_t solve_function_count(const struct solver *s);

#endif
