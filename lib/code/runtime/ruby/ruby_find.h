/* SPDX-License-Identifier: MIT */
/*
 * Finds Ruby's interpreter in a file, its version, and where it is. The file is an executable that
 * was linked with it, or libruby. Only what the file has counts, not its name.
 */
#ifndef RUBY_RUBY_FIND_H
#define RUBY_RUBY_FIND_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Finds the interpreter in a file. Returns false if there is none. If its frames are not read, its
 * form is STACKD_INTERPRETER_NONE, and it has no evals. */
bool ruby_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter);

#endif
