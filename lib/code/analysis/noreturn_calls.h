/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of other files that do not return, from the calls of them: where one is
 * followed by what certainly begins a function, the function called does not return, for compilers
 * have nothing fall into that. What stands behind its other calls is then no part of the caller,
 * though it does not look like a function: in a cold section, parts of many functions stand side by
 * side.
 */
#ifndef ANALYSIS_NORETURN_CALLS_H
#define ANALYSIS_NORETURN_CALLS_H

#include "analysis/code.h"
#include "analysis/noreturn.h"

/* Marks the functions of other files that do not return. To be called when the first pass over the
 * code is made, and the certain functions are pinned. */
void noreturn_count_calls(struct noreturn *noreturn, const struct code *code);

#endif
