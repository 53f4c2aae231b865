/* SPDX-License-Identifier: MIT */
/* Copies of files that another process makes: whole ones, and the parts of large ones that are
 * needed; sealed; and what happens to files on a FUSE mount that nobody serves, where each call
 * waits for ever. */
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <cmocka.h>

#include "base/mount_kind.h"
#include "daemon/worker/refusals.h"
#include "daemon/worker/slow_files.h"
#include "served_mount.h"

#define MOST_S	  600 /* a call that waits is ended with the test */
#define SECOND_NS UINT64_C(1000000000)
#define USER	  1000

static char folder[] = "/tmp/test-slow-files-XXXXXX", mounted[64];
static int device = -1;
static struct copier *copier;

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

static int begin(void **state)
{
	(void)state;
	alarm(MOST_S);
	if (!mkdtemp(folder))
		return -1;
	snprintf(mounted, sizeof(mounted), "%s/served", folder);
	device = served_mount(mounted, true);
	return copier_new(&copier);
}

static int end(void **state)
{
	char command[96];

	(void)state;
	copier_free(copier);
	if (device >= 0) {
		close(device); /* ends what waits */
		umount2(mounted, MNT_DETACH);
	}
	snprintf(command, sizeof(command), "rm -rf %s", folder);
	return system(command);
}

static int write_file(const char *path, const void *bytes, size_t size)
{
	int fd = open(path, O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, bytes, size), size);
	close(fd);
	return open(path, O_PATH | O_CLOEXEC);
}

static int fetch(struct slow_files *files, int path_fd, uint64_t now_ns)
{
	struct stat st;

	assert_int_equal(mount_stat(path_fd, &st), 0);
	return slow_files_fetch(files, path_fd, &st, USER, false, now_ns);
}

/* Fetches a file, as long as its copy takes, at one moment. */
static int await(struct slow_files *files, int path_fd, uint64_t now_ns)
{
	int fd;

	while ((fd = fetch(files, path_fd, now_ns)) == -EINPROGRESS) {
		nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
		slow_files_look(files, now_ns);
	}
	return fd;
}

static void test_whole_file(void **state)
{
	char text[100000], copied[100001];
	struct slow_files *files;
	int path, fd;
	(void)state;

	for (size_t i = 0; i < sizeof(text); i++)
		text[i] = (char)(i * 7);
	assert_int_equal(slow_files_new(copier, &files), 0);
	path = write_file(below("file"), text, sizeof(text));
	assert_int_equal(fetch(files, path, SECOND_NS), -EINPROGRESS);
	fd = await(files, path, SECOND_NS);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, copied, sizeof(copied), 0), sizeof(text));
	assert_memory_equal(copied, text, sizeof(text));
	assert_int_equal(pwrite(fd, "x", 1, 0), -1); /* sealed */
	assert_int_equal(ftruncate(fd, 5), -1);
	assert_int_equal(slow_files_counts(files).copied, 1);
	close(fd);
	close(path);
	slow_files_free(files);
}

/* What children have spent is counted, although nobody waits for them: copying a MiB takes more
 * than that of the child before. */
static void test_cpu_time(void **state)
{
	static char bytes[1 << 20];
	uint64_t before_ns = copier_cpu_ns(copier);
	struct slow_files *files;
	(void)state;

	assert_int_equal(slow_files_new(copier, &files), 0);
	for (char i = 1; i < 4; i++) {
		int path;

		bytes[0] = i;
		path = write_file(below("file"), bytes, sizeof(bytes));
		close(await(files, path, SECOND_NS));
		close(path);
		assert_true(copier_cpu_ns(copier) > before_ns);
		before_ns = copier_cpu_ns(copier);
	}
	assert_int_equal(copier_cpu_ns(NULL), 0);
	slow_files_free(files);
}

/* A file with other content is copied anew; the same one is not, while its copy is kept. */
static void test_copy_is_of_one_state(void **state)
{
	struct slow_files *files;
	int path, fd;
	char byte;
	(void)state;

	assert_int_equal(slow_files_new(copier, &files), 0);
	path = write_file(below("file"), "one", 3);
	close(await(files, path, SECOND_NS));
	close(await(files, path, SECOND_NS));
	assert_int_equal(slow_files_counts(files).copied, 1);
	close(path);
	path = write_file(below("file"), "other", 5);
	fd = await(files, path, SECOND_NS);
	assert_int_equal(pread(fd, &byte, 1, 0), 1);
	assert_int_equal(byte, 'o');
	assert_int_equal(slow_files_counts(files).copied, 2);
	close(fd);
	close(path);
	slow_files_free(files);
}

static void test_no_file(void **state)
{
	struct slow_files *files, *without;
	int path = open(folder, O_PATH | O_CLOEXEC);
	(void)state;

	assert_int_equal(slow_files_new(copier, &files), 0);
	assert_int_equal(slow_files_new(NULL, &without), 0);
	assert_int_equal(await(files, path, SECOND_NS), -EREMOTE);
	close(path);
	path = write_file(below("file"), "x", 1);
	assert_int_equal(await(without, path, SECOND_NS), -EREMOTE);
	close(path);
	slow_files_free(files);
	slow_files_free(without);
}

/* Of a large file: headers, loaded parts and symbols, but no other section. */
static void test_parts_of_large_file(void **state)
{
	enum { TEXT = 1 << 20, SYMBOLS = 2 << 20, LINES = 3 << 20, SECTIONS = 4 << 20 };
	const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
				   .e_phoff = sizeof(header),
				   .e_phnum = 1,
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_shoff = SECTIONS,
				   .e_shnum = 2,
				   .e_shentsize = sizeof(Elf64_Shdr)};
	const Elf64_Phdr segment = {.p_type = PT_LOAD, .p_offset = TEXT, .p_filesz = 4};
	const Elf64_Shdr sections[2] = {
		{.sh_type = SHT_SYMTAB, .sh_offset = SYMBOLS, .sh_size = 4},
		{.sh_type = SHT_PROGBITS, .sh_offset = LINES, .sh_size = 4}};
	struct slow_files *files;
	char bytes[4];
	int fd = open(below("large"), O_CREAT | O_RDWR | O_CLOEXEC, 0644), path;
	(void)state;

	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(header)), sizeof(segment));
	assert_int_equal(pwrite(fd, "text", 4, TEXT), 4);
	assert_int_equal(pwrite(fd, "syms", 4, SYMBOLS), 4);
	assert_int_equal(pwrite(fd, "line", 4, LINES), 4);
	assert_int_equal(pwrite(fd, sections, sizeof(sections), SECTIONS), sizeof(sections));
	assert_int_equal(ftruncate(fd, COPIER_WHOLE_BYTES + 1), 0);
	close(fd);
	assert_int_equal(slow_files_new(copier, &files), 0);
	path = open(below("large"), O_PATH | O_CLOEXEC);
	fd = await(files, path, SECOND_NS);
	assert_true(fd >= 0);
	assert_int_equal(lseek(fd, 0, SEEK_END), COPIER_WHOLE_BYTES + 1);
	assert_int_equal(pread(fd, bytes, 4, TEXT), 4);
	assert_memory_equal(bytes, "text", 4);
	assert_int_equal(pread(fd, bytes, 4, SYMBOLS), 4);
	assert_memory_equal(bytes, "syms", 4);
	assert_int_equal(pread(fd, bytes, 4, LINES), 4);
	assert_memory_equal(bytes, "\0\0\0\0", 4);
	close(fd);
	close(path);
	slow_files_free(files);
}

static bool none_is_open(void *arg, uint64_t inode)
{
	(void)arg;
	(void)inode;
	return false;
}

static bool all_are_open(void *arg, uint64_t inode)
{
	(void)arg;
	(void)inode;
	return true;
}

/* Copies count until nobody reads them: a user's take half of the memory at most. */
static void test_memory_is_bounded(void **state)
{
	static char bytes[1 << 20];
	struct slow_files *files;
	unsigned n = 0;
	int err = 0, path;
	(void)state;

	memset(bytes, 1, sizeof(bytes));
	assert_int_equal(slow_files_new(copier, &files), 0);
	for (; !err && n < 300; n += !err) {
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "%u", n);
		fd = open(below(name), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
		for (int i = 0; i < 16; i++)
			assert_int_equal(write(fd, bytes, sizeof(bytes)), sizeof(bytes));
		close(fd);
		path = open(below(name), O_PATH | O_CLOEXEC);
		fd = await(files, path, SECOND_NS);
		err = fd < 0 ? fd : 0;
		if (fd >= 0)
			close(fd);
		close(path);
		unlink(below(name));
		slow_files_recount(files, all_are_open, NULL);
	}
	assert_int_equal(err, -EFBIG);
	assert_int_equal(n, 8);
	slow_files_look(files, 2 * SECOND_NS + SLOW_FILES_KEPT_NS); /* it keeps none itself now */
	slow_files_recount(files, none_is_open, NULL);
	assert_false(slow_files_has_copies(files));
	path = write_file(below("file"), "x", 1);
	err = await(files, path, 2 * SECOND_NS + SLOW_FILES_KEPT_NS);
	assert_true(err >= 0);
	close(err);
	close(path);
	slow_files_free(files);
}

static int large_file(const char *name, uint64_t size)
{
	const Elf64_Ehdr header = {.e_ident = {0x7f, 'E', 'L', 'F', ELFCLASS64},
				   .e_phoff = sizeof(header),
				   .e_phnum = 1,
				   .e_phentsize = sizeof(Elf64_Phdr),
				   .e_shoff = 1 << 20,
				   .e_shnum = 3,
				   .e_shentsize = sizeof(Elf64_Shdr),
				   .e_shstrndx = 1};
	const Elf64_Phdr segment = {.p_type = PT_LOAD, .p_offset = 0, .p_filesz = size};
	const Elf64_Shdr sections[3] = {
		{.sh_type = SHT_SYMTAB, .sh_offset = 0, .sh_size = COPIER_MOST_BYTES + 1},
		{.sh_type = SHT_STRTAB, .sh_offset = 2 << 20, .sh_size = 32},
		{.sh_type = SHT_PROGBITS, .sh_name = 1, .sh_offset = 3 << 20, .sh_size = 4}};
	int fd = open(below(name), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);

	assert_int_equal(pwrite(fd, &header, sizeof(header), 0), sizeof(header));
	assert_int_equal(pwrite(fd, &segment, sizeof(segment), sizeof(header)), sizeof(segment));
	assert_int_equal(pwrite(fd, sections, sizeof(sections), 1 << 20), sizeof(sections));
	assert_int_equal(pwrite(fd, ".gnu_debuglink", 15, (2 << 20) + 1), 15);
	assert_int_equal(pwrite(fd, "link", 4, 3 << 20), 4);
	assert_int_equal(ftruncate(fd, COPIER_MOST_BYTES + 100), 0);
	close(fd);
	return open(below(name), O_PATH | O_CLOEXEC);
}

/* Symbols that are too much are left out, and what leads to debug files is not. Loaded parts that
 * are too much make the file too large; so does its size, if the caller opens it then. */
static void test_much_in_a_file(void **state)
{
	struct slow_files *files;
	struct stat st;
	char bytes[4];
	int path, fd;
	(void)state;

	assert_int_equal(slow_files_new(copier, &files), 0);
	path = large_file("symbols", 4096);
	fd = await(files, path, SECOND_NS);
	assert_true(fd >= 0);
	assert_int_equal(pread(fd, bytes, 4, 3 << 20), 4);
	assert_memory_equal(bytes, "link", 4);
	close(fd);
	close(path);
	path = large_file("loaded", COPIER_MOST_BYTES + 100);
	assert_int_equal(await(files, path, SECOND_NS), -EFBIG);
	assert_int_equal(slow_files_counts(files).failed, 1);
	close(path);
	path = large_file("opened", 4096);
	assert_int_equal(mount_stat(path, &st), 0);
	assert_int_equal(slow_files_fetch(files, path, &st, USER, true, SECOND_NS), -EINPROGRESS);
	assert_int_equal(await(files, path, SECOND_NS), -EFBIG);
	assert_int_equal(slow_files_counts(files).failed, 1);
	close(path);
	slow_files_free(files);
}

/* Many files at once: what is being copied counts, too, and those without room wait. */
static void test_burst(void **state)
{
	enum { N = 60, BYTES = 1 << 20 };
	static char bytes[BYTES];
	struct slow_files *files;
	int paths[N];
	(void)state;

	memset(bytes, 1, sizeof(bytes));
	assert_int_equal(slow_files_new(copier, &files), 0);
	for (int i = 0; i < N; i++) {
		char name[16];

		snprintf(name, sizeof(name), "burst%d", i);
		paths[i] = write_file(below(name), bytes, sizeof(bytes));
		assert_int_equal(fetch(files, paths[i], SECOND_NS), -EINPROGRESS);
	}
	assert_true(slow_files_is_busy(files));
	for (int i = 0; i < N; i++) {
		int fd = await(files, paths[i], SECOND_NS);

		assert_true(fd >= 0);
		close(fd);
		close(paths[i]);
	}
	assert_false(slow_files_is_busy(files));
	assert_int_equal(slow_files_counts(files).copied, N);
	slow_files_free(files);
}

/* A burst that is asked for before any copy is complete takes no more memory than others. */
static void test_burst_is_bounded(void **state)
{
	enum { N = 16, BYTES = 30 << 20 };
	struct slow_files *files;
	int paths[N], copied = 0;
	(void)state;

	assert_int_equal(slow_files_new(copier, &files), 0);
	for (int i = 0; i < N; i++) {
		char name[16];
		int fd;

		snprintf(name, sizeof(name), "much%d", i);
		fd = open(below(name), O_CREAT | O_TRUNC | O_RDWR | O_CLOEXEC, 0644);
		assert_int_equal(ftruncate(fd, BYTES), 0);
		close(fd);
		paths[i] = open(below(name), O_PATH | O_CLOEXEC);
		assert_int_equal(fetch(files, paths[i], SECOND_NS), -EINPROGRESS);
	}
	for (int i = 0; i < N; i++) {
		int fd = await(files, paths[i], SECOND_NS);

		assert_true(fd >= 0 || fd == -EFBIG);
		copied += fd >= 0;
		if (fd >= 0)
			close(fd);
		close(paths[i]);
	}
	assert_int_equal(copied, SLOW_FILES_MOST_BYTES / 2 / BYTES);
	slow_files_free(files);
}

/* Without the process that copies, files whose mounts a worker can be ended on are opened. */
static void test_copier_has_ended(void **state)
{
	struct slow_files *files;
	struct copier *own;
	struct stat st;
	int path = write_file(below("file"), "x", 1);
	(void)state;

	assert_int_equal(copier_new(&own), 0);
	assert_int_equal(kill(copier_pid(own), SIGKILL), 0);
	assert_int_equal(waitpid(copier_pid(own), NULL, 0), copier_pid(own));
	assert_int_equal(slow_files_new(own, &files), 0);
	assert_int_equal(fetch(files, path, SECOND_NS), -EREMOTE);
	assert_int_equal(mount_stat(path, &st), 0);
	assert_int_equal(slow_files_fetch(files, path, &st, USER, true, SECOND_NS), -EFBIG);
	close(path);
	slow_files_free(files);
	copier_free(own);
}

/* Nobody waits for a child that hangs; its file system is refused, and others are not. */
static void test_hung(void **state)
{
	struct slow_files *files;
	uint64_t now_ns = SECOND_NS;
	struct stat st;
	int path, local, fd;
	(void)state;

	if (device < 0)
		skip();
	assert_int_equal(slow_files_new(copier, &files), 0);
	path = open(mounted, O_PATH | O_CLOEXEC);
	assert_true(path >= 0);
	assert_int_equal(mount_kind_of(NULL, path, "/proc", 0), MOUNT_SERVED);
	assert_int_equal(fetch(files, path, now_ns), -EINPROGRESS);
	assert_int_equal(mount_stat(path, &st), 0);
	st.st_ino++; /* another file there */
	assert_int_equal(slow_files_fetch(files, path, &st, USER, false, now_ns), -EINPROGRESS);
	local = write_file(below("file"), "x", 1);
	fd = await(files, local, now_ns);
	assert_true(fd >= 0);
	close(fd);
	assert_false(slow_files_look(files, now_ns));
	now_ns += SLOW_FILES_SILENT_NS + 1;
	assert_true(slow_files_look(files, now_ns));
	assert_int_equal(slow_files_counts(files).hung, 2);
	assert_int_equal(fetch(files, path, now_ns), -EREMOTE);
	st.st_ino++;
	assert_int_equal(slow_files_fetch(files, path, &st, USER, false, now_ns), -EREMOTE);
	now_ns += REFUSALS_STUCK_NS; /* two that hang do not make it longer */
	assert_int_equal(slow_files_fetch(files, path, &st, USER, false, now_ns), -EINPROGRESS);
	fd = await(files, local, now_ns);
	assert_true(fd >= 0);
	close(fd);
	close(local);
	close(path);
	slow_files_free(files);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_whole_file),
		cmocka_unit_test(test_cpu_time),
		cmocka_unit_test(test_copy_is_of_one_state),
		cmocka_unit_test(test_no_file),
		cmocka_unit_test(test_parts_of_large_file),
		cmocka_unit_test(test_memory_is_bounded),
		cmocka_unit_test(test_much_in_a_file),
		cmocka_unit_test(test_burst),
		cmocka_unit_test(test_burst_is_bounded),
		cmocka_unit_test(test_copier_has_ended),
		cmocka_unit_test(test_hung),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
