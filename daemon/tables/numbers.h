/* SPDX-License-Identifier: MIT */
/*
 * Numbers that are never used again: those of objects, of inodes that the kernel half knows, and of
 * rules. Records in the ring, remembered stacks and caches refer to files and rules by them, so a
 * long run uses them up.
 */
#ifndef TABLES_NUMBERS_H
#define TABLES_NUMBERS_H

#include "daemon/tables/tables.h"

/* Returns whether less than an eighth of one kind is left. The daemon walks files that get no
 * number, from copies of stacks. `n_objects`: how many objects there are. */
bool numbers_run_out(const struct tables_counts *counts, uint32_t n_objects);

#endif
