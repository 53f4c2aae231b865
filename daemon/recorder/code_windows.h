/* SPDX-License-Identifier: MIT */
/*
 * Keeps the bytes of JIT code as they were at samples. The kernel half sends them once for each
 * address and version (stackd_code.h). A walk comes seconds after its sample, when the process may
 * have written other code there, or has ended.
 */
#ifndef RECORDER_CODE_WINDOWS_H
#define RECORDER_CODE_WINDOWS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

#define CODE_WINDOWS_MOST 8192 /* 8 MiB; others replace those not used for longest */

struct code_windows;

/* 0 or -ENOMEM. */
int code_windows_new(struct code_windows **ret_windows);
void code_windows_free(struct code_windows *windows); /* NULL is fine */

/* Keeps the bytes of a record. Without memory for them, walks read the process instead. */
void code_windows_keep(struct code_windows *windows, const struct stackd_code_bytes *record);

/* Gives the STACKD_CODE_BYTES bytes that a process had around an address at a sample with this
 * mark; blocks that have no hash in the mark are left unknown. false: the bytes are not kept. */
bool code_windows_find(struct code_windows *windows, pid_t pid, const struct stackd_code_mark *mark,
		       uint8_t *ret_bytes);

#endif
