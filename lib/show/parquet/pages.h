/* SPDX-License-Identifier: MIT */
/* Writes pages: header and content, compressed. */
#ifndef PARQUET_PAGES_H
#define PARQUET_PAGES_H

#include <stdint.h>
#include <stdio.h>

#include "base/buf.h"

enum { PARQUET_PLAIN = 0, PARQUET_RLE = 3, PARQUET_DICTIONARY = 8 }; /* encodings */

struct pages;

/* Makes what writes pages to `out`, which is borrowed and `at` bytes long. 0 or -ENOMEM. */
int pages_new(FILE *out, uint64_t at, struct pages **ret_pages);
void pages_free(struct pages *pages); /* NULL is fine */

/* Returns where the next byte goes. */
uint64_t pages_at(const struct pages *pages);

/* Returns how many bytes have been written, before compression. */
uint64_t pages_raw(const struct pages *pages);

/* Writes a page: the dictionary with so many values, or data, of so many rows and this encoding.
 * 0, -ENOMEM, -EIO. */
int pages_dictionary(struct pages *pages, const struct buf *content, uint32_t values);
int pages_data(struct pages *pages, const struct buf *content, uint32_t values, int encoding);

/* Writes bytes as they are. -EIO. */
int pages_bytes(struct pages *pages, const void *bytes, size_t len);

#endif
