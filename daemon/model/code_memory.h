/* SPDX-License-Identifier: MIT */
/* Reads executable memory of processes: code that no file has (unwind/runtime_code.h). */
#ifndef MODEL_CODE_MEMORY_H
#define MODEL_CODE_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* As runtime_code_read_fn; `locator`, whose mappings bound what is read, is a struct locator. */
size_t code_memory_read(void *locator, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			uint8_t *bytes, uint64_t *ret_start);

/* Reads a page of a process's memory, of which the kernel half has said that it has such code. */
bool code_memory_read_page(pid_t pid, uint64_t start, uint8_t *bytes);

/* As runtime_code_start_fn. */
uint64_t code_memory_start(void *locator, pid_t pid, uint64_t address);

#endif
