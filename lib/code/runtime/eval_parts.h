/* SPDX-License-Identifier: MIT */
/*
 * The parts of a function that runs bytecode. Its compiler has put what hardly ever runs elsewhere,
 * and a stripped file has no symbol of that.
 */
#ifndef RUNTIME_EVAL_PARTS_H
#define RUNTIME_EVAL_PARTS_H

#include <stdint.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

#define EVAL_MAX_BYTES (1u << 20) /* of the function; known ones have some 60,000 */

/* Adds the parts to which the code of evals[0], at `vaddr`, jumps; none if the file's code or call
 * frame information cannot be read. */
void eval_parts_add(const struct elf_file *file, uint64_t vaddr,
		    struct runtime_interpreter *interpreter);

#endif
