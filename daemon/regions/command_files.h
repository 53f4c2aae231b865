/* SPDX-License-Identifier: MIT */
/* Finds the files that a command will map: its program, the loader, and all libraries that these
 * name. */
#ifndef REGIONS_COMMAND_FILES_H
#define REGIONS_COMMAND_FILES_H

#include <stdbool.h>
#include <stddef.h>

#include "elf/elf_file.h"

struct command_files;

/* Finds the files of a command. `command`: the program's name or path, as for execvp(); `folders`:
 * the value of LD_LIBRARY_PATH, NULL: it is not set. A command that cannot be opened, or is a
 * script, has no files. 0 or -ENOMEM; the caller frees *ret_files. */
int command_files_find(const char *command, const char *folders, struct command_files **ret_files);
void command_files_free(struct command_files *files); /* NULL is fine */

/* Return the number of files, and a file and its path by number; they belong to `files`. */
size_t command_files_count(const struct command_files *files);
const struct elf_file *command_files_elf(const struct command_files *files, size_t number);
const char *command_files_path(const struct command_files *files, size_t number);

/* Returns whether one of the files has an interpreter, such as Python's. */
bool command_files_have_interpreter(const struct command_files *files);

#endif
