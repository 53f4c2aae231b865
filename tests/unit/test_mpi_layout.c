/* SPDX-License-Identifier: MIT */
/* Where libraries of MPI keep sizes and ranks, by their code: tests/unit/mpi_layout.S. */
#include <dlfcn.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <unistd.h>

#include <cmocka.h>

#include "daemon/regions/mpi_layout.h"

/* Writes the path of one of the libraries that are built beside this program. */
static void path_of(const char *name, char ret_path[static PATH_MAX + 32])
{
	char program[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", program, sizeof(program) - 1);

	assert_true(n > 0);
	program[n] = '\0';
	snprintf(ret_path, PATH_MAX + 32, "%s/%s", dirname(program), name);
}

static struct stackd_mpi_library layout_of(const char *name)
{
	struct stackd_mpi_library library;
	char path[PATH_MAX + 32];
	struct elf_file *file;
	int fd;

	path_of(name, path);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(elf_file_open(fd, &file), 0);
	close(fd);
	library = mpi_layout_find(file);
	elf_file_free(file);
	return library;
}

/* Returns the address of a symbol in its file. */
static uint64_t vaddr_of(const char *name, const char *symbol)
{
	char path[PATH_MAX + 32];
	void *handle, *at;
	uint64_t vaddr;
	Dl_info info;

	path_of(name, path);
	handle = dlopen(path, RTLD_NOW);
	assert_non_null(handle);
	at = dlsym(handle, symbol);
	assert_non_null(at);
	assert_true(dladdr(at, &info));
	vaddr = (uint64_t)((const char *)at - (const char *)info.dli_fbase);
	dlclose(handle);
	return vaddr;
}

static void test_open_mpi(void **state)
{
	const struct stackd_mpi_library library = layout_of("mpi_open.so");

	(void)state;
	assert_int_equal(library.vendor, STACKD_MPI_OPEN);
	assert_int_equal(library.size_offset, 24);
	assert_int_equal(library.rank_offset, 0x30);
	assert_int_equal(library.count_offset, 0x28);
	assert_int_equal(library.group_offset, 0x10);
	assert_int_equal(library.inter_offset, 0xe8);
	assert_int_equal(library.comms, 0);
	assert_int_equal(library.types, 0);
}

/* One known type is missing, so nothing proves where the size is: no library is known. */
static void test_unproven(void **state)
{
	const struct stackd_mpi_library library = layout_of("mpi_unproven.so");

	(void)state;
	assert_int_equal(library.vendor, 0);
	assert_int_equal(library.size_offset, 0);
	assert_int_equal(library.rank_offset, 0);
}

static void test_mpich(void **state)
{
	static const char name[] = "mpi_mpich.so";
	const struct stackd_mpi_library library = layout_of(name);

	(void)state;
	assert_int_equal(library.vendor, STACKD_MPI_MPICH);
	assert_int_equal(library.count_offset, 0x48);
	assert_int_equal(library.group_offset, 0);
	assert_int_equal(library.rank_offset, 0x4c);
	assert_int_equal(library.inter_offset, 0x70);
	assert_int_equal(library.comm_bytes, 0x140);
	assert_int_equal(library.comm_slots[0], vaddr_of(name, "comm_table"));
	assert_int_equal(library.comms, vaddr_of(name, "comm_tables"));
	assert_int_equal(library.types, vaddr_of(name, "type_tables"));
	assert_int_equal(library.entry_offset, 24);
	assert_int_equal(library.size_offset, 8);
}

/* A file without MPI. */
static void test_none(void **state)
{
	(void)state;
	assert_int_equal(layout_of("linked_code.so").vendor, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_open_mpi),
		cmocka_unit_test(test_unproven),
		cmocka_unit_test(test_mpich),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
