/* SPDX-License-Identifier: MIT */
/*
 * Views of a fleet's database, by which a person's own SQL is short (docs/FLEETS.md): they leave
 * out what does not count, and give samples the names of their functions and labels.
 */
#ifndef CLICKHOUSE_VIEWS_H
#define CLICKHOUSE_VIEWS_H

#include <stddef.h>

struct view {
	const char *name, *query;
};

/* Returns a view, which may use those before it; NULL: there are no more. */
const struct view *view_at(size_t number);

#endif
