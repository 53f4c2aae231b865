/* SPDX-License-Identifier: MIT */
/*
 * Looks whether return addresses that walks have come to were put on the stack by something else
 * than a call (unwind/put_return.h): once for each location.
 *
 * The file's bytes are read where that waits for nothing; on other file systems (NFS, FUSE) those
 * of the process, if the pages are in its memory. A program may have written calls over what its
 * file has (tracers and profilers of the program's own do), so the process's memory is looked at
 * too before an address is taken for put; once the process has ended, the file alone decides.
 * Bytes that cannot be had are asked for a few times more, since the kernel begins to read the
 * file. Addresses that were never looked at are taken for called, and counted.
 *
 * Where another function begins right behind a call, the address may be that function's: of abort()
 * behind a call that does not return. The rules of the tables tell that, for addresses that look as
 * if a function began there; the step is checked then (steps.h). Until there is a table, such
 * addresses are kept, and looked at again later.
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

/* Looks at the locations of a process from number `first` on, and notes what they are. */
void put_returns_note(struct put_returns *p, pid_t pid, uint32_t first);

/* Looks again at those that are kept. Whether there is one that a call has not made, or may not
 * have. */
bool put_returns_look_again(struct put_returns *p);

/* Returns how many addresses were not looked at, those that are kept included. */
uint64_t put_returns_unchecked(const struct put_returns *p);

/* Forgets those that are kept, since the locations were cleared. */
void put_returns_begin_anew(struct put_returns *p);

#endif
