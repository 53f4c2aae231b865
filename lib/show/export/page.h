/* SPDX-License-Identifier: MIT */
/* Writes HTML pages that contain their data: a page that is compiled in, with JSON at its mark. */
#ifndef EXPORT_PAGE_H
#define EXPORT_PAGE_H

#include <stdio.h>

#include "base/buf.h"

/* The replacement of each "<" in the data, so that no data can end the script element. */
#define PAGE_LESS "\\u003c"

/* Writes `page`, with the data in place of "@DATA@". Returns 0; -ENOMEM: an append to `data` had
 * failed; or -EIO. */
int page_write(const char *page, const struct buf *data, FILE *out);

#endif
