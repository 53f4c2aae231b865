/* SPDX-License-Identifier: MIT */
/* The contents of a code model, shared with the graphs that are made of it; see code_model.h. */
#ifndef CALLGRAPH_CODE_MODEL_STATE_H
#define CALLGRAPH_CODE_MODEL_STATE_H

#include "base/vec.h"
#include "callgraph/code_model.h"
#include "callgraph/code_scan.h"

struct code_file {
	struct elf_file *file; /* owned */
	struct code_scan scan;
	char *name; /* owned; without directories */
};

struct code_model {
	VEC(struct code_file) files;
};

#endif
