/* SPDX-License-Identifier: MIT */
/*
 * Writes one table twice: as a Parquet file by lib/show/parquet, and into a SQLite database, whose
 * table `t` other readers of the file are compared with: make_parquet FILE DATABASE ROWS GROUP-ROWS
 * PAGE-ROWS
 *
 * Columns, by what they try: numbers that are all different and those of a few values up to 2^64 -
 * 1; one value alone; runs with and without values; no value at all; words, long and short text;
 * times. Numbers stand in the database as 20 digits, since its own integers end at 2^63 - 1.
 */
#include <inttypes.h>
#include <sqlite3.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "parquet/parquet.h"

enum { TAG, EDGE, ONE, SMALL, NEVER, WORD, LONG, WHEN, COLUMNS };

static const struct parquet_column columns[COLUMNS] = {
	[TAG] = {"tag", PARQUET_U64, false},	 [EDGE] = {"edge", PARQUET_U64, false},
	[ONE] = {"one", PARQUET_U32, false},	 [SMALL] = {"small", PARQUET_U32, true},
	[NEVER] = {"never", PARQUET_TEXT, true}, [WORD] = {"word", PARQUET_TEXT, true},
	[LONG] = {"long", PARQUET_TEXT, false},	 [WHEN] = {"when", PARQUET_TIME, true},
};

static struct parquet *file;
static sqlite3_stmt *insert;

static void number(int column, uint64_t value)
{
	char digits[24];

	snprintf(digits, sizeof(digits), "%020" PRIu64, value);
	sqlite3_bind_text(insert, column + 1, digits, -1, SQLITE_TRANSIENT);
	parquet_number(file, (size_t)column, value);
}

static void text(int column, const char *value)
{
	sqlite3_bind_text(insert, column + 1, value, -1, SQLITE_TRANSIENT);
	parquet_text(file, (size_t)column, value);
}

static void none(int column)
{
	sqlite3_bind_null(insert, column + 1);
	parquet_null(file, (size_t)column);
}

static void row(uint64_t i)
{
	static const uint64_t edges[] = {0, 1, INT64_MAX, UINT64_C(1) << 63, UINT64_MAX};
	static char letters[4040];
	uint64_t random = hash_mix64(i + 1);
	char word[40];

	number(TAG, random);
	number(EDGE, edges[random % 5]);
	number(ONE, 7);
	if (i / 37 % 3 == 1) /* runs of 37: never whole groups of 8 */
		none(SMALL);
	else
		number(SMALL, random % 11 == 0 ? UINT32_MAX : i / 100);
	none(NEVER);
	snprintf(word, sizeof(word), "w\xc3\xb6rter %" PRIu64, random % 300);
	if (random % 7)
		text(WORD, word);
	else
		none(WORD);
	memset(letters, 'a' + (int)(i % 26), 4000);
	snprintf(letters + (random % 97 ? random % 30 : 4000), 32, "%" PRIu64, random);
	text(LONG, letters);
	if (i % 1000 < 900)
		number(WHEN, UINT64_C(1700000000123456789) + i * 1000003);
	else
		none(WHEN);
}

static bool fill(uint64_t rows)
{
	for (uint64_t i = 0; i < rows; i++) {
		row(i);
		if (sqlite3_step(insert) != SQLITE_DONE || parquet_end_row(file) < 0)
			return false;
		sqlite3_reset(insert);
	}
	return parquet_finish(file) == 0;
}

int main(int argc, char **argv)
{
	FILE *out = argc == 6 ? fopen(argv[1], "w") : NULL;
	const struct parquet_options options = {
		.columns = columns,
		.n_columns = COLUMNS,
		.group_rows = argc == 6 ? (uint32_t)atoi(argv[4]) : 0,
		.page_rows = argc == 6 ? (uint32_t)atoi(argv[5]) : 0,
		.creator = "make_parquet"};
	bool good;
	sqlite3 *db;

	if (!out || sqlite3_open(argv[2], &db) != SQLITE_OK ||
	    sqlite3_exec(
		    db,
		    "BEGIN; CREATE TABLE t(tag TEXT, edge TEXT, one TEXT, small TEXT, never TEXT,"
		    " word TEXT, long TEXT, \"when\" TEXT)",
		    NULL, NULL, NULL) != SQLITE_OK ||
	    sqlite3_prepare_v2(db, "INSERT INTO t VALUES(?,?,?,?,?,?,?,?)", -1, &insert, NULL) !=
		    SQLITE_OK ||
	    parquet_new(out, &options, &file) < 0)
		return 1;
	good = fill((uint64_t)atoll(argv[3]));
	parquet_free(file);
	sqlite3_finalize(insert);
	good = good && sqlite3_exec(db, "COMMIT", NULL, NULL, NULL) == SQLITE_OK;
	sqlite3_close(db);
	return fclose(out) != 0 || !good;
}
