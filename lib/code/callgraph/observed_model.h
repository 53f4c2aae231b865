/* SPDX-License-Identifier: MIT */
/*
 * Call graphs from recordings: the calls that were observed. Their nodes are locations, so they
 * decode tags of stackd's own walks in other recordings of the same files.
 */
#ifndef CALLGRAPH_OBSERVED_MODEL_H
#define CALLGRAPH_OBSERVED_MODEL_H

#include "tagset/tagset.h"
#include "callgraph/callgraph.h"

/* Adds every call on the set's paths to a graph that is not sealed. Copies all data that it needs.
 * Returns 0, -ENOMEM, or -E2BIG: a bound of callgraph.h. */
int observed_model_add(const struct tagset *set, struct callgraph *graph);

#endif
