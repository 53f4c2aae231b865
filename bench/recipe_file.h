/* SPDX-License-Identifier: MIT */
/* An ELF file that is given by its path, and its recipes. */
#ifndef BENCH_RECIPE_FILE_H
#define BENCH_RECIPE_FILE_H

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "unwind/recipe.h"

struct recipe_file {
	int fd;
	struct elf_file *elf;
	struct recipe_table *table; /* NULL, for the caller to compile */
};

/* Opens the file; recipe_file_close() frees it and its table, after an error, too. */
static inline int recipe_file_open(const char *path, struct recipe_file *ret)
{
	*ret = (struct recipe_file){.fd = open(path, O_RDONLY | O_CLOEXEC)};
	return ret->fd < 0 ? -errno : elf_file_open(ret->fd, &ret->elf);
}

/* Prints the error, if there is one, and returns it. */
static inline int recipe_file_close(struct recipe_file *f, const char *path, int err)
{
	if (err)
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	recipe_table_free(f->table);
	elf_file_free(f->elf);
	if (f->fd >= 0)
		close(f->fd);
	return err;
}

#endif
