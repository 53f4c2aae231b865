/* SPDX-License-Identifier: MIT */
/* Follows a program's libraries; see command_files.h. */
#include "daemon/regions/command_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/named_file.h"
#include "base/vec.h"
#include "elf/elf_libraries.h"
#include "runtime/runtime.h"

#define MOST_FILES 4096

struct command_file {
	char *path;
	struct elf_file *elf;
};

struct command_files {
	VEC(struct command_file) all;
};

static int add(struct command_files *files, const char *path)
{
	struct command_file file = {0};
	char *real = realpath(path, NULL);
	int fd, err = 0;

	for (size_t i = 0; real && i < files->all.count; i++) {
		if (!strcmp(files->all.items[i].path, real)) {
			free(real);
			return 0;
		}
	}
	fd = real ? named_file_open(real) : -1;
	if (fd >= 0)
		err = elf_file_open(fd, &file.elf);
	if (fd >= 0)
		close(fd);
	if (fd < 0 || err || files->all.count >= MOST_FILES) {
		elf_file_free(file.elf);
		free(real);
		return err == -ENOMEM ? err : 0;
	}
	file.path = real;
	if (VEC_RESERVE(&files->all, 1)) {
		elf_file_free(file.elf);
		free(real);
		return -ENOMEM;
	}
	files->all.items[files->all.count++] = file;
	return 0;
}

static int add_library(void *arg, const char *name, const char *found)
{
	(void)name;
	return found ? add(arg, found) : 0;
}

/* Adds the program, found as execvp() does. */
static int add_program(struct command_files *files, const char *command)
{
	const char *folders = getenv("PATH");
	int err = 0;

	if (strchr(command, '/'))
		return add(files, command);
	if (!folders)
		folders = "/bin:/usr/bin";
	while (!err && *folders && !files->all.count) {
		int len = (int)strcspn(folders, ":");
		char *path;

		if (asprintf(&path, "%.*s/%s", len, len ? folders : ".", command) < 0)
			return -ENOMEM;
		if (access(path, X_OK) == 0)
			err = add(files, path);
		free(path);
		folders += len + (folders[len] == ':');
	}
	return err;
}

int command_files_find(const char *command, const char *folders, struct command_files **ret_files)
{
	struct command_files *files = calloc(1, sizeof(*files));
	int err = files ? add_program(files, command) : -ENOMEM;

	for (size_t i = 0; !err && i < files->all.count; i++) {
		const struct command_file file = files->all.items[i];

		err = elf_libraries_each(file.elf, file.path, ELF_LIBRARIES_CACHE, folders,
					 add_library, files);
	}
	if (err) {
		command_files_free(files);
		return err;
	}
	*ret_files = files;
	return 0;
}

void command_files_free(struct command_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->all.count; i++) {
		free(files->all.items[i].path);
		elf_file_free(files->all.items[i].elf);
	}
	free(files->all.items);
	free(files);
}

size_t command_files_count(const struct command_files *files)
{
	return files->all.count;
}

const struct elf_file *command_files_elf(const struct command_files *files, size_t number)
{
	return files->all.items[number].elf;
}

const char *command_files_path(const struct command_files *files, size_t number)
{
	return files->all.items[number].path;
}

bool command_files_have_interpreter(const struct command_files *files)
{
	for (size_t i = 0; i < files->all.count; i++) {
		if (runtime_has_interpreter(files->all.items[i].elf))
			return true;
	}
	return false;
}
