/* SPDX-License-Identifier: MIT */
/* Comparison of event names; see import_event.h. */
#include "perf/import_event.h"

#include <string.h>

/* Finds the part of a name without its PMU; returns its length. */
static size_t bare_name(const char *name, const char **ret_start)
{
	const char *slash = strchr(name, '/');

	*ret_start = slash && !strncmp(name, "cpu", 3) ? slash + 1 : name;
	return strcspn(*ret_start, "/");
}

bool import_event_is_same(const char *a, const char *b)
{
	size_t a_len = bare_name(a, &a), b_len = bare_name(b, &b);

	return a_len == b_len && !memcmp(a, b, a_len);
}

bool import_event_is_among(const char *name, const char *const *wanted, size_t n_wanted)
{
	for (size_t i = 0; i < n_wanted; i++) {
		size_t len = strlen(wanted[i]);

		if (import_event_is_same(wanted[i], name) ||
		    (!strncmp(wanted[i], name, len) && name[len] == ':'))
			return true;
	}
	return false;
}
