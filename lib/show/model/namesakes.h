/* SPDX-License-Identifier: MIT */
/*
 * Namesakes: different functions of one name in one object, as static functions of two source files
 * are. A report that knew them by name would add their samples up to one row.
 *
 * Functions are distinguished by where they start, in files and in the kernel. JIT code is left
 * out, since a compiler gives one name to each new version of a function; so are linkage stubs, the
 * wrappers that Go's compiler makes of functions, and the kernel's copies of BPF programs.
 */
#ifndef MODEL_NAMESAKES_H
#define MODEL_NAMESAKES_H

#include <stdbool.h>

#include "store/store_reader.h"

struct namesakes;

/* Finds the namesakes among a recording's functions. The tables are not used afterwards.
 * *ret_namesakes is NULL if there are none. Returns 0, -ENOMEM or -EOVERFLOW. */
int namesakes_find(const struct store_tables *tables, struct namesakes **ret_namesakes);
void namesakes_free(struct namesakes *namesakes); /* NULL is allowed */

/* Returns what to add to the name of the function of tables->lines[line]: " (lexer.c)", its source
 * file; " [prog+0x1240]", its start, where no file is known or a namesake has a file of that name;
 * NULL: it has no namesake. `namesakes` may be NULL. The text lives as long as `namesakes`. */
const char *namesakes_suffix(const struct namesakes *namesakes, uint32_t line);

/* Returns whether what namesakes_suffix() returned is a start. Another build of the file has the
 * function elsewhere. */
bool namesakes_is_start(const char *suffix);

#endif
