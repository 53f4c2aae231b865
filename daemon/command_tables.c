/* SPDX-License-Identifier: MIT */
/* Follows the command's words to files, and asks for their tables; see command_tables.h. */
#include "daemon/command_tables.h"

#include <errno.h>
#include <stdlib.h>

#include "base/clock.h"
#include "base/vec.h"
#include "daemon/regions/command_files.h"
#include "daemon/regions/command_words.h"
#include "daemon/regions/later_libraries.h"

#define MOST_NS UINT64_C(3000000000) /* waited for all tables */

struct expected {
	struct recorder *recorder;
	pid_t pid;
	char *folders;
	VEC(const struct object *) objects;
};

static int expect_file(struct expected *e, const struct command_files *files, size_t number)
{
	const struct object *object;
	int err = VEC_RESERVE(&e->objects, 1);

	if (!err)
		err = recorder_expect_file(e->recorder, e->pid, command_files_path(files, number),
					   command_files_elf(files, number), &object);
	if (!err && object)
		e->objects.items[e->objects.count++] = object;
	return err;
}

/* Requests the tables of a program and its libraries, if one of them has an interpreter. */
static int expect_program(void *arg, const char *path)
{
	struct expected *e = arg;
	struct command_files *files;
	int err = command_files_find(path, e->folders, &files);

	if (err)
		return err;
	if (command_files_have_interpreter(files)) {
		for (size_t i = 0; !err && i < command_files_count(files); i++)
			err = expect_file(e, files, i);
	}
	command_files_free(files);
	return err;
}

int command_tables_make(const struct options *options, const struct target *target,
			struct recorder *recorder, struct tables *tables)
{
	const uint64_t until_ns = clock_ns(CLOCK_MONOTONIC) + MOST_NS;
	size_t n_pids;
	const pid_t *pids = target_pids(target, &n_pids);
	struct expected e = {.recorder = recorder, .pid = n_pids ? pids[0] : 0};
	int err;

	e.folders = later_libraries_folders(options, e.pid);
	err = expect_program(&e, options->command[0]);
	if (!err)
		err = command_words_each(options->command, expect_program, &e);
	for (size_t i = 0; i < e.objects.count && !err; i++)
		tables_await(tables, e.objects.items[i], until_ns);
	free(e.objects.items);
	free(e.folders);
	return err;
}
