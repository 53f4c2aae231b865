/* SPDX-License-Identifier: MIT */
/*
 * Finds the return addresses of walks that the program has put on the stack without a call
 * (unwind/put_return.h). Each location is looked at once.
 *
 * The code before an address is read from the file where that does not block; on other file systems
 * (NFS, FUSE) from the process, if the pages are in its memory. Where the file has no call there,
 * the process's memory is read as well, since tracers write calls into a program's code; once the
 * process has ended, the file alone decides. Bytes that cannot be read now are asked for a few
 * times more, since the kernel begins to read the file. Addresses that were never looked at are
 * taken for a call's, and counted.
 *
 * A call that does not return can be a function's last instruction. The address behind it is then
 * the next function's as well: of abort(), say. If the code there looks like the begin of a
 * function, and the tables have another rule from there on, the step is checked (caller_check.h).
 * An address whose file has no table yet is kept, and looked at again later.
 */
#ifndef MODEL_PUT_RETURNS_H
#define MODEL_PUT_RETURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "daemon/model/locator.h"
#include "daemon/tables/tables.h"
#include "proc/object.h"
#include "stack/location.h"

#define PUT_RETURNS_LATER 4096 /* addresses that are kept */
#define PUT_RETURNS_LOOKS 8    /* at an address whose bytes cannot be had */

struct put_return_later {
	uint32_t location;
	pid_t pid;
	unsigned looks; /* without its bytes */
};

/* Zeroed but for what is borrowed is empty. */
struct put_returns {
	struct locator *locator; /* borrowed, as the next ones */
	const struct object_table *objects;
	struct location_table *locations;
	struct tables *tables;		    /* NULL: none */
	const char *proc;		    /* the root of /proc */
	VEC(struct put_return_later) later; /* owned */
	uint64_t unchecked;		    /* given up */
};

void put_returns_fini(struct put_returns *p); /* Frees what it keeps; zeroed is fine. */

/* Looks at the locations from number `first` on, which a walk of a process has added, and sets what
 * they are found to be (location_set_put()). */
void put_returns_note(struct put_returns *p, pid_t pid, uint32_t first);

/* Looks again at the addresses that are kept. Returns whether one was put there, or has
 * become doubtful. */
bool put_returns_look_again(struct put_returns *p);

/* Returns how many addresses were not looked at, those that are kept included. */
uint64_t put_returns_unchecked(const struct put_returns *p);

/* Forgets the addresses that are kept, since the locations were cleared. */
void put_returns_begin_anew(struct put_returns *p);

#endif
