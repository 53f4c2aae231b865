/* SPDX-License-Identifier: MIT */
/*
 * Libraries that a file names: those of this program, as the loader has mapped them; a generated
 * file with a search path, a generated cache, and forged tables.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf/elf_libraries.h"
#include "elf/library_names.h"

#define MAX 64

static struct found {
	char name[MAX][64], path[MAX][256];
	size_t n;
	int answer;
	const char *folders;
} f;

static char folder[32];

static int keep(void *arg, const char *name, const char *found)
{
	(void)arg;
	assert_true(f.n < MAX);
	snprintf(f.name[f.n], sizeof(f.name[0]), "%s", name);
	snprintf(f.path[f.n++], sizeof(f.path[0]), "%s", found ? found : "none");
	return f.answer;
}

static int set_up(void **state)
{
	(void)state;
	memset(&f, 0, sizeof(f));
	strcpy(folder, "/tmp/test_elf_lib.XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[64];

	(void)state;
	snprintf(command, sizeof(command), "rm -r %s", folder);
	return system(command);
}

/* Valid until the call after the next. */
static const char *in_folder(const char *name)
{
	static char paths[2][256];
	static unsigned turn;
	char *path = paths[turn++ % 2];

	snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static void write_file(const char *name, const void *bytes, size_t len)
{
	FILE *file = fopen(in_folder(name), "w");

	assert_non_null(file);
	assert_int_equal(fwrite(bytes, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
}

static int look(const char *path, const char *cache)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file *file;

	assert_true(fd >= 0);
	err = elf_file_open(fd, &file);
	close(fd);
	if (err < 0)
		return err;
	err = elf_libraries_each(file, path, cache, f.folders, keep, NULL);
	elf_file_free(file);
	return err;
}

/* --- this program ---------------------------------------------------------------------------- */

static int is_found(struct dl_phdr_info *info, size_t size, void *arg)
{
	struct stat a, b;
	unsigned *libcs = arg;

	(void)size;
	if (!strstr(info->dlpi_name, "libc.so") && !strstr(info->dlpi_name, "libcmocka"))
		return 0;
	assert_int_equal(stat(info->dlpi_name, &a), 0);
	for (size_t i = 0; i < f.n; i++) {
		if (stat(f.path[i], &b) == 0 && a.st_ino == b.st_ino && a.st_dev == b.st_dev)
			++*libcs;
	}
	return 0;
}

static void libraries_of_this_program(void **state)
{
	unsigned right = 0;

	(void)state;
	assert_int_equal(look("/proc/self/exe", ELF_LIBRARIES_CACHE), 0);
	assert_true(f.n >= 3);
	assert_non_null(strstr(f.name[0], "ld-linux"));
	assert_string_equal(f.name[0], f.path[0]);
	dl_iterate_phdr(is_found, &right);
	assert_int_equal(right, 2);
	f = (struct found){.answer = 7};
	assert_int_equal(look("/proc/self/exe", ELF_LIBRARIES_CACHE), 7);
	assert_int_equal(f.n, 1);
}

/* Without a cache, the default folders are searched. */
static void default_folders_without_cache(void **state)
{
	unsigned right = 0;

	(void)state;
	assert_int_equal(look("/proc/self/exe", in_folder("none")), 0);
	dl_iterate_phdr(is_found, &right);
	assert_int_equal(right, 2);
}

/* The folders of LD_LIBRARY_PATH, some of which do not exist. */
static void folders_of_the_environment(void **state)
{
	char folders[64], found[PATH_MAX];
	struct elf_file *file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	write_file("libgiven.so", "x", 1);
	snprintf(folders, sizeof(folders), "/nowhere:%s", folder);
	assert_int_equal(elf_libraries_find(file, "/proc/self/exe", ELF_LIBRARIES_CACHE, folders,
					    "libgiven.so", found),
			 0);
	assert_string_equal(found, in_folder("libgiven.so"));
	assert_int_equal(elf_libraries_find(file, "/proc/self/exe", ELF_LIBRARIES_CACHE, NULL,
					    "libgiven.so", found),
			 -ENOENT);
	assert_int_equal(elf_libraries_find(file, "/proc/self/exe", ELF_LIBRARIES_CACHE, folders,
					    "libc.so.6", found),
			 0);
	elf_file_free(file);
}

static int take_literal(void *arg, const char *name)
{
	unsigned *seen = arg;

	*seen |= !strcmp(name, "libliteral.so.7") ? 1 : 0;
	*seen |= strchr(name, '/') || !strcmp(name, "with space.so") ? 2 : 0;
	return 0;
}

static const char *volatile literals[] = {"libliteral.so.7", "folder/libnot.so", "with space.so"};

/* This program's own strings. */
static void names_among_strings(void **state)
{
	unsigned seen = 0;
	struct elf_file *file;
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	assert_non_null(literals[0]);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	assert_int_equal(library_names_each(file, take_literal, &seen), 0);
	assert_int_equal(seen, 1);
	elf_file_free(file);
}

/* --- made files ------------------------------------------------------------------------------ */

/* One program header, at vaddr 0x1000 + its offset, with a dynamic section and its strings. */
static struct made {
	Elf64_Ehdr ehdr;
	Elf64_Phdr phdr[2];
	Elf64_Dyn dynamic[6];
	char strings[128];
} made;

enum { AT_ONE = 1, AT_TWO = 12, AT_PATH = 24 };

static void make(int64_t search_tag)
{
	const uint64_t base = 0x1000;

	made = (struct made){
		.ehdr = {.e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = offsetof(struct made, phdr),
			 .e_phnum = 2,
			 .e_ehsize = sizeof(Elf64_Ehdr),
			 .e_phentsize = sizeof(Elf64_Phdr)},
		.phdr = {{.p_type = PT_LOAD,
			  .p_flags = PF_R,
			  .p_vaddr = base,
			  .p_filesz = sizeof(made),
			  .p_memsz = sizeof(made)},
			 {.p_type = PT_DYNAMIC,
			  .p_offset = offsetof(struct made, dynamic),
			  .p_filesz = sizeof(made.dynamic)}},
		.dynamic = {{DT_NEEDED, {AT_ONE}},
			    {DT_NEEDED, {AT_TWO}},
			    {DT_STRTAB, {base + offsetof(struct made, strings)}},
			    {search_tag, {AT_PATH}},
			    {DT_NULL, {0}}},
	};
	memcpy(made.ehdr.e_ident, ELFMAG, SELFMAG);
	made.ehdr.e_ident[EI_CLASS] = ELFCLASS64;
	made.ehdr.e_ident[EI_DATA] = ELFDATA2LSB;
	made.ehdr.e_ident[EI_VERSION] = EV_CURRENT;
	strcpy(made.strings + AT_ONE, "libxone.so");
	strcpy(made.strings + AT_TWO, "libxtwo.so");
	strcpy(made.strings + AT_PATH, "/nowhere::$ORIGIN:${ORIGIN}/sub");
}

static void search_path_of_file(void **state)
{
	static const int64_t tags[] = {DT_RUNPATH, DT_RPATH};
	char one[256], two[256];

	(void)state;
	assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
	write_file("libxone.so", "", 0);
	write_file("sub/libxtwo.so", "", 0);
	assert_non_null(realpath(in_folder("libxone.so"), one));
	assert_non_null(realpath(in_folder("sub/libxtwo.so"), two));
	for (size_t i = 0; i < 2; i++) {
		make(tags[i]);
		write_file("made", &made, sizeof(made));
		f.n = 0;
		assert_int_equal(look(in_folder("made"), in_folder("none")), 0);
		assert_int_equal(f.n, 2);
		assert_string_equal(f.name[0], "libxone.so");
		assert_string_equal(f.path[0], one);
		assert_string_equal(f.path[1], two);
	}
}

struct row {
	uint32_t flags, name, path, os;
	uint64_t hardware;
};

static struct {
	char magic[20];
	uint32_t n, words[6];
	struct row rows[3];
	char strings[256];
} cache;

static void make_cache(void)
{
	const uint32_t strings = (uint32_t)offsetof(__typeof__(cache), strings);

	memset(&cache, 0, sizeof(cache));
	memcpy(cache.magic, "glibc-ld.so.cache1.1", 20);
	cache.n = 3;
	cache.rows[0] = (struct row){0x0003, strings, strings + 100, 0, 0}; /* of 32 bits */
	cache.rows[1] = (struct row){0x0303, strings, strings + 100, 0, 1}; /* special */
	cache.rows[2] = (struct row){0x0303, strings, strings + 20, 0, 0};
	strcpy(cache.strings, "libxone.so");
	snprintf(cache.strings + 20, 80, "%s/sub/one", folder);
	strcpy(cache.strings + 100, "/etc/passwd");
}

static void cache_of_libraries(void **state)
{
	char at[256];

	(void)state;
	make(DT_DEBUG);
	write_file("made", &made, sizeof(made));
	assert_int_equal(mkdir(in_folder("sub"), 0700), 0);
	write_file("sub/one", "", 0);
	make_cache();
	write_file("cache", &cache, sizeof(cache));
	snprintf(at, sizeof(at), "%s/cache", folder);
	assert_int_equal(look(in_folder("made"), at), 0);
	assert_int_equal(f.n, 2);
	assert_string_equal(f.path[0], in_folder("sub/one"));
	assert_string_equal(f.path[1], "none");
	/* Cut anywhere, or with numbers that lie: nothing is found, and nothing is read beyond. */
	for (size_t len = 0; len < sizeof(cache); len += 4) {
		write_file("cache", &cache, len);
		f.n = 0;
		assert_int_equal(look(in_folder("made"), at), 0);
		assert_int_equal(f.n, 2);
	}
	cache.n = UINT32_MAX;
	cache.rows[2].name = UINT32_MAX;
	write_file("cache", &cache, sizeof(cache));
	f.n = 0;
	assert_int_equal(look(in_folder("made"), at), 0);
	assert_string_equal(f.path[0], "none");
}

static void forged_tables_are_harmless(void **state)
{
	int err;

	(void)state;
	make(DT_RUNPATH);
	for (size_t i = 0; i < sizeof(made) - sizeof(made.ehdr); i += 4) {
		struct made other = made;

		memset((char *)&other + sizeof(made.ehdr) + i, 0xff, 4);
		write_file("made", &other, sizeof(other));
		f.n = 0;
		err = look(in_folder("made"), in_folder("none"));
		assert_true(err == 0 || err == -ENOEXEC); /* headers that lie */
		assert_true(f.n <= 3);
	}
	memset(made.strings, 'x', sizeof(made.strings)); /* no end */
	write_file("made", &made, sizeof(made));
	f.n = 0;
	assert_int_equal(look(in_folder("made"), in_folder("none")), 0);
	assert_int_equal(f.n, 0);
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(libraries_of_this_program),  T(default_folders_without_cache),
		T(search_path_of_file),	       T(cache_of_libraries),
		T(forged_tables_are_harmless), T(folders_of_the_environment),
		T(names_among_strings),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
