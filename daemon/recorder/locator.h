/* SPDX-License-Identifier: MIT */
/*
 * Turns addresses into locations (an object and an offset in it), which are the same in every
 * process. An address that no mapping holds is a location in the object "[unknown]".
 */
#ifndef RECORDER_LOCATOR_H
#define RECORDER_LOCATOR_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/mapping_set.h"
#include "proc/object.h"
#include "proc/process.h"
#include "proc/resident_memory.h"
#include "proc/written_files.h"
#include "stack/location.h"
#include "sym/kallsyms.h"
#include "unwind/dwarf_walk.h"

struct locator;

struct mapping_shares;

struct locator_options { /* all borrowed */
	struct object_table *objects;
	struct process_table *processes;
	struct location_table *locations;
	/* Finds files that were overwritten while they were mapped. The code of frames in them is
	 * not known, so these frames get no names. NULL: no file is checked. */
	struct written_files *written;
	/* Where the kernel's symbols are read. NULL: /proc is opened at the first kernel address.
	 */
	const struct kernel_files *kernel;
	/* Called with `arg` again and again while they are read; NULL: none. */
	void (*meanwhile)(void *arg);
	void *arg;
	/* Users' shares of reading processes from /proc, and stackd's budget; NULL: no limit */
	struct mapping_shares *shares;
	double budget;
	struct memory_source memory; /* of processes; zeroed: that of /proc */
};

/* The options are copied. 0 or -ENOMEM. */
int locator_new(const struct locator_options *options, struct locator **ret_locator);
void locator_free(struct locator *locator); /* NULL is fine */

/* Returns how the memory of processes is read. */
const struct memory_source *locator_memory(const struct locator *locator);

/* Sets the budget of the options. */
void locator_set_budget(struct locator *locator, double budget);

/* Replaces the object of a frame, as written_files_proven() does, if its file may have been
 * overwritten while it was mapped. `time_ns`: of the sample. 0 or -ENOMEM. */
int locator_prove(const struct locator *locator, pid_t pid, uint64_t time_ns,
		  const struct object **object);

/* Finds the object and offset that are mapped at an address of a process. false: the address lies
 * in no executable mapping. */
bool locator_find(const struct locator *locator, pid_t pid, uint64_t address,
		  const struct object **ret_object, uint64_t *ret_offset);

/* Returns the mapping at an address of a process, as process_table_mapping() does; NULL: the
 * address lies in no executable mapping. */
const struct mapping *locator_mapping(const struct locator *locator, pid_t pid, uint64_t address);

/* Enters a mapping into the table of a process, in place of the mappings that it overlaps. 0 or
 * -ENOMEM. */
int locator_set_mapping(struct locator *locator, pid_t pid, const struct mapping *m);

/* Reads the mappings of a process from /proc again, by process_table_reload(), with its errors;
 * -EAGAIN: its user's share is used up. */
int locator_reload(struct locator *locator, pid_t pid);

/* Finds the object of a mapping of a process, as object_table_resolve() does. */
int locator_resolve(struct locator *locator, pid_t pid, const struct object_mapping *m,
		    const struct object **ret_object);

/* Finds, or makes, the object of a process's JIT code (OBJECT_JIT). 0 or -ENOMEM. */
int locator_made(struct locator *locator, pid_t pid, const struct object **ret_object);

/* Returns all mappings of a process, as process_table_mappings() does; `locator` is a struct
 * locator. */
const struct mapping_set *locator_mappings(void *locator, pid_t pid);

/* The `arg` of a walk (struct walk_input) whose `find` is locator_find_code(). */
struct locator_process {
	const struct locator *locator; /* borrowed */
	pid_t pid;
};
/* Does what locator_find() does, for the process in `locator_process`, a struct locator_process. */
bool locator_find_code(void *locator_process, uint64_t address, const struct object **ret_object,
		       uint64_t *ret_offset);

/* Gives the object of addresses that no mapping holds. 0 or -ENOMEM. */
int locator_nowhere(struct locator *locator, const struct object **ret_object);

/* Finds, or makes, the number of the location of a frame, of a walk of process `pid` at `time_ns`
 * (CLOCK_MONOTONIC). 0 or -ENOMEM. */
int locator_of_frame(struct locator *locator, const struct walk_frame *frame, pid_t pid,
		     uint64_t time_ns, uint32_t *ret_location);

/* Finds, or makes, the number of the location of a kernel address; `is_return`: it is a return
 * address. 0 or -ENOMEM. */
int locator_of_kernel(struct locator *locator, uint64_t address, bool is_return,
		      uint32_t *ret_location);

/* Returns whether a kernel return address lies in try_to_wake_up(). If so, the frames nearer to the
 * leaf are those of the BPF program that records the waker. */
bool locator_is_wakeup(struct locator *locator, uint64_t address);

/* Returns the kernel's symbols, which are loaded when the first kernel address comes; NULL before,
 * and where they cannot be read. They belong to the locator. */
const struct kallsyms *locator_kallsyms(const struct locator *locator);

#endif
