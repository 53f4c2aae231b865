/* SPDX-License-Identifier: MIT */
/* Which processes are followed, and which are left out: daemon/short_lived.c. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/record_pool.h"
#include "daemon/short_lived.h"

/* What was passed on: a letter for the kind and the pid of each event, such as "F7X7". */
static char passed[4096];
static int pass_error;
static uint64_t now;
static struct short_lived *young;

static int pass_on(void *arg, struct sideband_event *event)
{
	static const char kinds[] = {
		[SIDEBAND_MMAP] = 'M', [SIDEBAND_COMM] = 'C', [SIDEBAND_FORK] = 'F',
		[SIDEBAND_EXIT] = 'X', [SIDEBAND_LOST] = 'L', [SIDEBAND_CGROUP] = 'G'};
	size_t len = strlen(passed);
	(void)arg;

	snprintf(passed + len, sizeof(passed) - len, "%c%d", kinds[event->kind], event->pid);
	record_pool_give_back(event);
	return pass_error;
}

static int give(struct sideband_event what)
{
	struct sideband_event *event = record_pool_take(NULL, sizeof(*event));

	assert_non_null(event);
	*event = what;
	event->time_ns = ++now;
	return short_lived_event(young, event);
}

static void give_fork(pid_t pid, pid_t parent)
{
	assert_int_equal(give((struct sideband_event){.kind = SIDEBAND_FORK,
						      .pid = pid,
						      .tid = pid,
						      .parent_pid = parent,
						      .parent_tid = parent}),
			 0);
}

static void give_thread(pid_t pid, pid_t tid)
{
	assert_int_equal(give((struct sideband_event){
				 .kind = SIDEBAND_FORK, .pid = pid, .tid = tid, .parent_pid = pid}),
			 0);
}

static void give_exec(pid_t pid)
{
	assert_int_equal(give((struct sideband_event){
				 .kind = SIDEBAND_COMM, .pid = pid, .tid = pid, .is_exec = true}),
			 0);
}

static void give_other(enum sideband_kind kind, pid_t pid)
{
	assert_int_equal(give((struct sideband_event){.kind = kind, .pid = pid, .tid = pid}), 0);
}

static int set_up(void **state)
{
	(void)state;
	passed[0] = '\0';
	pass_error = 0;
	now = 0;
	return short_lived_new(pass_on, NULL, &young);
}

static int tear_down(void **state)
{
	(void)state;
	short_lived_free(young);
	return 0;
}

static void give_life(pid_t pid, pid_t parent)
{
	give_fork(pid, parent);
	give_exec(pid);
	give_other(SIDEBAND_MMAP, pid);
	give_other(SIDEBAND_EXIT, pid);
}

static void test_left_out(void **state)
{
	(void)state;
	give_other(SIDEBAND_MMAP, 1);
	give_life(7, 1);
	assert_int_equal(short_lived_pass_living(young), 0);
	short_lived_forget(young, now); /* it has ended at that time */
	assert_int_equal(short_lived_count(young), 0);
	short_lived_forget(young, now + 1);
	assert_int_equal(short_lived_count(young), 1);
	assert_int_equal(short_lived_pass(young, 7, 7), 0);
	assert_string_equal(passed, "M1");
}

static void test_met(void **state)
{
	(void)state;
	give_life(7, 1);
	assert_int_equal(short_lived_pass(young, 8, 8), 0);
	assert_string_equal(passed, "");
	assert_int_equal(short_lived_pass(young, 7, 7), 0);
	assert_string_equal(passed, "F7C7M7X7");
	give_other(SIDEBAND_EXIT, 7); /* it is not kept any more */
	assert_string_equal(passed, "F7C7M7X7X7");
	short_lived_forget(young, UINT64_MAX);
	assert_int_equal(short_lived_count(young), 0);
}

/* What runs is looked at while it runs; later events follow. */
static void test_living(void **state)
{
	(void)state;
	give_fork(7, 1);
	give_life(8, 1);
	give_exec(7);
	assert_int_equal(short_lived_pass_living(young), 0);
	assert_string_equal(passed, "F7C7");
	give_other(SIDEBAND_EXIT, 7);
	assert_string_equal(passed, "F7C7X7");
}

/* A process ends with its last thread. */
static void test_threads(void **state)
{
	(void)state;
	give_fork(7, 1);
	give_thread(7, 70);
	give_other(SIDEBAND_EXIT, 7);
	short_lived_forget(young, UINT64_MAX);
	assert_int_equal(short_lived_pass_living(young), 0);
	assert_string_equal(passed, "F7F7X7");
}

/* A child that maps before it calls exec may share its parent's memory. */
static void test_maps_before_exec(void **state)
{
	(void)state;
	give_fork(7, 1);
	give_other(SIDEBAND_MMAP, 7);
	assert_string_equal(passed, "F7M7");
}

/* A parent is passed on before its child, and kept for as long. */
static void test_parents(void **state)
{
	(void)state;
	give_fork(7, 1);
	give_exec(7);
	give_fork(8, 7);
	give_fork(9, 8);
	give_other(SIDEBAND_EXIT, 7);
	give_other(SIDEBAND_EXIT, 8);
	give_other(SIDEBAND_EXIT, 9);
	short_lived_forget(young, now); /* the youngest stays, and so do its parents */
	assert_int_equal(short_lived_count(young), 0);
	assert_int_equal(short_lived_pass(young, 8, 8), 0);
	assert_string_equal(passed, "F7C7X7F8X8");
	assert_int_equal(short_lived_pass(young, 9, 9), 0);
	assert_string_equal(passed, "F7C7X7F8X8F9X9");
	give_life(10, 1);
	give_fork(11, 10);
	give_other(SIDEBAND_EXIT, 11);
	short_lived_forget(young, now + 1);
	assert_int_equal(short_lived_count(young), 2);
}

/* The parent of one that runs is passed on with it. */
static void test_parent_of_living(void **state)
{
	(void)state;
	give_fork(7, 1);
	give_fork(8, 7);
	give_other(SIDEBAND_EXIT, 7);
	assert_int_equal(short_lived_pass_living(young), 0);
	assert_string_equal(passed, "F7X7F8");
}

/* While records wait in the ring, processes that have lived at the time up to which events are
 * handed out come in order. */
static void test_behind(void **state)
{
	uint64_t horizon;

	(void)state;
	give_life(7, 1);
	give_fork(8, 1);
	give_exec(8);
	give_fork(9, 8);
	horizon = now;
	give_fork(10, 1);
	give_other(SIDEBAND_EXIT, 9);
	give_other(SIDEBAND_EXIT, 8);
	give_other(SIDEBAND_EXIT, 10);
	short_lived_forget(young, horizon);
	assert_int_equal(short_lived_count(young), 1);
	assert_int_equal(short_lived_pass_before(young, horizon), 0);
	assert_string_equal(passed, "F8C8X8");
	assert_int_equal(short_lived_pass_before(young, horizon + 1), 0);
	assert_string_equal(passed, "F8C8X8F9X9");
	short_lived_forget(young, now + 1);
	assert_int_equal(short_lived_count(young), 2);
}

static void test_pid_used_again(void **state)
{
	(void)state;
	give_life(7, 1);
	give_fork(7, 1);
	assert_string_equal(passed, "F7C7M7X7");
	give_other(SIDEBAND_EXIT, 7);
	short_lived_forget(young, now + 1);
	assert_int_equal(short_lived_count(young), 1);
}

static void test_full(void **state)
{
	(void)state;
	for (pid_t pid = 2; !short_lived_is_full(young); pid++)
		give_life(pid, 1);
	assert_string_equal(passed, "");
	give_fork(1 << 20, 1);
	assert_string_equal(passed, "F1048576");
	short_lived_forget(young, now + 1);
	assert_false(short_lived_is_full(young));
}

/* A child for which there is no room comes after its parents, which are young. */
static void test_full_with_parents(void **state)
{
	(void)state;
	give_fork(2, 1);
	give_exec(2);
	give_fork(3, 2);
	for (pid_t pid = 4; !short_lived_is_full(young); pid++)
		give_life(pid, 1);
	assert_string_equal(passed, "");
	give_fork(1 << 20, 3);
	assert_string_equal(passed, "F2C2F3F1048576");
}

static void test_errors(void **state)
{
	(void)state;
	give_life(7, 1);
	pass_error = -ENOMEM;
	assert_int_equal(short_lived_pass(young, 7, 7), -ENOMEM);
	give_life(8, 1);
	assert_int_equal(give((struct sideband_event){
				 .kind = SIDEBAND_FORK, .pid = 8, .tid = 8, .parent_pid = 1}),
			 -ENOMEM);
}

/* Threads that an older process starts, and those that they start. */
static void test_threads_of_others(void **state)
{
	(void)state;
	give_thread(1, 70);
	assert_int_equal(give((struct sideband_event){.kind = SIDEBAND_FORK,
						      .pid = 1,
						      .tid = 71,
						      .parent_pid = 1,
						      .parent_tid = 70}),
			 0);
	give_other(SIDEBAND_MMAP, 1);
	assert_string_equal(passed, "M1");
	assert_int_equal(give((struct sideband_event){.kind = SIDEBAND_EXIT, .pid = 1, .tid = 70}),
			 0);
	assert_int_equal(give((struct sideband_event){.kind = SIDEBAND_EXIT, .pid = 1, .tid = 71}),
			 0);
	assert_int_equal(short_lived_pass_living(young), 0);
	assert_int_equal(short_lived_pass(young, 1, 1), 0);
	assert_string_equal(passed, "M1");
	assert_int_equal(short_lived_pass(young, 1, 71), 0); /* after the one that has started it */
	assert_string_equal(passed, "M1F1X1F1X1");
	give_thread(1, 72);
	assert_int_equal(give((struct sideband_event){.kind = SIDEBAND_EXIT, .pid = 1, .tid = 72}),
			 0);
	short_lived_forget(young, now + 1);
	assert_int_equal(short_lived_count(young), 1);
	give_thread(1, 73); /* it runs */
	assert_int_equal(short_lived_pass_living(young), 0);
	assert_string_equal(passed, "M1F1X1F1X1F1");
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_left_out),
		TEST(test_met),
		TEST(test_living),
		TEST(test_threads),
		TEST(test_maps_before_exec),
		TEST(test_parents),
		TEST(test_parent_of_living),
		TEST(test_behind),
		TEST(test_pid_used_again),
		TEST(test_full),
		TEST(test_full_with_parents),
		TEST(test_errors),
		TEST(test_threads_of_others),
	};
	return cmocka_run_group_tests(tests, NULL, NULL);
}
