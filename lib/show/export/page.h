/* SPDX-License-Identifier: MIT */
/* Pages that hold their data: an HTML file that is compiled in, with JSON at its mark. */
#ifndef EXPORT_PAGE_H
#define EXPORT_PAGE_H

#include <stdio.h>

#include "base/buf.h"

/* What is written for each "<" of the data, so that none ends its element. */
#define PAGE_LESS "\\u003c"

/* Writes a page, a string with "@DATA@" where the data goes. 0, -ENOMEM if an append to the data
 * had failed, or -EIO. */
int page_write(const char *page, const struct buf *data, FILE *out);

#endif
