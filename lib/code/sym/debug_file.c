/* SPDX-License-Identifier: MIT */
/*
 * Finds separate debug files; see debug_file.h.
 *
 * The object names the candidates (by its build-id, and in .gnu_debuglink), and it is not trusted:
 * names with a '/' are not followed, and a candidate is opened by base/named_file.h. It is used
 * only if it has the object's build-id. For an object without build-id, a checksum over the whole
 * debug file must match instead.
 */
#include "sym/debug_file.h"

#include <elfutils/libdwelf.h>
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.h"
#include "elf/elf_sections.h"

#define MAX_CHECKED_BYTES (UINT64_C(4) << 30)

struct link {
	char *name; /* owned */
	uint32_t crc;
};

/* --- candidates ---------------------------------------------------------------------------- */

/* Computes the CRC-32 of IEEE 802.3, reflected, as in .gnu_debuglink. */
static int file_crc(const struct elf_file *file, uint32_t *ret_crc)
{
	uint32_t table[256], crc = UINT32_MAX;
	uint8_t bytes[16384];
	uint64_t at = 0;
	int64_t n;

	for (uint32_t i = 0; i < 256; i++) {
		table[i] = i;
		for (int bit = 0; bit < 8; bit++)
			table[i] = table[i] >> 1 ^ (table[i] & 1 ? 0xedb88320 : 0);
	}
	while ((n = elf_file_read(file, at, bytes, sizeof(bytes))) > 0) {
		for (int64_t i = 0; i < n; i++)
			crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
		at += (uint64_t)n;
		if (at > MAX_CHECKED_BYTES)
			return -EFBIG;
	}
	*ret_crc = ~crc;
	return n < 0 ? (int)n : 0;
}

static bool has_build_id(const struct elf_file *file, const uint8_t *build_id, size_t len)
{
	size_t own_len;
	const uint8_t *own = elf_file_build_id(file, &own_len);

	return own && own_len == len && !memcmp(own, build_id, len);
}

/* Returns whether a candidate is the object's debug file. If the object has a build-id, only that
 * counts; `link` is used without one. */
static bool belongs(const struct elf_file *candidate, const uint8_t *build_id, size_t len,
		    const struct link *link)
{
	uint32_t crc;

	if (build_id)
		return has_build_id(candidate, build_id, len);
	return link && !file_crc(candidate, &crc) && crc == link->crc;
}

int debug_source_open(const struct debug_source *source, const char *path)
{
	return source->open ? source->open(source->arg, path) : named_file_open(path);
}

static int open_path(const struct debug_source *source, const char *path,
		     struct elf_file **ret_file)
{
	int fd = debug_source_open(source, path);
	int err;

	if (fd < 0)
		return -ENOENT;
	err = elf_file_open_any(fd, ret_file);
	close(fd);
	return err;
}

/* Tries a path, which it frees. Returns 0, -ENOENT if the file is missing or does not belong to the
 * object, or -ENOMEM. */
static int try_path(const struct debug_source *source, char *path, const uint8_t *build_id,
		    size_t len, const struct link *link, struct elf_file **ret_file)
{
	struct elf_file *file = NULL;
	int err = path ? open_path(source, path, &file) : -ENOMEM;

	free(path);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	if (!belongs(file, build_id, len, link)) {
		elf_file_free(file);
		return -ENOENT;
	}
	*ret_file = file;
	return 0;
}

static char *format(const char *a, const char *b, const char *c, const char *d)
{
	char *text;

	return asprintf(&text, "%s%s%s%s", a, b, c, d) < 0 ? NULL : text;
}

/* --- by build-id --------------------------------------------------------------------------- */

/* Returns the path of a debug file, or NULL if memory is lacking. `len` is 2 to
 * ELF_BUILD_ID_MAX. */
static char *build_id_path(const char *root, const uint8_t *build_id, size_t len)
{
	char hex[2 * ELF_BUILD_ID_MAX + 1] = "", *path;

	for (size_t i = 0; i < len; i++)
		snprintf(hex + 2 * i, 3, "%02x", build_id[i]);
	if (asprintf(&path, "%s/.build-id/%.2s/%s.debug", root, hex, hex + 2) < 0)
		return NULL;
	return path;
}

static int open_by_build_id(const struct debug_source *source, const uint8_t *build_id, size_t len,
			    struct elf_file **ret_file)
{
	if (!source->root || len < 2 || len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	return try_path(source, build_id_path(source->root, build_id, len), build_id, len, NULL,
			ret_file);
}

static int open_from_debuginfod(const struct debug_source *source, const uint8_t *build_id,
				size_t len, struct elf_file **ret_file)
{
	struct elf_file *file = NULL;
	int fd, err;

	if (!build_id || (!source->debuginfod && !source->fetch))
		return -ENOENT;
	fd = source->fetch ? source->fetch(source->arg)
			   : debuginfod_fetch(source->debuginfod, build_id, len);
	if (fd < 0)
		return -ENOENT;
	err = elf_file_open_any(fd, &file);
	close(fd);
	if (err)
		return err == -ENOMEM ? err : -ENOENT;
	*ret_file = file;
	return 0;
}

/* --- by name ------------------------------------------------------------------------------- */

/* Reads .gnu_debuglink: a name, padding to 4 bytes, and the checksum. */
static int read_link(const struct elf_file *file, struct link *ret_link)
{
	Elf_Data *data = elf_sections_data(elf_file_libelf(file), ".gnu_debuglink");
	size_t len, crc_at;

	if (!data)
		return -ENOENT;
	len = strnlen(data->d_buf, data->d_size);
	crc_at = (len + 4) & ~(size_t)3;
	if (!len || len > NAME_MAX || crc_at + 4 > data->d_size || memchr(data->d_buf, '/', len))
		return -ENOENT;
	memcpy(&ret_link->crc, (const uint8_t *)data->d_buf + crc_at, 4);
	ret_link->name = strndup(data->d_buf, len);
	return ret_link->name ? 0 : -ENOMEM;
}

bool debug_file_name(const struct elf_file *file, struct buf *text)
{
	struct link link = {0};

	if (read_link(file, &link))
		return false;
	buf_put(text, link.name, strlen(link.name));
	free(link.name);
	return true;
}

static int open_by_link(const struct elf_file *file, const struct debug_source *source,
			const char *path, struct elf_file **ret_debug)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(file, &len);
	const char *slash = path ? strrchr(path, '/') : NULL;
	struct link link = {0};
	char *dir;
	int err;

	if (!slash)
		return -ENOENT;
	err = read_link(file, &link);
	if (err)
		return err;
	dir = strndup(path, (size_t)(slash - path));
	err = dir ? try_path(source, format(dir, "/", link.name, ""), build_id, len, &link,
			     ret_debug)
		  : -ENOMEM;
	if (err == -ENOENT)
		err = try_path(source, format(dir, "/.debug/", link.name, ""), build_id, len, &link,
			       ret_debug);
	if (err == -ENOENT && source->root)
		err = try_path(source, format(source->root, dir, "/", link.name), build_id, len,
			       &link, ret_debug);
	free(dir);
	free(link.name);
	return err;
}

int debug_file_open(const struct elf_file *file, const struct debug_source *source,
		    const char *path, struct elf_file **ret_debug)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(file, &len);
	int err = open_by_build_id(source, build_id, len, ret_debug);

	if (err == -ENOENT)
		err = open_by_link(file, source, path, ret_debug);
	if (err == -ENOENT)
		err = open_from_debuginfod(source, build_id, len, ret_debug);
	/* Tools that move code keep the build-id, so the layout is compared too. */
	if (!err && !elf_file_has_layout_of(file, *ret_debug)) {
		elf_file_free(*ret_debug);
		*ret_debug = NULL;
		err = -ENOENT;
	}
	if (err == -ENOENT)
		err = elf_file_open_packed(file, ret_debug);
	return err;
}

/* --- shared by several debug files --------------------------------------------------------- */

/* Tries the path of a dwz file; frees the path. elf_file.c cannot open such files, since they have
 * no program headers. */
static int try_shared(const struct debug_source *source, char *path, const uint8_t *build_id,
		      size_t len, int *ret_fd, Elf **ret_elf)
{
	struct stat st;
	const void *own;
	Elf *elf = NULL;
	int fd;

	if (!path)
		return -ENOMEM;
	fd = debug_source_open(source, path);
	if (fd >= 0 && !fstat(fd, &st) && S_ISREG(st.st_mode))
		elf = elf_begin(fd, ELF_C_READ, NULL);
	free(path);
	if (elf && dwelf_elf_gnu_build_id(elf, &own) == (ssize_t)len &&
	    !memcmp(own, build_id, len)) {
		*ret_fd = fd;
		*ret_elf = elf;
		return 0;
	}
	elf_end(elf);
	if (fd >= 0)
		close(fd);
	return -ENOENT;
}

/* Returns the path that a link names: absolute, or relative to the file's folder. */
static char *linked_path(const char *name, const char *path)
{
	const char *slash = path ? strrchr(path, '/') : NULL;
	char *folder, *linked;

	if (*name == '/')
		return strdup(name);
	folder = slash ? strndup(path, (size_t)(slash - path)) : strdup("");
	linked = folder ? format(folder, "/", name, "") : NULL;
	free(folder);
	return linked;
}

/* Distributions keep dwz files in ROOT/.dwz. The name in the link is absolute or relative to the
 * debug file, so only the part behind ".dwz/" is used there, and only if it has no "..". */
int debug_file_open_shared(const struct debug_source *source, const char *name, const char *path,
			   const uint8_t *build_id, size_t len, int *ret_fd, Elf **ret_elf)
{
	const char *tail = strstr(name, "/.dwz/");
	int err = -ENOENT;

	if (len < 2 || len > ELF_BUILD_ID_MAX)
		return -ENOENT;
	if (source->root)
		err = try_shared(source, build_id_path(source->root, build_id, len), build_id, len,
				 ret_fd, ret_elf);
	if (err == -ENOENT && source->root && tail && !strstr(tail, "/../"))
		err = try_shared(source, format(source->root, tail, "", ""), build_id, len, ret_fd,
				 ret_elf);
	if (err == -ENOENT && source->root)
		err = try_shared(source, linked_path(name, path), build_id, len, ret_fd, ret_elf);
	return err;
}
