/* SPDX-License-Identifier: MIT */
/* What the model and the graphs that are made of it share; see code_model.h. */
#ifndef TAG_CODE_MODEL_STATE_H
#define TAG_CODE_MODEL_STATE_H

#include "base/vec.h"
#include "tag/code_model.h"
#include "tag/code_scan.h"

struct code_file {
	struct elf_file *file; /* owned */
	struct code_scan scan;
	char *name; /* without folders */
};

struct code_model {
	VEC(struct code_file) files;
};

#endif
