/* SPDX-License-Identifier: MIT */
/* Looks for a path in dpkg's lists; see package.h. */
#include "sym/package.h"

#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/named_file.h"
#include "elf/elf_file.h"

/* Returns whether the file of this machine has the build-id. */
static bool is_here(const char *path, const uint8_t *build_id, size_t len)
{
	const int fd = named_file_open(path);
	struct elf_file *file = NULL;
	const uint8_t *found;
	size_t found_len = 0;
	bool is = false;

	if (fd < 0)
		return false;
	if (!elf_file_open(fd, &file)) {
		found = elf_file_build_id(file, &found_len);
		is = len && found_len == len && !memcmp(found, build_id, len);
	}
	elf_file_free(file);
	close(fd);
	return is;
}

/* Returns whether a list has a line with the path, or with that of a system whose /usr is apart:
 * dpkg keeps the path that was in the package ("/lib/..."). */
static bool has_line(FILE *list, const char *path)
{
	const char *apart = strncmp(path, "/usr/", 5) ? NULL : path + 4;
	char line[PATH_MAX];

	while (fgets(line, sizeof(line), list)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strcmp(line, path) || (apart && !strcmp(line, apart)))
			return true;
	}
	return false;
}

static bool is_in(int folder, const char *name, const char *path)
{
	const int fd = openat(folder, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
	FILE *list = fd >= 0 ? fdopen(fd, "r") : NULL;
	bool is = false;

	if (list) {
		is = has_line(list, path);
		fclose(list);
	} else if (fd >= 0) {
		close(fd);
	}
	return is;
}

char *package_of(const char *lists, const char *path, const uint8_t *build_id, size_t len)
{
	DIR *folder = is_here(path, build_id, len) ? opendir(lists) : NULL;
	struct dirent *entry;
	char *name = NULL;

	while (folder && !name && (entry = readdir(folder))) {
		const size_t n = strlen(entry->d_name);

		if (n > 5 && !strcmp(entry->d_name + n - 5, ".list") &&
		    is_in(dirfd(folder), entry->d_name, path)) {
			name = strndup(entry->d_name, n - 5);
			break;
		}
	}
	if (folder)
		closedir(folder);
	if (name)
		name[strcspn(name, ":")] = '\0';
	return name;
}
