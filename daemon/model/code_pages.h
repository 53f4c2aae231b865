/* SPDX-License-Identifier: MIT */
/*
 * Keeps pages of code that processes have made, from the moment at which a record of a sample in
 * them is read. The walk of that record may come seconds later, since it waits for the tables of
 * files, and the process may have ended or its code may be gone by then.
 */
#ifndef MODEL_CODE_PAGES_H
#define MODEL_CODE_PAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "stackd_abi.h"

#define CODE_PAGES_MOST 4096 /* 16 MiB; in up to four versions each */

struct code_pages;

/* Reads a process's executable memory around an address; see runtime_code_read_fn. */
typedef size_t code_pages_read_fn(void *arg, pid_t pid, uint64_t address, uint64_t before,
				  uint64_t after, uint8_t *bytes, uint64_t *ret_start);

/* Reads the page of a process's memory at `start`, of which the kernel half has said that it is
 * code of that kind. false: it cannot be read. */
typedef bool code_pages_read_page_fn(pid_t pid, uint64_t start, uint8_t *bytes);

/* `read` is called with `arg`, which is borrowed. 0 or -ENOMEM. */
int code_pages_new(code_pages_read_fn *read, void *arg, code_pages_read_page_fn *read_page,
		   struct code_pages **ret_pages);
void code_pages_free(struct code_pages *pages); /* NULL is fine */

/* Keeps the pages around the addresses of a record, of which other bytes are kept or none. */
void code_pages_keep(struct code_pages *pages, const struct stackd_code_record *record);

/* As code_pages_read_fn, of the memory as it is now, or where that cannot be read, of what is kept.
 */
size_t code_pages_read(struct code_pages *pages, pid_t pid, uint64_t address, uint64_t before,
		       uint64_t after, uint8_t *bytes, uint64_t *ret_start);

#endif
