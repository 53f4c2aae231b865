/* SPDX-License-Identifier: MIT */
/* Finds the library and reads its notes; see alloc_library.h. */
#include "daemon/regions/alloc_library.h"

#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.h"
#include "elf/elf_file.h"
#include "sym/function_symbols.h"

#define NOTE_BYTES 65536u

int alloc_library_find(const char *name, char **ret_path)
{
	static const char *const places[] = {"/", "/../lib/stackd/"};
	char own[PATH_MAX], path[PATH_MAX + 64];
	ssize_t n = readlink("/proc/self/exe", own, sizeof(own) - 1);

	if (n < 0)
		return -ENOENT;
	own[n] = '\0';
	*strrchr(own, '/') = '\0';
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		snprintf(path, sizeof(path), "%s%s%s", own, places[i], name);
		*ret_path = realpath(path, NULL);
		if (*ret_path)
			return 0;
	}
	return -ENOENT;
}

/* --- the note -------------------------------------------------------------------------------- */

/* The names of a probe. */
struct wanted {
	const char *provider, *name;
};

/* Reads a SystemTap note: three addresses (the probe, a base, the semaphore), the provider and the
 * name. A probe without a semaphore has 0 there. Returns whether the note is that of
 * the probe. */
static bool take_note(const struct elf_file *elf, const struct wanted *wanted,
		      const char *description, size_t size, uint64_t *ret_offset,
		      uint64_t *ret_semaphore)
{
	const char *name = wanted->name;
	const size_t before = 3 * sizeof(uint64_t) + strlen(wanted->provider) + 1;
	uint64_t addresses[3];

	if (size < before + strlen(name) + 1 ||
	    strncmp(description + sizeof(addresses), wanted->provider, size - sizeof(addresses)) !=
		    0 ||
	    memcmp(description + before, name, strlen(name) + 1) != 0)
		return false;
	memcpy(addresses, description, sizeof(addresses));
	return elf_file_vaddr_to_offset(elf, addresses[0], ret_offset) &&
	       (!addresses[2] || elf_file_vaddr_to_offset(elf, addresses[2], ret_semaphore));
}

static bool take_section(const struct elf_file *elf, Elf_Scn *section, const struct wanted *wanted,
			 uint64_t *ret_offset, uint64_t *ret_semaphore)
{
	Elf_Data *data = elf_getdata(section, NULL);
	size_t at = 0, owner, description;
	GElf_Nhdr note;

	while (data && data->d_size <= NOTE_BYTES &&
	       (at = gelf_getnote(data, at, &note, &owner, &description)) > 0) {
		if (take_note(elf, wanted, (const char *)data->d_buf + description, note.n_descsz,
			      ret_offset, ret_semaphore))
			return true;
	}
	return false;
}

int alloc_library_probe(const char *path, const char *provider, const char *name,
			uint64_t *ret_offset, uint64_t *ret_semaphore)
{
	const struct wanted wanted = {provider, name};
	int fd = named_file_open(path), err = fd < 0 ? fd : 0;
	struct elf_file *elf = NULL;
	Elf_Scn *section = NULL;
	GElf_Shdr header;

	if (!err)
		err = elf_file_open(fd, &elf);
	if (fd >= 0)
		close(fd);
	if (err)
		return err;
	err = -ENOEXEC;
	while (err && (section = elf_nextscn(elf_file_libelf(elf), section))) {
		if (gelf_getshdr(section, &header) && header.sh_type == SHT_NOTE &&
		    take_section(elf, section, &wanted, ret_offset, ret_semaphore))
			err = 0;
	}
	elf_file_free(elf);
	return err;
}

/* --- where it has no part -------------------------------------------------------------------- */

static int is_malloc(void *arg, const struct function_symbol *symbol)
{
	(void)arg;
	return strcmp(symbol->name, "malloc") == 0;
}

/* Returns whether the kernel would run the program with another user or group than stackd's
 * (setuid, setgid). */
static bool changes_rights(const struct elf_file *elf)
{
	struct stat file;

	return fstat(elf_file_descriptor(elf), &file) == 0 &&
	       (((file.st_mode & S_ISUID) && file.st_uid != getuid()) ||
		((file.st_mode & S_ISGID) && file.st_gid != getgid()));
}

const char *alloc_library_obstacle(const struct command_files *command)
{
	const struct elf_file *program;
	uint64_t vaddr;

	if (!command_files_count(command))
		return NULL; /* a script */
	program = command_files_elf(command, 0);
	if (!elf_file_header_vaddr(program, PT_INTERP, &vaddr))
		return "is a static program, into which nothing can be preloaded";
	if (changes_rights(program))
		return "is a setuid program, into which the loader preloads nothing";
	for (size_t i = 0; i < command_files_count(command); i++) {
		if (strstr(command_files_path(command, i), "/libasan.so"))
			return "is built with -fsanitize=address, whose library is an allocator "
			       "of its own and insists on being loaded first";
	}
	if (function_symbols_each(program, NULL, is_malloc, NULL))
		return "has a malloc() of its own in its file, so its calls do not leave it";
	return NULL;
}
