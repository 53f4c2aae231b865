/* SPDX-License-Identifier: MIT */
/*
 * Keeps pages of JIT code. A page is read from the process when the record of a sample in it
 * arrives. The daemon's walk of that record waits for recipe tables, so it may come seconds later,
 * when the process may have ended or unmapped its code.
 */
#ifndef RECORDER_CODE_PAGES_H
#define RECORDER_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

/* Most pages that are kept (16 MiB). Of a page whose bytes change, up to four versions are kept. */
#define CODE_PAGES_MOST 4096

struct code_pages;

/* Reads a process's executable memory around an address; see runtime_code_read_fn. */
typedef size_t code_pages_read_fn(void *arg, pid_t pid, uint64_t address, uint64_t before,
				  uint64_t after, uint8_t *bytes, uint64_t *ret_start);

/* Reads the page at `start` of a process's memory, in which the kernel half has found JIT code.
 * false: it cannot be read. */
typedef bool code_pages_read_page_fn(void *arg, pid_t pid, uint64_t start, uint8_t *bytes);

/* Both are called with `arg`, which is borrowed. 0 or -ENOMEM. */
int code_pages_new(code_pages_read_fn *read, void *arg, code_pages_read_page_fn *read_page,
		   struct code_pages **ret_pages);
void code_pages_free(struct code_pages *pages); /* NULL is fine */

/* Keeps the pages around the addresses of a record, unless the same bytes are kept already. */
void code_pages_keep(struct code_pages *pages, const struct stackd_code_record *record);

/* Gives the executable memory of a process around an address as it is now; or, if it cannot be read
 * now, the kept pages. A code_pages_read_fn. */
size_t code_pages_read(struct code_pages *pages, pid_t pid, uint64_t address, uint64_t before,
		       uint64_t after, uint8_t *bytes, uint64_t *ret_start);

#endif
