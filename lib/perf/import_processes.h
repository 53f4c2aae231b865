/* SPDX-License-Identifier: MIT */
/*
 * Who ran, and which code lay where, at the moment up to which the recording has been read: what
 * turns an address of a sample into a location.
 *
 * Looking an address up costs some 100 ns, and a recording holds the same few thousand over and
 * over: a cache answers nearly all. What it knows holds for one state of a process; each event
 * that changes a process gives it a new state number, so nothing needs to be removed.
 */
#ifndef PERF_IMPORT_PROCESSES_H
#define PERF_IMPORT_PROCESSES_H

#include <uthash.h>

#include "perf/import_kernel.h"
#include "perf/perfdata.h"
#include "proc/process.h"
#include "stack/location.h"

#define IMPORT_MAX_MAPS (1u << 18)

#define IMPORT_FRAME_RETURN  1u /* waits for a call to return */
#define IMPORT_FRAME_KERNEL  2u
#define IMPORT_FRAME_UNKNOWN 4u /* of a guest or a hypervisor: nothing is known of its code */

struct import_frame {
	uint64_t address; /* program counter or return address */
	uint32_t flags;	  /* IMPORT_FRAME_... */
};

/* A frame of a thread's last path, and the trie's node of it. */
struct import_step {
	struct import_frame frame;
	uint32_t node;
};

struct import_process {
	uint32_t pid;
	uint32_t n_maps; /* records of them, since it began */
	uint64_t state;
	UT_hash_handle hh;
};

struct import_thread {
	uint32_t tid;
	struct import_process *process;
	uint64_t state; /* of the process and of the kernel, when the rest was found */
	uint64_t kernel_state;
	uint32_t number;	   /* of lib/proc's table */
	struct import_step *steps; /* the last sample's, root first; owned */
	size_t n_steps, steps_cap;
	UT_hash_handle hh;
};

struct import_place; /* an entry of the cache */

struct import_processes {
	struct object_table *objects;
	struct process_table *table;
	struct location_table *locations;
	struct import_kernel *kernel;
	struct import_process *processes;
	struct import_thread *threads;
	struct import_thread *last;   /* that was asked for */
	const struct object *nowhere; /* for addresses that lie in nothing known; NULL: not yet */
	struct import_place *cache;
	uint64_t states; /* the last one that was given out */
	uint64_t kernel_state;
};

/* `reader` has read up to its first record; both are borrowed. 0 or -ENOMEM. */
int import_processes_new(const struct perfdata *reader, const struct utsname *machine,
			 struct import_processes **ret_world);
void import_processes_free(struct import_processes *world);

/* Applies a record that is no sample. 0; -ENOMEM; -E2BIG: more mappings of one process (or of the
 * kernel) than IMPORT_MAX_MAPS, which no machine has. */
int import_processes_event(struct import_processes *world, const struct perfdata_record *record);

/* The thread, with its number brought up to date. Its steps are emptied if they are of another
 * state. 0; -ENOMEM; -E2BIG: more than IMPORT_MAX_THREADS. */
int import_processes_thread(struct import_processes *world, uint32_t pid, uint32_t tid,
			    struct import_thread **ret_thread);

/* The location of a frame. 0 or -ENOMEM. */
int import_processes_locate(struct import_processes *world, const struct import_thread *thread,
			    const struct import_frame *frame, uint32_t *ret_location);

/* Where a user address lies. false: nowhere. */
bool import_processes_find(struct import_processes *world, uint32_t pid, uint64_t address,
			   const struct object **ret_object, uint64_t *ret_offset);

#endif
