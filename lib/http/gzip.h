/* SPDX-License-Identifier: MIT */
/* Bodies of requests as gzip (RFC 1952), for servers that take "Content-Encoding: gzip". */
#ifndef HTTP_GZIP_H
#define HTTP_GZIP_H

#include <stddef.h>

#include "base/buf.h"

/* Appends bytes, compressed; at most 4 GiB less one. 0 or -ENOMEM. */
int gzip_put(const void *bytes, size_t len, struct buf *b);

#endif
