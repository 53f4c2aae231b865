/* SPDX-License-Identifier: MIT */
/* Compresses bodies of requests, and files in them, with gzip (RFC 1952). */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include <stddef.h>

#include "base/buf.h"

/* Compresses bytes (fewer than 4 GiB) and appends the result to `b`. Returns 0 or -ENOMEM. */
int gzip_put(const void *bytes, size_t len, struct buf *b);

#endif
