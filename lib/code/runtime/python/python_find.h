/* SPDX-License-Identifier: MIT */
/*
 * Finds CPython's interpreter in a file, its version, and where it is. The file is an executable
 * that was linked with it, or libpython. Only what the file has counts, not its name.
 */
#ifndef PYTHON_PYTHON_FIND_H
#define PYTHON_PYTHON_FIND_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Returns whether a file exports what the interpreter does: runtime.has_interpreter. */
bool python_is_in(const struct elf_file *file);

/* Finds the interpreter in a file. Returns false if there is none. If its frames are not read, its
 * form is STACKD_INTERPRETER_NONE, and it has no evals. */
bool python_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter);

#endif
