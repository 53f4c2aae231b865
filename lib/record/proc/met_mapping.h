/* SPDX-License-Identifier: MIT */
/*
 * Compares a mapping that the kernel half has met with the table of processes.
 *
 * The kernel half sees a mapping's file at the sample: its inode and its change time. The table has
 * the object that the file had when the mapping's event was read, or when /proc was. Meanwhile the
 * file may have been overwritten:
 *
 *   file's content   A ────────────────► B ──────────────► C
 *                      mapped   sample      event is read
 *
 * What the file holds now says nothing about the sample. A mapping's object is proven if
 *
 *   - the object was read from the file in the state that the kernel half has seen, or the file can
 *     be shown not to have been written to since that state; or
 *   - the file's last change is older than the mapping, and the mapping's event says what it held.
 *
 * Else the mapping gets an object that is proven, or if there is none, the one that stands for the
 * file's unproven code (object_table_unproven()), so that no walk uses the rules or the names of
 * other code.
 */
#ifndef PROC_MET_MAPPING_H
#define PROC_MET_MAPPING_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"

struct process_table;

/* A mapping of a process as the kernel half has found it during a sample. */
struct met_mapping {
	uint64_t start, end, offset; /* addresses, and the file offset of `start` */
	uint32_t dev_major, dev_minor;
	uint64_t inode;
	uint64_t changed_ns; /* the file's change time then, in nanoseconds of CLOCK_REALTIME */
};

/* Returns the object that the table has for a mapping of a process; NULL: none. */
const struct object *met_mapping_object(struct process_table *table, pid_t pid,
					const struct met_mapping *met);

/* Returns whether it is known already, without a look at any file, that the file had the object's
 * content at the sample. true for the vDSO, which has no file. */
bool met_mapping_is_known(const struct object_table *objects, const struct met_mapping *met,
			  const struct object *object);

/* Returns the object whose content the mapping's file had at the sample; NULL: the table has no
 * such mapping, or the object cannot be proven. Changes the table's mapping if it has another
 * object; does not if memory is short. */
const struct object *met_mapping_prove(struct process_table *table, pid_t pid,
				       const struct met_mapping *met);

#endif
