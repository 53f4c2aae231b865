/* SPDX-License-Identifier: MIT */
/*
 * Lines of Python code. A code object has a table from which the line of each instruction follows;
 * its format has changed twice:
 *
 *   up to 3.9   co_lnotab: pairs of bytes, by how much the offset grows, then by how much the line
 *   3.10        co_linetable: pairs of bytes, the line's change and the bytes that have this line
 *   from 3.11   the location table: entries of one to some ten bytes, for up to eight units of code
 */
#ifndef PYTHON_PYTHON_LINES_H
#define PYTHON_PYTHON_LINES_H

#include <stddef.h>
#include <stdint.h>

/* Returns the line of an instruction, counted in units of two bytes; -1, before the first one, has
 * the first line. 0: the table has none for it, or does not reach so far. `version` is as in struct
 * stackd_interpreter. The table is not trusted; the time is linear in its size. */
uint32_t python_line(uint32_t version, const uint8_t *table, size_t size, uint32_t first_line,
		     int64_t instruction);

#endif
