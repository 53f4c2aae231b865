/* SPDX-License-Identifier: MIT */
/*
 * naming_schedule: when locations of a recording under way are named, with clocks of the test's
 * own.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_clock.h"
#include "sym/naming_schedule.h"

#define SECOND UINT64_C(1000000000)
#define MINUTE (60 * SECOND)

#define MANY 1000

enum { PROGRAM, SMALL, LARGE, JIT, OBJECTS }; /* numbers of objects; SMALL has fewer symbols */

static struct object objects[OBJECTS];
static uint64_t offsets[OBJECTS];

static struct {
	struct naming *naming;
	struct naming_schedule *schedule;
	uint64_t now_ns, cpu_ns;
	uint64_t cost_ns; /* CPU time between two looks at the clock */
	int lines[MANY];  /* by location */
	bool is_late;
	int answer;
} fake;

static uint64_t now_ns(void *arg)
{
	assert_ptr_equal(arg, &fake);
	return fake.now_ns;
}

static uint64_t cpu_ns(void *arg)
{
	assert_ptr_equal(arg, &fake);
	return fake.cpu_ns += fake.cost_ns;
}

static int take_line(void *arg, const struct store_line *line)
{
	assert_ptr_equal(arg, &fake);
	fake.lines[line->location]++;
	return fake.answer;
}

static bool is_late(void *arg)
{
	assert_ptr_equal(arg, &fake);
	return fake.is_late;
}

static void open_object(uint32_t number, const void *code)
{
	struct object *object = &objects[number];
	struct link_map *map;
	Dl_info info;
	int fd;

	assert_true(dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP));
	fd = open(*map->l_name ? map->l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	*object = (struct object){.number = number, .kind = OBJECT_ELF};
	assert_int_equal(elf_file_open(fd, &object->elf), 0);
	close(fd);
	object->path = strdup(map->l_name);
	assert_non_null(object->path);
	assert_true(elf_file_vaddr_to_offset(object->elf, (uintptr_t)code - map->l_addr,
					     &offsets[number]));
}

static size_t unread(uint32_t number)
{
	struct naming *naming;
	size_t bytes;

	assert_int_equal(naming_new("/proc", &naming), 0);
	assert_int_equal(naming_unread(naming, &objects[number], &bytes), 0);
	naming_free(naming);
	return bytes;
}

static int open_objects(void **state)
{
	(void)state;
	open_object(PROGRAM, (const void *)(uintptr_t)naming_new);
	open_object(SMALL, dlsym(RTLD_DEFAULT, "elf_begin"));
	open_object(LARGE, dlsym(RTLD_NEXT, "malloc"));
	objects[JIT] = (struct object){.number = JIT, .kind = OBJECT_JIT};
	jit_owner_find("/proc", getpid(), &objects[JIT].owner);
	objects[JIT].path = strdup("[jit]");
	offsets[JIT] = 0x1000;
	return 0;
}

static int close_objects(void **state)
{
	(void)state;
	for (int i = 0; i < OBJECTS; i++) {
		elf_file_free(objects[i].elf);
		free(objects[i].path);
	}
	return 0;
}

static int set_up(void **state)
{
	struct naming_schedule_options options = {.now_ns = now_ns,
						  .cpu_ns = cpu_ns,
						  .each = take_line,
						  .is_late = is_late,
						  .arg = &fake};

	(void)state;
	memset(&fake, 0, sizeof(fake));
	fake.now_ns = 1000 * SECOND;
	if (naming_new("/proc", &fake.naming))
		return -1;
	options.naming = fake.naming;
	if (naming_schedule_new(&options, &fake.schedule))
		return -1;
	for (int i = 0; i < OBJECTS; i++) {
		if (naming_schedule_add_object(fake.schedule, &objects[i]))
			return -1;
	}
	return 0;
}

static int tear_down(void **state)
{
	(void)state;
	naming_schedule_free(fake.schedule);
	naming_free(fake.naming);
	return 0;
}

/* Adds location `number`, at an object's known function. */
static void add(uint32_t number, uint32_t object)
{
	const struct store_location location = {
		.number = number, .object = object, .offset = offsets[object]};

	assert_int_equal(naming_schedule_add_location(fake.schedule, &location), 0);
}

static void run(void)
{
	assert_int_equal(naming_schedule_run(fake.schedule), 0);
}

static void locations_wait_for_a_round(void **state)
{
	(void)state;
	add(0, PROGRAM);
	add(1, SMALL);
	assert_int_equal(fake.lines[0] + fake.lines[1], 0);
	run();
	assert_true(fake.lines[0] > 0);
	assert_true(fake.lines[1] > 0);
	run();
	assert_int_equal(fake.lines[0], 1); /* once */
}

/* A round of 10 ms is followed by a pause of 2 s. */
static void pause_follows_cost_of_round(void **state)
{
	(void)state;
	fake.cost_ns = SECOND / 100;
	add(0, PROGRAM);
	run();
	add(1, PROGRAM);
	fake.now_ns += 2 * SECOND - 1;
	run();
	assert_int_equal(fake.lines[1], 0);
	fake.now_ns += 1;
	run();
	assert_true(fake.lines[1] > 0);
}

static void no_pause_exceeds_a_minute(void **state)
{
	(void)state;
	fake.cost_ns = 10 * SECOND;
	add(0, PROGRAM);
	run();
	add(1, PROGRAM);
	fake.now_ns += MINUTE - 1;
	run();
	assert_int_equal(fake.lines[1], 0);
	fake.now_ns += 1;
	run();
	assert_true(fake.lines[1] > 0);
}

/* Returns how many locations have been named; none was named twice. */
static int named(void)
{
	int count = 0;

	for (int i = 0; i < MANY; i++) {
		assert_true(fake.lines[i] <= 1);
		count += fake.lines[i];
	}
	return count;
}

static void a_round_stops_where_work_waits(void **state)
{
	(void)state;
	fake.is_late = true;
	for (uint32_t i = 0; i < MANY; i++)
		add(i, PROGRAM);
	for (int i = 1; i <= 4; i++) {
		run();
		assert_int_equal(named(), i < 4 ? i * NAMING_PREFETCH : MANY);
	}
	run();
	assert_int_equal(named(), MANY);
}

static void a_round_stops_between_objects(void **state)
{
	(void)state;
	fake.is_late = true;
	for (uint32_t i = 0; i < 20; i++)
		add(i, i % 2 ? PROGRAM : SMALL);
	run();
	assert_int_equal(named(), 10);
	fake.is_late = false;
	run();
	assert_int_equal(named(), 20);
}

/* Parts of a round have no pauses between them, until they have taken three seconds. */
static void parts_of_a_round_are_paused(void **state)
{
	(void)state;
	fake.is_late = true;
	fake.cost_ns = 2 * SECOND;
	for (uint32_t i = 0; i < MANY; i++)
		add(i, PROGRAM);
	run();
	run();
	assert_int_equal(named(), 2 * NAMING_PREFETCH);
	fake.now_ns += MINUTE - 1;
	run();
	assert_int_equal(named(), 2 * NAMING_PREFETCH);
	fake.now_ns += 1;
	run();
	assert_int_equal(named(), 3 * NAMING_PREFETCH);
}

static void the_end_stops_where_work_waits(void **state)
{
	(void)state;
	fake.is_late = true;
	for (uint32_t i = 0; i < MANY; i++)
		add(i, PROGRAM);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_int_equal(named(), 0);
	assert_int_equal(naming_schedule_left(fake.schedule), MANY);
}

/* Makes LARGE expensive, and SMALL not. */
static void limit_symbols(void)
{
	size_t small = unread(SMALL), large = unread(LARGE);

	assert_true(large > 4 * small);
	naming_limit(fake.naming, 4 * small);
	assert_true(naming_is_expensive(fake.naming, &objects[LARGE]));
	assert_false(naming_is_expensive(fake.naming, &objects[SMALL]));
}

static void expensive_objects_wait_for_a_minute(void **state)
{
	(void)state;
	limit_symbols();
	add(0, LARGE);
	add(1, SMALL);
	add(2, LARGE);
	run();
	assert_true(fake.lines[1] > 0);
	fake.now_ns += MINUTE / 2;
	add(3, LARGE);
	run();
	fake.now_ns += MINUTE / 2 - 1;
	run();
	assert_int_equal(fake.lines[0] + fake.lines[2] + fake.lines[3], 0);
	fake.now_ns += 1;
	run(); /* the minute counts from the first of them */
	assert_true(fake.lines[0] > 0 && fake.lines[2] > 0 && fake.lines[3] > 0);
	assert_int_equal(fake.lines[1], 1);
}

static void end_names_all_locations(void **state)
{
	(void)state;
	limit_symbols();
	fake.cost_ns = 10 * SECOND;
	add(0, LARGE);
	add(1, SMALL);
	run();
	add(2, SMALL);
	run();
	assert_int_equal(fake.lines[0] + fake.lines[2], 0);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_true(fake.lines[0] > 0 && fake.lines[2] > 0);
}

/* Code whose name comes later than its first sample; maps are read once a second at most. */
static void jit_code_is_looked_up_again(void **state)
{
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	add(0, JIT);
	run();
	assert_int_equal(fake.lines[0], 0);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("1000 100 late\n", file);
	fclose(file);
	sleep(1);
	run();
	assert_true(fake.lines[0] > 0);
	add(1, JIT);
	assert_true(fake.lines[1] > 0); /* at once: the process may end */
	unlink(path);
}

/* Each location without a name is tried again, even if every round must stop after the first ones,
 * and those get no name. */
static void nameless_locations_take_turns(void **state)
{
	struct store_location location = {.object = JIT};
	char path[64];
	FILE *file;

	(void)state;
	snprintf(path, sizeof(path), "/tmp/perf-%d.map", getpid());
	unlink(path);
	for (; location.number < 2 * NAMING_PREFETCH + 50; location.number++) {
		location.offset = location.number < NAMING_PREFETCH + 20 ? 0x10 : 0x1000;
		assert_int_equal(naming_schedule_add_location(fake.schedule, &location), 0);
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs("1000 100 late\n", file);
	fclose(file);
	sleep(1);
	fake.is_late = true;
	for (int i = 0; i < 3; i++)
		run();
	assert_int_equal(named(), NAMING_PREFETCH + 30);
	unlink(path);
}

static void copy_to(const char *path, const char *from)
{
	char command[512];

	snprintf(command, sizeof(command), "cat %s > %s", from, path);
	assert_int_equal(system(command), 0);
	file_clock_goes_on();
}

/* A file that holds other code when it is asked for, and its own again later: overwritten for the
 * time of another run, or seen in the middle of a write. */
static void file_is_looked_up_again(void **state)
{
	char path[] = "/tmp/stackd-schedule-XXXXXX", own[64];
	struct elf_file *kept = objects[PROGRAM].elf;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(own, sizeof(own), "/proc/%d/exe", getpid());
	copy_to(path, own);
	assert_int_equal(elf_file_open(fd, &objects[PROGRAM].elf), 0);
	copy_to(path, objects[SMALL].path);
	add(0, PROGRAM);
	run();
	assert_int_equal(fake.lines[0], 0);
	run();
	assert_int_equal(fake.lines[0], 0);
	copy_to(path, own);
	run();
	assert_true(fake.lines[0] > 0);
	fake.lines[0] = 0;
	run();
	assert_int_equal(fake.lines[0], 0);
	copy_to(path, objects[SMALL].path);
	add(1, PROGRAM);
	run();
	copy_to(path, own);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_true(fake.lines[1] > 0);
	elf_file_free(objects[PROGRAM].elf);
	objects[PROGRAM].elf = kept;
	close(fd);
	unlink(path);
}

static void error_is_passed_on(void **state)
{
	(void)state;
	fake.answer = -EIO;
	add(0, PROGRAM);
	assert_int_equal(naming_schedule_run(fake.schedule), -EIO);
	add(1, PROGRAM);
	assert_int_equal(naming_schedule_finish(fake.schedule), -EIO);
}

/* --- what objects lack ----------------------------------------------------------------------- */

static int answer_nothing(void *arg, enum naming_question question, const struct object *object,
			  uint64_t number)
{
	(void)arg;
	(void)question;
	(void)object;
	(void)number;
	return 0;
}

static int resolve_nothing(void *arg, const struct object *object,
			   const struct store_location *location,
			   int (*each)(void *arg, const struct store_line *line), void *each_arg)
{
	(void)arg;
	(void)object;
	(void)location;
	(void)each;
	(void)each_arg;
	return 0;
}

static int fetch_nothing(void *arg, const struct object *object,
			 const struct store_location *locations, size_t count)
{
	(void)arg;
	(void)object;
	(void)locations;
	(void)count;
	return 0;
}

static bool lacks_file(void *arg, const struct object *object, struct buf *text)
{
	(void)arg;
	(void)object;
	buf_put(text, "x.debug", 7);
	return true;
}

static bool is_proven(void *arg, const struct object *object)
{
	(void)arg;
	(void)object;
	return false;
}

static int count_missing(void *arg, const struct object *object, const char *name)
{
	assert_ptr_equal(arg, &fake);
	assert_string_equal(name, "x.debug");
	fake.lines[object == &objects[SMALL]]++;
	return 0;
}

/* In a run's later windows objects have other numbers than their own: what an object lacks is told
 * once, also as others come. */
static void numbers_are_the_schedules(void **state)
{
	static const struct naming_finder finder = {.ask = answer_nothing,
						    .resolve = resolve_nothing,
						    .prefetch = fetch_nothing,
						    .missing = lacks_file,
						    .is_unproven = is_proven,
						    .is_unfetched = is_proven};
	const uint32_t numbers[] = {objects[PROGRAM].number, objects[SMALL].number};
	struct naming_schedule_options options = {.now_ns = now_ns,
						  .cpu_ns = cpu_ns,
						  .each = take_line,
						  .missing = count_missing,
						  .arg = &fake};

	tear_down(state);
	memset(&fake, 0, sizeof(fake));
	assert_int_equal(naming_new_by(&finder, &fake.naming), 0);
	options.naming = fake.naming;
	assert_int_equal(naming_schedule_new(&options, &fake.schedule), 0);
	objects[PROGRAM].number = 1;
	objects[SMALL].number = 5000;
	assert_int_equal(naming_schedule_add_object(fake.schedule, &objects[PROGRAM]), 0);
	add(0, 0);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_int_equal(fake.lines[0], 1);
	assert_int_equal(naming_schedule_add_object(fake.schedule, &objects[SMALL]), 0);
	add(1, 0);
	add(2, 1);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	add(3, 1);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_int_equal(fake.lines[0], 1);
	assert_int_equal(fake.lines[1], 1);
	objects[PROGRAM].number = numbers[0];
	objects[SMALL].number = numbers[1];
}

/* Names in a file that is about to be closed are found in the pause after a round; others wait. */
static void wanted_names_do_not_wait(void **state)
{
	(void)state;
	fake.cost_ns = SECOND;
	add(0, PROGRAM);
	run();
	assert_int_equal(fake.lines[0], 1);
	add(1, SMALL);
	add(2, PROGRAM);
	add(3, SMALL);
	run();
	assert_int_equal(fake.lines[1] + fake.lines[2] + fake.lines[3], 0);
	assert_true(object_awaits_names(&objects[PROGRAM]));
	object_want_names(&objects[PROGRAM], true);
	run();
	object_want_names(&objects[PROGRAM], false);
	assert_int_equal(fake.lines[2], 1);
	assert_int_equal(fake.lines[1] + fake.lines[3], 0);
	assert_false(object_awaits_names(&objects[PROGRAM]));
	assert_true(object_awaits_names(&objects[SMALL]));
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_int_equal(naming_schedule_left(fake.schedule), 0);
	assert_false(object_awaits_names(&objects[SMALL]));
	assert_int_equal(fake.lines[1] + fake.lines[3], 2);
}

/* A file that was closed before its names were asked for has none, which readers must know. */
static void names_of_closed_files_are_counted(void **state)
{
	const struct object kept = objects[SMALL];

	(void)state;
	open_object(SMALL, dlsym(RTLD_DEFAULT, "elf_begin"));
	elf_file_close(objects[SMALL].elf);
	add(0, SMALL);
	add(1, PROGRAM);
	run();
	add(2, SMALL);
	assert_int_equal(naming_schedule_finish(fake.schedule), 0);
	assert_int_equal(fake.lines[0] + fake.lines[2], 0);
	assert_int_equal(fake.lines[1], 1);
	assert_int_equal(naming_schedule_left(fake.schedule), 2);
	elf_file_free(objects[SMALL].elf);
	free(objects[SMALL].path);
	objects[SMALL] = kept;
}

#define TEST(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(locations_wait_for_a_round),
		TEST(pause_follows_cost_of_round),
		TEST(no_pause_exceeds_a_minute),
		TEST(a_round_stops_where_work_waits),
		TEST(a_round_stops_between_objects),
		TEST(parts_of_a_round_are_paused),
		TEST(the_end_stops_where_work_waits),
		TEST(expensive_objects_wait_for_a_minute),
		TEST(end_names_all_locations),
		TEST(jit_code_is_looked_up_again),
		TEST(nameless_locations_take_turns),
		TEST(file_is_looked_up_again),
		TEST(error_is_passed_on),
		TEST(numbers_are_the_schedules),
		TEST(wanted_names_do_not_wait),
		TEST(names_of_closed_files_are_counted),
	};

	return cmocka_run_group_tests(tests, open_objects, close_objects);
}
