/* SPDX-License-Identifier: MIT */
/*
 * Deliberate faults, for tests. A program that is built with STACKD_FAULTS crashes, hangs, is slow,
 * takes memory, or opens a file when its worker reads the file with a given build-id, or has little
 * room for something. The installed program has none of this.
 */
#ifndef WORKER_FAULT_H
#define WORKER_FAULT_H

#include <stdint.h>

#include "elf/elf_file.h"

enum fault_where { FAULT_IDENTITY, FAULT_OBJECT, FAULT_TABLE, FAULT_NAMES, FAULT_WALK, FAULT_FILE };

/* Reads the environment: STACKD_FAULT is WHAT:WHERE:BUILD-ID. To be called before the sandbox. */
void fault_prepare(void);

/* Returns `usual`, or the smaller number of STACKD_FAULT if that is few:WHAT:HEX with this name.
 * For limits, so that tests can reach them. */
uint32_t fault_few(const char *name, uint32_t usual);

/* Has the fault that was asked for, if it was asked for at this file and moment. */
void fault_at(const struct elf_file *file, enum fault_where where);

#endif
