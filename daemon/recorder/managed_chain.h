/* SPDX-License-Identifier: MIT */
/*
 * Adds managed frames to the path of a stack that the daemon has walked.
 *
 * The walk has native frames alone. The managed frames of the same instant came with the record
 * (record_chain()): for each activation of the interpreter the frames that it runs, and an address
 * that must lie in its native frame. Activations and frames are matched by these addresses,
 * innermost first, by the same conditions as in the kernel half (bpf/managed.bpf.h):
 *
 *   the address is in the activation's native frame      its frames are added
 *   it is above, and no frames were added so far         none: it was being entered or left
 *   otherwise                                            not proven, as are those of all
 *                                                        activations before it
 *
 * If each activation has one frame and no address leads to it (CPython before 3.11), the frames are
 * added if there are as many of them as activations, and the walk has come to the thread's entry.
 */
#ifndef RECORDER_MANAGED_CHAIN_H
#define RECORDER_MANAGED_CHAIN_H

#include "daemon/recorder/managed.h"
#include "daemon/recorder/thread_paths.h"
#include "daemon/tables/tables.h"
#include "unwind/dwarf_walk.h"

struct managed_chain { /* all borrowed */
	struct tables *tables;
	struct managed *managed;
	struct location_table *locations;
};

/* Adds the managed frames of a STACK record to its path, which has a location for each of the
 * frames of its walk (`frames`, leaf first), and no kernel frames yet; `reason` is why the walk has
 * ended. Sets path->is_unread if the frames of an activation are not known. 0 or -ENOMEM. */
int managed_chain_add(const struct managed_chain *chain, const struct stackd_stack_record *record,
		      const struct walk_frame *frames, enum stackd_end_reason reason,
		      struct path *path);

#endif
