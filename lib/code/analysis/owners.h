/* SPDX-License-Identifier: MIT */
/*
 * Owners of code: all code of an owner is believed or withdrawn together. An owner is a function,
 * or the code after a doubtful step of a function (a jump that may be a tail call, or a call that
 * may not return).
 */
#ifndef ANALYSIS_OWNERS_H
#define ANALYSIS_OWNERS_H

#include "analysis/analysis.h"
#include "base/vec.h"

struct owner {
	uint8_t failed;	   /* 0, or the reason plus 1 */
	bool is_confirmed; /* a path has reached a return, or another owner's frame */
	bool is_entry;	   /* it has no caller */
	bool is_likely;	   /* it begins where functions do, or is called */
	bool is_pointed;   /* it begins where a pointer leads: perhaps inside of a function */
	uint32_t function; /* number of a function of returns.h */
	uint32_t part_of;  /* 1 + number of the function that it may be a part of, without being
			    * united with it; 0: any */
	uint32_t parent;   /* the owner that represents both after they were united, or itself */
};

/* Code after a call, at a byte where a function can begin. */
struct doubt {
	uint32_t at, owner, parent; /* the code's owner, and the call's owner */
};

/* A guess whose flow ends in another owner's function. */
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

/* Adds an owner for the code at byte `at`, which follows a doubtful call of the owner `parent`.
 * Returns 0 or -ENOMEM. */
int owners_add_doubt(struct owners *owners, uint32_t at, uint32_t parent, uint32_t *ret_owner);

/* Returns the owner that represents all that were united with this one. */
const struct owner *owners_get(const struct owners *owners, uint32_t owner);

/* Fails an owner. Its first reason stays. */
void owners_fail(struct owners *owners, uint32_t owner, enum analysis_abstained why);

/* Confirms an owner: it has reached a return, or another owner's frame. */
void owners_confirm(struct owners *owners, uint32_t owner);

/* Makes owners_settle_leans() confirm an owner if it confirms `on`, in whose code it ends. Returns
 * 0 or -ENOMEM. */
int owners_lean_on(struct owners *owners, uint32_t owner, uint32_t on);

/* Confirms all owners that lean on a confirmed owner which has not failed, also through others.
 * Owners below `first_guess` are certain, and need no confirmation. (Those that end in a tail call
 * have none: the code that they jump to may have an owner of its own.) */
void owners_settle_leans(struct owners *owners, uint32_t first_guess);

/* Makes two owners fail and be confirmed together from now on. */
void owners_unite(struct owners *owners, uint32_t a, uint32_t b);

/* Settles all doubts, once all flow is known: the code after a call confirms the call's owner, and
 * fails if the call's owner has failed. The doubts whose code has failed by itself are left as the
 * first *ret_count of owners->doubts, for the caller to withdraw. */
void owners_settle(struct owners *owners, size_t *ret_count);

#endif
