/* SPDX-License-Identifier: MIT */
/*
 * Finds functions of other files that do not return, from the calls of them. If what certainly
 * begins a function follows one such call, the called function does not return, since compilers let
 * no code fall into another function. So the code after its other calls does not belong to their
 * callers either, even where it does not look like a function: a cold section has parts of many
 * functions one after the other.
 */
#ifndef ANALYSIS_NORETURN_CALLS_H
#define ANALYSIS_NORETURN_CALLS_H

#include "analysis/code.h"
#include "analysis/noreturn.h"

/* Marks the functions of other files that do not return. To be called after the first pass over the
 * code, once the certain functions are pinned. */
void noreturn_count_calls(struct noreturn *noreturn, const struct code *code);

#endif
