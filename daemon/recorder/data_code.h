/* SPDX-License-Identifier: MIT */
/*
 * Recognises changed code in a program's data segment. Lisp systems that dump their memory into a
 * program (GCL) have code there. Walks use the file's bytes, which the program may have overwritten
 * in memory.
 */
#ifndef RECORDER_DATA_CODE_H
#define RECORDER_DATA_CODE_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "proc/object.h"
#include "proc/resident_memory.h"

/* Returns whether code at an address of a process is in its file's data, and differs from the
 * file's bytes at that offset. false where the memory cannot be read, as when the process has
 * ended. */
bool data_code_has_changed(const struct memory_source *memory, const struct object *object,
			   uint64_t offset, pid_t pid, uint64_t address);

#endif
