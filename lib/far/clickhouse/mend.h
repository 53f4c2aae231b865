/* SPDX-License-Identifier: MIT */
/*
 * Mends the names of locations in a fleet's database, after they were recorded and without the
 * hosts that recorded them, where the files are at hand.
 */
#ifndef CLICKHOUSE_MEND_H
#define CLICKHOUSE_MEND_H

#include "clickhouse/cluster.h"
#include "store/store_reader.h"

/* Who finds the names. */
struct mend_finder {
	/* Returns the path of a file with this build-id (hexadecimal), which is read instead of the
	 * recorded one; NULL: there is no other. */
	const char *(*path)(void *arg, const char *build_id);
	/* Adds to a reader the lines of its locations, which are all of one file and have none. Is
	 * called with NULL when the readers before are closed. Returns 0 or -ENOMEM. */
	int (*find)(void *arg, struct store_reader *reader);
	void *arg;
};

struct mended {
	uint64_t files, locations; /* in the database, that lack lines */
	uint64_t mended_files, mended_locations;
};

/* Asks for the locations that have no lines, lets `finder` find their names, and sends those that
 * are better. Returns 0; -EINVAL: the database has no such tables; -ENOMEM; or an error of
 * clickhouse_ask(). The sentence is in clickhouse_error() of the cluster's connection. */
int mend(struct cluster *cluster, const struct mend_finder *finder, struct mended *ret_mended);

#endif
