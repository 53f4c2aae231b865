/* SPDX-License-Identifier: MIT */
/*
 * Finds functions of other files that do not return, by the calls of them. If the certain start of
 * another function follows right after a call, the callee does not return, since compilers let no
 * code run into another function. So the code after other calls of the same callee does not belong
 * to their callers either, even if it does not look like a function: a cold section has parts of
 * many functions one after the other.
 */
#ifndef ANALYSIS_NORETURN_CALLS_H
#define ANALYSIS_NORETURN_CALLS_H

#include "analysis/code.h"
#include "analysis/noreturn.h"

/* Marks, in `noreturn`, the slots of functions of other files that do not return. To be called
 * after the first pass over the code (code.h), once the certain functions are marked
 * CODE_PINNED. */
void noreturn_count_calls(struct noreturn *noreturn, const struct code *code);

#endif
