/* SPDX-License-Identifier: MIT */
/*
 * Requests the recipe tables of all files of a path at once.
 *
 * A record names only the first file that its walk has missed. The next file would be missed only
 * when the first one's table is loaded, and would be known only after the daemon has walked all
 * earlier records. So the tables of a program, its C library and the vDSO would be requested one
 * after the other, and meanwhile each sample of a fast event would carry a copy of its stack.
 */
#ifndef TABLES_PATH_TABLES_H
#define TABLES_PATH_TABLES_H

#include <stddef.h>

#include "daemon/tables/tables.h"
#include "unwind/dwarf_walk.h"

/* Requests the tables of all files in which frames lie and that have none yet. 0 or -ENOMEM. */
int path_tables_want(struct tables *tables, const struct walk_frame *frames, size_t count);

#endif
