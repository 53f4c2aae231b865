/* SPDX-License-Identifier: MIT */
/*
 * The columns of the four tables into which recordings are turned for column stores: samples,
 * paths, locations and labels (docs/TABLES.md). All writers, to files and to servers, take the
 * columns from here, so that they agree.
 */
#ifndef ROWS_ROWS_SCHEMA_H
#define ROWS_ROWS_SCHEMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum rows_type {
	ROWS_U64,
	ROWS_U32,
	ROWS_TIME, /* ns since 1970 */
	ROWS_TEXT, /* UTF-8 */
	ROWS_DAY,  /* days since 1970-01-01, UTC; only servers have such columns */
};

struct rows_column {
	const char *name;
	enum rows_type type;
	bool is_nullable;
};

struct rows_schema {
	const char *name;
	const struct rows_column *columns;
	size_t n_columns;
};

/* In the order in which tables are written, because rows refer only to rows of earlier tables. */
enum rows_table { ROWS_LOCATIONS, ROWS_PATHS, ROWS_LABELS, ROWS_SAMPLES, ROWS_TABLES };

#define ROWS_MAX_COLUMNS 20

/* A value of a row. The type of the column tells which member is set. */
struct rows_value {
	bool is_null;
	uint64_t number;
	const char *text; /* borrowed for the time of the call */
};

/* X(enumerator, name, type, is_nullable): the columns of each table, in their order. */
#define ROWS_LOCATION_COLUMNS(X)                                                                   \
	X(ID, "id", ROWS_U64, false)                                                               \
	X(ALT, "alt", ROWS_U32, false)                                                             \
	X(INLINED, "inlined", ROWS_U32, false)                                                     \
	X(KIND, "kind", ROWS_TEXT, false)                                                          \
	X(FILE_ID, "file_id", ROWS_U64, false)                                                     \
	X(BUILD_ID, "build_id", ROWS_TEXT, true)                                                   \
	X(OBJECT, "object", ROWS_TEXT, false)                                                      \
	X(OFFSET, "offset", ROWS_U64, false)                                                       \
	X(FRAME, "frame", ROWS_TEXT, false)                                                        \
	X(FUNCTION, "function", ROWS_TEXT, true)                                                   \
	X(FILE, "file", ROWS_TEXT, true)                                                           \
	X(LINE, "line", ROWS_U32, true)                                                            \
	X(LAYOUT, "layout", ROWS_U64, true)                                                        \
	X(FUNCTION_START, "function_start", ROWS_U64, true)                                        \
	X(NAMED, "named", ROWS_U32, false)

/* The values of the column `named`, which tells how much is known of a location's names. A
 * location's rows all have the same value. */
enum rows_named {
	ROWS_NAMED_NOT,
	ROWS_NAMED_START,    /* the function's start alone, as in stripped files */
	ROWS_NAMED_FUNCTION, /* its name, by a table of symbols */
	ROWS_NAMED_LINE	     /* name and line, by debug information */
};

#define ROWS_PATH_COLUMNS(X)                                                                       \
	X(TAG, "tag", ROWS_U64, false)                                                             \
	X(ALT, "alt", ROWS_U32, false)                                                             \
	X(PARENT, "parent", ROWS_U64, false)                                                       \
	X(PARENT_ALT, "parent_alt", ROWS_U32, false)                                               \
	X(LOCATION, "location", ROWS_U64, false)                                                   \
	X(LOCATION_ALT, "location_alt", ROWS_U32, false)

#define ROWS_LABEL_COLUMNS(X)                                                                      \
	X(ID, "id", ROWS_U64, false)                                                               \
	X(KEY, "key", ROWS_TEXT, false)                                                            \
	X(VALUE, "value", ROWS_TEXT, false)

#define ROWS_SAMPLE_COLUMNS(X)                                                                     \
	X(TAG, "tag", ROWS_U64, false)                                                             \
	X(ALT, "alt", ROWS_U32, false)                                                             \
	X(HOST, "host", ROWS_TEXT, false)                                                          \
	X(WINDOW, "window", ROWS_U64, false)                                                       \
	X(START, "start", ROWS_TIME, false)                                                        \
	X(END, "end", ROWS_TIME, false)                                                            \
	X(EVENT, "event", ROWS_TEXT, false)                                                        \
	X(METRIC, "metric", ROWS_TEXT, false)                                                      \
	X(COMMAND, "command", ROWS_TEXT, false)                                                    \
	X(UNIT, "unit", ROWS_TEXT, true)                                                           \
	X(CONTAINER, "container", ROWS_TEXT, true)                                                 \
	X(RANK, "rank", ROWS_U32, true)                                                            \
	X(REASON, "reason", ROWS_TEXT, false)                                                      \
	X(QUALITY, "quality", ROWS_TEXT, false)                                                    \
	X(INFERRED, "inferred", ROWS_U32, false)                                                   \
	X(WEIGHT, "weight", ROWS_U64, false)                                                       \
	X(COUNT, "count", ROWS_U64, false)                                                         \
	X(LABEL_SET, "label_set", ROWS_U64, false)

#define ROWS_ENUM_LOCATION(e, name, type, null) ROWS_LOCATION_##e,
#define ROWS_ENUM_PATH(e, name, type, null)	ROWS_PATH_##e,
#define ROWS_ENUM_LABEL(e, name, type, null)	ROWS_LABEL_##e,
#define ROWS_ENUM_SAMPLE(e, name, type, null)	ROWS_SAMPLE_##e,

enum rows_location_column { ROWS_LOCATION_COLUMNS(ROWS_ENUM_LOCATION) ROWS_LOCATION_N };
enum rows_path_column { ROWS_PATH_COLUMNS(ROWS_ENUM_PATH) ROWS_PATH_N };
enum rows_label_column { ROWS_LABEL_COLUMNS(ROWS_ENUM_LABEL) ROWS_LABEL_N };
enum rows_sample_column { ROWS_SAMPLE_COLUMNS(ROWS_ENUM_SAMPLE) ROWS_SAMPLE_N };

/* Returns the name and columns of a table, which must be below ROWS_TABLES. */
const struct rows_schema *rows_schema(enum rows_table table);

#endif
