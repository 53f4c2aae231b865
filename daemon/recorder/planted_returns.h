/* SPDX-License-Identifier: MIT */
/*
 * Finds the return addresses in walks that the program has put on the stack without a call
 * (unwind/planted_return.h). Each location is looked at once.
 *
 * The code before an address is read from the file if that does not block. On other file systems
 * (NFS, FUSE) it is read from the process, if the pages are in its memory. Where the file has no
 * call there, the process's memory is read as well, since tracers write calls into a program's
 * code; once the process has ended, the file alone decides. Reads that fail are repeated a few
 * times later, since each attempt makes the kernel read the file. An address whose code could never
 * be read counts as made by a call, and is reported as unchecked.
 *
 * A function that ends with a call that does not return (of abort(), say) has its return address at
 * the first byte of the next function. So if the recipe table has the rule of a function's
 * beginning at a return address, and another one right before, the location is marked as doubted,
 * so that caller_check.h checks the step to it. An address whose file has no table yet is looked at
 * again later. Where there are many of these, only those are kept whose code looks like the
 * beginning of a function.
 */
#ifndef RECORDER_PLANTED_RETURNS_H
#define RECORDER_PLANTED_RETURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "daemon/recorder/locator.h"
#include "daemon/tables/tables.h"
#include "proc/object.h"
#include "stack/location.h"

#define PLANTED_RETURNS_LATER 4096 /* most addresses that are kept to be looked at again */
#define PLANTED_RETURNS_LOOKS 8	   /* most attempts to read the bytes at an address */

struct planted_return_later {
	uint32_t location;
	pid_t pid;
	unsigned looks; /* attempts that could not read the bytes */
};

/* Empty if all is zero but the borrowed pointers. */
struct planted_returns {
	struct locator *locator; /* borrowed, as the next ones */
	const struct object_table *objects;
	struct location_table *locations;
	struct tables *tables;			/* NULL: none */
	VEC(struct planted_return_later) later; /* owned */
	uint64_t unchecked; /* addresses that were never looked at successfully */
};

void planted_returns_fini(struct planted_returns *p); /* Frees what it keeps; zeroed is fine. */

/* Examines the locations from number `first` on, which a walk of a process has added, and marks
 * each that no call has made, or that is doubted (location_set_put()). */
void planted_returns_note(struct planted_returns *p, pid_t pid, uint32_t first);

/* Examines again the addresses whose bytes could not be read, or whose file had no table. Returns
 * whether it has marked any of them as put on the stack without a call, or as doubted. */
bool planted_returns_look_again(struct planted_returns *p);

/* Returns how many addresses could not be examined, including those that are to be looked at
 * again. */
uint64_t planted_returns_unchecked(const struct planted_returns *p);

/* Forgets the addresses that were to be looked at again, since the locations were cleared. */
void planted_returns_begin_anew(struct planted_returns *p);

#endif
