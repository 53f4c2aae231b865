/* SPDX-License-Identifier: MIT */
/*
 * The tables to which the samples of a pprof file refer: strings, mappings, locations, functions,
 * and labels that many samples share. A part of export_pprof.c.
 */
#ifndef EXPORT_PPROF_TABLES_H
#define EXPORT_PPROF_TABLES_H

#include <stdio.h>

#include "base/buf.h"
#include "export/pprof_parts.h"
#include "export/stack_table.h"
#include "pprof.pb-c.h"
#include "model/profile.h"

/* The location id of frame `number` of pprof_tables_stacks(); ids begin at 1. */
#define PPROF_LOCATION(number) ((uint64_t)(number) + 1)

/* The first byte of a field in a message: the field's number and the kind of its value (protobuf).
 */
enum {
	PPROF_PROFILE_SAMPLE = 2 << 3 | 2,
	PPROF_PROFILE_STRING = 6 << 3 | 2,
	PPROF_SAMPLE_LOCATIONS = 1 << 3 | 2,
	PPROF_SAMPLE_VALUES = 2 << 3 | 2,
	PPROF_SAMPLE_LABEL = 3 << 3 | 2,
	PPROF_LABEL_KEY = 1 << 3,
	PPROF_LABEL_STRING = 2 << 3,
};

struct pprof_tables;

/* Collects the strings, functions and so on that the entries of a file need. `parts` must outlive
 * the tables. Returns 0, -ENOMEM or -EOVERFLOW. */
int pprof_tables_new(const struct pprof_parts *parts, struct pprof_tables **ret_tables);
void pprof_tables_free(struct pprof_tables *tables);

/* Writes everything but the samples, with all strings so far. Returns 0, -ENOMEM or -EIO. */
int pprof_tables_write(struct pprof_tables *tables, FILE *out);

/* Returns the number of strings, which is the index of the next one. */
uint32_t pprof_tables_strings(const struct pprof_tables *tables);

/* If a filter changes the shape of paths, returns the table of the changed paths, whose frame i has
 * the location id PPROF_LOCATION(i). Otherwise NULL: the paths are those of the store. */
const struct stack_table *pprof_tables_stacks(const struct pprof_tables *tables);

/* Returns the ids of locations, by the recording's number; 0: no path has the location. */
const uint32_t *pprof_tables_ids(const struct pprof_tables *tables);

/* Returns the location id of the root mark of an entry's path; 0: it has none. */
uint64_t pprof_tables_mark(const struct pprof_tables *tables, const struct profile_entry *entry);

/* Return encoded labels of a Sample message: for a thread (pid, tid and comm), for a quality, and
 * for an end reason. */
const struct buf *pprof_tables_thread(const struct pprof_tables *tables, uint32_t thread);
const struct buf *pprof_tables_quality(const struct pprof_tables *tables, uint8_t quality);
const struct buf *pprof_tables_end(const struct pprof_tables *tables, uint8_t end_reason);

/* Returns the index of the string "tag". */
uint32_t pprof_tables_tag_key(const struct pprof_tables *tables);

#endif
