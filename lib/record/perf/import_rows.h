/* SPDX-License-Identifier: MIT */
/*
 * Writes the tables of an import to the store: objects, locations, processes, threads, nodes of the
 * trie, origins, and the names of locations.
 *
 * New entries go to the writer before the sample that refers to them, so a commit at any time
 * leaves a consistent recording.
 */
#ifndef PERF_IMPORT_ROWS_H
#define PERF_IMPORT_ROWS_H

#include "perf/import_processes.h"
#include "stack/origin.h"
#include "stack/tag_trie.h"
#include "store/store_writer.h"

struct import_rows {
	struct store_writer *writer;
	const struct import_processes *processes;
	const struct tag_trie *trie;
	const struct origin_table *origins;
	struct {
		uint32_t objects, locations, processes, threads, nodes, origins;
	} written; /* how many of each were written */
};

/* Returns the state for a recording of which nothing has been written yet. Borrows all
 * arguments. */
struct import_rows import_rows_of(struct store_writer *writer,
				  const struct import_processes *processes,
				  const struct tag_trie *trie, const struct origin_table *origins);

/* Writes the entries that were added to the tables since the last call. Returns 0 or an error of
 * the store's writer. */
int import_rows_write_new(struct import_rows *rows);

/* Resolves and writes the names of all locations. Returns 0, -ENOMEM, or an error of the store's
 * writer. */
int import_rows_write_names(struct import_rows *rows);

#endif
