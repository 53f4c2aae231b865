/* SPDX-License-Identifier: MIT */
/* Reads the executable memory of processes: JIT code (unwind/runtime_code.h). */
#ifndef RECORDER_CODE_MEMORY_H
#define RECORDER_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Reads executable memory of a process around an address: a runtime_code_read_fn. `locator` is a
 * struct locator. Reads nothing beyond the mapping that holds the address. */
size_t code_memory_read(void *locator, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			uint8_t *bytes, uint64_t *ret_start);

/* Reads the page at address `start` of a process, in which the kernel half has found JIT code.
 * false: it cannot be read. */
bool code_memory_read_page(void *locator, pid_t pid, uint64_t start, uint8_t *bytes);

/* Returns the start of the executable mapping at an address: a runtime_code_start_fn. */
uint64_t code_memory_start(void *locator, pid_t pid, uint64_t address);

#endif
