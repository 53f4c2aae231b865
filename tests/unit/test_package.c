/* SPDX-License-Identifier: MIT */
/* The package that a file is from, by lists as dpkg has them: lib/code/sym/package.c. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <cmocka.h>

#include "elf/elf_file.h"
#include "sym/package.h"

#define LISTS 3

static char folder[] = "/tmp/test-package-XXXXXX", self[4096];
static const char *const names[LISTS] = {"other.list", "tests:amd64.list", "tests.md5sums"};
static struct elf_file *file;

static const char *below(const char *name)
{
	static char path[128];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	return path;
}

__attribute__((format(printf, 2, 0))) static void write_list(const char *name, const char *format)
{
	FILE *list = fopen(below(name), "w");

	assert_non_null(list);
	fputs("/.\n/usr\n", list);
	fprintf(list, format, self, self);
	fputs("\n/usr/share/doc\n", list);
	assert_int_equal(fclose(list), 0);
}

static int begin(void **state)
{
	const ssize_t len = readlink("/proc/self/exe", self, sizeof(self) - 1);
	const int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

	(void)state;
	if (len <= 0 || fd < 0 || !mkdtemp(folder) || elf_file_open(fd, &file))
		return -1;
	close(fd);
	return 0;
}

static int end(void **state)
{
	(void)state;
	for (size_t i = 0; i < LISTS; i++)
		unlink(below(names[i]));
	elf_file_free(file);
	return rmdir(folder);
}

/* A line must be the path, not begin or end with it; the list's name is the package's. */
static void test_package(void **state)
{
	size_t len = 0;
	const uint8_t *id = elf_file_build_id(file, &len);
	uint8_t other[ELF_BUILD_ID_MAX] = {0};
	char *name;

	(void)state;
	if (!len)
		skip(); /* linked without a build-id */
	assert_null(package_of(below("none"), self, id, len));
	write_list(names[0], "%s.1\n/x%s");
	write_list(names[2], "%s");
	assert_null(package_of(folder, self, id, len));
	write_list(names[1], "%s");
	name = package_of(folder, self, id, len);
	assert_string_equal(name, "tests");
	free(name);
	/* another file is there now, or none */
	assert_null(package_of(folder, self, other, len));
	assert_null(package_of(folder, self, id, 0));
	assert_null(package_of(folder, "/proc/self/mem", id, len));
	assert_null(package_of(folder, "/nowhere/at/all", id, len));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_package)};

	return cmocka_run_group_tests(tests, begin, end);
}
