/* SPDX-License-Identifier: MIT */
/* Writes Parquet files; see parquet.h. */
#include "parquet/parquet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "parquet/column.h"
#include "parquet/footer.h"
#include "parquet/pages.h"

static const char magic[4] = {'P', 'A', 'R', '1'};

struct parquet {
	struct parquet_options options;
	struct pages *pages;
	struct column *columns;
	uint64_t rows; /* rows of the current group so far */
	VEC(struct footer_group) groups;
	struct footer_notes notes;
};

static int begin(FILE *out, struct parquet *p)
{
	int err = pages_new(out, 0, &p->pages);

	for (size_t i = 0; err == 0 && i < p->options.n_columns; i++)
		err = column_new(&p->options.columns[i], &p->columns[i]);
	return err == 0 ? pages_bytes(p->pages, magic, sizeof(magic)) : err;
}

int parquet_new(FILE *out, const struct parquet_options *options, struct parquet **ret_parquet)
{
	struct parquet *p = calloc(1, sizeof(*p));
	int err = -ENOMEM;

	if (!p)
		return err;
	p->options = *options;
	if (!p->options.group_rows)
		p->options.group_rows = PARQUET_GROUP_ROWS;
	if (!p->options.page_rows)
		p->options.page_rows = PARQUET_PAGE_ROWS;
	p->columns = calloc(options->n_columns, sizeof(*p->columns));
	if (p->columns)
		err = begin(out, p);
	if (err < 0)
		parquet_free(p);
	else
		*ret_parquet = p;
	return err;
}

int parquet_note(struct parquet *p, const char *key, const char *value)
{
	struct footer_note note;

	if (VEC_RESERVE(&p->notes.all, 1) < 0)
		return -ENOMEM;
	note = (struct footer_note){.key = strdup(key), .value = strdup(value)};
	if (!note.key || !note.value) {
		free(note.key);
		free(note.value);
		return -ENOMEM;
	}
	p->notes.all.items[p->notes.all.count++] = note;
	return 0;
}

void parquet_free(struct parquet *p)
{
	if (!p)
		return;
	for (size_t i = 0; i < p->notes.all.count; i++) {
		free(p->notes.all.items[i].key);
		free(p->notes.all.items[i].value);
	}
	free(p->notes.all.items);
	for (size_t i = 0; p->columns && i < p->options.n_columns; i++)
		column_free(&p->columns[i]);
	for (size_t i = 0; i < p->groups.count; i++)
		free(p->groups.items[i].chunks);
	free(p->groups.items);
	free(p->columns);
	pages_free(p->pages);
	free(p);
}

void parquet_number(struct parquet *p, size_t column, uint64_t value)
{
	column_number(&p->columns[column], value);
}

void parquet_text(struct parquet *p, size_t column, const char *value)
{
	column_text(&p->columns[column], value);
}

void parquet_null(struct parquet *p, size_t column)
{
	column_null(&p->columns[column]);
}

static int write_group(struct parquet *p)
{
	size_t n = p->options.n_columns;
	struct column_chunk *chunks = calloc(n, sizeof(*chunks));
	int err = chunks ? VEC_RESERVE(&p->groups, 1) : -ENOMEM;

	for (size_t i = 0; err == 0 && i < n; i++)
		err = column_write(&p->columns[i], p->pages, p->options.page_rows, &chunks[i]);
	if (err < 0) {
		free(chunks);
		return err;
	}
	p->groups.items[p->groups.count++] =
		(struct footer_group){.rows = p->rows, .chunks = chunks};
	p->rows = 0;
	return 0;
}

int parquet_end_row(struct parquet *p)
{
	size_t text_bytes = 0;

	p->rows++;
	for (size_t i = 0; i < p->options.n_columns; i++) {
		const struct column *column = &p->columns[i];

		if (column->err < 0)
			return column->err;
		if (column->rows.count != p->rows)
			return -EINVAL;
		text_bytes += column->text_bytes;
	}
	if (p->rows < p->options.group_rows && text_bytes < PARQUET_GROUP_BYTES)
		return 0;
	return write_group(p);
}

int parquet_finish(struct parquet *p)
{
	int err = p->rows ? write_group(p) : 0;
	struct buf footer = {0};

	if (err < 0)
		return err;
	footer_put(&footer, &p->options, p->groups.items, p->groups.count, &p->notes);
	for (unsigned i = 0, len = (unsigned)footer.len; i < 4; i++)
		buf_put_u8(&footer, (uint8_t)(len >> (8 * i)));
	buf_put(&footer, magic, sizeof(magic));
	err = footer.failed ? -ENOMEM : pages_bytes(p->pages, footer.data, footer.len);
	buf_free(&footer);
	return err;
}
