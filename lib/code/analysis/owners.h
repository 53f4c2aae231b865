/* SPDX-License-Identifier: MIT */
/*
 * Owners of code: each stands or falls as a whole. One is a function, or what follows a doubtful
 * step from one (a jump that may be a tail call, a call that may not return).
 */
#ifndef ANALYSIS_OWNERS_H
#define ANALYSIS_OWNERS_H

#include "analysis/analysis.h"
#include "base/vec.h"

struct owner {
	uint8_t failed;	   /* 0, or the reason plus 1 */
	bool is_confirmed; /* it came to a return, or to another owner's frame */
	bool is_entry;	   /* it has no caller */
	bool is_likely;	   /* it begins where functions do, or is called */
	bool is_pointed;   /* it begins where a pointer leads, which may be a part of a function */
	uint32_t function; /* of returns.h */
	uint32_t part_of;  /* function, plus 1, that it may be a part of, without being united; 0:
			      any */
	uint32_t parent;   /* an owner that stands for it, too, or itself */
};

/* Code behind a call that ends where a function can begin. */
struct doubt {
	uint32_t at, owner, parent; /* it is the owner's, which went on from the parent's */
};

/* A guess that ends in another owner's function. */
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

/* Adds an owner for the code at byte `at`, that went on from the parent's behind a doubtful call.
 * Returns 0 or -ENOMEM. */
int owners_add_doubt(struct owners *owners, uint32_t at, uint32_t parent, uint32_t *ret_owner);

/* The owner whose failure or confirmation is that of all that were united with it. */
const struct owner *owners_get(const struct owners *owners, uint32_t owner);

/* The first reason stays. */
void owners_fail(struct owners *owners, uint32_t owner, enum analysis_abstained why);

/* The owner came to a return, or to another owner's frame. */
void owners_confirm(struct owners *owners, uint32_t owner);

/* An owner is confirmed if another one is that it ends in, once owners_settle_leans() is called.
 * Returns 0 or -ENOMEM. */
int owners_lean_on(struct owners *owners, uint32_t owner, uint32_t on);

/* Confirms all that lean on what is confirmed and has not failed, through others, too. */
void owners_settle_leans(struct owners *owners);

/* From now on, two owners fail and are confirmed together. */
void owners_unite(struct owners *owners, uint32_t a, uint32_t b);

/* Settles all doubts, when all flow is known: what follows a call confirms what the call is in,
 * and fails if that failed. Those that had failed by themselves remain for the caller to withdraw,
 * as the first *ret_count of owners->doubts. */
void owners_settle(struct owners *owners, size_t *ret_count);

#endif
