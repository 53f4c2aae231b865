/* SPDX-License-Identifier: MIT */
/* Exported symbols, compared with the dynamic linker's own answers. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "elf/elf_export.h"
#include "elf/elf_file.h"

static struct elf_file *open_library(const void *symbol, uintptr_t *ret_base)
{
	struct elf_file *file = NULL;
	Dl_info info;
	int fd;

	assert_int_not_equal(dladdr(symbol, &info), 0);
	*ret_base = (uintptr_t)info.dli_fbase;
	fd = open(info.dli_fname, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	return file;
}

static void exported_symbols(void **state)
{
	static const char *const names[] = {"qsort", "environ", "printf", "strtoull", "opendir"};
	uintptr_t base;
	void *libc = dlopen("libc.so.6", RTLD_LAZY); /* sanitizers have functions of these names */
	struct elf_file *file = open_library(dlsym(libc, "gnu_get_libc_version"), &base);
	uint64_t vaddr;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(*names); i++) {
		assert_int_equal(elf_export_find(file, names[i], &vaddr), 0);
		assert_int_equal(base + vaddr, (uintptr_t)dlvsym(libc, names[i], "GLIBC_2.2.5"));
	}
	dlclose(libc);
	elf_file_free(file);
}

static void other_symbols(void **state)
{
	uintptr_t base;
	struct elf_file *file = open_library((const void *)(uintptr_t)&qsort, &base);
	uint64_t vaddr = 1;

	(void)state;
	assert_int_equal(elf_export_find(file, "gHotSpotVMStructs", &vaddr), -ENOENT);
	assert_int_equal(elf_export_find(file, "qsor", &vaddr), -ENOENT);
	assert_int_equal(elf_export_find(file, "", &vaddr), -ENOENT);
	assert_int_equal(vaddr, 1);
	elf_file_free(file);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(exported_symbols),
		cmocka_unit_test(other_symbols),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
