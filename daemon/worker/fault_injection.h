/* SPDX-License-Identifier: MIT */
/*
 * Deliberate faults, for tests. A program that is built with STACKD_FAULTS crashes, hangs, is slow,
 * takes memory, or opens a file when its worker reads the file with a given build-id, or uses a
 * smaller limit (fault_few()). The installed program has none of this.
 */
#ifndef WORKER_FAULT_INJECTION_H
#define WORKER_FAULT_INJECTION_H

#include <stdint.h>

#include "elf/elf_file.h"

enum fault_where { FAULT_IDENTITY, FAULT_OBJECT, FAULT_TABLE, FAULT_NAMES, FAULT_WALK, FAULT_FILE };

/* Reads STACKD_FAULT from the environment, which is WHAT:WHERE:BUILD-ID. To be called before the
 * sandbox. */
void fault_prepare(void);

/* Returns `usual`, a limit; or if STACKD_FAULT is few:NAME:HEX with this name, the number HEX, so
 * that tests can reach the limit. */
uint32_t fault_few(const char *name, uint32_t usual);

/* Makes the fault of STACKD_FAULT (crashes, hangs, ...), if STACKD_FAULT has this file's build-id
 * and names `where`. */
void fault_at(const struct elf_file *file, enum fault_where where);

#endif
