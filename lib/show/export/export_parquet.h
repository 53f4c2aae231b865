/* SPDX-License-Identifier: MIT */
/* Exports recordings as the tables of docs/TABLES.md, each a Parquet file. */
#ifndef EXPORT_EXPORT_PARQUET_H
#define EXPORT_EXPORT_PARQUET_H

#include <stdio.h>

#include "model/profile.h"
#include "rows/rows.h"

struct export_parquet;

/* Begins the files: files[i], which is borrowed, is for table i of enum rows_table. Returns 0,
 * -ENOMEM or -EIO. */
int export_parquet_new(FILE *const files[ROWS_TABLES], struct export_parquet **ret_export);

/* Adds a recording. Returns 0, an error of rows_add(), or -EIO. */
int export_parquet_add(struct export_parquet *x, struct profile *profile);

/* Ends the files, and gives the numbers of their rows. Returns 0, -ENOMEM or -EIO. */
int export_parquet_finish(struct export_parquet *x, struct rows_counts *ret_counts);
void export_parquet_free(struct export_parquet *x); /* NULL is fine */

#endif
