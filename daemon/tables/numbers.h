/* SPDX-License-Identifier: MIT */
/*
 * Watches how many numbers of files and rules, and entries for inodes, the kernel half has left.
 * Records in the ring, the kernel half's copies of last walks, and caches refer to files and rules
 * by number, so it takes time until one can be given again (tables_end_numbers()), and that begins
 * while some are left.
 */
#ifndef TABLES_NUMBERS_H
#define TABLES_NUMBERS_H

#include "daemon/tables/tables.h"

/* Returns whether less than an eighth of the numbers of files, or of the entries for inodes, is
 * left. For files that get no number, the kernel half sends copies of stacks, which the daemon
 * walks. */
bool numbers_are_few(const struct tables_counts *counts);

/* Returns whether less than an eighth of the numbers of rules is left. Frames whose rule got none
 * are walked by the daemon. */
bool numbers_rules_are_few(const struct tables_counts *counts);

#endif
