/* SPDX-License-Identifier: MIT */
/* Writes recordings as tables for column stores (docs/TABLES.md). */
#ifndef CLI_EXPORT_TABLES_H
#define CLI_EXPORT_TABLES_H

#include "input.h"

/* Writes samples.parquet, paths.parquet and locations.parquet of all recordings that are asked for
 * into a folder, which is created if it is missing. If one recording fails, no file is written.
 * Returns a cmd_status; CMD_NO_SAMPLES means that the tables are written and have no rows. A
 * message has been given if it is not CMD_DONE. */
int export_tables_parquet(const struct input *input, const char *folder);

#endif
