/* SPDX-License-Identifier: MIT */
/*
 * A generated /proc in a temporary folder, and copies of a real ELF file (the test's own) with
 * build-ids of the test's choice.
 */
#ifndef TEST_PROC_FIXTURE_H
#define TEST_PROC_FIXTURE_H

#include <assert.h>
#include <fcntl.h>
#include <ftw.h>
#include <limits.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "proc/object.h"

struct fixture {
	char root[64]; /* temporary folder; the proc root is "root/proc" */
	char proc[80];
};

__attribute__((format(printf, 1, 2))) static inline char *fixture_format(const char *format, ...)
{
	char *s = NULL;
	va_list ap;

	va_start(ap, format);
	assert_true(vasprintf(&s, format, ap) >= 0);
	va_end(ap);
	return s;
}

/* A path in the folder, with its parents made; free it. */
static inline char *fixture_path(struct fixture *f, const char *name)
{
	char *path = fixture_format("%s/%s", f->root, name);

	for (char *slash = path + strlen(f->root) + 1; (slash = strchr(slash, '/')); slash++) {
		*slash = '\0';
		mkdir(path, 0755);
		*slash = '/';
	}
	return path;
}

static inline struct fixture *fixture_new(void)
{
	struct fixture *f = calloc(1, sizeof(*f));

	assert_non_null(f);
	strcpy(f->root, "/tmp/stackd-test-XXXXXX");
	assert_non_null(mkdtemp(f->root));
	snprintf(f->proc, sizeof(f->proc), "%s/proc", f->root);
	assert_int_equal(mkdir(f->proc, 0755), 0);
	return f;
}

static inline int fixture_remove_one(const char *path, const struct stat *st, int type,
				     struct FTW *ftw)
{
	(void)st, (void)type, (void)ftw;
	return remove(path);
}

static inline void fixture_remove(const char *path)
{
	nftw(path, fixture_remove_one, 16, FTW_DEPTH | FTW_PHYS);
}

static inline void fixture_free(struct fixture *f)
{
	fixture_remove(f->root);
	free(f);
}

static inline void fixture_write(struct fixture *f, const char *name, const void *data, size_t len)
{
	char *path = fixture_path(f, name);
	FILE *file = fopen(path, "w");

	assert_non_null(file);
	assert_int_equal(fwrite(data, 1, len, file), len);
	assert_int_equal(fclose(file), 0);
	free(path);
}

static inline void fixture_write_pid(struct fixture *f, int pid, const char *name, const char *text)
{
	char *path = fixture_format("proc/%d/%s", pid, name);

	fixture_write(f, path, text, strlen(text));
	free(path);
}

/* A process with its main thread. */
static inline void fixture_process(struct fixture *f, int pid, int parent, unsigned start,
				   const char *comm, const char *maps)
{
	char *stat = fixture_format("%d (%s) S %d 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 0 %u 0 0\n", pid,
				    comm, parent, start);
	char *status = fixture_format("Name:\t%s\nUid:\t%u\t%u\t0\t0\nNStgid:\t%d\n", comm,
				      getuid(), geteuid(), pid);
	char *task = fixture_format("task/%d/comm", pid);
	char *line = fixture_format("%s\n", comm);

	fixture_write_pid(f, pid, "stat", stat);
	fixture_write_pid(f, pid, "status", status);
	fixture_write_pid(f, pid, task, line);
	fixture_write_pid(f, pid, "maps", maps);
	free(stat);
	free(status);
	free(task);
	free(line);
}

static inline void fixture_process_gone(struct fixture *f, int pid)
{
	char *path = fixture_format("%s/%d", f->proc, pid);

	fixture_remove(path);
	free(path);
}

/* The link START-END -> target in map_files. */
static inline void fixture_map_file(struct fixture *f, int pid, uint64_t start, uint64_t end,
				    const char *target)
{
	char *name = fixture_format("proc/%d/map_files/%lx-%lx", pid, start, end);
	char *path = fixture_path(f, name);

	assert_int_equal(symlink(target, path), 0);
	free(path);
	free(name);
}

/* The content of the test's own executable, once. */
static inline const uint8_t *fixture_elf(size_t *ret_size)
{
	static uint8_t *image;
	static size_t size;

	if (!image) {
		FILE *file = fopen("/proc/self/exe", "r");
		struct stat st;
		assert_non_null(file);
		assert_int_equal(fstat(fileno(file), &st), 0);
		size = (size_t)st.st_size;
		image = malloc(size);
		assert_non_null(image);
		assert_int_equal(fread(image, 1, size, file), size);
		fclose(file);
	}
	*ret_size = size;
	return image;
}

/* Makes the ELF file `name` whose build-id has `mark` as first byte; 0 leaves the build-id.
 * Returns its path; free it. */
static inline char *fixture_elf_file(struct fixture *f, const char *name, uint8_t mark)
{
	struct elf_file *elf;
	size_t size, len;
	const uint8_t *image = fixture_elf(&size);

	assert_int_equal(elf_file_open_memory(image, size, &elf), 0);
	const uint8_t *build_id = elf_file_build_id(elf, &len);
	assert_non_null(build_id);
	uint8_t *copy = malloc(size);
	assert_non_null(copy);
	memcpy(copy, image, size);
	uint8_t *at = memmem(copy, size, build_id, len);
	assert_non_null(at);
	if (mark)
		*at = mark;
	fixture_write(f, name, copy, size);
	free(copy);
	elf_file_free(elf);
	return fixture_path(f, name);
}

/* The offset of the first page of code in the test's own executable. */
static inline uint64_t fixture_code_offset(void)
{
	size_t size;
	const uint8_t *image = fixture_elf(&size);
	const Elf64_Ehdr *header = (const Elf64_Ehdr *)image;
	const Elf64_Phdr *p = (const Elf64_Phdr *)(image + header->e_phoff);

	while (p->p_type != PT_LOAD || !(p->p_flags & PF_X))
		p++;
	return p->p_offset & ~(uint64_t)0xfff;
}

/* The same file with its headers saying that the code stands behind all the rest, where
 * fixture_moved_offset() is. */
static inline uint64_t fixture_moved_offset(void)
{
	size_t size;

	fixture_elf(&size);
	return (size + 0xfff) & ~(uint64_t)0xfff;
}

static inline char *fixture_moved_file(struct fixture *f, const char *name, uint8_t mark)
{
	char *path = fixture_elf_file(f, name, mark);
	int fd = open(path, O_RDWR);
	Elf64_Ehdr header;
	Elf64_Phdr p;
	off_t at;

	assert_true(fd >= 0);
	assert_int_equal(pread(fd, &header, sizeof(header), 0), sizeof(header));
	at = (off_t)header.e_phoff;
	do {
		assert_int_equal(pread(fd, &p, sizeof(p), at), sizeof(p));
		at += (off_t)sizeof(p);
	} while (p.p_type != PT_LOAD || !(p.p_flags & PF_X));
	p.p_offset = fixture_moved_offset();
	assert_int_equal(pwrite(fd, &p, sizeof(p), at - (off_t)sizeof(p)), sizeof(p));
	close(fd);
	return path;
}

/* The mapping of a file as in /proc/PID/maps: by device and inode. */
static inline struct object_mapping fixture_mapping(const char *path, uint64_t start)
{
	struct stat st;

	assert_int_equal(stat(path, &st), 0);
	return (struct object_mapping){
		.start = start,
		.end = start + 0x1000,
		.offset = fixture_code_offset(),
		.dev_major = major(st.st_dev),
		.dev_minor = minor(st.st_dev),
		.inode = st.st_ino,
		.path = path,
	};
}

#endif
