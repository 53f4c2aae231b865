/* SPDX-License-Identifier: MIT */
/*
 * The offsets that CPython itself states, from 3.13 on: _PyRuntime begins with a table of them
 * (_Py_DebugOffsets), which is in the file, since it is initialised data.
 */
#ifndef PYTHON_PYTHON_OFFSETS_H
#define PYTHON_PYTHON_OFFSETS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

#define PYTHON_OFFSETS_WORDS 64 /* of the table, which have all that is taken from it */

/* Sets the fields of `layout` that the table states for this version, as Py_Version has it
 * (0x030e0af0: 3.14.10). Returns false, and sets nothing, if it is no table of that version, has an
 * order that is not known, is of a build without the global interpreter lock, or whose objects have
 * longer headers, or states what no layout can be. */
bool python_offsets(const uint64_t table[PYTHON_OFFSETS_WORDS], uint32_t version,
		    struct stackd_interpreter *layout);

#endif
