/* SPDX-License-Identifier: MIT */
/* Where CPython counts the code objects that it makes (3.12, 3.13). */
#ifndef PYTHON_PYTHON_COUNTER_H
#define PYTHON_PYTHON_COUNTER_H

#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Follows the function at `vaddr`, which makes code objects, and those that it calls, and sets
 * interpreter->facts.counter and counter_kind; `code_zero` is the address of the file's offset 0 as
 * its code is mapped. If the counter is not found, counter_kind stays STACKD_VERSIONS_NONE. */
void python_counter_find(const struct elf_file *file, uint64_t vaddr, uint64_t code_zero,
			 struct runtime_interpreter *interpreter);

#endif
