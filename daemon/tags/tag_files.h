/* SPDX-License-Identifier: MIT */
/*
 * The functions of files that keep a tag (callgraph/tagged_functions.h). A worker finds them
 * (ask_tags.c), or, for tests, this process (tag_files.c), as chosen when it is made.
 */
#ifndef TAGS_TAG_FILES_H
#define TAGS_TAG_FILES_H

#include "callgraph/tagged_functions.h"
#include "proc/object.h"

/* The properties of a file as a whole. A file that cannot be read has neither. */
struct tag_file_info {
	bool has_note;
	uint64_t word;	    /* vaddr of the word that the note names */
	bool has_functions; /* that keep a tag */
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

/* Makes those of this process. 0 or -ENOMEM. */
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

/* As tagged_functions_find(), of an object that has such functions. */
static inline bool tag_files_find(struct tag_files *files, const struct object *object,
				  uint64_t vaddr, struct tagged_code *ret_code)
{
	return files->find(files, object, vaddr, ret_code);
}

/* As tagged_functions_is_runtime(), likewise. */
static inline bool tag_files_is_runtime(struct tag_files *files, const struct object *object,
					uint64_t vaddr)
{
	return files->is_runtime(files, object, vaddr);
}

/* As tagged_functions_is_window(), likewise. */
static inline bool tag_files_is_window(struct tag_files *files, const struct object *object,
				       uint64_t vaddr)
{
	return files->is_window(files, object, vaddr);
}

#endif
