/* SPDX-License-Identifier: MIT */
/* The columns of the tables; see rows_schema.h. */
#include "rows/rows_schema.h"

#define ROWS_COLUMN(e, name, type, null) {name, type, null},

static const struct rows_column location_columns[] = {ROWS_LOCATION_COLUMNS(ROWS_COLUMN)};
static const struct rows_column path_columns[] = {ROWS_PATH_COLUMNS(ROWS_COLUMN)};
static const struct rows_column label_columns[] = {ROWS_LABEL_COLUMNS(ROWS_COLUMN)};
static const struct rows_column sample_columns[] = {ROWS_SAMPLE_COLUMNS(ROWS_COLUMN)};

static const struct rows_schema schemas[ROWS_TABLES] = {
	[ROWS_LOCATIONS] = {"locations", location_columns, ROWS_LOCATION_N},
	[ROWS_PATHS] = {"paths", path_columns, ROWS_PATH_N},
	[ROWS_LABELS] = {"labels", label_columns, ROWS_LABEL_N},
	[ROWS_SAMPLES] = {"samples", sample_columns, ROWS_SAMPLE_N},
};

_Static_assert((int)ROWS_SAMPLE_N <= ROWS_MAX_COLUMNS, "a row of samples fits");
_Static_assert((int)ROWS_LOCATION_N <= ROWS_MAX_COLUMNS, "a row of locations fits");

const struct rows_schema *rows_schema(enum rows_table table)
{
	return &schemas[table];
}
