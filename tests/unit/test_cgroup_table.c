/* SPDX-License-Identifier: MIT */
/* Cgroups by id, in a hierarchy of ordinary folders, whose inode numbers serve as well. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/cgroup_table.h"

static char root[] = "/tmp/cgroup-table-XXXXXX", mount[64], proc[64];

static uint64_t folder(const char *parent, const char *path)
{
	char name[256];
	struct stat st;

	snprintf(name, sizeof(name), "%s%s", parent, path);
	assert_int_equal(mkdir(name, 0700), 0);
	assert_int_equal(stat(name, &st), 0);
	return st.st_ino;
}

static int set_up(void **state)
{
	(void)state;
	if (!mkdtemp(root))
		return -1;
	snprintf(mount, sizeof(mount), "%s/cgroup", root);
	snprintf(proc, sizeof(proc), "%s/proc", root);
	folder(mount, "");
	folder(proc, "");
	folder(proc, "/7");
	return 0;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf '%s'", root);
	return system(command);
}

/* Says in which cgroup process 7 is. */
static void move_to(const char *path)
{
	char name[128];
	FILE *file;

	snprintf(name, sizeof(name), "%s/7/cgroup", proc);
	file = fopen(name, "w");
	assert_non_null(file);
	fprintf(file, "1:cpu:/elsewhere\n0::%s\n", path);
	assert_int_equal(fclose(file), 0);
}

static void finds_by_process_and_folder(void **state)
{
	uint64_t slice = folder(mount, "/a.slice"), unit = folder(mount, "/a.slice/b.service"), new;
	struct cgroup_table *t;
	char name[128];

	(void)state;
	assert_int_equal(cgroup_table_new(mount, proc, &t), 0);
	move_to("/a.slice/b.service");
	assert_null(cgroup_table_path(t, unit));
	assert_int_equal(cgroup_table_find(t, unit, 7, 10), 0);
	assert_string_equal(cgroup_table_path(t, unit), "/a.slice/b.service");
	assert_null(cgroup_table_path(t, slice)); /* nothing has looked through all folders */
	assert_int_equal(cgroup_table_find(t, slice, 7, 10), 0);
	assert_string_equal(cgroup_table_path(t, slice), "/a.slice");
	snprintf(name, sizeof(name), "%s/a.slice/b.service", mount);
	new = folder(mount, "/a.slice/new.scope");
	assert_int_equal(rmdir(name), 0);
	assert_int_equal(cgroup_table_find(t, new, 8, 20), 0); /* within the second: not again */
	assert_null(cgroup_table_path(t, new));
	assert_int_equal(cgroup_table_find(t, new, 8, 2000000000), 0);
	assert_string_equal(cgroup_table_path(t, new), "/a.slice/new.scope");
	assert_string_equal(cgroup_table_path(t, unit), "/a.slice/b.service"); /* it has gone */
	assert_int_equal(cgroup_table_find(t, 1, 7, 4000000000), 0);	       /* was there never */
	assert_null(cgroup_table_path(t, 1));
	cgroup_table_free(t);
}

static void forgets_the_oldest(void **state)
{
	struct cgroup_table *t;
	char path[32];

	(void)state;
	assert_int_equal(cgroup_table_new(NULL, proc, &t), 0);
	for (uint64_t i = 1; i <= 3 * CGROUP_TABLE_KEPT; i++) {
		snprintf(path, sizeof(path), "/%d.scope", (int)i);
		assert_int_equal(cgroup_table_add(t, i, path), 0);
	}
	assert_int_equal(cgroup_table_forgotten(t), 2 * CGROUP_TABLE_KEPT);
	assert_null(cgroup_table_path(t, 2 * CGROUP_TABLE_KEPT));
	snprintf(path, sizeof(path), "/%d.scope", 2 * CGROUP_TABLE_KEPT + 1);
	assert_string_equal(cgroup_table_path(t, 2 * CGROUP_TABLE_KEPT + 1), path);
	assert_int_equal(cgroup_table_add(t, 3 * CGROUP_TABLE_KEPT, "/again"), 0);
	assert_string_equal(cgroup_table_path(t, 3 * CGROUP_TABLE_KEPT), "/again");
	assert_int_equal(cgroup_table_find(t, 5, 7, 1), 0);
	cgroup_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_by_process_and_folder),
		cmocka_unit_test(forgets_the_oldest),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
