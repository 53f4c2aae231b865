/* SPDX-License-Identifier: MIT */
/* Where the function that runs bytecode puts a frame into the chain whose own link is not set. */
#ifndef PYTHON_PYTHON_PUSHES_H
#define PYTHON_PYTHON_PUSHES_H

#include <stdbool.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Finds these places in the code of all evals (facts.pushed_*). Returns whether these are all:
 * false if there are more than have room, or code cannot be read or decoded. Then a chain may be
 * one that was there before, and the interpreter's frames must not be read. Not for the form
 * STACKD_INTERPRETER_OBJECT, whose frames are linked when they are made. */
bool python_pushes_find(const struct elf_file *file, struct runtime_interpreter *interpreter);

#endif
