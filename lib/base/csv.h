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

/* Writes the first row, the columns' names. `names` separates them by commas. */
void csv_head(struct csv *c, const char *names);

/* Appends a word of the program's own, such as the name of a state, without quotes. */
void csv_word(struct csv *c, const char *word);

/* Appends a name from a recording, escaped and quoted. */
void csv_name(struct csv *c, const char *name);

/* Appends a text whose names are escaped already, quoted, and frees the buffer. */
void csv_text(struct csv *c, struct buf *text);

/* Append whole numbers. */
void csv_uint(struct csv *c, uint64_t value);
void csv_int(struct csv *c, int64_t value);

/* Append a number with `decimals` decimals, or with `digits` significant digits. Infinities and NAN
 * become empty fields. */
void csv_fixed(struct csv *c, double value, unsigned decimals);
void csv_double(struct csv *c, double value, unsigned digits);

/* Ends the row and writes it out. Returns 0, -ENOMEM if an append failed, or -EIO. */
int csv_end_row(struct csv *c);

/* Ends the table, as text_end() does. */
int csv_finish(struct csv *c, int err);

#endif
