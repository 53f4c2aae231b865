/* SPDX-License-Identifier: MIT */
/* Knows counters by their names; see counter_spec.h. */
#include "daemon/base/counter_spec.h"

#include <errno.h>
#include <string.h>

static const char variable_prefix[] = "var:", probe_prefix[] = "probe:";

int counter_spec_parse(const char *text, struct counter_spec *ret_spec)
{
	/* The names are perf's, where it has one. */
	static const struct {
		const char *name;
		enum stackd_counter_kind kind;
	} counters[] = {
		{"cpu", STACKD_COUNTER_CPU},
		{"page-faults", STACKD_COUNTER_FAULTS},
		{"major-faults", STACKD_COUNTER_MAJOR_FAULTS},
		{"context-switches", STACKD_COUNTER_SWITCHES},
		{"read-bytes", STACKD_COUNTER_READ},
		{"written-bytes", STACKD_COUNTER_WRITTEN},
		{"resident-bytes", STACKD_COUNTER_RESIDENT},
		{"allocated-bytes", STACKD_COUNTER_ALLOCATED},
	};
	const size_t prefix = sizeof(variable_prefix) - 1, probe = sizeof(probe_prefix) - 1;

	*ret_spec = (struct counter_spec){.name = text};
	if (!strncmp(text, variable_prefix, prefix) && text[prefix]) {
		ret_spec->kind = STACKD_COUNTER_VARIABLE;
		ret_spec->variable = text + prefix;
		return 0;
	}
	if (!strncmp(text, probe_prefix, probe) && text[probe]) {
		ret_spec->kind = STACKD_COUNTER_HITS;
		ret_spec->probe = text + probe;
		return 0;
	}
	for (size_t i = 0; i < sizeof(counters) / sizeof(counters[0]); i++) {
		if (!strcmp(text, counters[i].name)) {
			ret_spec->kind = counters[i].kind;
			return 0;
		}
	}
	return -EINVAL;
}

bool counter_specs_need_alloc(const struct counter_spec *specs, size_t n)
{
	while (n > 0 && specs[n - 1].kind != STACKD_COUNTER_ALLOCATED)
		n--;
	return n > 0;
}
