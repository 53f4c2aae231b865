/* SPDX-License-Identifier: MIT */
/* What rows.c and rows_samples.c share: the tables so far, and the profile that is being added. */
#ifndef ROWS_ROWS_STATE_H
#define ROWS_ROWS_STATE_H

#include "base/buf.h"
#include "rows/identity.h"
#include "rows/rows.h"

struct rows {
	struct rows_sink sink;
	struct identity locations, paths;
	struct buf text[4]; /* of the row at hand */
	struct rows_counts counts;
};

/* Hands a row over, and counts it. */
int rows_put(struct rows *rows, enum rows_table table, const struct rows_value *values);

/* A profile that is being added. */
struct rows_profile {
	struct rows *rows;
	struct profile *profile;
	const struct store_tables *t;
	const uint64_t *tags;	/* by node */
	bool *nodes;		/* which are needed */
	uint32_t *node_alt;	/* alternatives of those */
	uint32_t *location_alt; /* the same of locations; UINT32_MAX: not asked for yet */
};

/* Makes the samples of a profile rows. 0 or -errno. */
int rows_samples(struct rows_profile *p);

/* Makes values of columns of numbers and of text. */
static inline struct rows_value rows_number(uint64_t number)
{
	return (struct rows_value){.number = number};
}

/* NULL is no value. */
static inline struct rows_value rows_word(const char *text)
{
	return (struct rows_value){.text = text, .is_null = !text};
}

#endif
