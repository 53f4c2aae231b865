/* SPDX-License-Identifier: MIT */
/*
 * Branch records, asked for: what the processor has, as generated trees of /sys and /proc say, and
 * what the event is then opened with.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "proc/branch_caps.h"

#include "daemon/capture/event_spec.h"

static char root[] = "/tmp/stackd-branches-XXXXXX";

static int set_up(void **state)
{
	(void)state;
	memcpy(root + sizeof(root) - 7, "XXXXXX", 6);
	return mkdtemp(root) ? 0 : -1;
}

static int tear_down(void **state)
{
	char command[128];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

static void put(const char *name, const char *text)
{
	char path[512];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", root, name);
	for (char *at = strchr(path + sizeof(root), '/'); at; at = strchr(at + 1, '/')) {
		*at = 0;
		mkdir(path, 0755);
		*at = '/';
	}
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static struct branch_caps caps(void)
{
	struct branch_caps got;

	branch_caps_read(root, root, &got);
	return got;
}

/* --- the processor --------------------------------------------------------------------------- */

static void caps_intel(void **state)
{
	(void)state;
	put("cpuinfo", "processor\t: 0\nvendor_id\t: GenuineIntel\nflags\t\t: fpu vme\n\n");
	put("bus/event_source/devices/cpu/caps/branches", "16\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_CALL_STACK);
	assert_int_equal(caps().entries, 16);
	assert_string_equal(caps().pmu, "cpu");
	assert_string_equal(caps().vendor, "GenuineIntel");
}

/* Processors with two kinds of cores have two PMUs. */
static void caps_hybrid(void **state)
{
	(void)state;
	put("cpuinfo", "vendor_id\t: GenuineIntel\n");
	put("bus/event_source/devices/cpu_core/caps/branches", "32\n");
	put("bus/event_source/devices/cpu_atom/caps/branches", "32\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_CALL_STACK);
	assert_int_equal(caps().entries, 32);
	assert_string_equal(caps().pmu, "cpu_core");
}

static void caps_amd(void **state)
{
	(void)state;
	put("cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu amd_lbr_v2 sse\n");
	put("bus/event_source/devices/cpu/caps/branches", "16\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_ANY);
	assert_int_equal(caps().entries, 16);
}

static void caps_without(void **state)
{
	(void)state;
	assert_int_equal(caps().kind, BRANCH_CAPS_NO_PMU);
	/* A CPU flag that a virtual machine inherits from its host is no PMU. */
	put("cpuinfo", "vendor_id\t: AuthenticAMD\nflags\t\t: fpu amd_lbr_v2 sse\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_NO_PMU);
	put("cpuinfo", "vendor_id\t: GenuineIntel\n");
	put("bus/event_source/devices/cpu/type", "4\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_NONE);
	/* Invalid contents are no PMU. */
	put("bus/event_source/devices/cpu/caps/branches", "many\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_NONE);
	put("bus/event_source/devices/cpu/caps/branches", "4000000000\n");
	assert_int_equal(caps().kind, BRANCH_CAPS_NONE);
}

/* --- the event ------------------------------------------------------------------------------- */

static struct event_spec spec_of(const char *name)
{
	struct event_spec spec;
	char *error = NULL;

	assert_int_equal(event_spec_parse(name, 997, 0, &spec, &error), 0);
	return spec;
}

static void event_call_stack(void **state)
{
	struct event_spec spec = spec_of(NULL);

	(void)state;
	assert_true(event_spec_may_branch(&spec));
	event_spec_add_branches(&spec, true);
	assert_true(spec.attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	assert_int_equal(spec.attr.branch_sample_type,
			 PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK |
				 PERF_SAMPLE_BRANCH_NO_FLAGS | PERF_SAMPLE_BRANCH_NO_CYCLES);
	/* A software event with branch records would be refused. */
	event_spec_fall_back(&spec);
	assert_false(spec.attr.sample_type & PERF_SAMPLE_BRANCH_STACK);
	assert_int_equal(spec.attr.branch_sample_type, 0);
}

static void event_any(void **state)
{
	struct event_spec spec = spec_of("cycles");

	(void)state;
	event_spec_add_branches(&spec, false);
	assert_int_equal(spec.attr.branch_sample_type,
			 PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_ANY);
}

static void event_software(void **state)
{
	struct event_spec spec = spec_of("cpu-clock");

	(void)state;
	assert_false(event_spec_may_branch(&spec));
	spec = spec_of("page-faults");
	assert_false(event_spec_may_branch(&spec));
	spec = spec_of("r1a8");
	assert_true(event_spec_may_branch(&spec));
}

int main(void)
{
#define T(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
	const struct CMUnitTest tests[] = {
		T(caps_intel),	     T(caps_hybrid), T(caps_amd),	T(caps_without),
		T(event_call_stack), T(event_any),   T(event_software),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
