/* SPDX-License-Identifier: MIT */
/*
 * The scanned files of a program (callgraph/code_scan.h), from which callgraph/code_graph.h makes
 * call graphs. A name that a file imports is looked up in all files, in the order in which they
 * were added.
 */
#ifndef CALLGRAPH_CODE_MODEL_H
#define CALLGRAPH_CODE_MODEL_H

#include "callgraph/code_scan.h"
#include "elf/elf_file.h"

struct code_model;

/* A file, and the calls in its code. */
struct code_file {
	struct elf_file *file; /* owned */
	struct code_scan scan;
	char *name; /* owned; without directories */
};

/* Makes a model without files. Returns 0 or -ENOMEM. */
int code_model_new(struct code_model **ret_model);
void code_model_free(struct code_model *model); /* accepts NULL */

/* Scans a file and adds it. On success the model owns the file; on failure the caller still owns
 * it. `name` is a path, whose last part is copied to name locations. Returns 0 or an error of
 * code_scan_read(). */
int code_model_take(struct code_model *model, struct elf_file *file, const char *name);

/* Return the number of files, and a file by its number. The pointer is valid until the next file is
 * added. */
uint32_t code_model_count(const struct code_model *model);
const struct code_file *code_model_file(const struct code_model *model, uint32_t number);

/* Returns whether any of the files was compiled with -finstrument-functions. */
bool code_model_has_hooks(const struct code_model *model);

#endif
