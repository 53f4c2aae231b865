/* SPDX-License-Identifier: MIT */
/* Distances between variables of a CPU, by BTF that is made here and by the running kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include <bpf/btf.h>

#include "daemon/capture/percpu_distance.h"

#define SECTION ".data..percpu"

/* Writes BTF to a new file, whose name is put into `path`: `first` at 64, `second` at 4096 and
 * `early` at 0 of a section. */
static void write_btf(char *path, const char *section)
{
	static const struct {
		const char *name;
		unsigned offset;
	} all[] = {{"early", 0}, {"first", 64}, {"second", 4096}};
	struct btf *btf = btf__new_empty();
	int number = btf__add_int(btf, "int", 4, BTF_INT_SIGNED), ids[3], fd = mkstemp(path);
	const void *data;
	__u32 size;

	assert_true(number > 0 && fd >= 0);
	for (int i = 0; i < 3; i++)
		ids[i] = btf__add_var(btf, all[i].name, BTF_VAR_GLOBAL_ALLOCATED, number);
	assert_true(btf__add_datasec(btf, section, 8192) > 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(btf__add_datasec_var_info(btf, ids[i], all[i].offset, 4), 0);
	data = btf__raw_data(btf, &size);
	assert_non_null(data);
	assert_int_equal(write(fd, data, size), size);
	close(fd);
	btf__free(btf);
}

static void test_distance(void **state)
{
	char path[] = "/tmp/test_percpu.XXXXXX";

	(void)state;
	write_btf(path, SECTION);
	assert_int_equal(percpu_distance(path, "first", "second"), 4032);
	assert_int_equal(percpu_distance(path, "second", "first"), -4032);
	assert_int_equal(percpu_distance(path, "first", "early"), -64);
	assert_int_equal(percpu_distance(path, "first", "absent"), 0);
	assert_int_equal(percpu_distance(path, "absent", "first"), 0);
	unlink(path);
}

static void test_no_section(void **state)
{
	char path[] = "/tmp/test_percpu.XXXXXX";

	(void)state;
	write_btf(path, ".data");
	assert_int_equal(percpu_distance(path, "first", "second"), 0);
	unlink(path);
	assert_int_equal(percpu_distance(path, "first", "second"), 0);
	assert_int_equal(percpu_distance("/dev/null", "first", "second"), 0);
}

/* Both begin a cache line, and a CPU has no more than some megabytes of them. */
static void test_running_kernel(void **state)
{
	const char *path = "/sys/kernel/btf/vmlinux";
	int64_t distance;

	(void)state;
	if (access(path, R_OK))
		skip();
	distance = percpu_distance(path, "runqueues", "steal_time");
	assert_true(distance % 64 == 0);
	assert_true(distance > -(1 << 24) && distance < 1 << 24);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_no_section),
		cmocka_unit_test(test_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
