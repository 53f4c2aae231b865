/* SPDX-License-Identifier: MIT */
/*
 * Call graphs of ordinary binaries, from the calls in their code (callgraph/code_model.h). Each of
 * the two kinds of tags has its graph:
 *
 *     locations   for tags of stackd's own walks (a tag is a hash of a call path): a chain of call
 *                 sites and, at its end, any instruction
 *     functions   for tags of programs with -finstrument-functions: the locations of function
 *                 starts
 *
 * A call through a pointer can reach any function whose address is taken. A tail call appears as a
 * call by the callers of the function that contains it.
 */
#ifndef CALLGRAPH_CODE_GRAPH_H
#define CALLGRAPH_CODE_GRAPH_H

#include "callgraph/callgraph.h"
#include "callgraph/code_model.h"

/* Add the model's nodes and edges to a graph that is not sealed. Nodes whose ids the graph has
 * already stay as they are. The graph of functions gets the functions of the files with hooks
 * (-finstrument-functions), or of all files if no file has hooks. Return 0, -ENOMEM, or -E2BIG: a
 * limit of callgraph.h. */
int code_graph_locations(const struct code_model *model, struct callgraph *graph);
int code_graph_functions(const struct code_model *model, struct callgraph *graph);

#endif
