/* SPDX-License-Identifier: MIT */
/* Finds libraries by name; see later_libraries.h. */
#include "daemon/regions/later_libraries.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "daemon/regions/region_find.h"
#include "elf/elf_libraries.h"
#include "elf/library_names.h"

#define VARIABLE	 "LD_LIBRARY_PATH="
#define MOST_ENVIRONMENT (256u << 10) /* bytes */

/* --- the search path ------------------------------------------------------------------------- */

static bool is_of_name(char c)
{
	return isalnum((unsigned char)c) || c == '_';
}

/* Returns the value that a word of the command gives to LD_LIBRARY_PATH, up to where a shell would
 * end it, malloc()ed; NULL: the word does not set it. */
static char *value_in(const char *word)
{
	const char *at = word;

	while ((at = strstr(at, VARIABLE)) && at > word && is_of_name(at[-1]))
		at++;
	if (!at)
		return NULL;
	at += strlen(VARIABLE);
	at += *at == '"' || *at == '\'';
	return strndup(at, strcspn(at, " \t\n;&|\"'"));
}

static char *value_of_process(pid_t pid)
{
	char path[64], *text = calloc(1, MOST_ENVIRONMENT + 1), *value = NULL;
	ssize_t got = 0;
	int fd;

	snprintf(path, sizeof(path), "/proc/%d/environ", (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && text)
		got = read(fd, text, MOST_ENVIRONMENT);
	if (fd >= 0)
		close(fd);
	for (ssize_t at = 0; at < got && !value; at += (ssize_t)strlen(text + at) + 1) {
		if (!strncmp(text + at, VARIABLE, strlen(VARIABLE)))
			value = strdup(text + at + strlen(VARIABLE));
	}
	free(text);
	return value;
}

char *later_libraries_folders(const struct options *options, pid_t pid)
{
	const char *own = getenv("LD_LIBRARY_PATH");
	char *value = NULL;

	if (options->target != TARGET_COMMAND)
		return pid > 0 ? value_of_process(pid) : NULL;
	for (size_t i = 0; options->command[i] && !value; i++)
		value = value_in(options->command[i]);
	return value || !own ? value : strdup(own);
}

/* --- libraries ------------------------------------------------------------------------------- */

struct search {
	const struct region_spec *specs;
	size_t n_specs;
	const struct elf_file *file;
	const char *path, *folders;
	int (*each)(void *arg, const char *path);
	void *arg;
};

static int take_name(void *arg, const char *name)
{
	const struct search *s = arg;
	char found[PATH_MAX];
	int err;

	if (!region_find_wants(s->specs, s->n_specs, name))
		return 0;
	err = elf_libraries_find(s->file, s->path, ELF_LIBRARIES_CACHE, s->folders, name, found);
	if (err)
		return err == -ENOENT ? 0 : err;
	return s->each(s->arg, found);
}

int later_libraries_each(const struct region_spec *specs, size_t n_specs,
			 const struct elf_file *file, const char *path, const char *folders,
			 int (*each)(void *arg, const char *path), void *arg)
{
	struct search s = {specs, n_specs, file, path, folders, each, arg};
	int err = 0;

	for (size_t i = 0; i < n_specs && !err; i++) {
		const char *object = specs[i].object;

		if (object && !strpbrk(object, "/*?") && strstr(object, ".so"))
			err = take_name(&s, object);
	}
	return err ? err : library_names_each(file, take_name, &s);
}
