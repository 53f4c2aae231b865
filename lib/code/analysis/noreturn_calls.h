/* SPDX-License-Identifier: MIT */
/*
 * Finds functions of other files that do not return, by their calls. If the certain start of a
 * function follows one such call, the callee does not return, since compilers let no code run into
 * another function. So the code behind other calls of it does not belong to their callers either,
 * even if it does not look like a function: a cold section has parts of many functions one after
 * the other.
 */
#ifndef ANALYSIS_NORETURN_CALLS_H
#define ANALYSIS_NORETURN_CALLS_H

#include "analysis/code.h"
#include "analysis/noreturn.h"

/* Marks the functions of other files that do not return. To be called after the first pass over the
 * code, once the certain functions are pinned. */
void noreturn_count_calls(struct noreturn *noreturn, const struct code *code);

#endif
