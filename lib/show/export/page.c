/* SPDX-License-Identifier: MIT */
/* Writes pages with their data; see page.h. */
#include "export/page.h"

#include <errno.h>
#include <string.h>

#define PAGE_MARK "@DATA@"

static int put(const char *bytes, size_t len, FILE *out)
{
	return fwrite(bytes, 1, len, out) == len ? 0 : -EIO;
}

int page_write(const char *page, const struct buf *b, FILE *out)
{
	const char *mark = strstr(page, PAGE_MARK), *rest = mark + strlen(PAGE_MARK);
	const char *data = (const char *)b->data, *end = data + b->len;
	int err = b->failed ? -ENOMEM : put(page, (size_t)(mark - page), out);

	while (err == 0 && data < end) {
		const char *less = memchr(data, '<', (size_t)(end - data));
		const char *upto = less ? less : end;

		err = put(data, (size_t)(upto - data), out);
		if (err == 0 && less)
			err = put(PAGE_LESS, strlen(PAGE_LESS), out);
		data = less ? less + 1 : end;
	}
	return err ? err : put(rest, strlen(rest), out);
}
