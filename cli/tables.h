/* SPDX-License-Identifier: MIT */
/* Writes recordings as tables (docs/TABLES.md): files for engines of columns. */
#ifndef CLI_TABLES_H
#define CLI_TABLES_H

#include "input.h"

/* Writes samples.parquet, paths.parquet and locations.parquet into a folder, which is made if it is
 * not there: of all recordings that are asked for, or none of them if one fails. A cmd_status;
 * CMD_NO_SAMPLES: the tables are written, and have no rows. A message has been given if it is not
 * CMD_DONE. */
int tables_write_parquet(const struct input *input, const char *folder);

#endif
