/* SPDX-License-Identifier: MIT */
/* Names of events: the usual ones, which libpfm4 is not asked for, have the attributes that it
 * gives them; others are libpfm4's, raw codes, or refused. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/event_spec.h"

#include <perfmon/pfmlib_perf_event.h>

static struct event_spec parse(const char *name)
{
	struct event_spec spec;
	char *error = NULL;

	assert_int_equal(event_spec_parse(name, 0, 1000, &spec, &error), 0);
	assert_null(error);
	return spec;
}

static void check_as_libpfm4(const char *name)
{
	struct perf_event_attr attr = {.size = sizeof(attr)};
	pfm_perf_encode_arg_t arg = {.attr = &attr, .size = sizeof(arg)};
	struct event_spec spec = parse(name);

	assert_int_equal(pfm_initialize(), PFM_SUCCESS);
	assert_int_equal(
		pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg),
		PFM_SUCCESS);
	attr.sample_period = 1000;
	assert_memory_equal(&spec.attr, &attr, sizeof(attr));
	assert_string_equal(spec.name, name);
}

static void encodes_as_libpfm4_does(void **state)
{
	static const char *const names[] = {"cycles",	 "cycles:u",	"cycles:k",
					    "cpu-clock", "cpu-clock:u", "cpu-clock:k",
					    "CPU-CLOCK", "cycles:u:k",	"page-faults"};

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
		check_as_libpfm4(names[i]);
}

static void takes_cycles_for_no_name(void **state)
{
	struct event_spec spec, named = parse("cycles");
	char *error = NULL;

	(void)state;
	assert_int_equal(event_spec_parse(NULL, 0, 1000, &spec, &error), 0);
	assert_memory_equal(&spec.attr, &named.attr, sizeof(spec.attr));
	assert_true(spec.may_fall_back);
	assert_false(parse("cpu-clock").may_fall_back);
}

static void takes_raw_codes(void **state)
{
	struct event_spec spec = parse("r1a8:u");

	(void)state;
	assert_int_equal(spec.attr.type, PERF_TYPE_RAW);
	assert_int_equal(spec.attr.config, 0x1a8);
	assert_true(spec.attr.exclude_kernel);
	assert_false(spec.attr.exclude_user);
}

static void refuses_others(void **state)
{
	static const char *const names[] = {"cycle",	"cyclesx",	"cycles:",     "cycles:ux",
					    "cpu-cloc", "cpu-clock:hx", "cpu-clock::u"};
	struct event_spec spec;

	(void)state;
	for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		char *error = NULL;

		assert_int_equal(event_spec_parse(names[i], 0, 1000, &spec, &error), -ENOENT);
		assert_non_null(strstr(error, names[i]));
		free(error);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(encodes_as_libpfm4_does),
		cmocka_unit_test(takes_cycles_for_no_name),
		cmocka_unit_test(takes_raw_codes),
		cmocka_unit_test(refuses_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
