/* SPDX-License-Identifier: MIT */
/* Parses durations; see duration.h. */
#include "base/duration.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#define DURATION_MAX_NS 1e18

static const struct {
	const char *name;
	double ns;
} duration_units[] = {
	{"", 1e9},   {"s", 1e9},    {"ms", 1e6},   {"us", 1e3},	   {"ns", 1.0},
	{"m", 60e9}, {"min", 60e9}, {"h", 3600e9}, {"d", 86400e9},
};

bool duration_parse(const char *text, uint64_t *ret_ns)
{
	char *end;
	double value = strtod(text, &end);

	if (end == text)
		return false;
	for (size_t i = 0; i < sizeof(duration_units) / sizeof(*duration_units); i++) {
		double ns = value * duration_units[i].ns;

		if (strcmp(end, duration_units[i].name) == 0 && ns >= 0 && ns < DURATION_MAX_NS) {
			*ret_ns = (uint64_t)ns;
			return true;
		}
	}
	return false;
}
