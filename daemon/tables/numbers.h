/* SPDX-License-Identifier: MIT */
/*
 * Watches numbers that are given once and never used again: those of objects, of inodes that the
 * kernel half knows, and of rules. Records in the ring, the kernel half's copies of last walks, and
 * caches refer to files and rules by these numbers. So a long run uses them up.
 */
#ifndef TABLES_NUMBERS_H
#define TABLES_NUMBERS_H

#include "daemon/tables/tables.h"

/* Returns whether, of any kind of number, less than an eighth is left. For files that get no number
 * any more, the kernel half sends copies of stacks, which the daemon walks. `n_objects`: how many
 * objects there are. */
bool numbers_run_out(const struct tables_counts *counts, uint32_t n_objects);

#endif
