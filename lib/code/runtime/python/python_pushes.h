/* SPDX-License-Identifier: MIT */
/* Where the function that runs bytecode puts a frame into the chain whose own link is not set. */
#ifndef PYTHON_PYTHON_PUSHES_H
#define PYTHON_PYTHON_PUSHES_H

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Finds these places in the code of all evals (facts.pushed_*); none in code that cannot be read.
 * Not for the form STACKD_INTERPRETER_OBJECT, whose frames are linked when they are made. */
void python_pushes_find(const struct elf_file *file, struct runtime_interpreter *interpreter);

#endif
