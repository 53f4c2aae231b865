/* SPDX-License-Identifier: MIT */
/*
 * Libraries of a file; see elf_libraries.h.
 *
 * The cache has the format that glibc 2.32 and later write, ldconfig's "new" one: a header, a
 * sorted table of {flags, name, path, ..., hardware}, and the strings, at offsets from the header.
 * Variants for special hardware are skipped: the file does not say which processor gets which
 * variant.
 */
#include "elf/elf_libraries.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "arch/target.h"
#include "base/named_file.h"

#define MAX_HEADERS   1024
#define MAX_DYNAMIC   4096
#define MAX_LIBRARIES 256
#define MAX_NAME      1024
#define MAX_CACHE     ((off_t)16 << 20)

#define CACHE_MAGIC "glibc-ld.so.cache1.1"

struct cache_header {
	char magic[20];
	uint32_t n, string_bytes;
	uint32_t reserved[5];
};

struct cache_row {
	uint32_t flags, name, path, os;
	uint64_t hardware;
};

_Static_assert(sizeof(struct cache_header) == 48, "the cache's header");
_Static_assert(sizeof(struct cache_row) == 24, "a row of the cache");

struct search {
	const struct elf_file *file;
	char folder[PATH_MAX]; /* folder of the file */
	uint64_t strings;      /* vaddr of the dynamic section's strings */
	uint64_t names[MAX_LIBRARIES];
	size_t n_names;
	uint64_t search_path; /* offset in the strings of RUNPATH or RPATH; 0: none */
	bool is_runpath;      /* it is RUNPATH, which is searched after LD_LIBRARY_PATH; false:
			       * RPATH, which is searched before */
	const char *folders;  /* LD_LIBRARY_PATH; NULL: none */
	char *cache;
	size_t cache_bytes;
};

/* --- the file -------------------------------------------------------------------------------- */

/* Reads a string of the file. Returns false if there is none, or it is too long. */
static bool read_string(const struct elf_file *file, uint64_t offset, char ret_string[MAX_NAME])
{
	int64_t len = elf_file_read(file, offset, ret_string, MAX_NAME);

	return len > 0 && *ret_string && memchr(ret_string, '\0', (size_t)len);
}

static bool read_dynamic_string(const struct search *s, uint64_t at, char ret_string[MAX_NAME])
{
	uint64_t offset;

	return elf_file_vaddr_to_offset(s->file, s->strings + at, &offset) &&
	       read_string(s->file, offset, ret_string);
}

static void read_dynamic(struct search *s, uint64_t offset)
{
	Elf64_Dyn row;

	for (size_t i = 0; i < MAX_DYNAMIC; i++) {
		if (elf_file_read(s->file, offset + i * sizeof(row), &row, sizeof(row)) !=
			    sizeof(row) ||
		    row.d_tag == DT_NULL)
			break;
		if (row.d_tag == DT_STRTAB)
			s->strings = row.d_un.d_ptr;
		else if (row.d_tag == DT_NEEDED && s->n_names < MAX_LIBRARIES)
			s->names[s->n_names++] = row.d_un.d_val;
		else if (row.d_tag == DT_RUNPATH || (row.d_tag == DT_RPATH && !s->is_runpath))
			s->search_path = row.d_un.d_val;
		s->is_runpath |= row.d_tag == DT_RUNPATH;
	}
}

/* Reads, by the program headers, the dynamic section and the loader's path ("": none). */
static void read_headers(struct search *s, char ret_loader[MAX_NAME])
{
	Elf *elf = elf_file_libelf(s->file);
	size_t n;

	*ret_loader = '\0';
	if (elf_getphdrnum(elf, &n))
		return;
	for (size_t i = 0; i < n && i < MAX_HEADERS; i++) {
		GElf_Phdr phdr;

		if (!gelf_getphdr(elf, (int)i, &phdr))
			return;
		if (phdr.p_type == PT_DYNAMIC)
			read_dynamic(s, phdr.p_offset);
		else if (phdr.p_type == PT_INTERP &&
			 !read_string(s->file, phdr.p_offset, ret_loader))
			*ret_loader = '\0';
	}
}

/* --- the cache ------------------------------------------------------------------------------- */

/* Reads the cache; if that is not possible, it is empty. Returns 0 or -ENOMEM. */
static int read_cache(struct search *s, const char *path)
{
	int fd = named_file_open(path);
	struct stat is;
	ssize_t len = 0;
	int err = 0;

	if (fd < 0)
		return 0;
	if (fstat(fd, &is) == 0 && S_ISREG(is.st_mode) && is.st_size <= MAX_CACHE) {
		/* one more, so that the last string has an end */
		s->cache = calloc(1, (size_t)is.st_size + 1);
		if (s->cache)
			len = read(fd, s->cache, (size_t)is.st_size);
		else
			err = -ENOMEM;
		s->cache_bytes = len > 0 ? (size_t)len : 0;
	}
	close(fd);
	return err;
}

/* Returns the path that the cache has for a name; NULL: none. */
static const char *find_in_cache(const struct search *s, const char *name)
{
	const struct cache_header *header = (const struct cache_header *)s->cache;
	const struct cache_row *rows;

	if (s->cache_bytes < sizeof(*header) ||
	    memcmp(header->magic, CACHE_MAGIC, sizeof(header->magic)) != 0)
		return NULL;
	rows = (const struct cache_row *)(header + 1);
	for (size_t i = 0; i < header->n; i++) {
		if ((i + 1) * sizeof(*rows) > s->cache_bytes - sizeof(*header))
			return NULL;
		if (rows[i].flags == target_library_cache_flags && !rows[i].hardware &&
		    rows[i].name < s->cache_bytes && rows[i].path < s->cache_bytes &&
		    strcmp(s->cache + rows[i].name, name) == 0)
			return s->cache + rows[i].path;
	}
	return NULL;
}

/* --- searching ------------------------------------------------------------------------------- */

static bool is_there(const char *path)
{
	struct stat is;

	return stat(path, &is) == 0 && S_ISREG(is.st_mode);
}

static bool try_folder(const char *folder, size_t len, const char *name, char ret_path[PATH_MAX])
{
	size_t need = strlen(name) + 2;

	if (!len || len + need > PATH_MAX)
		return false;
	memcpy(ret_path, folder, len);
	ret_path[len] = '/';
	memcpy(ret_path + len + 1, name, need - 1);
	return is_there(ret_path);
}

/* Searches a folder of the file's search path, which may begin with $ORIGIN. Returns whether the
 * library is there. */
static bool try_own(const struct search *s, const char *folder, size_t len, const char *name,
		    char ret_path[PATH_MAX])
{
	static const char *const origins[] = {"$ORIGIN", "${ORIGIN}"};
	char whole[PATH_MAX];

	for (size_t i = 0; i < 2; i++) {
		size_t skip = strlen(origins[i]), own = strlen(s->folder);

		if (len < skip || memcmp(folder, origins[i], skip) != 0)
			continue;
		if (own + len - skip >= sizeof(whole))
			return false;
		memcpy(whole, s->folder, own);
		memcpy(whole + own, folder + skip, len - skip);
		return try_folder(whole, own + len - skip, name, ret_path);
	}
	return try_folder(folder, len, name, ret_path);
}

/* Searches a list of folders. An empty entry is the working directory. Returns whether the library
 * was found. */
static bool find_in_folders(const struct search *s, const char *folders, const char *name,
			    char ret_path[PATH_MAX])
{
	for (const char *at = folders; *at;) {
		size_t len = strcspn(at, ":;");

		if (try_own(s, len ? at : ".", len ? len : 1, name, ret_path))
			return true;
		at += len + (at[len] != '\0');
	}
	return false;
}

static bool find_in_own_path(const struct search *s, const char *name, char ret_path[PATH_MAX])
{
	char folders[MAX_NAME];

	return s->search_path && read_dynamic_string(s, s->search_path, folders) &&
	       find_in_folders(s, folders, name, ret_path);
}

static bool find_in_given(const struct search *s, const char *name, char ret_path[PATH_MAX])
{
	return s->folders && find_in_folders(s, s->folders, name, ret_path);
}

static bool find(const struct search *s, const char *name, char ret_path[PATH_MAX])
{
	const char *cached;

	if (strchr(name, '/')) {
		strcpy(ret_path, name); /* it is shorter than MAX_NAME, so it fits */
		return is_there(ret_path);
	}
	if (!s->is_runpath && find_in_own_path(s, name, ret_path))
		return true;
	if (find_in_given(s, name, ret_path))
		return true;
	if (s->is_runpath && find_in_own_path(s, name, ret_path))
		return true;
	cached = find_in_cache(s, name);
	if (cached && strlen(cached) < PATH_MAX && is_there(cached)) {
		strcpy(ret_path, cached);
		return true;
	}
	for (const char *const *folder = target_library_folders; *folder; folder++) {
		if (try_folder(*folder, strlen(*folder), name, ret_path))
			return true;
	}
	return false;
}

/* Sets s->folder to the folder of a path, with symbolic links resolved. */
static void set_folder(struct search *s, const char *path)
{
	char *slash;

	if (!realpath(path, s->folder))
		strcpy(s->folder, ".");
	slash = strrchr(s->folder, '/');
	if (slash)
		*slash = '\0';
}

static void free_search(struct search *s)
{
	free(s->cache);
	free(s);
}

/* Reads what a search needs, and the loader's path. Returns NULL if memory is short. */
static struct search *new_search(const struct elf_file *file, const char *path, const char *cache,
				 const char *folders, char ret_loader[MAX_NAME])
{
	struct search *s = calloc(1, sizeof(*s));

	if (!s)
		return NULL;
	s->file = file;
	s->folders = folders;
	set_folder(s, path);
	read_headers(s, ret_loader);
	if (read_cache(s, cache)) {
		free_search(s);
		return NULL;
	}
	return s;
}

int elf_libraries_find(const struct elf_file *file, const char *path, const char *cache,
		       const char *folders, const char *name, char ret_path[PATH_MAX])
{
	char loader[MAX_NAME];
	struct search *s = new_search(file, path, cache, folders, loader);
	bool is_found = s && strlen(name) < MAX_NAME && find(s, name, ret_path);

	if (!s)
		return -ENOMEM;
	free_search(s);
	return is_found ? 0 : -ENOENT;
}

int elf_libraries_each(const struct elf_file *file, const char *path, const char *cache,
		       const char *folders,
		       int (*each)(void *arg, const char *name, const char *found), void *arg)
{
	char name[MAX_NAME], found[PATH_MAX] = "";
	struct search *s = new_search(file, path, cache, folders, name);
	int err = 0;

	if (!s)
		return -ENOMEM;
	if (*name)
		err = each(arg, name, find(s, name, found) ? found : NULL);
	for (size_t i = 0; err == 0 && i < s->n_names; i++) {
		if (read_dynamic_string(s, s->names[i], name))
			err = each(arg, name, find(s, name, found) ? found : NULL);
	}
	free_search(s);
	return err;
}
