/* SPDX-License-Identifier: MIT */
/* Steps from functions that never return, in this program's own file: which are asked about, and
 * how much is kept of files. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <unistd.h>

#include "daemon/recorder/noreturn_check.h"
#include "walk_self.h"

#define ATTEMPTS 100 /* to find the file in memory */

static volatile unsigned sum;
static void *behind_call;

__attribute__((noinline, noreturn)) static void endless(void)
{
	for (;;)
		sum++;
}

__attribute__((noinline)) static void other(void)
{
	behind_call = __builtin_return_address(0);
	sum++;
}

__attribute__((noinline)) static void calls_other(void)
{
	other();
	sum++;
}

struct context {
	struct self_map *map;
	struct object_table *objects;
	struct location_table *locations;
	uint32_t caller, callee, returning; /* locations */
};

static uint32_t location_of(struct context *c, uint64_t address, bool is_return)
{
	const struct object *object;
	struct location l = {.file_id = 1, .is_return = is_return};
	uint32_t number;

	assert_true(self_find(c->map, address, &object, &l.offset));
	assert_int_equal(location_intern(c->locations, &l, &number), 0);
	return number;
}

static int set_up(void **state)
{
	struct context *c = calloc(1, sizeof(*c));
	struct object object = {.kind = OBJECT_ELF, .file_id = 1, .path = (char *)"/proc/self/exe"};
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	const struct object *added;

	*state = c;
	c->map = self_map_new();
	if (elf_file_open(fd, &object.elf) || object_table_new("/proc", &c->objects) ||
	    object_table_add(c->objects, &object, &added) || location_table_new(&c->locations))
		return -1;
	close(fd);
	assert_int_equal(added->number, 0);
	calls_other();
	c->caller = location_of(c, (uint64_t)behind_call - 1, true);
	c->callee = location_of(c, (uint64_t)endless + 1, false);
	c->returning = location_of(c, (uint64_t)other + 1, false);
	return 0;
}

static int tear_down(void **state)
{
	struct context *c = *state;

	location_table_free(c->locations);
	object_table_free(c->objects);
	self_map_free(c->map);
	free(c);
	return 0;
}

/* Weighs the step from endless() to calls_other(), which does not call it. The answer is to be ASK:
 * another one may be due to a file that is not in memory, which is read then. */
static enum noreturn_step step(struct context *c, struct noreturn_check *n)
{
	enum noreturn_step step = NORETURN_STEP_PROVEN;

	for (int i = 0; i < ATTEMPTS && step != NORETURN_STEP_ASK; i++) {
		char bytes[4096];
		int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);

		while (read(fd, bytes, sizeof(bytes)) > 0)
			;
		close(fd);
		assert_int_equal(noreturn_check_step(n, c->caller, c->callee, &step), 0);
	}
	return step;
}

static void test_steps(void **state)
{
	struct context *c = *state;
	struct noreturn_check n = {.objects = c->objects, .locations = c->locations};
	enum noreturn_step found;

	assert_int_equal(step(c, &n), NORETURN_STEP_ASK);
	assert_true(n.kept > 0);
	assert_int_equal(n.kept, n.starts[0].kept.count);
	assert_int_equal(noreturn_check_step(&n, c->caller, c->returning, &found), 0);
	assert_int_equal(found, NORETURN_STEP_PROVEN);
	assert_int_equal(noreturn_check_answer(&n, c->callee, true), 0);
	assert_int_equal(noreturn_check_step(&n, c->caller, c->callee, &found), 0);
	assert_int_equal(found, NORETURN_STEP_DOUBTED);
	assert_int_equal(noreturn_check_answer(&n, c->callee, false), 0);
	assert_int_equal(noreturn_check_step(&n, c->caller, c->callee, &found), 0);
	assert_int_equal(found, NORETURN_STEP_PROVEN);
	noreturn_check_fini(&n);
}

/* Files that are met when much is kept already have no beginnings, so their steps are proven; those
 * of files before go on. */
static void test_room(void **state)
{
	struct context *c = *state;
	struct noreturn_check n = {
		.objects = c->objects, .locations = c->locations, .kept = NORETURN_CHECK_KEPT + 1};

	assert_int_equal(step(c, &n), NORETURN_STEP_PROVEN);
	assert_int_equal(n.kept, NORETURN_CHECK_KEPT + 1);
	assert_int_equal(n.starts[0].kept.count, 0);
	noreturn_check_fini(&n);

	n.kept = NORETURN_CHECK_KEPT;
	assert_int_equal(step(c, &n), NORETURN_STEP_ASK);
	assert_true(n.kept > NORETURN_CHECK_KEPT);
	n.known[c->callee].function = 0;
	assert_int_equal(step(c, &n), NORETURN_STEP_ASK);
	noreturn_check_fini(&n);
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {TEST(test_steps), TEST(test_room)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
