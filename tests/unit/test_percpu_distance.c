/* SPDX-License-Identifier: MIT */
/* Distances between variables of a CPU, by BTF that is made here and by the running kernel's. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
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

/* Cuts a file of BTF off at each length: nothing is found, and nothing behind it is read. */
static void test_cut_off(void **state)
{
	char path[] = "/tmp/test_percpu.XXXXXX";
	struct stat st;

	(void)state;
	write_btf(path, SECTION);
	assert_int_equal(stat(path, &st), 0);
	while (st.st_size-- > 0) {
		assert_int_equal(truncate(path, st.st_size), 0);
		assert_int_equal(percpu_distance(path, "first", "second"), 0);
	}
	unlink(path);
}

/* Returns the offset of a variable as libbpf finds it; 0: there is none. */
static int64_t offset_by_libbpf(const struct btf *btf, const char *name)
{
	int id = btf__find_by_name_kind(btf, SECTION, BTF_KIND_DATASEC);
	const struct btf_type *section = id > 0 ? btf__type_by_id(btf, (__u32)id) : NULL;

	for (__u32 i = 0; section && i < btf_vlen(section); i++) {
		const struct btf_var_secinfo *var = btf_var_secinfos(section) + i;
		const struct btf_type *type = btf__type_by_id(btf, var->type);

		if (!strcmp(btf__name_by_offset(btf, type->name_off), name))
			return var->offset;
	}
	return 0;
}

static void test_running_kernel(void **state)
{
	const char *path = "/sys/kernel/btf/vmlinux";
	int64_t from, to;
	struct btf *btf;

	(void)state;
	if (access(path, R_OK))
		skip();
	btf = btf__parse(path, NULL);
	assert_non_null(btf);
	from = offset_by_libbpf(btf, "runqueues");
	to = offset_by_libbpf(btf, "steal_time");
	assert_int_equal(percpu_distance(path, "runqueues", "steal_time"),
			 from && to ? to - from : 0);
	btf__free(btf);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_distance),
		cmocka_unit_test(test_no_section),
		cmocka_unit_test(test_cut_off),
		cmocka_unit_test(test_running_kernel),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
