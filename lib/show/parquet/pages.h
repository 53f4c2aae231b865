/* SPDX-License-Identifier: MIT */
/* Writes the pages of a Parquet file; a page has a header and compressed content. */
#ifndef PARQUET_PAGES_H
#define PARQUET_PAGES_H

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

enum { PARQUET_PLAIN = 0, PARQUET_RLE = 3, PARQUET_DICTIONARY = 8 }; /* encodings */

struct pages;

/* Makes a writer of pages to `out`, which is borrowed and has `at` bytes already. Returns 0 or
 * -ENOMEM. */
int pages_new(FILE *out, uint64_t at, struct pages **ret_pages);
void pages_free(struct pages *pages); /* NULL is fine */

/* Returns the offset of the next byte in the file. */
uint64_t pages_at(const struct pages *pages);

/* Returns how many bytes were written, counted before compression. */
uint64_t pages_raw(const struct pages *pages);

/* Write a page: a dictionary of `values` values, or the data of `values` rows in an encoding
 * (Parquet's number). Return 0, -ENOMEM or -EIO. */
int pages_dictionary(struct pages *pages, const struct buf *content, uint32_t values);
int pages_data(struct pages *pages, const struct buf *content, uint32_t values, int encoding);

/* Writes bytes as they are. Returns 0 or -EIO. */
int pages_bytes(struct pages *pages, const void *bytes, size_t len);

#endif
