/* SPDX-License-Identifier: MIT */
/*
 * Inside the tables of a pprof file: pprof_tables.c collects, pprof_write.c writes them. No other
 * module includes this.
 */
#ifndef EXPORT_PPROF_STATE_H
#define EXPORT_PPROF_STATE_H

#include "export/pprof_tables.h"
#include "base/strings.h"
#include "stackd_abi.h"

#define PPROF_OBJECT_SHIFT 44 /* file offsets are below; 2^19 objects fit above */
#define PPROF_REASONS	   (STACKD_END_COUNT + 1) /* the last one stands for unknown ones */

struct pprof_function {
	uint32_t name, system_name, file; /* strings */
	uint32_t id;			  /* 0: it is not needed */
};

struct pprof_tables {
	struct profile *profile;
	const struct pprof_parts *parts;
	const struct store_tables *t;
	struct strings *strings;
	struct buf text, scratch;
	uint32_t *ids;			  /* by location: its id; 0: it is not needed */
	uint32_t *locations, n_locations; /* by id, less 1: the location; not with a stack_table */
	uint64_t *limits;		  /* by object: end of what is needed of it; 0: nothing */
	uint32_t *mappings;		  /* by object: its id; 0: it is not needed */
	struct pprof_function *functions; /* by symbol */
	uint32_t n_functions;
	uint32_t last_id; /* of a function */
	size_t cap_functions;
	const struct profile_symbol *marks[PPROF_REASONS + 1]; /* the last: no frames */
	uint32_t mark_ids[PPROF_REASONS + 1];
	struct buf *threads, ends[PPROF_REASONS], qualities[PROFILE_LOST + 1]; /* labels */
	struct stack_table *stack_table; /* NULL: locations are those of the store */
	uint32_t tag_key;
	int err; /* the first error of pprof_tables_string() */
};

/* The number of a string as shown: escaped. 0 and an error in p->r for lack of memory. */
uint32_t pprof_tables_string(struct pprof_tables *p, const char *s);

#endif
