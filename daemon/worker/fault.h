/* SPDX-License-Identifier: MIT */
/*
 * Faults on purpose, for tests: a program that is built with STACKD_FAULTS crashes, hangs, is slow,
 * takes memory, or opens a file when its worker comes to the file of a build-id, or has little room
 * for something. The program that is installed has none of this.
 */
#ifndef WORKER_FAULT_H
#define WORKER_FAULT_H

#include <stdint.h>

#include "elf/elf_file.h"

enum fault_where { FAULT_IDENTITY, FAULT_OBJECT, FAULT_TABLE, FAULT_NAMES, FAULT_WALK, FAULT_FILE };

/* Reads the environment: STACKD_FAULT is WHAT:WHERE:BUILD-ID. To be called before the sandbox. */
void fault_prepare(void);

/* Returns `usual`, or fewer: STACKD_FAULT is few:WHAT:HEX. For how many of something there is room.
 */
uint32_t fault_few(const char *name, uint32_t usual);

/* Does what was asked for, if it was asked for at this file. */
void fault_at(const struct elf_file *file, enum fault_where where);

#endif
