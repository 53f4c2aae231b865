/* SPDX-License-Identifier: MIT */
/*
 * Chooses the files whose numbers in the kernel half are taken back when few numbers are left:
 * those that no process maps, and in whose tables no walk has looked anything up, for the longest
 * time.
 *
 * Nothing depends on the choice being right. A file that is met again gets another number, its
 * table is made again, and the daemon walks the samples in between.
 */
#ifndef RECORDER_NUMBER_REUSE_H
#define RECORDER_NUMBER_REUSE_H

#include <stdint.h>

#include "daemon/tables/tables.h"
#include "proc/process_table.h"

struct number_reuse;

/* Borrows the first three. 0 or -ENOMEM. */
int number_reuse_new(struct tables *tables, const struct object_table *objects,
		     const struct process_table *processes, struct number_reuse **ret_reuse);
void number_reuse_free(struct number_reuse *reuse); /* NULL is fine */

/* Frees numbers that were taken back, and if few are left, takes further ones back. To be called
 * several times a second. `done_ns`: all records that began before this time were handed out;
 * `now_ns`: CLOCK_MONOTONIC. */
void number_reuse_look(struct number_reuse *reuse, uint64_t done_ns, uint64_t now_ns);

#endif
