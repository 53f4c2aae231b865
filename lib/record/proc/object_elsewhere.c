/* SPDX-License-Identifier: MIT */
/*
 * The cache is ROOT/.build-id/ab/cdef..., a link to a folder with the file as `elf` (perf 4.11
 * and newer) or to the file itself.
 *
 * Names come from a recording that somebody else made: below the root they are resolved as if it
 * were "/", so neither ".." nor a link leads out of it, and only regular files are opened. The
 * cache's own links lead to its own folders.
 */
#include "proc/object_elsewhere.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/named_file.h"

#define DELETED " (deleted)"

struct object_elsewhere {
	int root, cache; /* -1: none */
};

static int open_folder(const char *path, int *ret_fd)
{
	int fd = open(path, O_PATH | O_DIRECTORY | O_CLOEXEC);

	if (fd < 0)
		return -errno;
	*ret_fd = fd;
	return 0;
}

int object_elsewhere_new(const char *root, const char *cache,
			 struct object_elsewhere **ret_elsewhere)
{
	struct object_elsewhere *e = malloc(sizeof(*e));
	int err;

	if (!e)
		return -ENOMEM;
	*e = (struct object_elsewhere){.root = -1, .cache = -1};
	if (cache)
		open_folder(cache, &e->cache);
	err = root ? open_folder(root, &e->root) : 0;
	if (err) {
		object_elsewhere_free(e);
		return err;
	}
	*ret_elsewhere = e;
	return 0;
}

void object_elsewhere_free(struct object_elsewhere *e)
{
	if (!e)
		return;
	if (e->root >= 0)
		close(e->root);
	if (e->cache >= 0)
		close(e->cache);
	free(e);
}

/* Returns an O_PATH descriptor, or -errno. */
static int find_in(int folder, const char *path)
{
	struct open_how how = {
		.flags = (uint64_t)(O_PATH | O_CLOEXEC),
		.resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS,
	};
	long fd = syscall(SYS_openat2, folder, path, &how, sizeof(how));

	return fd < 0 ? -errno : (int)fd;
}

static bool is_mapped(const struct object_mapping *m, const struct elf_file *elf, bool by_name)
{
	const uint8_t *build_id;
	size_t len;

	if (!m->build_id_len)
		return by_name;
	build_id = elf_file_build_id(elf, &len);
	return build_id && len == m->build_id_len && !memcmp(build_id, m->build_id, len);
}

static int take(const struct object_mapping *m, int fd, bool by_name,
		struct object_open_file *ret_file)
{
	struct object_open_file file = {0};
	struct stat st;
	int err;

	if (fstat(fd, &st) < 0)
		return -errno;
	err = elf_file_open_any(fd, &file.elf);
	if (err)
		return err;
	if (!is_mapped(m, file.elf, by_name)) {
		elf_file_free(file.elf);
		return -ESTALE;
	}
	file.stamp = (struct object_open_stamp){
		.dev = st.st_dev, .inode = st.st_ino, .size = st.st_size, .ctime = st.st_ctim};
	*ret_file = file;
	return 0;
}

static int try_path(const struct object_mapping *m, int folder, const char *path, bool by_name,
		    struct object_open_file *ret_file)
{
	int named, fd, err;

	if (folder < 0)
		return -ENOENT;
	named = find_in(folder, path);
	if (named < 0)
		return named == -ENOTDIR ? -ENOENT : named;
	fd = named_file_reopen(named);
	err = fd;
	if (fd >= 0) {
		err = take(m, fd, by_name, ret_file);
		close(fd);
	}
	close(named);
	return err;
}

static int try_root(const struct object_elsewhere *e, const struct object_mapping *m,
		    struct object_open_file *ret_file)
{
	size_t len = strlen(m->path);
	char *path;
	int err;

	if (m->path[0] != '/')
		return -ENOENT;
	if (object_open_is_deleted(m->path))
		len -= strlen(DELETED);
	path = strndup(m->path, len);
	if (!path)
		return -ENOMEM;
	err = try_path(m, e->root, path, true, ret_file);
	free(path);
	return err;
}

static int try_cache(const struct object_elsewhere *e, const struct object_mapping *m,
		     struct object_open_file *ret_file)
{
	char path[sizeof(".build-id//elf") + 2 * ELF_BUILD_ID_MAX + 2] = ".build-id/";
	size_t at = strlen(path);
	int err;

	if (m->build_id_len < 2 || m->build_id_len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	for (size_t i = 0; i < m->build_id_len; i++)
		at += (size_t)sprintf(path + at, i == 1 ? "/%02x" : "%02x", m->build_id[i]);
	strcpy(path + at, "/elf");
	err = try_path(m, e->cache, path, false, ret_file);
	if (err != -ENOENT)
		return err;
	path[at] = '\0';
	return try_path(m, e->cache, path, false, ret_file);
}

int object_elsewhere_open(const struct object_elsewhere *e, const struct object_mapping *m,
			  struct object_open_file *ret_file)
{
	int err, cached;

	if (!e)
		return -ENOENT;
	err = try_root(e, m, ret_file);
	if (!err || err == -ENOMEM)
		return err;
	cached = try_cache(e, m, ret_file);
	return cached == -ENOENT ? err : cached;
}
