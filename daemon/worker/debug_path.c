/* SPDX-License-Identifier: MIT */
/*
 * Checks paths; see debug_path.h.
 *
 * The files of split DWARF (.dwo, .dwp) and of dwz (.gnu_debugaltlink) are where the compiler or
 * dwz has put them, at paths that the object states. So of these paths, only the file names are
 * checked.
 *
 * The folder of an object may belong to the user whose file has subverted the worker, and have a
 * link to anything. So a file there is opened only if everybody may read it and it is an ELF file.
 * (That it is readable is not enough, because it can be in a folder that others may not enter.) The
 * same is required of files of which only the names are checked.
 */
#include "daemon/worker/debug_path.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "sym/debug_file.h"

#define DEBUG_ROOT "/usr/lib/debug/"

static bool climbs(const char *path)
{
	return strstr(path, "/../") || strstr(path, "/./");
}

/* Returns whether a path is FOLDER/NAME or FOLDER/.debug/NAME, FOLDER being the one that holds the
 * object. */
static bool is_beside(const char *path, const char *object_path)
{
	const char *slash = strrchr(object_path, '/');
	size_t len = slash ? (size_t)(slash - object_path) + 1 : 0;

	if (!len || *object_path != '/' || strncmp(path, object_path, len))
		return false;
	path += len;
	if (!strncmp(path, ".debug/", 7))
		path += 7;
	return *path && !strchr(path, '/') && strcmp(path, "..") && strcmp(path, ".");
}

/* Returns whether a path is absolute and its file name is one that compilers or dwz give to debug
 * files. */
static bool is_named_so(const char *path)
{
	static const char *const ends[] = {".dwo", ".dwp", ".dwz", ".sup", ".debug"};
	const char *name = strrchr(path, '/');
	size_t len = strlen(path);

	if (*path != '/')
		return false;
	if (name - path >= 5 && !strncmp(name - 5, "/.dwz", 5))
		return true;
	for (size_t i = 0; i < sizeof(ends) / sizeof(*ends); i++) {
		size_t n = strlen(ends[i]);

		if (len > n && !strcmp(path + len - n, ends[i]))
			return true;
	}
	return false;
}

static int check(int fd)
{
	struct stat st;
	char magic[SELFMAG];

	if (fstat(fd, &st))
		return -errno;
	if (!S_ISREG(st.st_mode) || !(st.st_mode & S_IROTH))
		return -EPERM;
	return pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG) ? 0
											  : -EPERM;
}

int debug_path_open(const char *path, const char *object_path)
{
	bool is_own = !strncmp(path, DEBUG_ROOT, strlen(DEBUG_ROOT));
	int fd, err;

	if (climbs(path) || (!is_own && !is_beside(path, object_path) && !is_named_so(path)))
		return -EPERM;
	fd = debug_file_open_path(path);
	err = fd < 0 || is_own ? 0 : check(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
