/* SPDX-License-Identifier: MIT */
/* Writes the tables as Parquet files; see export_parquet.h. rows/rows.h makes the rows, and
 * parquet/parquet.h writes the files. */
#include "export/export_parquet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>

#include "parquet/parquet.h"
#include "report/report_header.h"

struct export_parquet {
	struct rows *rows;
	struct parquet *files[ROWS_TABLES];
	struct parquet_column columns[ROWS_TABLES][ROWS_MAX_COLUMNS];
	FILE *out[ROWS_TABLES];
};

static int put_row(void *arg, enum rows_table table, const struct rows_value *values)
{
	const struct export_parquet *x = arg;
	const struct rows_schema *schema = rows_schema(table);
	struct parquet *file = x->files[table];

	for (size_t i = 0; i < schema->n_columns; i++) {
		if (values[i].is_null)
			parquet_null(file, i);
		else if (schema->columns[i].type == ROWS_TEXT)
			parquet_text(file, i, values[i].text);
		else
			parquet_number(file, i, values[i].number);
	}
	return parquet_end_row(file);
}

static enum parquet_type type_of(enum rows_type type)
{
	switch (type) {
	case ROWS_U32:
		return PARQUET_U32;
	case ROWS_TIME:
		return PARQUET_TIME;
	case ROWS_TEXT:
		return PARQUET_TEXT;
	default:
		return PARQUET_U64;
	}
}

static int begin_file(struct export_parquet *x, enum rows_table table, FILE *out)
{
	const struct rows_schema *schema = rows_schema(table);
	const struct parquet_options options = {.columns = x->columns[table],
						.n_columns = schema->n_columns,
						.creator = "stackctl version " STACKD_VERSION};

	for (size_t i = 0; i < schema->n_columns; i++) {
		const struct rows_column *column = &schema->columns[i];

		x->columns[table][i] = (struct parquet_column){column->name, type_of(column->type),
							       column->is_nullable};
	}
	x->out[table] = out;
	return parquet_new(out, &options, &x->files[table]);
}

int export_parquet_new(FILE *const files[ROWS_TABLES], struct export_parquet **ret_export)
{
	struct export_parquet *x = calloc(1, sizeof(*x));
	const struct rows_sink sink = {.row = put_row, .arg = x};
	int err;

	if (!x)
		return -ENOMEM;
	err = rows_new(&sink, &x->rows);
	for (enum rows_table i = 0; err == 0 && i < ROWS_TABLES; i++)
		err = begin_file(x, i, files[i]);
	if (err < 0)
		export_parquet_free(x);
	else
		*ret_export = x;
	return err;
}

/* Adds a note to the file of the samples that names the regions whose probes were taken off
 * (--region-limit). Returns 0 or an error. */
static int put_off(struct export_parquet *x, const struct profile *profile)
{
	char key[64], *text;
	int err = report_header_off_text(profile, &text);

	snprintf(key, sizeof(key), "stackd.regions_off.%" PRId64,
		 profile_tables(profile)->recording.id);
	if (text)
		err = parquet_note(x->files[ROWS_SAMPLES], key, text);
	free(text);
	return err;
}

int export_parquet_add(struct export_parquet *x, struct profile *profile)
{
	int err = put_off(x, profile);

	return err ? err : rows_add(x->rows, profile);
}

int export_parquet_finish(struct export_parquet *x, struct rows_counts *ret_counts)
{
	int err = 0;

	for (enum rows_table i = 0; err == 0 && i < ROWS_TABLES; i++) {
		err = parquet_finish(x->files[i]);
		if (err == 0 && fflush(x->out[i]) != 0)
			err = -EIO;
	}
	*ret_counts = rows_counts(x->rows);
	return err;
}

void export_parquet_free(struct export_parquet *x)
{
	if (!x)
		return;
	for (enum rows_table i = 0; i < ROWS_TABLES; i++)
		parquet_free(x->files[i]);
	rows_free(x->rows);
	free(x);
}
