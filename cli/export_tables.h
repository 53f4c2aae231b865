/* SPDX-License-Identifier: MIT */
/* Writes recordings as tables for column stores (docs/TABLES.md). */
#ifndef CLI_EXPORT_TABLES_H
#define CLI_EXPORT_TABLES_H

#include "input.h"

/* Writes samples.parquet, paths.parquet and locations.parquet, of all recordings that the options
 * choose, into a folder, which is created if it is missing. If one recording fails, no file is
 * written. Returns a cmd_status; CMD_NO_SAMPLES means that the tables are written and have no rows.
 * Unless it is CMD_DONE, a message has been printed. */
int export_tables_parquet(const struct input *input, const char *folder);

#endif
