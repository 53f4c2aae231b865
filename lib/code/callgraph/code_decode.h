/* SPDX-License-Identifier: MIT */
/* Decodes the instructions of a scanned file; see code_scan.h. */
#ifndef CALLGRAPH_CODE_DECODE_H
#define CALLGRAPH_CODE_DECODE_H

#include <stdint.h>

#include "callgraph/code_scan.h"

struct code_scanner;

/* Decodes all functions of a scan, and sets their calls and flags. Returns 0; -E2BIG: the file has
 * more than CODE_SCAN_MAX_BYTES of code or CODE_SCAN_MAX_CALLS calls; -EIO; -ENOMEM. */
int code_decode_all(struct code_scanner *s);

/* Calls `each` with the vaddr of every instruction of a function; `file` must be the file that was
 * scanned. If `each` returns a value other than 0, stops and returns it. Else returns 0, -EIO or
 * -ENOMEM. */
int code_decode_each(const struct code_scan *scan, const struct elf_file *file, uint32_t function,
		     int (*each)(void *arg, uint64_t vaddr), void *arg);

#endif
