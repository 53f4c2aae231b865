/* SPDX-License-Identifier: MIT */
/* Reads a fleet's database; see fleet.h. */
#include "clickhouse/fleet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "clickhouse/fleet_state.h"
#include "clickhouse/layout.h"

static int begin(struct fleet *f)
{
	int err = strings_new(&f->threads);

	if (err == 0)
		err = strings_new(&f->processes);
	if (err == 0)
		err = strings_new(&f->objects);
	return err == 0 ? strings_new(&f->texts) : err;
}

static void end(struct fleet *f)
{
	buf_free(&f->windows);
	buf_free(&f->pushes);
	free(f->sums.items);
	free(f->paths.items);
	int_map_fini(&f->path_at);
	int_map_fini(&f->location_at);
	int_map_fini(&f->origin_at);
	strings_free(f->threads);
	strings_free(f->processes);
	strings_free(f->objects);
	strings_free(f->texts);
	free(f->lines.items);
}

void fleet_unescape(char *text)
{
	char *to = text, *from = text;

	for (; *from; from++, to++) {
		char digits[3] = {0};

		*to = *from;
		if (from[0] != '\\' || from[1] != 'x' || !from[2] || !from[3])
			continue;
		memcpy(digits, from + 2, 2);
		*to = (char)strtol(digits, NULL, 16);
		from += 3;
	}
	*to = '\0';
}

int fleet_open(struct clickhouse *c, const struct fleet_query *query,
	       struct store_reader **ret_reader, struct fleet_found *ret_found)
{
	struct fleet f = {.c = c, .query = query};
	int err = layout_check(c, &f.is_cluster);

	if (err == 0)
		err = begin(&f);
	if (err == 0)
		err = fleet_choose(&f);
	if (err == 0)
		err = fleet_fetch_sums(&f);
	if (err == 0)
		err = fleet_fetch_paths(&f);
	if (err == 0)
		err = fleet_fetch_locations(&f);
	if (err == 0)
		err = fleet_build(&f);
	if (err == 0) {
		*ret_reader = f.reader;
		*ret_found = f.found;
	} else {
		store_reader_close(f.reader);
		if (!*clickhouse_error(c))
			clickhouse_fail(c, err, "%s",
					err == -ENOMEM ? "out of memory"
						       : "what the server has is not possible");
	}
	end(&f);
	return err;
}
