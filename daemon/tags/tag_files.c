/* SPDX-License-Identifier: MIT */
/* Keeps the tagged functions of files that this process reads, by number of the object; see
 * tag_files.h. */
#include "daemon/tags/tag_files.h"

#include <errno.h>
#include <stdlib.h>

#include "base/vec.h"

struct here {
	struct tag_files files;
	struct tagged_functions **functions; /* by number of the object; NULL: the file has none */
	size_t count;
};

static void free_here(struct tag_files *files)
{
	struct here *h = (struct here *)files;

	for (size_t i = 0; i < h->count; i++)
		tagged_functions_free(h->functions[i]);
	free(h->functions);
	free(h);
}

static void info(struct tag_files *files, const struct object *object,
		 struct tag_file_info *ret_info)
{
	struct here *h = (struct here *)files;

	*ret_info = (struct tag_file_info){.has_note = false};
	ret_info->has_note = tagged_functions_note(object->elf, &ret_info->word);
	if (VEC_GROW_ZEROED(h->functions, h->count, (size_t)object->number + 1) < 0)
		return;
	if (tagged_functions_new(object->elf, &h->functions[object->number]))
		h->functions[object->number] = NULL;
	ret_info->has_functions = h->functions[object->number] != NULL;
}

static bool find(struct tag_files *files, const struct object *object, uint64_t vaddr,
		 struct tagged_code *ret_code)
{
	return tagged_functions_find(((struct here *)files)->functions[object->number], vaddr,
				     ret_code);
}

static bool is_runtime(struct tag_files *files, const struct object *object, uint64_t vaddr)
{
	return tagged_functions_is_runtime(((struct here *)files)->functions[object->number],
					   vaddr);
}

static bool is_window(struct tag_files *files, const struct object *object, uint64_t vaddr)
{
	return tagged_functions_is_window(((struct here *)files)->functions[object->number], vaddr);
}

int tag_files_here_new(struct tag_files **ret_files)
{
	struct here *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->files = (struct tag_files){free_here, info, find, is_runtime, is_window};
	*ret_files = &h->files;
	return 0;
}
