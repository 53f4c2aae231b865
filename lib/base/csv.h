/* SPDX-License-Identifier: MIT */
/*
 * Writes tables for programs: values separated by commas (RFC 4180), a row on each line. Texts are
 * quoted, and a quote within one is doubled. Names are escaped first (base/text.h), so that none
 * can end a line.
 */
#ifndef BASE_CSV_H
#define BASE_CSV_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

struct csv {
	FILE *out;	 /* borrowed */
	struct buf text; /* what is not written out yet; owned */
	bool in_row;	 /* the row has a field */
};

/* Writes the row of the columns' names, which have commas between them. */
void csv_head(struct csv *c, const char *names);

/* A word of the program's own, such as a state: without quotes. */
void csv_word(struct csv *c, const char *word);

/* A name, escaped and quoted. */
void csv_name(struct csv *c, const char *name);

/* Quotes a text whose names are escaped already, and frees the buffer. */
void csv_text(struct csv *c, struct buf *text);

/* Whole numbers. */
void csv_uint(struct csv *c, uint64_t value);
void csv_int(struct csv *c, int64_t value);

/* Numbers with so many decimals, or so many significant digits. What is not finite is an empty
 * field. */
void csv_fixed(struct csv *c, double value, unsigned decimals);
void csv_double(struct csv *c, double value, unsigned digits);

/* Ends the row, and writes it out. 0, -ENOMEM if an append had failed, or -EIO. */
int csv_end_row(struct csv *c);

/* Ends the table: as text_end(). */
int csv_finish(struct csv *c, int err);

#endif
