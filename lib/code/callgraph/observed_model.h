/* SPDX-License-Identifier: MIT */
/*
 * Call graphs from recordings: the calls that were observed. Their nodes are locations, so they
 * decode tags of stackd's own walks in other recordings of the same files.
 */
#ifndef CALLGRAPH_OBSERVED_MODEL_H
#define CALLGRAPH_OBSERVED_MODEL_H

#include "tagset/tagset.h"
#include "callgraph/callgraph.h"

/* Adds every call on the set's paths to a graph that is not sealed. The graph gets copies of all
 * data. Returns 0, -ENOMEM, or -E2BIG: a limit of callgraph.h. */
int observed_model_add(const struct tagset *set, struct callgraph *graph);

#endif
