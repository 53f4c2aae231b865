/* SPDX-License-Identifier: MIT */
/* Keeps the files of a code model; see code_model.h. */
#include "callgraph/code_model.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "base/vec.h"

struct code_model {
	VEC(struct code_file) files;
};

int code_model_new(struct code_model **ret_model)
{
	struct code_model *model = calloc(1, sizeof(*model));

	if (!model)
		return -ENOMEM;
	*ret_model = model;
	return 0;
}

void code_model_free(struct code_model *model)
{
	if (!model)
		return;
	for (size_t i = 0; i < model->files.count; i++) {
		code_scan_release(&model->files.items[i].scan);
		elf_file_free(model->files.items[i].file);
		free(model->files.items[i].name);
	}
	free(model->files.items);
	free(model);
}

int code_model_take(struct code_model *model, struct elf_file *file, const char *name)
{
	struct code_file f = {.file = file};
	int err;

	if (VEC_RESERVE(&model->files, 1) < 0)
		return -ENOMEM;
	err = code_scan_read(file, &f.scan);
	if (err < 0)
		return err;
	f.name = strdup(text_basename(name));
	if (!f.name) {
		code_scan_release(&f.scan);
		return -ENOMEM;
	}
	model->files.items[model->files.count++] = f;
	return 0;
}

uint32_t code_model_count(const struct code_model *model)
{
	return (uint32_t)model->files.count;
}

const struct code_file *code_model_file(const struct code_model *model, uint32_t number)
{
	return &model->files.items[number];
}

bool code_model_has_hooks(const struct code_model *model)
{
	for (size_t i = 0; i < model->files.count; i++)
		if (model->files.items[i].scan.has_hooks)
			return true;
	return false;
}
