/* SPDX-License-Identifier: MIT */
/*
 * Whether a file has CPython's interpreter, of which version, and where: an executable that was
 * linked with it, or libpython. It goes by what the file has, whatever its name.
 */
#ifndef PYTHON_PYTHON_FIND_H
#define PYTHON_PYTHON_FIND_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Finds the interpreter in a file. false: there is none, or its frames are not read. */
bool python_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter);

#endif
