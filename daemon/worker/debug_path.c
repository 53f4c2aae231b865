/* SPDX-License-Identifier: MIT */
/*
 * Checks paths; see debug_path.h.
 *
 * The files of split DWARF (.dwo, .dwp) and of dwz (.gnu_debugaltlink) are where the compiler or
 * dwz has put them, at paths that the object states. So of these paths, only the file names are
 * checked.
 *
 * The folder of an object may belong to the user whose file has subverted the worker, and have a
 * link to anything. So a file is opened only if everybody may read it, or the object's owner
 * (named_file_open_for()), and outside of the folder of debug files only if it is an ELF file: the
 * rules for folders that one may enter are not all known here (groups, access lists).
 */
#include "daemon/worker/debug_path.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/named_file.h"
#include "proc/fuse_devices.h"

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
	char magic[SELFMAG];

	return pread(fd, magic, SELFMAG, 0) == SELFMAG && !memcmp(magic, ELFMAG, SELFMAG) ? 0
											  : -EPERM;
}

uid_t debug_path_owner(const struct elf_file *object)
{
	struct fuse_devices devices = {0}; /* read anew each time: device numbers are reused */
	bool is_sure;

	if (!object)
		return 0;
	is_sure = !fuse_devices_may_have(&devices, "/proc/self/mountinfo",
					 (dev_t)elf_file_stamp(object)->dev);
	fuse_devices_fini(&devices);
	return is_sure ? elf_file_owner(object) : 0;
}

int debug_path_open(const char *path, const char *object_path, uid_t owner)
{
	bool is_own = !strncmp(path, DEBUG_ROOT, strlen(DEBUG_ROOT));
	int fd, err;

	if (climbs(path) || (!is_own && !is_beside(path, object_path) && !is_named_so(path)))
		return -EPERM;
	fd = named_file_open_for(path, owner);
	err = fd < 0 || is_own ? 0 : check(fd);
	if (err) {
		close(fd);
		return err;
	}
	return fd;
}
