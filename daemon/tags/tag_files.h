/* SPDX-License-Identifier: MIT */
/*
 * Finds the functions of files that keep a tag (callgraph/tagged_functions.h): in a worker
 * (ask_tags_new()) or, for tests, in this process (tag_files_here_new()).
 */
#ifndef TAGS_TAG_FILES_H
#define TAGS_TAG_FILES_H

#include "callgraph/tagged_functions.h"
#include "proc/object.h"

/* The properties of a file as a whole. All are 0 for a file that cannot be read. */
struct tag_file_info {
	bool has_note;
	uint64_t word;	    /* vaddr of the word that the note names */
	bool has_functions; /* it has functions that keep a tag */
};

struct tag_files {
	void (*free)(struct tag_files *files);
	void (*info)(struct tag_files *files, const struct object *object,
		     struct tag_file_info *ret_info);
	bool (*find)(struct tag_files *files, const struct object *object, uint64_t vaddr,
		     struct tagged_code *ret_code);
	bool (*is_runtime)(struct tag_files *files, const struct object *object, uint64_t vaddr);
	bool (*is_window)(struct tag_files *files, const struct object *object, uint64_t vaddr);
};

/* Makes a tag_files that reads files in this process. 0 or -ENOMEM. */
int tag_files_here_new(struct tag_files **ret_files);

static inline void tag_files_free(struct tag_files *files) /* NULL is fine */
{
	if (files)
		files->free(files);
}

/* Looks at an object's file, which must be an ELF file that was opened. To be called before the
 * functions below. */
static inline void tag_files_info(struct tag_files *files, const struct object *object,
				  struct tag_file_info *ret_info)
{
	files->info(files, object, ret_info);
}

/* Calls tagged_functions_find() for an object with has_functions. */
static inline bool tag_files_find(struct tag_files *files, const struct object *object,
				  uint64_t vaddr, struct tagged_code *ret_code)
{
	return files->find(files, object, vaddr, ret_code);
}

/* Calls tagged_functions_is_runtime() for such an object. */
static inline bool tag_files_is_runtime(struct tag_files *files, const struct object *object,
					uint64_t vaddr)
{
	return files->is_runtime(files, object, vaddr);
}

/* Calls tagged_functions_is_window() for such an object. */
static inline bool tag_files_is_window(struct tag_files *files, const struct object *object,
				       uint64_t vaddr)
{
	return files->is_window(files, object, vaddr);
}

#endif
