/* SPDX-License-Identifier: MIT */
/*
 * Finds Perl's interpreter in a file, its version, and how it keeps its contexts. The file is an
 * executable that was linked with it, or libperl. Only what the file has counts, not its name.
 */
#ifndef PERL_PERL_FIND_H
#define PERL_PERL_FIND_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Returns whether a file has the interpreter, by a few small reads. */
bool perl_is_in(const struct elf_file *file);

/* Finds the interpreter in a file. Returns false if there is none. If its frames are not read, its
 * form is STACKD_INTERPRETER_NONE, and it has no evals. */
bool perl_find(const struct elf_file *file, struct runtime_interpreter *ret_interpreter);

#endif
