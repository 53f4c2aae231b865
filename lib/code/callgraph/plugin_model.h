/* SPDX-License-Identifier: MIT */
/*
 * Call graphs of programs that were compiled with the gcc plugin (plugin/), from the sections that
 * it adds to their files. The nodes are function ids.
 *
 * Where the compiler does not know the callee, the graph has a set, as a transparent node:
 *
 *     a call through a pointer     calls all functions of that shape whose address is taken
 *     a virtual call               calls the virtual functions among these
 *     a call of foreign code       calls back any function whose address is taken and, less
 *                                  likely, any function that other files may call
 *     a tail call in F             appears as a call by the callers of F
 */
#ifndef CALLGRAPH_PLUGIN_MODEL_H
#define CALLGRAPH_PLUGIN_MODEL_H

#include "callgraph/callgraph.h"
#include "callgraph/plugin_sections.h"

struct plugin_model;

/* Makes a model without files. Returns 0 or -ENOMEM. */
int plugin_model_new(struct plugin_model **ret_model);
void plugin_model_free(struct plugin_model *model); /* accepts NULL */

/* Adds a file of the program. Takes over the memory of the sections and leaves them empty. Returns
 * 0; -ENOMEM: the sections are unchanged. */
int plugin_model_take(struct plugin_model *model, struct plugin_sections *sections);

/* Returns the number of functions in all files. */
size_t plugin_model_functions(const struct plugin_model *model);

/* Makes the graph of all files, which the caller frees. It is not sealed, so more nodes can be
 * added, and it does not refer to the model. Returns 0, -ENOMEM, or -E2BIG: a limit of
 * callgraph.h. */
int plugin_model_graph(const struct plugin_model *model, struct callgraph **ret_graph);

#endif
