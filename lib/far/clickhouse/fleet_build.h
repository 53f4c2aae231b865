/* SPDX-License-Identifier: MIT */
/* The data of a fleet's database that fleet.c has fetched; fleet_build.c makes a recording of it.
 */
#ifndef CLICKHOUSE_FLEET_BUILD_H
#define CLICKHOUSE_FLEET_BUILD_H

#include "base/int_map.h"
#include "base/strings.h"
#include "base/vec.h"
#include "clickhouse/database.h"
#include "clickhouse/fleet.h"
#include "store/store_memory.h"

#define FLEET_NONE UINT32_MAX

struct fleet_path {
	uint64_t parent, location;
	uint32_t parent_alt, location_alt;
	/* number of its node in the reader; FLEET_NONE: not made yet; or one of the NODE_... values
	 * of fleet_build.c */
	uint32_t node;
	bool is_needed;
};

/* How well, and when, the names of a location were found (rows/rows_schema.h). */
struct fleet_named {
	uint32_t how, at;
};

struct fleet_sum {
	uint64_t tag;
	uint32_t alt;
	bool is_rare;	      /* of paths that are not told apart; `tag` is 0 */
	struct store_sum sum; /* the sum, without its node, which fleet_build() finds */
};

struct fleet {
	struct clickhouse *c;
	const struct fleet_query *query;
	struct fleet_found found;
	struct database database;
	struct store_reader *reader;
	/* The pushes of the chosen windows, of 8 bytes each. All queries use these, so none counts
	 * a window that arrives, or is replaced, between two of them. */
	struct buf push_ids;
	/* SQL, with final NULs: the condition that selects the windows' samples, which needs
	 * `push_ids` as the table `ids`; and further ones of samples alone, which begin with AND,
	 * or "" */
	struct buf pushes, filter;
	/* SQL: the condition for rows of the days of the windows; "1" in tables without days */
	struct buf days;
	bool is_all_days;      /* `days` is "1" */
	bool is_nameless;      /* names of locations are not taken */
	const char *file_path; /* the path that objects get; NULL: their own */
	VEC(struct fleet_sum) sums;
	VEC(struct fleet_path) paths;
	struct int_map path_at;	       /* (tag, alt) -> index in `paths` */
	struct int_map location_at;    /* (id, alt) -> the reader's number */
	VEC(struct fleet_named) named; /* by location */
	struct int_map origin_at;      /* (inferred, is_complete) -> the reader's number */
	/* the number of a key in these is the reader's number of the thread, process or object */
	struct strings *threads, *processes, *objects;
	VEC(struct store_line) lines;
	struct strings *texts; /* the texts that `lines` refer to */
	uint32_t rare_node;    /* of FLEET_RARE; 0: not made yet */
};

/* Makes the tables of a zeroed fleet, whose `c` is set. Returns 0 or -ENOMEM. */
int fleet_begin(struct fleet *f);

/* Frees all but the reader. */
void fleet_end(struct fleet *f);

/* Removes the escapes from a text of the tables (docs/TAGS.md), in place. */
void fleet_unescape(char *text);

/* Fetches the locations of the paths, with objects and lines. */
int fleet_fetch_locations(struct fleet *f);

/* Makes the reader's nodes and sums from the fetched data. Returns 0, -ENOMEM or -EBADMSG. */
int fleet_build(struct fleet *f);

#endif
