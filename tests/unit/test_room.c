/* SPDX-License-Identifier: MIT */
/*
 * Which tables make room for which: daemon/tables/room.c. The source is included, since the test
 * fakes the system calls by which it waits for walks.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

/* Replacements of the system calls by which the code under test waits. */
static long fake_syscall(long number, int command, int flags, int cpu);
static int fake_usleep(unsigned int usec);
#define syscall fake_syscall
#define usleep	fake_usleep
#include "daemon/tables/room.c"
#undef syscall
#undef usleep

#define FILES  8
#define SECOND UINT64_C(1000000000)

static struct {
	const struct room *room;
	uint32_t rows;	 /* rows that must not be reused while walks end */
	bool is_falling; /* by ten each time */
	bool is_refused;
	int barriers, sleeps;
} waiting;

static struct stackd_file files[FILES];
static struct tables_maps maps = {.files = files, .n_files = FILES, .n_chunks = 64};

/* While walks end, no entry refers to the victim's rows, and no other table has them. */
static void check_wait(void)
{
	uint32_t rows = 0;

	for (uint32_t f = 1; f < FILES; f++)
		rows += files[f].n_chunks != 0;
	assert_true(rows * 10 < waiting.rows);
	assert_int_equal(room_rows(waiting.room), waiting.rows);
	waiting.rows -= waiting.is_falling ? 10 : 0;
}

static long fake_syscall(long number, int command, int flags, int cpu)
{
	assert_int_equal(number, SYS_membarrier);
	assert_int_equal(command, MEMBARRIER_CMD_GLOBAL);
	assert_int_equal(flags, 0);
	assert_int_equal(cpu, 0);
	check_wait();
	waiting.barriers++;
	return waiting.is_refused ? -1 : 0;
}

static int fake_usleep(unsigned int usec)
{
	assert_true(usec > 0);
	check_wait();
	waiting.sleeps++;
	return 0;
}

static int take_rows(struct room *room, uint32_t file, uint32_t rows, uint32_t *ret_row)
{
	struct room_place place = {.row = 4711};
	int err = room_take(room, file, (struct room_size){rows, 2}, true, &place);

	*ret_row = place.row;
	if (!err)
		files[file].n_chunks = 1;
	return err;
}

/* Room for so many rows, with files 1 to `count` of ten rows each, and their uses. */
static struct room *fill(uint32_t n_rows, const uint32_t *uses, uint32_t count)
{
	struct room *room;
	uint32_t row;

	memset(files, 0, sizeof(files));
	memset(&waiting, 0, sizeof(waiting));
	maps.n_rows = n_rows;
	assert_int_equal(room_new(&maps, &room), 0);
	waiting.room = room;
	for (uint32_t f = 1; f <= count; f++) {
		assert_int_equal(take_rows(room, f, 10, &row), 0);
		files[f].uses = uses[f - 1];
	}
	waiting.rows = 10 * count;
	return room;
}

static void test_room_is_given_back_after_a_grace_period(void **state)
{
	struct room *room = fill(20, (const uint32_t[]){5, 3}, 2);
	uint32_t first;

	(void)state;
	assert_int_equal(take_rows(room, 3, 10, &first), 0);
	assert_int_equal(first, 10);
	assert_int_equal(waiting.barriers, 1);
	assert_int_equal(waiting.sleeps, 0);
	assert_int_equal(files[2].n_chunks, 0);
	assert_int_equal(files[1].n_chunks, 1);
	room_free(room);
}

static void test_time_replaces_grace_period(void **state)
{
	struct room *room = fill(20, (const uint32_t[]){3, 5}, 2);
	uint32_t first;

	(void)state;
	waiting.is_refused = true;
	assert_int_equal(take_rows(room, 3, 10, &first), 0);
	assert_int_equal(first, 0);
	assert_int_equal(waiting.sleeps, 1);
	room_free(room);
}

/* Two have to go, neighbours, though another is used less than the second. */
static void test_those_go_that_are_worth_least_together(void **state)
{
	struct room *room = fill(40, (const uint32_t[]){2, 9, 3, 5}, 4);
	uint32_t first;

	(void)state;
	waiting.is_falling = true;
	assert_int_equal(take_rows(room, 5, 20, &first), 0);
	assert_int_equal(first, 20);
	assert_int_equal(room_evicted(room), 2);
	assert_true(files[1].n_chunks && files[2].n_chunks);
	room_free(room);
}

static void test_oversized_request_evicts_nothing(void **state)
{
	struct room *room = fill(30, (const uint32_t[]){5, 1, 3}, 3);
	uint32_t first;

	(void)state;
	assert_int_equal(take_rows(room, 4, 31, &first), -E2BIG);
	assert_int_equal(room_evicted(room), 0);
	assert_int_equal(room_offer(room, 4, (struct room_size){31, 2}), ROOM_OF_BETTER);
	room_free(room);
}

/* A prefetch takes no room from others, and leaves the rows if it has no chunks. */
static void test_room_is_not_taken_from_others_unasked(void **state)
{
	struct room *room = fill(30, (const uint32_t[]){5, 1}, 2);
	struct room_place place;

	(void)state;
	assert_int_equal(room_take(room, 3, (struct room_size){11, 2}, false, &place), -ENOSPC);
	assert_int_equal(room_take(room, 3, (struct room_size){10, 61}, false, &place), -ENOSPC);
	assert_int_equal(room_rows(room), 20);
	assert_int_equal(room_offer(room, 3, (struct room_size){10, 60}), ROOM_IS_FREE);
	assert_int_equal(room_offer(room, 3, (struct room_size){10, 61}), ROOM_OF_BETTER);
	assert_int_equal(room_take(room, 3, (struct room_size){10, 60}, false, &place), 0);
	assert_int_equal(room_evicted(room), 0);
	room_free(room);
}

/* A file that is out counts its misses, as those within count their uses. */
static void test_a_file_comes_in_if_it_is_worth_more(void **state)
{
	struct room *room = fill(20, (const uint32_t[]){5, 3}, 2);
	const struct room_size one = {10, 2}, both = {20, 2};

	(void)state;
	files[3].uses = 3;
	assert_int_equal(room_offer(room, 3, one), ROOM_OF_BETTER);
	files[3].uses = 4;
	assert_int_equal(room_offer(room, 3, one), ROOM_OF_WORSE);
	assert_int_equal(room_offer(room, 3, both), ROOM_OF_BETTER);
	files[3].uses = 10;
	assert_int_equal(room_offer(room, 3, both), ROOM_OF_WORSE);
	room_free(room);
}

/* What was used much an hour ago is worth less than what is used now; and even uses keep their
 * worth, however long nobody looks. */
static void test_worth_fades(void **state)
{
	struct room *room = fill(20, (const uint32_t[]){0, 0}, 2);

	(void)state;
	room_look(room, 10 * SECOND);
	files[1].uses += 1000000;
	room_look(room, 20 * SECOND);
	assert_int_equal(worth_of(room, 1), 500000);
	for (uint64_t now = 30; now <= 3600; now += 10) {
		files[2].uses += 20;
		room_look(room, now * SECOND);
	}
	assert_int_equal(worth_of(room, 1), 0);
	assert_in_range(worth_of(room, 2), 19, 20);
	files[2].uses += 20 * 360;
	room_look(room, 7200 * SECOND);
	assert_in_range(worth_of(room, 2), 19, 20);
	room_look(room, 7209 * SECOND); /* not due */
	files[2].uses += 7;
	assert_in_range(worth_of(room, 2), 26, 27);
	room_free(room);
	room_free(NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_room_is_given_back_after_a_grace_period),
		cmocka_unit_test(test_time_replaces_grace_period),
		cmocka_unit_test(test_those_go_that_are_worth_least_together),
		cmocka_unit_test(test_oversized_request_evicts_nothing),
		cmocka_unit_test(test_room_is_not_taken_from_others_unasked),
		cmocka_unit_test(test_a_file_comes_in_if_it_is_worth_more),
		cmocka_unit_test(test_worth_fades),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
