/* SPDX-License-Identifier: MIT */
/*
 * The processes, threads and mappings of a recording at the moment up to which it has been read.
 * They turn the address of a frame into a location.
 *
 * A look-up of a mapping costs some 100 ns, and a recording repeats the same few thousand
 * addresses, so a cache answers nearly all look-ups. An entry of the cache is valid for one state
 * of a process: every event that changes the process gives it a new state number, so no entry has
 * to be removed.
 */
#ifndef PERF_IMPORT_PROCESSES_H
#define PERF_IMPORT_PROCESSES_H

#include <uthash.h>

#include "perf/import_kernel.h"
#include "perf/perfdata.h"
#include "proc/process.h"
#include "stack/location.h"

#define IMPORT_MAX_MAPS (1u << 18) /* most mappings of one process since its exec */

#define IMPORT_FRAME_RETURN 1u /* the address is a return address */
#define IMPORT_FRAME_KERNEL 2u
/* code of a guest or a hypervisor, which is unknown */
#define IMPORT_FRAME_UNKNOWN 4u

struct import_frame {
	uint64_t address; /* program counter or return address */
	uint32_t flags;	  /* IMPORT_FRAME_..., and the provenance of the frame's rule */
};

/* If a frame was walked here, its flags also have the provenance of its unwinding rule: put it
 * there, and read it. */
#define IMPORT_FRAME_PROVENANCE(provenance) ((uint32_t)(provenance) << 8)
#define IMPORT_FRAME_PROVENANCE_OF(flags)   ((uint8_t)((flags) >> 8))

/* A frame of a thread's previous path, and the frame's node in the trie. */
struct import_step {
	struct import_frame frame;
	uint32_t node;
};

struct import_process {
	uint32_t pid;
	uint32_t n_maps; /* mmap records since its exec */
	uint64_t state;	 /* changes with every event */
	bool is_in_exec; /* the process called exec, and has no sample of the new program yet */
	UT_hash_handle hh;
};

struct import_thread {
	uint32_t tid;
	struct import_process *process;
	uint64_t state;		   /* state of the process when `number` and `steps` were set */
	uint64_t kernel_state;	   /* state of the kernel at that time */
	uint32_t number;	   /* in the process table */
	struct import_step *steps; /* the frames of the previous sample, root first; owned */
	size_t n_steps, steps_cap;
	UT_hash_handle hh;
};

struct import_cached; /* an entry of the cache of locations */

struct import_processes {
	struct object_table *objects;
	struct process_table *table;
	struct location_table *locations;
	struct import_kernel *kernel;
	struct import_process *by_pid;
	struct import_thread *by_tid;
	struct import_thread *last; /* result of the last look-up */
	/* the object for addresses outside of all mappings; NULL: not made yet */
	const struct object *nowhere;
	struct import_cached *cache;
	uint64_t states; /* the last state number that was used */
	uint64_t kernel_state;
};

/* Makes the state of an import's processes. Borrows both arguments; `reader` must have returned its
 * first record, because only then is a pipe's header known. Returns 0 or -ENOMEM. */
int import_processes_new(struct perfdata *reader, const struct utsname *machine,
			 struct import_processes **ret_processes);
void import_processes_free(struct import_processes *processes); /* accepts NULL */

/* Applies a record that is not a sample. Returns 0; -ENOMEM; -E2BIG: a process has more than
 * IMPORT_MAX_MAPS mappings, or the kernel more than IMPORT_KERNEL_MAX_MAPS. */
int import_processes_event(struct import_processes *processes,
			   const struct perfdata_record *record);

/* Finds or adds a thread, and updates its number. Clears its steps (its previous path) if its
 * process or the kernel has changed since. The thread belongs to `processes`. Returns 0; -ENOMEM;
 * -E2BIG: there are more than IMPORT_MAX_THREADS. */
int import_processes_thread(struct import_processes *processes, uint32_t pid, uint32_t tid,
			    struct import_thread **ret_thread);

/* Gives the number of a frame's location, and adds the location if it is new. An address outside of
 * all mappings is in the object `nowhere`. Returns 0 or -ENOMEM. */
int import_processes_locate(struct import_processes *processes, const struct import_thread *thread,
			    const struct import_frame *frame, uint32_t *ret_location);

/* Returns whether a process is still within exec(2), so that its samples have the registers of the
 * old program. The caller calls import_processes_runs() when it has seen the new program run. */
bool import_processes_is_in_exec(const struct import_processes *processes, uint32_t pid);
void import_processes_runs(struct import_processes *processes, uint32_t pid);

/* Finds the object mapped at a user address of a process, and the offset in it. The object belongs
 * to `objects`. Returns false if nothing is mapped there. */
bool import_processes_find(struct import_processes *processes, uint32_t pid, uint64_t address,
			   const struct object **ret_object, uint64_t *ret_offset);

#endif
