/* SPDX-License-Identifier: MIT */
/*
 * Recognises tables of return addresses. A garbage collector that searches the stack for roots has
 * such a table in the file's data (OCaml's frame tables), with a pointer to the instruction after
 * every call. These pointers are not the starts of functions or of an interpreter's cases.
 *
 * Other files can have pointers to instructions after calls, too, where a function follows a call
 * that does not return. The alignment of the targets shows which kind of pointer it is: compilers
 * align functions, while calls end at any byte.
 */
#ifndef ANALYSIS_RETURN_TABLE_H
#define ANALYSIS_RETURN_TABLE_H

#include "analysis/code.h"

/* `pointers` has `count` pointers (vaddr) to a file's code. If they contain a table of return
 * addresses, removes its pointers; the rest keep their order. Returns the number of the rest. */
size_t return_table_remove(const struct code *code, uint64_t *pointers, size_t count);

#endif
