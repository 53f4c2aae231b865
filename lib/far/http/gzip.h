/* SPDX-License-Identifier: MIT */
/* Bodies of requests, and what is in them, as gzip (RFC 1952). */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include <stddef.h>

#include "base/buf.h"

/* Appends bytes, compressed; at most 4 GiB less one. 0 or -ENOMEM. */
int gzip_put(const void *bytes, size_t len, struct buf *b);

#endif
