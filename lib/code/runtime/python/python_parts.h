/* SPDX-License-Identifier: MIT */
/* What the code of the function that runs bytecode shows: where its frames are not to be believed.
 */
#ifndef PYTHON_PYTHON_PARTS_H
#define PYTHON_PYTHON_PARTS_H

#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

/* Finds where the function puts itself into the thread's chain of activations: between the store
 * of its cframe to the thread's state and the next jump or call. Without these, facts.linked_* are
 * the first 160 bytes of its code. */
void python_parts_linking(const struct elf_file *file, struct runtime_interpreter *interpreter);

/* Finds where the function's frame is not in the thread's chain (3.8 to 3.10): up to the first
 * store to the field facts.thread_frame (facts.linked_to), and behind the others up to its return
 * (facts.left_*). 0 for what is not found. */
void python_parts_leaving(const struct elf_file *file, struct runtime_interpreter *interpreter);

#endif
