/* SPDX-License-Identifier: MIT */
/*
 * Models of ordinary binaries: the calls that their code makes (callgraph/code_scan.h), put
 * together to a call graph. Names that one file imports are looked for in the others, in the order
 * given.
 *
 * There are two kinds of tags to decode, so there are two graphs:
 *
 *     places      of stackd's own walks: a chain of call sites and, at its end, any instruction
 *     functions   of programs with -finstrument-functions: the places where functions start
 *
 * A call through a pointer may reach any function whose address is taken. A function that ends with
 * a jump to another one lets its callers seem to call that.
 */
#ifndef CALLGRAPH_CODE_MODEL_H
#define CALLGRAPH_CODE_MODEL_H

#include "elf/elf_file.h"
#include "callgraph/callgraph.h"

struct code_model;

int code_model_new(struct code_model **ret_model); /* 0 or -ENOMEM */
void code_model_free(struct code_model *model);

/* Scans a file, which the model owns from then on, if this succeeds. `name` is shown for places
 * without a symbol. 0, or what code_scan_read() says. */
int code_model_take(struct code_model *model, struct elf_file *file, const char *name);

/* Whether a file is compiled with -finstrument-functions. */
bool code_model_has_hooks(const struct code_model *model);

/* Add to a graph that is not sealed. Nodes that it has already, by id, stay as they are. 0,
 * -ENOMEM, -E2BIG. Functions: of those files that have hooks, or of all files if none has. */
int code_model_places(const struct code_model *model, struct callgraph *graph);
int code_model_functions(const struct code_model *model, struct callgraph *graph);

#endif
