// SPDX-License-Identifier: MIT
/* What waits were for, by state, system call and file. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "daemon/recorder/wait_reason.h"

#define FILE_TYPE(mode) ((mode) >> 12)

static void assert_blocked(const char *expected, struct stackd_wait wait)
{
	char name[WAIT_REASON_MAX];

	assert_string_equal(wait_reason_blocked(&wait, false, name), expected);
}

static void calls(void **state)
{
	(void)state;
	assert_blocked("[futex]", (struct stackd_wait){.state = 1, .call = SYS_futex});
	assert_blocked("[sleep]", (struct stackd_wait){.state = 1, .call = SYS_clock_nanosleep});
	assert_blocked("[child]", (struct stackd_wait){.state = 1, .call = SYS_wait4});
	assert_blocked("[idle: poll]", (struct stackd_wait){.state = 1, .call = SYS_poll});
	assert_blocked("[system call: mmap]", (struct stackd_wait){.state = 2, .call = SYS_mmap});
	assert_blocked("[system call: 9999]", (struct stackd_wait){.state = 2, .call = 9999});
}

/* The first argument is a descriptor only of calls that wait for it. */
static void files(void **state)
{
	(void)state;
	assert_blocked("[pipe: read]", (struct stackd_wait){.state = 1,
							    .call = SYS_read,
							    .file_type = FILE_TYPE(S_IFIFO)});
	assert_blocked("[socket: recvmsg]", (struct stackd_wait){.state = 1,
								 .call = SYS_recvmsg,
								 .file_type = FILE_TYPE(S_IFSOCK)});
	assert_blocked("[anonymous file: read]",
		       (struct stackd_wait){.state = 1, .call = SYS_read});
	assert_blocked("[futex]", (struct stackd_wait){.state = 1,
						       .call = SYS_futex,
						       .file_type = FILE_TYPE(S_IFREG)});
}

/* What the kernel says of the task goes before its system call. */
static void states(void **state)
{
	(void)state;
	assert_blocked("[stopped]", (struct stackd_wait){.state = 4, .call = SYS_futex});
	assert_blocked("[block I/O]", (struct stackd_wait){.state = 2,
							   .call = SYS_read,
							   .is_io = 1,
							   .file_type = FILE_TYPE(S_IFREG)});
	assert_blocked("[block I/O]", (struct stackd_wait){.state = 2, .call = -1, .is_io = 1});
	/* The kernel counts waits for an io_uring as those for a disk. */
	assert_blocked("[io_uring]",
		       (struct stackd_wait){.state = 1, .call = SYS_io_uring_enter, .is_io = 1});
	assert_blocked("[block I/O]",
		       (struct stackd_wait){.state = 2, .call = SYS_io_uring_enter, .is_io = 1});
	assert_blocked("[page fault]", (struct stackd_wait){.state = 2, .call = -1});
}

/* A page fault of the kernel's is within a system call. */
static void faults(void **state)
{
	const struct stackd_wait copy = {.state = 2, .call = SYS_read}, disk = {.is_io = 1};
	char name[WAIT_REASON_MAX];

	(void)state;
	assert_string_equal(wait_reason_blocked(&copy, true, name), "[page fault]");
	assert_string_equal(wait_reason_blocked(&disk, true, name), "[block I/O]");
}

static bool has_object(int call, enum stackd_object object)
{
	const struct stackd_wait wait = {
		.state = 1, .call = (int16_t)call, .object = (uint8_t)object};

	return wait_reason_has_object(&wait, false);
}

/* An object is what the wait was for only in calls that wait for it. */
static void objects(void **state)
{
	const struct stackd_wait stopped = {
		.state = 4, .call = SYS_read, .object = STACKD_OBJECT_PIPE};
	const struct stackd_wait fault = {
		.state = 2, .call = SYS_read, .object = STACKD_OBJECT_FILE};
	const struct stackd_wait disk = {
		.state = 2, .call = SYS_fsync, .is_io = 1, .object = STACKD_OBJECT_FILE};

	(void)state;
	assert_true(has_object(SYS_read, STACKD_OBJECT_PIPE));
	assert_true(has_object(SYS_accept4, STACKD_OBJECT_IP));
	assert_true(has_object(SYS_futex, STACKD_OBJECT_FUTEX));
	assert_false(has_object(SYS_futex, STACKD_OBJECT_FILE));
	assert_false(has_object(SYS_wait4, STACKD_OBJECT_FILE)); /* a process's number */
	assert_false(has_object(SYS_epoll_wait, STACKD_OBJECT_ANON));
	assert_false(has_object(SYS_read, STACKD_OBJECT_FUTEX));
	assert_false(wait_reason_has_object(&stopped, false));
	assert_false(wait_reason_has_object(&fault, true));
	assert_true(wait_reason_has_object(&disk, false));
}

static void runnable(void **state)
{
	(void)state;
	assert_string_equal(wait_reason_runnable(0), "[preempted]");
	assert_string_equal(wait_reason_runnable(1), "[woken]");
	assert_string_equal(wait_reason_runnable(STACKD_STATE_THROTTLED), "[throttled]");
}

/* By the innermost function that says so: */
static void restarts(void **state)
{
	(void)state;
	assert_int_equal(wait_reason_restarted("do_restart_poll"), SYS_poll);
	assert_int_equal(wait_reason_restarted("futex_wait_queue"), SYS_futex);
	assert_int_equal(wait_reason_restarted("hrtimer_nanosleep_restart"), SYS_clock_nanosleep);
	assert_int_equal(wait_reason_restarted("do_syscall_64"), SYS_clock_nanosleep);
	assert_int_equal(wait_reason_restarted("poll_schedule_timeout.constprop.0"), -1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(restarts), cmocka_unit_test(calls),  cmocka_unit_test(files),
		cmocka_unit_test(states),   cmocka_unit_test(faults), cmocka_unit_test(objects),
		cmocka_unit_test(runnable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
