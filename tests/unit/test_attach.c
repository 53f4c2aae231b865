/* SPDX-License-Identifier: MIT */
/* By which events a running process is sampled (daemon/attach.h). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "daemon/attach.h"

#define SECOND 1000000000u

/* More CPUs and a higher rate make events of CPUs dearer; switches make those of threads so. */
static void test_switches_often(void **state)
{
	(void)state;
	assert_false(attach_switches_often(0, SECOND, 2, 997));
	assert_false(attach_switches_often(2500, SECOND, 2, 997));
	assert_true(attach_switches_often(2700, SECOND, 2, 997));
	assert_true(attach_switches_often(135, SECOND / 20, 2, 997));
	assert_false(attach_switches_often(2700, SECOND, 64, 997));
	assert_false(attach_switches_often(2700, SECOND, 2, 9973));
	assert_false(attach_switches_often(850, SECOND, 2, 97));
	assert_true(attach_switches_often(950, SECOND, 2, 97));
	assert_true(attach_switches_often(UINT32_MAX, SECOND, 1024, 9973));
}

int main(void)
{
	const struct CMUnitTest tests[] = {cmocka_unit_test(test_switches_often)};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
