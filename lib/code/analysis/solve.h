/* SPDX-License-Identifier: MIT */
/*
 * Data flow over code: computes the frame before each instruction that is reached from function
 * starts.
 *
 * Flow goes from instruction to instruction through all the code at once, so a jump to another part
 * of a function (.cold) keeps its frame. Where paths meet, their frames are joined. Flow continues
 * after a call if the callee returns (returns.h, noreturn.h), unless only padding follows, or a
 * jump leads to the instruction after the call with another frame.
 */
#ifndef ANALYSIS_SOLVE_H
#define ANALYSIS_SOLVE_H

#include "analysis/analysis.h"
#include "analysis/code.h"
#include "analysis/frame_state.h"
#include "analysis/unclobbered.h"
#include "analysis/noreturn.h"

struct solver;

/* Makes a solver of some code. `code` is borrowed, and the solver changes its marks. `noreturn` and
 * `preserved` are borrowed, too; the solver adds to `preserved` the registers that callers need
 * their callees to preserve. Returns 0 or -ENOMEM; the caller frees *ret_solver with
 * solve_free(). */
int solve_new(struct code *code, struct noreturn *noreturn, struct unclobbered *preserved,
	      struct solver **ret_solver);
void solve_free(struct solver *s); /* NULL is fine */

/* From now on, a guessed function gets rules only if it returns. Otherwise it is enough that it
 * jumps out of the code, as in a tail call, or saves a register, as functions that never return may
 * do. */
void solve_need_returns(struct solver *s);

/* Adds a function that certainly begins at `vaddr`: flow begins there, and flow from code before it
 * does not continue into it. Addresses outside of the code are ignored. Returns 0 or -ENOMEM, as do
 * all functions below that return int. */
int solve_add_function(struct solver *s, uint64_t vaddr);

/* Like solve_add_function(), for the file's entry point, which has no caller. */
int solve_add_entry(struct solver *s, uint64_t vaddr);

/* Follows flow from the certain functions. This function and the next three also return -E2BIG if
 * flow takes longer than in any sane code; then there are no rules. */
int solve_certain(struct solver *s);

/* Follows flow from main(), which need not return. `vaddr` 0: main() is not known. */
int solve_main(struct solver *s, uint64_t vaddr);

/* Follow flow from code that may begin a function and that no flow has reached: solve_pointer()
 * from a pointer, which may lead to anything; solve_likely() from the code's marks, the most
 * trustworthy first. Code that leads to a contradiction, or never returns, gets no rules. */
int solve_pointer(struct solver *s, uint64_t vaddr);
int solve_likely(struct solver *s);

/* Gives the rule before the instruction at byte `at`. Returns 0: no flow has reached it; 1:
 * ret_rule is set; 2: it has no rule, and ret_why is set. */
int solve_rule(const struct solver *s, uint32_t at, struct stackd_rule *ret_rule,
	       enum analysis_abstained *ret_why);

/* Returns a key of the rule at byte `at`: if two instructions of one area have the same key, their
 * rules are the same. 0: no flow has reached the byte; SOLVE_NO_KEY: no key is known. */
uint64_t solve_rule_key(const struct solver *s, uint32_t at);
#define SOLVE_NO_KEY UINT64_MAX

/* Returns the length of the instruction at byte `at`; 0: no flow has reached it. */
uint32_t solve_length(const struct solver *s, uint32_t at);

/* Returns whether a function above has failed because flow has found more instructions than sane
 * code has (flow_map's is_full). */
bool solve_is_full(const struct solver *s);

/* Returns whether paths end in jumps to what a register says far more often than in returns. Such
 * code is entered by jumps (GHC's), and its frame is that of another function. */
bool solve_is_jumped_into(const struct solver *s);

/* Returns the number of function starts from which flow began. */
uint64_t solve_function_count(const struct solver *s);

#endif
