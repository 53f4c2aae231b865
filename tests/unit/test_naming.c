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

#include "sym/naming.h"

#define PLACES 3

/* Functions of three files, and where they lie in them. */
struct place {
	struct object object;
	uint64_t offset;
	const char *name;
};

static struct place places[PLACES];

static void find_place(struct place *place, uint32_t number, const char *name, const void *code)
{
	struct link_map *map;
	uint64_t vaddr;
	Dl_info info;
	int fd;

	assert_true(dladdr1(code, &info, (void **)&map, RTLD_DL_LINKMAP));
	fd = open(*map->l_name ? map->l_name : "/proc/self/exe", O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	*place = (struct place){.object = {.number = number, .kind = OBJECT_ELF}, .name = name};
	assert_int_equal(elf_file_open(fd, &place->object.elf), 0);
	close(fd);
	place->object.path = strdup(map->l_name);
	assert_non_null(place->object.path);
	vaddr = (uint64_t)(uintptr_t)code - map->l_addr;
	assert_true(elf_file_vaddr_to_offset(place->object.elf, vaddr, &place->offset));
}

static int find_places(void **state)
{
	(void)state;
	find_place(&places[0], 0, "naming_new", (const void *)(uintptr_t)naming_new);
	find_place(&places[1], 1, "malloc", dlsym(RTLD_NEXT, "malloc"));
	find_place(&places[2], 2, "elf_begin", dlsym(RTLD_DEFAULT, "elf_begin"));
	return 0;
}

static int free_places(void **state)
{
	(void)state;
	for (int i = 0; i < PLACES; i++) {
		elf_file_free(places[i].object.elf);
		free(places[i].object.path);
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

static struct last_line ask(struct naming *naming, const struct place *place)
{
	struct store_location location = {.object = place->object.number, .offset = place->offset};
	struct last_line last = {.lines = 0};

	assert_int_equal(naming_resolve(naming, &place->object, &location, keep_last, &last), 0);
	return last;
}

static void check_names(size_t limit)
{
	struct last_line first[PLACES];
	struct naming *naming;

	assert_int_equal(naming_new("/proc", &naming), 0);
	naming_limit(naming, limit);
	for (int round = 0; round < 3; round++) {
		for (int i = 0; i < PLACES; i++) {
			struct last_line now = ask(naming, &places[i]);

			if (!round)
				first[i] = now;
			assert_int_equal(now.lines, first[i].lines);
			assert_string_equal(now.function, first[i].function);
		}
		naming_trim(naming);
	}
	assert_string_equal(first[0].function, places[0].name);
	assert_non_null(strstr(first[1].function, places[1].name));
	assert_string_equal(first[2].function, places[2].name);
	naming_free(naming);
}

static void without_a_limit(void **state)
{
	(void)state;
	check_names(0);
}

static void with_room_for_none(void **state)
{
	(void)state;
	check_names(1);
}

static void with_room_for_some(void **state)
{
	(void)state;
	check_names(2 << 20);
}

/* An object is expensive while its symbols are not there and have no room. */
static void when_an_object_is_expensive(void **state)
{
	static const size_t limits[] = {0, 1, (size_t)1 << 30};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		bool has_no_room = limits[i] == 1;
		struct naming *naming;

		assert_int_equal(naming_new("/proc", &naming), 0);
		naming_limit(naming, limits[i]);
		assert_int_equal(naming_is_expensive(naming, &places[1].object), has_no_room);
		ask(naming, &places[1]);
		assert_false(naming_is_expensive(naming, &places[1].object));
		assert_int_equal(naming_is_expensive(naming, &places[0].object), has_no_room);
		naming_trim(naming);
		assert_int_equal(naming_is_expensive(naming, &places[1].object), has_no_room);
		naming_free(naming);
	}
}

/* This program has line tables; without a limit, all of them are held. */
static void what_wants_order(void **state)
{
	static const size_t limits[] = {0, 1, (size_t)1 << 30};

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(*limits); i++) {
		struct naming *naming;

		assert_int_equal(naming_new("/proc", &naming), 0);
		naming_limit(naming, limits[i]);
		assert_int_equal(naming_wants_order(naming, &places[0].object), limits[i] == 1);
		assert_false(naming_wants_order(naming, &places[2].object) && limits[i] != 1);
		naming_free(naming);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_a_limit),    cmocka_unit_test(with_room_for_none),
		cmocka_unit_test(with_room_for_some), cmocka_unit_test(when_an_object_is_expensive),
		cmocka_unit_test(what_wants_order),
	};

	return cmocka_run_group_tests(tests, find_places, free_places);
}
