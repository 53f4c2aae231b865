/* SPDX-License-Identifier: MIT */
/* Mappings whose files cannot be read at first, since a FUSE mount has them: when they are resolved
 * again, how many at a time, and for whom. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/sysmacros.h>
#include <cmocka.h>

#include "base/mount_kind.h"
#include "proc/object_pending.h"
#include "served_mount.h"
#include "test_proc_fixture.h"

#define PID	  50
#define SECOND_NS UINT64_C(1000000000)
#define COPY	  1 /* an answer of fetch() */

static char folder[] = "/tmp/test-object-pending-XXXXXX", mounted[64];
static int device = -1;

struct context {
	struct fixture *f;
	struct object_table *table;
	struct object_mapping mapping;
	int answer; /* of fetch() */
	unsigned fetched, taken;
	const struct object *got;
};

static int open_file(void *arg, int fd, const char *path, struct elf_file **ret_file)
{
	(void)arg;
	(void)path;
	return elf_file_open_any(fd, ret_file);
}

static int fetch(void *arg, int path_fd, const struct stat *st, pid_t pid, bool may_open)
{
	struct context *c = arg;
	(void)path_fd;
	(void)st;
	(void)pid;
	(void)may_open;

	c->fetched++;
	return c->answer == COPY ? open("/proc/self/exe", O_RDONLY | O_CLOEXEC) : c->answer;
}

static bool is_wanted(void *arg, pid_t pid, const struct object_mapping *m,
		      const struct object *before)
{
	(void)arg;
	(void)pid;
	(void)m;
	(void)before;
	return true;
}

static int take(void *arg, pid_t pid, const struct object_mapping *m, const struct object *before,
		const struct object *now)
{
	struct context *c = arg;
	(void)pid;
	(void)m;
	(void)before;

	c->taken++;
	c->got = now;
	return 0;
}

static int begin(void **state)
{
	(void)state;
	if (!mkdtemp(folder))
		return -1;
	snprintf(mounted, sizeof(mounted), "%s/served", folder);
	device = served_mount(mounted, true);
	return 0;
}

static int end(void **state)
{
	(void)state;
	if (device >= 0) {
		close(device);
		umount2(mounted, MNT_DETACH);
	}
	unlink(mounted);
	return rmdir(folder);
}

/* Makes a process's mapping of the file on the mount. */
static void map(struct context *c, pid_t pid, uint64_t start)
{
	struct stat st;

	assert_int_equal(mount_stat_path(mounted, &st), 0);
	fixture_map_file(c->f, pid, start, start + 0x1000, mounted);
	c->mapping = (struct object_mapping){.start = start,
					     .end = start + 0x1000,
					     .dev_major = major(st.st_dev),
					     .dev_minor = minor(st.st_dev),
					     .inode = st.st_ino,
					     .path = mounted};
}

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));
	const struct elf_opener opener = {.open = open_file, .arg = c, .fetch = fetch};

	c->f = fixture_new();
	assert_int_equal(object_table_new_by(c->f->proc, &opener, &c->table), 0);
	*state = c;
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	object_table_free(c->table);
	fixture_free(c->f);
	free(c);
	return 0;
}

static const struct object *resolve(struct context *c, pid_t pid)
{
	const struct object *object = NULL;

	assert_int_equal(object_table_resolve(c->table, pid, &c->mapping, &object), 0);
	return object;
}

/* Resolves again what is due. Returns how many mappings that were. */
static unsigned again(struct context *c, uint64_t now_ns, bool has_news)
{
	const struct object_again again = {c, is_wanted, take};
	const unsigned before = c->fetched;
	int more;

	object_table_begin_again(c->table, has_news);
	do {
		const unsigned one = c->fetched;

		more = object_table_resolve_again(c->table, &again, now_ns);
		assert_true(more == 0 || more == 1);
		assert_true(c->fetched - one <= OBJECT_PENDING_AT_ONCE);
	} while (more);
	return c->fetched - before;
}

static void test_awaits_its_copy(void **state)
{
	struct context *c = *state;
	const struct object *object;

	if (device < 0)
		skip();
	map(c, PID, 0x1000);
	c->answer = -EINPROGRESS;
	object = resolve(c, PID);
	assert_null(object->elf);
	assert_int_equal(again(c, SECOND_NS, false), 0);
	assert_int_equal(again(c, SECOND_NS, true), 1);
	assert_int_equal(c->taken, 0);
	c->answer = COPY;
	assert_int_equal(again(c, SECOND_NS, true), 1);
	assert_int_equal(c->taken, 1);
	assert_non_null(c->got->elf);
	assert_int_equal(again(c, SECOND_NS, true), 0);
}

/* A program that maps the file at one place again and again does not have it asked for each time;
 * another process does. */
static void test_waits_once_for_a_mapping(void **state)
{
	struct context *c = *state;
	const struct object *object;

	if (device < 0)
		skip();
	map(c, PID, 0x1000);
	c->answer = -EINPROGRESS;
	object = resolve(c, PID);
	assert_int_equal(c->fetched, 1);
	for (int i = 0; i < 100; i++)
		assert_ptr_equal(resolve(c, PID), object);
	assert_int_equal(c->fetched, 1);
	map(c, PID + 1, 0x1000);
	assert_ptr_equal(resolve(c, PID + 1), object);
	assert_int_equal(c->fetched, 2);
	assert_int_equal(again(c, SECOND_NS, true), 2);
}

/* A copy that was closed is made again when the program runs again, however often that fails. */
static void test_closed_copy_is_opened_again(void **state)
{
	struct context *c = *state;
	const struct object *object;

	if (device < 0)
		skip();
	map(c, PID, 0x1000);
	c->answer = COPY;
	object = resolve(c, PID);
	assert_true(elf_file_is_open(object->elf));
	assert_true(object_table_close(c->table, object->number));
	c->answer = -EINPROGRESS;
	map(c, PID + 1, 0x1000);
	assert_ptr_equal(resolve(c, PID + 1), object);
	for (int i = 0; i < 5; i++)
		assert_int_equal(again(c, SECOND_NS, true), 1);
	assert_false(elf_file_is_open(object->elf));
	c->answer = COPY;
	assert_int_equal(again(c, SECOND_NS, true), 1);
	assert_true(elf_file_is_open(object->elf));
	assert_int_equal(again(c, SECOND_NS, true), 0);
}

/* Those that failed are tried again a minute later each, some at a time. */
static void test_failed_ones_are_tried_later(void **state)
{
	const uint64_t begin_ns = 1000 * SECOND_NS, later_ns = begin_ns + OBJECT_PENDING_PAUSE_NS;
	const unsigned many = 3 * OBJECT_PENDING_AT_ONCE;
	struct context *c = *state;

	if (device < 0)
		skip();
	c->answer = -EREMOTE;
	for (unsigned i = 0; i < many; i++) {
		map(c, PID, 0x1000 * (i + 1));
		resolve(c, PID);
	}
	assert_int_equal(again(c, begin_ns, true), 0);
	assert_int_equal(again(c, later_ns - 1, true), 0);
	assert_int_equal(again(c, later_ns, false), many);
	assert_int_equal(again(c, later_ns + SECOND_NS, false), 0); /* begins the next minute */
	c->answer = COPY;
	assert_int_equal(again(c, later_ns + SECOND_NS + OBJECT_PENDING_PAUSE_NS, false), 1);
	assert_int_equal(c->taken, many); /* all have the file that the first one has opened */
}

/* One user's mappings take half of the room at most. */
static void test_shares(void **state)
{
	struct object_pending pending = {0};
	const struct object object = {.number = 1};
	struct object_mapping m = {.path = "/x"};
	struct context *c = *state;

	fixture_write_pid(c->f, 50, "status", "Uid:\t1000\t1000\t1000\t1000\nNStgid:\t50\n");
	fixture_write_pid(c->f, 51, "status", "Uid:\t1001\t1001\t1001\t1001\nNStgid:\t51\n");
	for (uint64_t i = 0; i < OBJECT_PENDING_MOST; i++) {
		m.start = i;
		object_pending_add(&pending, c->f->proc, 50, &m, &object, -EINPROGRESS);
	}
	assert_int_equal(pending.all.count, OBJECT_PENDING_MOST / 2);
	for (uint64_t i = 0; i < 10; i++) {
		m.start = i;
		object_pending_add(&pending, c->f->proc, 51, &m, &object, -EINPROGRESS);
	}
	assert_int_equal(pending.all.count, OBJECT_PENDING_MOST / 2 + 10);
	object_pending_fini(&pending);
}

/* Another file at the same place: of another device, inode or path. */
static void test_other_files(void **state)
{
	struct object_pending pending = {0};
	const struct object object = {.number = 1};
	const struct object_mapping m = {
		.start = 1, .dev_major = 8, .dev_minor = 1, .inode = 5, .path = "/x"};
	struct object_mapping others[] = {m, m, m, m};
	struct context *c = *state;

	others[0].dev_minor = 2;
	others[1].dev_major = 9;
	others[2].inode = 6;
	others[3].path = "/y";
	object_pending_add(&pending, c->f->proc, PID, &m, &object, -EINPROGRESS);
	assert_true(object_pending_has(&pending, PID, &m));
	assert_false(object_pending_has(&pending, PID + 1, &m));
	for (size_t i = 0; i < sizeof(others) / sizeof(*others); i++) {
		assert_false(object_pending_has(&pending, PID, &others[i]));
		object_pending_add(&pending, c->f->proc, PID, &others[i], &object, -EINPROGRESS);
		assert_true(object_pending_has(&pending, PID, &others[i]));
	}
	assert_int_equal(pending.all.count, 5);
	object_pending_fini(&pending);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_awaits_its_copy, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_waits_once_for_a_mapping, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed_copy_is_opened_again, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_failed_ones_are_tried_later, set_up,
						tear_down),
		cmocka_unit_test_setup_teardown(test_shares, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_files, set_up, tear_down),
	};
	return cmocka_run_group_tests(tests, begin, end);
}
