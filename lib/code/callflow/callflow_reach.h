/* SPDX-License-Identifier: MIT */
/*
 * Follows the flow of code from a call's target, to find out whether it can reach an instruction
 * before that call returns.
 *
 * lbr/lbr_code.h answers the same question for functions whose ranges are known from call frame
 * information. This search needs no ranges: it follows jumps, including tail calls, and assumes
 * that calls return. An instruction that it does not find was not reached by that call, unless by
 * an indirect jump. It finds no landing pads of exceptions either, since the unwinder jumps there;
 * code that has them has call frame information.
 *
 * The bytes are hostile: CALLFLOW_REACH_MAX_INSTRUCTIONS limit the work of one search.
 */
#ifndef CALLFLOW_CALLFLOW_REACH_H
#define CALLFLOW_CALLFLOW_REACH_H

#include "callflow/callflow_fit.h"
#include "callflow/callflow_stub.h"

#define CALLFLOW_REACH_MAX_INSTRUCTIONS 16384
#define CALLFLOW_REACH_MAX_STUBS	65536 /* cached; with more, the cache is emptied */

struct callflow_reach;

int callflow_reach_new(struct callflow_reach **ret_reach); /* 0 or -ENOMEM */
void callflow_reach_free(struct callflow_reach *reach);	   /* NULL is fine */

/* Follows the code of a file, whose elf is not NULL, from a vaddr. `goal` is the location of any
 * byte of the instruction that is searched; it may be in another object, to which a linkage stub
 * leads. Returns CALLFLOW_FIT_JUMP: the instruction was reached; CALLFLOW_FIT_MAYBE: not all flow
 * could be followed, because of an indirect jump or the limit; CALLFLOW_FIT_NO: it was not reached;
 * CALLFLOW_FIT_UNKNOWN: the vaddr has no code, or no memory. */
enum callflow_fit callflow_reach(struct callflow_reach *reach, const struct object *object,
				 uint64_t vaddr, const struct callflow_location *goal);

#endif
