/* SPDX-License-Identifier: MIT */
/*
 * Pointers to where calls return. A garbage collector that looks for roots on the stack has a table
 * of all return addresses in a file's data (OCaml's frame tables), so the instruction behind any
 * call has a pointer to it. Such pointers lead to no function and to no case of an interpreter.
 *
 * Other files have pointers to instructions behind calls, too: to functions that stand behind a
 * call that does not return. Compilers align these, while a call ends anywhere.
 */
#ifndef ANALYSIS_RETURN_TABLE_H
#define ANALYSIS_RETURN_TABLE_H

#include "analysis/code.h"

/* Removes from pointers (vaddr) to a file's code those that a table of return addresses has, if
 * there is one. They keep their order. Returns how many are left. */
size_t return_table_remove(const struct code *code, uint64_t *pointers, size_t count);

#endif
