/* SPDX-License-Identifier: MIT */
/* What verbs that write a page (web/one_file.h) share: the page is about the recording that the
 * verb has opened, and about what its options choose of it. */
#ifndef CLI_PAGE_H
#define CLI_PAGE_H

#include "input.h"
#include "web/one_file.h"
#include "web/web.h"

struct page {
	struct web_source source;
	struct web_given given;
	struct profile_filter filter;
	uint64_t from_ns, to_ns; /* the chosen time, as of struct one_file */
	bool *threads;
	char *path, *words;
};

/* Describes an opened input, which must outlive the page. `words` are the verb and its arguments,
 * with NULL at the end. The caller ends with page_end() in any case. Returns 0 or -ENOMEM. */
int page_begin(const struct input *input, const struct input_open *open, char *const *words,
	       struct page *page);
void page_end(struct page *page);

#endif
