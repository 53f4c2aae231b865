/* SPDX-License-Identifier: MIT */
/* Writes recordings as tables; see export_tables.h. The new files replace old ones only when all
 * are complete, the samples last, so that nobody reads samples whose paths are missing. */
#include "export_tables.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/text.h"
#include "cmd.h"
#include "export/export_parquet.h"
#include "message.h"
#include "output.h"

struct tables {
	struct output outputs[ROWS_TABLES];
	struct export_parquet *export;
	int err, error_number; /* result of the writing, and errno after it */
};

static int begin_file(struct tables *tables, enum rows_table table, const char *folder)
{
	char *path = NULL;
	int status;

	if (asprintf(&path, "%s/%s.parquet", folder, rows_schema(table)->name) < 0) {
		message("out of memory");
		return CMD_FAILED;
	}
	status = output_begin(path, &tables->outputs[table]);
	free(path);
	return status;
}

static int begin_files(struct tables *tables, const char *folder)
{
	int status = CMD_DONE;

	if (mkdir(folder, 0777) < 0 && errno != EEXIST) {
		message("cannot make the folder %s: %s", folder, strerror(errno));
		return CMD_FAILED;
	}
	for (enum rows_table i = 0; status == CMD_DONE && i < ROWS_TABLES; i++)
		status = begin_file(tables, i, folder);
	return status;
}

static int add(void *arg, const struct input_open *open)
{
	struct tables *tables = arg;

	tables->err = export_parquet_add(tables->export, open->profile);
	tables->error_number = errno;
	return tables->err < 0 ? CMD_FAILED : CMD_DONE;
}

static int fill(struct tables *tables, const struct input *input, struct rows_counts *ret_counts)
{
	FILE *files[ROWS_TABLES];
	int status;

	for (enum rows_table i = 0; i < ROWS_TABLES; i++)
		files[i] = tables->outputs[i].file;
	tables->err = export_parquet_new(files, &tables->export);
	if (tables->err < 0)
		return CMD_FAILED;
	status = input_each(input, &(struct input_each){.each = add, .arg = tables});
	if (status == CMD_DONE)
		tables->err = export_parquet_finish(tables->export, ret_counts);
	if (status == CMD_DONE)
		tables->error_number = errno;
	return tables->err < 0 ? CMD_FAILED : status;
}

/* Prints why the tables could not be written, with the name of the file that failed. */
static void report(struct tables *tables)
{
	enum rows_table failed = 0;

	for (enum rows_table i = 0; i < ROWS_TABLES; i++)
		if (ferror(tables->outputs[i].file))
			failed = i;
	errno = tables->error_number;
	output_end(&tables->outputs[failed], tables->err);
}

/* Ends the files in order; if one fails, the later ones are dropped. Returns the exit status. */
static int end_files(struct tables *tables, int status)
{
	if (tables->err < 0)
		report(tables);
	for (enum rows_table i = 0; i < ROWS_TABLES; i++) {
		if (status == CMD_DONE)
			status = output_end(&tables->outputs[i], 0);
		else if (tables->outputs[i].file)
			output_drop(&tables->outputs[i]);
	}
	return status;
}

int export_tables_parquet(const struct input *input, const char *folder)
{
	struct tables tables = {0};
	struct rows_counts counts = {0};
	int status = begin_files(&tables, folder);

	if (status == CMD_DONE)
		status = fill(&tables, input, &counts);
	status = end_files(&tables, status);
	export_parquet_free(tables.export);
	if (status != CMD_DONE)
		return status;
	if (counts.collisions)
		message("%" PRIu64
			" of the paths and locations share%s an id with another one: the column "
			"alt differs",
			counts.collisions, text_plural(counts.collisions, "s", ""));
	if (counts.rows[ROWS_SAMPLES])
		return CMD_DONE;
	message("%s: the tables are empty: no sample matches the options", folder);
	return CMD_NO_SAMPLES;
}
