/* SPDX-License-Identifier: MIT */
/*
 * Requests the tables of a whole path at once.
 *
 * A record names only the first file that its walk has missed. The next file would be missed only
 * when the first one's table is loaded, and would be known only after the daemon has walked all
 * earlier records. So a program, its C library and the vDSO would wait for each other, while each
 * sample of a fast event carries a copy of its stack.
 */
#ifndef TABLES_PATH_TABLES_H
#define TABLES_PATH_TABLES_H

#include <stddef.h>

#include "daemon/tables/tables.h"
#include "unwind/dwarf_walk.h"

/* Requests the tables of all files in which frames lie and that have none yet. 0 or -ENOMEM. */
int path_tables_want(struct tables *tables, const struct walk_frame *frames, size_t count);

#endif
