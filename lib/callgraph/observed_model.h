/* SPDX-License-Identifier: MIT */
/*
 * Models from recordings: who was seen to call whom. Their nodes are locations, so they decode tags
 * of stackd's own walks: those of other recordings of the same files.
 */
#ifndef CALLGRAPH_OBSERVED_MODEL_H
#define CALLGRAPH_OBSERVED_MODEL_H

#include "tagset/tagset.h"
#include "callgraph/callgraph.h"

/* Adds every call on a path of the set to a graph that is not sealed. 0, -ENOMEM, -E2BIG. */
int observed_model_add(const struct tagset *set, struct callgraph *graph);

#endif
