/* SPDX-License-Identifier: MIT */
/* Parses event names by libpfm4; see event_spec.h. libpfm4 opens a file for each of the kernel's
 * thousands of tracepoints before it looks at the first name, which is a good part of stackd's
 * start. So the usual names are encoded here, in the same way. */
#include "daemon/capture/event_spec.h"

#include <ctype.h>
#include <errno.h>
#include <perfmon/pfmlib_perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Reads ":u", ":k" or ":uk" behind a name. */
static bool parse_modifiers(const char *text, struct perf_event_attr *attr)
{
	bool user = false, kernel = false;

	if (!*text)
		return true;
	if (*text++ != ':' || !*text)
		return false;
	for (; *text; text++) {
		if (*text == 'u')
			user = true;
		else if (*text == 'k')
			kernel = true;
		else
			return false;
	}
	attr->exclude_user = !user;
	attr->exclude_kernel = !kernel;
	return true;
}

static bool parse_raw(const char *name, struct perf_event_attr *attr)
{
	char *end;

	if (name[0] != 'r' || !isxdigit((unsigned char)name[1]))
		return false;
	errno = 0;
	attr->config = strtoull(name + 1, &end, 16);
	if (errno)
		return false;
	attr->type = PERF_TYPE_RAW;
	return parse_modifiers(end, attr);
}

static const struct usual_event {
	const char *name;
	uint32_t type;
	uint64_t config;
} usual_events[] = {
	{"cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES},
	{"cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK},
};

/* Encodes a usual name, which ":u" or ":k" may follow. */
static bool parse_usual(const char *name, struct perf_event_attr *attr)
{
	size_t length = strcspn(name, ":");
	const char *modifier = name + length;

	if (*modifier && strcmp(modifier, ":u") != 0 && strcmp(modifier, ":k") != 0)
		return false;
	for (size_t i = 0; i < sizeof(usual_events) / sizeof(usual_events[0]); i++) {
		const struct usual_event *usual = &usual_events[i];

		if (strlen(usual->name) != length || strncmp(usual->name, name, length) != 0)
			continue;
		attr->type = usual->type;
		attr->config = usual->config;
		attr->exclude_hv = 1;
		attr->exclude_guest = 1;
		return parse_modifiers(modifier, attr);
	}
	return false;
}

/* Encodes a name by libpfm4. PFM_SUCCESS or its error. */
static int parse_named(const char *name, struct perf_event_attr *attr)
{
	pfm_perf_encode_arg_t arg = {.attr = attr, .size = sizeof(arg)};
	int err = pfm_initialize();

	if (err != PFM_SUCCESS)
		return err;
	return pfm_get_os_event_encoding(name, PFM_PLM0 | PFM_PLM3, PFM_OS_PERF_EVENT_EXT, &arg);
}

static void parse_none(struct event_spec *ret_spec)
{
	*ret_spec = (struct event_spec){.attr.size = sizeof(ret_spec->attr),
					.attr.type = PERF_TYPE_SOFTWARE,
					.attr.config = PERF_COUNT_SW_DUMMY,
					.name = EVENT_SPEC_NONE,
					.is_none = true};
}

/* Returns what to type instead of an event that perf has and stackd has not; "": anything else. */
static const char *advice(const char *name)
{
	const char *modifier = strchr(name, ':');

	if (strpbrk(name, ",{"))
		return "; a recording is of one event: record once for each";
	if (modifier && modifier[1] && strspn(modifier + 1, "ukhpP") == strlen(modifier + 1))
		return "; perf's :p is :precise=1 here, and :pp is :precise=2";
	if (modifier && strlen(modifier) > 3 && !strpbrk(name, "=."))
		return "; tracepoints are not sampled: --wait records waits, --region FUNC a "
		       "function";
	return "";
}

int event_spec_parse(const char *name, uint64_t frequency, uint64_t period,
		     struct event_spec *ret_spec, char **ret_error)
{
	struct event_spec spec = {.attr.size = sizeof(spec.attr)};
	int err = PFM_SUCCESS;

	if (!name)
		name = "cycles";
	if (!strcmp(name, EVENT_SPEC_NONE)) {
		parse_none(ret_spec);
		return 0;
	}
	if (!parse_usual(name, &spec.attr) && !parse_raw(name, &spec.attr)) {
		spec.attr = (struct perf_event_attr){.size = sizeof(spec.attr)};
		err = parse_named(name, &spec.attr);
	}
	/* The kernel runs no program for samples at a tracepoint. libpfm4 knows those that the
	 * mounted tracefs lists. */
	if (err == PFM_SUCCESS && spec.attr.type == PERF_TYPE_TRACEPOINT)
		err = PFM_ERR_NOTSUPP;
	if (err != PFM_SUCCESS) {
		if (asprintf(ret_error,
			     "unknown event '%s' (%s): give a libpfm4 name such as cycles:u, "
			     "perf::CPU-CLOCK or page-faults, or a raw code such as r1a8%s",
			     name, pfm_strerror(err), advice(name)) < 0)
			*ret_error = NULL;
		return -ENOENT;
	}
	snprintf(spec.name, sizeof(spec.name), "%s", name);
	spec.attr.freq = frequency != 0;
	if (frequency)
		spec.attr.sample_freq = frequency;
	else
		spec.attr.sample_period = period;
	spec.may_fall_back = spec.attr.type == PERF_TYPE_HARDWARE &&
			     spec.attr.config == PERF_COUNT_HW_CPU_CYCLES;
	*ret_spec = spec;
	return 0;
}

bool event_spec_may_branch(const struct event_spec *spec)
{
	return spec->attr.type != PERF_TYPE_SOFTWARE && spec->attr.type != PERF_TYPE_TRACEPOINT &&
	       spec->attr.type != PERF_TYPE_BREAKPOINT;
}

void event_spec_add_branches(struct event_spec *spec, bool is_call_stack)
{
	spec->attr.sample_type |= PERF_SAMPLE_BRANCH_STACK;
	spec->attr.branch_sample_type = PERF_SAMPLE_BRANCH_USER;
	if (is_call_stack)
		spec->attr.branch_sample_type |= PERF_SAMPLE_BRANCH_CALL_STACK |
						 PERF_SAMPLE_BRANCH_NO_FLAGS |
						 PERF_SAMPLE_BRANCH_NO_CYCLES;
	else
		spec->attr.branch_sample_type |= PERF_SAMPLE_BRANCH_ANY;
}

void event_spec_fall_back(struct event_spec *spec)
{
	const char *modifiers = strchr(spec->name, ':');
	char name[sizeof(spec->name)];

	while (modifiers && modifiers[1] == ':') /* "perf::CYCLES:u": past the PMU's name */
		modifiers = strchr(modifiers + 2, ':');
	snprintf(name, sizeof(name), "cpu-clock%s", modifiers ? modifiers : "");
	memcpy(spec->name, name, sizeof(name));
	spec->attr.type = PERF_TYPE_SOFTWARE;
	spec->attr.config = PERF_COUNT_SW_CPU_CLOCK;
	spec->attr.precise_ip = 0;
	spec->attr.sample_type &= ~(uint64_t)PERF_SAMPLE_BRANCH_STACK;
	spec->attr.branch_sample_type = 0;
	spec->may_fall_back = false;
}

uint64_t event_spec_max_frequency(void)
{
	FILE *file = fopen("/proc/sys/kernel/perf_event_max_sample_rate", "re");
	unsigned long long limit = 0;

	if (!file)
		return 0;
	if (fscanf(file, "%llu", &limit) != 1)
		limit = 0;
	fclose(file);
	return limit;
}

bool event_spec_is_clock(const struct event_spec *spec)
{
	const struct perf_event_attr *a = &spec->attr;

	return a->type == PERF_TYPE_SOFTWARE &&
	       (a->config == PERF_COUNT_SW_CPU_CLOCK || a->config == PERF_COUNT_SW_TASK_CLOCK);
}

bool event_spec_is_switches(const struct event_spec *spec)
{
	return spec->attr.type == PERF_TYPE_SOFTWARE &&
	       spec->attr.config == PERF_COUNT_SW_CONTEXT_SWITCHES;
}

bool event_spec_is_cpu_time(const struct event_spec *spec)
{
	const struct perf_event_attr *a = &spec->attr;

	return event_spec_is_clock(spec) && !a->exclude_user && !a->exclude_kernel &&
	       !spec->is_none;
}

uint32_t event_spec_usual_period(const struct event_spec *spec)
{
	const struct perf_event_attr *a = &spec->attr;
	uint64_t period = a->sample_period;

	if (a->freq)
		period = event_spec_is_clock(spec) && a->sample_freq ? 1000000000u / a->sample_freq
								     : 0;
	return period < UINT32_MAX ? (uint32_t)period : 0;
}
