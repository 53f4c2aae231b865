/* SPDX-License-Identifier: MIT */
/* Compares the used numbers with the limits; see numbers.h. */
#include "daemon/tables/numbers.h"

static bool is_little_left(uint64_t taken, uint64_t room)
{
	return taken >= room - room / 8;
}

bool numbers_are_few(const struct tables_counts *counts)
{
	return is_little_left(counts->files, counts->most_files) ||
	       is_little_left(counts->inodes, counts->most_files);
}

bool numbers_rules_are_few(const struct tables_counts *counts)
{
	return is_little_left(counts->rules, RECIPE_MAX_RULES);
}
