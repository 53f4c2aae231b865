/* SPDX-License-Identifier: MIT */
/* Tables in docs/ that are made from lists in the sources: a test checks that the page has the list
 * as it is, and writes it there when it is called with --write. */
#ifndef DOC_TABLE_H
#define DOC_TABLE_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Returns a page's text, which the caller frees. */
static inline char *doc_table_read(const char *page)
{
	static const size_t most = 1 << 20;
	FILE *file = fopen(page, "r");
	char *text = calloc(1, most);

	assert_non_null(file);
	assert_non_null(text);
	assert_true(fread(text, 1, most - 1, file) > 0);
	fclose(file);
	return text;
}

/* Puts a table, with the lines `begin` and `end` around it, in the place of the page's. */
static inline void doc_table_write(const char *page, const char *begin, const char *end,
				   const char *table)
{
	char *text = doc_table_read(page), *from = strstr(text, begin), *to = strstr(text, end);
	FILE *file;

	assert_non_null(from);
	assert_non_null(to);
	file = fopen(page, "w");
	assert_non_null(file);
	fprintf(file, "%.*s%s%s", (int)(from - text), text, table, to + strlen(end));
	assert_int_equal(fclose(file), 0);
	free(text);
}

/* Checks that the page has the table. */
static inline void doc_table_check(const char *page, const char *begin, const char *end,
				   const char *table)
{
	char *text = doc_table_read(page), *from = strstr(text, begin), *to = strstr(text, end);

	assert_non_null(from);
	assert_non_null(to);
	to[strlen(end)] = '\0';
	assert_string_equal(from, table);
	free(text);
}

#endif
