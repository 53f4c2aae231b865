/* SPDX-License-Identifier: MIT */
/* Finds counters by their names; see counter_spec.h. */
#include "daemon/base/counter_spec.h"

#include <errno.h>
#include <string.h>

_Static_assert(STACKD_MOST_COUNTERS == 8, "CPU time, and the seven that are named in a message");

static const char variable_prefix[] = "var:", probe_prefix[] = "probe:";

/* Parses; the spec refers to the text. 0; -EINVAL: there is no such counter. */
static int parse(const char *text, struct counter_spec *ret_spec)
{
	/* The names are perf's where perf has one. */
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
	if (!*text || !strncmp(text, variable_prefix, prefix) ||
	    !strncmp(text, probe_prefix, probe))
		return -EINVAL;
	ret_spec->kind = STACKD_COUNTER_EVENT;
	return 0;
}

/* Adds a counter; errors as of counter_specs_add(). */
static const char *add(struct counter_spec *specs, size_t *n, const char *text, unsigned brace)
{
	struct counter_spec spec;

	if (parse(text, &spec))
		return "expected " COUNTER_SPEC_NAMES;
	if (spec.kind == STACKD_COUNTER_CPU && !brace)
		return NULL;
	if (brace && spec.kind != STACKD_COUNTER_EVENT)
		return "only events can be in a {group}";
	if (*n == STACKD_MOST_COUNTERS)
		return "there are seven already";
	spec.brace = brace;
	specs[(*n)++] = spec;
	return NULL;
}

const char *counter_specs_add(struct counter_spec *specs, size_t *n, char *text,
			      const char **ret_at)
{
	const size_t length = strlen(text);
	const char *why = NULL;
	char *rest = text + 1, *name;
	unsigned brace;

	*ret_at = text;
	if (!*n)
		specs[(*n)++] = (struct counter_spec){.kind = STACKD_COUNTER_CPU, .name = "cpu"};
	if (text[0] != '{')
		return add(specs, n, text, 0);
	if (text[length - 1] != '}')
		return "expected {EVENT,EVENT}";
	text[length - 1] = '\0';
	brace = (unsigned)*n;
	while (!why && (name = strsep(&rest, ","))) {
		*ret_at = name;
		why = add(specs, n, name, brace);
	}
	return why;
}

bool counter_specs_need_alloc(const struct counter_spec *specs, size_t n)
{
	while (n > 0 && specs[n - 1].kind != STACKD_COUNTER_ALLOCATED)
		n--;
	return n > 0;
}
