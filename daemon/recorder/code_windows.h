/* SPDX-License-Identifier: MIT */
/*
 * Keeps code windows: the STACKD_CODE_BYTES bytes of JIT code around an address, as they were at a
 * sample. The kernel half sends them once for each address and each version of its code
 * (stackd_code.h). A walk comes seconds after its sample, when the process may have written other
 * code there, or has ended.
 */
#ifndef RECORDER_CODE_WINDOWS_H
#define RECORDER_CODE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

#define CODE_WINDOWS_MOST 8192 /* 8 MiB; a further one replaces the least recently used */

struct code_windows;

/* 0 or -ENOMEM. */
int code_windows_new(struct code_windows **ret_windows);
void code_windows_free(struct code_windows *windows); /* NULL is fine */

/* Keeps the bytes of a record. Without memory it does nothing, and walks read the process's memory
 * instead. */
void code_windows_keep(struct code_windows *windows, const struct stackd_code_bytes *record);

/* Gives the STACKD_CODE_BYTES bytes that a process had around the mark's address at the sample that
 * has this mark. The bytes of blocks without a hash in the mark are not valid. false: the bytes are
 * not kept. */
bool code_windows_find(struct code_windows *windows, pid_t pid, const struct stackd_code_mark *mark,
		       uint8_t *ret_bytes);

#endif
