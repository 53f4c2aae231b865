/* SPDX-License-Identifier: MIT */
/*
 * Recognises tables of return addresses. A garbage collector that searches the stack for roots has
 * such a table in the file's data (OCaml's frame tables), with a pointer to the instruction after
 * every call. These are not pointers to functions or to the cases of an interpreter.
 *
 * Other files have pointers to instructions after calls, too: to functions that follow a call which
 * does not return. Compilers align functions, while calls end at any byte.
 */
#ifndef ANALYSIS_RETURN_TABLE_H
#define ANALYSIS_RETURN_TABLE_H

#include "analysis/code.h"

/* Removes the pointers (vaddr) of a table of return addresses, if there is one, from pointers to a
 * file's code. The rest keep their order. Returns how many are left. */
size_t return_table_remove(const struct code *code, uint64_t *pointers, size_t count);

#endif
