/* SPDX-License-Identifier: MIT */
/*
 * Models of instrumented programs: the sections of its files, put together to a call graph of
 * function ids.
 *
 * What a compiler cannot know exactly becomes a set, a transparent node of the graph:
 *
 *     a call through a pointer     all functions of that shape whose address is taken
 *     a virtual call               of these, the virtual ones
 *     a call of foreign code       it may call back whatever has its address taken, and, less
 *                                  likely, whatever other files may call
 *     a tail call in F             whoever calls F seems to call what F tail-calls
 */
#ifndef CALLGRAPH_PLUGIN_MODEL_H
#define CALLGRAPH_PLUGIN_MODEL_H

#include "callgraph/callgraph.h"
#include "callgraph/plugin_sections.h"

struct plugin_model;

int plugin_model_new(struct plugin_model **ret_model); /* 0 or -ENOMEM */
void plugin_model_free(struct plugin_model *model);

/* One file of the program. The model takes what the sections own and leaves them empty. 0 or
 * -ENOMEM, with the sections as they were. */
int plugin_model_take(struct plugin_model *model, struct plugin_sections *sections);

size_t plugin_model_functions(const struct plugin_model *model);

/* The graph of all files together, not sealed, so that more can be added. 0, -ENOMEM, -E2BIG. */
int plugin_model_graph(const struct plugin_model *model, struct callgraph **ret_graph);

#endif
