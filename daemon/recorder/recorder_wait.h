/* SPDX-License-Identifier: MIT */
/* The recorder's state for records of waits, used by recorder_wait.c. */
#ifndef RECORDER_RECORDER_WAIT_H
#define RECORDER_RECORDER_WAIT_H

#include <stdbool.h>
#include <stdint.h>

#include "daemon/recorder/wait_frames.h"
#include "daemon/recorder/wait_object.h"
#include "proc/object.h"

#define WAKEUP_FRAMES 1024 /* a power of two */

struct recorder_waits {
	struct wait_objects *objects; /* names of what threads waited for */
	struct wait_frames *frames;
	struct {
		bool is_known; /* the entry was looked up */
		uint64_t start, end;
	} page_fault; /* the kernel's entry for page faults; 0: it is not known */
	struct {
		bool is_known;
		uint64_t ns;
	} mean; /* the mean waiting time between two samples, as of the last wait of this window */
	struct {
		uint64_t address;
		unsigned is;		/* enum wakeup_frame */
	} wakeup_frames[WAKEUP_FRAMES]; /* cache of return addresses in kernel frames of wakers,
					 * each with the result of wakeup_frame_of() for its
					 * function */
};

/* The objects are borrowed, the struct is zeroed. 0 or -ENOMEM; recorder_waits_fini() in any case.
 */
int recorder_waits_init(struct recorder_waits *waits, struct object_table *objects);
void recorder_waits_fini(struct recorder_waits *waits); /* a zeroed one is fine */

#endif
