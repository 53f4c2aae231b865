/* SPDX-License-Identifier: MIT */
/*
 * Owners of code. An owner is a unit of code whose rules are all kept or all withdrawn: a function,
 * or the code after a doubtful step of a function (a jump that may be a tail call, or a call that
 * may not return).
 */
#ifndef ANALYSIS_OWNERS_H
#define ANALYSIS_OWNERS_H

#include "analysis/analysis.h"
#include "base/vec.h"

struct owner {
	uint8_t failed;	   /* 0: not failed; else the reason (enum analysis_abstained) plus 1 */
	bool is_confirmed; /* a path has reached a return, or another owner's frame */
	bool is_entry;	   /* it has no caller */
	bool is_likely;	   /* it begins where functions do, or is called */
	bool is_pointed;   /* it begins where a pointer leads, which may be inside of a function */
	uint32_t function; /* number of a function of returns.h */
	uint32_t part_of;  /* 1 + number of the function that it may be a part of, without being
			    * united with it; 0: any */
	uint32_t parent;   /* 1 + number of the function of which it may be a part without being
			    * united with it; 0: any function */
};

/* Code after a call, at a byte where a function can begin: it is not known whether the call returns
 * to it. */
struct doubt {
	uint32_t at, owner, parent; /* the code's owner, and the call's owner */
};

/* A guessed function whose flow ends in code of another owner. */
struct owners_lean {
	uint32_t owner, on;
};

struct owners { /* zeroed is empty */
	VEC(struct owner) items;
	VEC(struct doubt) doubts; /* in order of owner */
	VEC(struct owners_lean) leans;
};

/* Frees all, and leaves it empty. */
void owners_fini(struct owners *owners);

/* Adds an owner. Returns 0 or -ENOMEM. */
int owners_add(struct owners *owners, uint32_t function, uint32_t *ret_owner);

/* Adds an owner for the code at byte `at`, which follows a call of the owner `parent` that may not
 * return. Returns 0 or -ENOMEM. */
int owners_add_doubt(struct owners *owners, uint32_t at, uint32_t parent, uint32_t *ret_owner);

/* Returns the owner that represents all that were united with this one. */
const struct owner *owners_get(const struct owners *owners, uint32_t owner);

/* Fails an owner, so that its code gets no rules. If it has failed before, it keeps the first
 * reason. */
void owners_fail(struct owners *owners, uint32_t owner, enum analysis_abstained why);

/* Confirms an owner: it has reached a return, or another owner's frame. */
void owners_confirm(struct owners *owners, uint32_t owner);

/* Notes that the code of `owner` ends in the code of `on`, so that owners_settle_leans() confirms
 * `owner` if `on` is confirmed. Returns 0 or -ENOMEM. */
int owners_lean_on(struct owners *owners, uint32_t owner, uint32_t on);

/* Confirms each owner that leans on a confirmed owner which has not failed (owners_lean_on()),
 * directly or through other owners. Owners below `first_guess` are certain, and need no
 * confirmation. (A function that ends in a tail call is not confirmed by flow of its own, since the
 * code to which it jumps may have another owner.) */
void owners_settle_leans(struct owners *owners, uint32_t first_guess);

/* Makes two owners fail and be confirmed together from now on. */
void owners_unite(struct owners *owners, uint32_t a, uint32_t b);

/* Decides about all doubts, once all flow is known. The code after a call confirms the call's
 * owner, and fails if the call's owner has failed. Where the code after a call has failed by
 * itself, its doubt is moved to the first *ret_count of owners->doubts, so that the caller
 * withdraws that code. */
void owners_settle(struct owners *owners, size_t *ret_count);

#endif
