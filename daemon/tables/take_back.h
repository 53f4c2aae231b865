/* SPDX-License-Identifier: MIT */
/*
 * Takes numbers of files and of rules out of the kernel half, so that they can be given again.
 *
 * Walks find a file's number by its inode, in the map of inodes, and remember it in two places: a
 * CPU with the mappings that it has met, and a thread with the mappings that its last walk touched.
 * Both hold for as long as the counter `numbers_ended` does (mapping.bpf.h). So the order is: the
 * inodes go, the counter moves, and every walk that had begun before ends. From then on no walk
 * finds these numbers. At last the cache of rules, which is by number, is emptied.
 *
 * What a number was given for is still known to the daemon until the last record with it was taken
 * (file_numbers.h).
 */
#ifndef TABLES_TAKE_BACK_H
#define TABLES_TAKE_BACK_H

#include <stdbool.h>
#include <stdint.h>

#include "stackd_abi.h"

struct tables_maps;

/* Removes inodes of files from the kernel half's map: all inodes of the numbers in `is_ended` (by
 * number), and of each other number all but the one in `known_as` (by number), by which its file
 * was met last. So copies of one file do not fill the map. If a walk meets a removed inode again,
 * it is entered again. Returns how many were removed. */
uint64_t take_back_inodes(const struct tables_maps *maps, const bool *is_ended,
			  const struct stackd_inode *known_as);

/* Waits until no walk uses anything that it has found by an inode before now. */
void take_back_walks(const struct tables_maps *maps);

/* Empties the kernel half's cache of rules. Walks may run meanwhile, and fill it again. 0 or the
 * -errno of mmap(). */
int take_back_cache(const struct tables_maps *maps);

#endif
