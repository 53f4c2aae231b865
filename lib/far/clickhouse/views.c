/* SPDX-License-Identifier: MIT */
/* The views of a fleet's database; see views.h. The SQL is what servers of 2018 understand, too. */
#include "clickhouse/views.h"

static const struct view views[] = {
	/* the windows that count, each once */
	{"recordings", "SELECT * FROM windows ORDER BY end_ns DESC, push LIMIT 1 BY host, window"},
	/* the samples that count */
	{"counted", "SELECT * FROM samples WHERE push GLOBAL IN (SELECT push FROM recordings)"},
	/* the function in which samples of a path hit; for one without a name, object+start */
	{"leaves",
	 "SELECT tag, alt, function, object FROM "
	 "(SELECT tag, alt, location AS id, location_alt FROM paths LIMIT 1 BY tag, alt) AS p "
	 "ALL LEFT JOIN (SELECT id, alt AS location_alt, object, "
	 "ifNull(function, concat(replaceRegexpOne(object, '^.*/', ''), '+0x', "
	 "lower(hex(ifNull(function_start, offset + (frame = 'call')))))) AS function "
	 "FROM (SELECT * FROM locations ORDER BY id, alt, named DESC, named_at DESC, inlined DESC "
	 "LIMIT 1 BY id, alt) AS l) AS n USING (id, location_alt)"},
};

const struct view *view_at(size_t number)
{
	return number < sizeof(views) / sizeof(*views) ? &views[number] : NULL;
}
