/* SPDX-License-Identifier: MIT */
/*
 * naming: an object that is closed for lack of room, and opened again, has the names that it had.
 * It says beforehand for which objects there is no room.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_clock.h"
#include "sym/naming.h"

#define FUNCTIONS 3

/* Functions of three files, and where they lie in them. */
struct function {
	struct object object;
	uint64_t offset;
	const char *name;
};

static struct function functions[FUNCTIONS];

static void find_function(struct function *function, uint32_t number, const char *name,
			  const void *code)
{
	struct link_map *map;
	uint64_t vaddr;
	Dl_info info;
	int fd;

	assert_true(dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP));
	fd = open(*map->l_name ? map->l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	*function =
		(struct function){.object = {.number = number, .kind = OBJECT_ELF}, .name = name};
	assert_int_equal(elf_file_open(fd, &function->object.elf), 0);
	close(fd);
	function->object.path = strdup(map->l_name);
	assert_non_null(function->object.path);
	vaddr = (uint64_t)(uintptr_t)code - map->l_addr;
	assert_true(elf_file_vaddr_to_offset(function->object.elf, vaddr, &function->offset));
}

static int find_places(void **state)
{
	(void)state;
	find_function(&functions[0], 0, "naming_new", (const void *)(uintptr_t)naming_new);
	find_function(&functions[1], 1, "malloc", dlsym(RTLD_NEXT, "malloc"));
	find_function(&functions[2], 2, "elf_begin", dlsym(RTLD_DEFAULT, "elf_begin"));
	return 0;
}

static int free_places(void **state)
{
	(void)state;
	for (int i = 0; i < FUNCTIONS; i++) {
		elf_file_free(functions[i].object.elf);
		free(functions[i].object.path);
	}
	return 0;
}

struct last_line {
	char function[256];
	int lines;
};

static int keep_last(void *arg, const struct store_line *line)
{
	struct last_line *last = arg;

	last->lines++;
	snprintf(last->function, sizeof(last->function), "%s",
		 line->function ? line->function : "");
	return 0;
}

static struct last_line ask(struct naming *naming, const struct function *function)
{
	struct store_location location = {.object = function->object.number,
					  .offset = function->offset};
	struct last_line last = {.lines = 0};

	assert_int_equal(naming_resolve(naming, &function->object, &location, keep_last, &last), 0);
	return last;
}

static void check_names(size_t limit)
{
	struct last_line first[FUNCTIONS];
	struct naming *naming;

	assert_int_equal(naming_new("/proc", &naming), 0);
	naming_limit(naming, limit);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < FUNCTIONS; i++) {
			struct last_line now = ask(naming, &functions[i]);

			if (!round)
				first[i] = now;
			assert_int_equal(now.lines, first[i].lines);
			assert_string_equal(now.function, first[i].function);
		}
		naming_trim(naming);
	}
	assert_int_equal(naming_forgotten(naming) > 0, limit != 0);
	assert_string_equal(first[0].function, functions[0].name);
	assert_non_null(strstr(first[1].function, functions[1].name));
	assert_string_equal(first[2].function, functions[2].name);
	naming_free(naming);
}

static void no_limit_keeps_all(void **state)
{
	(void)state;
	check_names(0);
}

static void limit_of_no_object(void **state)
{
	(void)state;
	check_names(1);
}

static void limit_of_some_objects(void **state)
{
	(void)state;
	check_names(2 << 20);
}

/* An object is expensive while its symbols are not there and have no room. */
static void object_without_room_is_expensive(void **state)
{
	static const size_t limits[] = {0, 1, (size_t)1 << 30};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		bool has_no_room = limits[i] == 1;
		struct naming *naming;

		assert_int_equal(naming_new("/proc", &naming), 0);
		naming_limit(naming, limits[i]);
		assert_int_equal(naming_is_expensive(naming, &functions[1].object), has_no_room);
		ask(naming, &functions[1]);
		assert_false(naming_is_expensive(naming, &functions[1].object));
		assert_int_equal(naming_is_expensive(naming, &functions[0].object), has_no_room);
		naming_trim(naming);
		assert_int_equal(naming_is_expensive(naming, &functions[1].object), has_no_room);
		naming_free(naming);
	}
}

/* This program has line tables; without a limit, all of them are held. */
static void order_is_requested_under_limit(void **state)
{
	static const size_t limits[] = {0, 1, (size_t)1 << 30};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct naming *naming;

		assert_int_equal(naming_new("/proc", &naming), 0);
		naming_limit(naming, limits[i]);
		assert_int_equal(naming_wants_order(naming, &functions[0].object), limits[i] == 1);
		assert_false(naming_wants_order(naming, &functions[2].object) && limits[i] != 1);
		naming_free(naming);
	}
}

/* --- files that change ---------------------------------------------------------------------- */

static void write_file(const char *path, const char *from)
{
	char command[512];

	snprintf(command, sizeof(command), "cat %s > %s", from, path);
	assert_int_equal(system(command), 0);
	file_clock_goes_on();
}

/* A file that was renamed has its names. One that was overwritten in place, or is empty, has none,
 * neither its own, part of which may be of before, nor those of what is there now; once it is what
 * it was, it has them again. */
static void overwritten_has_no_names(void **state)
{
	char path[] = "/tmp/stackd-naming-XXXXXX", away[64], own[64];
	struct function moved = functions[0];
	struct naming *naming;
	struct last_line line;
	int fd = mkstemp(path);

	(void)state;
	assert_true(fd >= 0);
	snprintf(away, sizeof(away), "%s-away", path);
	snprintf(own, sizeof(own), "/proc/%d/exe", getpid());
	write_file(path, own);
	assert_int_equal(elf_file_open(fd, &moved.object.elf), 0);
	for (int is_read = 0; is_read < 2; is_read++) {
		assert_int_equal(naming_new("/proc", &naming), 0);
		if (is_read)
			assert_string_equal(ask(naming, &moved).function, moved.name);
		assert_int_equal(rename(path, away), 0);
		assert_string_equal(ask(naming, &moved).function, moved.name);
		assert_int_equal(rename(away, path), 0);
		assert_true(naming_changed(naming) == 0);
		for (uint64_t i = 0; i < 2; i++) {
			write_file(path, i ? "/dev/null" : functions[2].object.path);
			line = ask(naming, &moved);
			assert_int_equal(line.lines, 0);
			assert_true(naming_changed(naming) == i + 1);
			write_file(path, own);
			assert_string_equal(ask(naming, &moved).function, moved.name);
		}
		naming_free(naming);
	}
	close(fd);
	elf_file_free(moved.object.elf);
	assert_int_equal(unlink(path), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(no_limit_keeps_all),
		cmocka_unit_test(limit_of_no_object),
		cmocka_unit_test(limit_of_some_objects),
		cmocka_unit_test(object_without_room_is_expensive),
		cmocka_unit_test(order_is_requested_under_limit),
		cmocka_unit_test(overwritten_has_no_names),
	};

	return cmocka_run_group_tests(tests, find_places, free_places);
}
