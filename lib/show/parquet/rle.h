/* SPDX-License-Identifier: MIT */
/*
 * Parquet's hybrid of run lengths and bit packing, for numbers of a few bits: indexes into a
 * dictionary, and bits that tell whether a row has a value.
 * https://github.com/apache/parquet-format/blob/master/Encodings.md
 */
#ifndef PARQUET_RLE_H
#define PARQUET_RLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/buf.h"

/* Appends `n` numbers of `width` bits each, 1 to 32. */
void rle_put(struct buf *b, unsigned width, const uint32_t *numbers, size_t n);

#endif
