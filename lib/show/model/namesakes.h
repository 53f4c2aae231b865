/* SPDX-License-Identifier: MIT */
/*
 * Namesakes are different functions of one name in one object, such as static functions of two
 * source files. A report that identified functions by name would add their samples up in one row.
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

/* Finds the namesakes among a recording's functions; the tables are used only during the call.
 * *ret_namesakes is NULL if there are none. Returns 0, -ENOMEM or -EOVERFLOW. */
int namesakes_find(const struct store_tables *tables, struct namesakes **ret_namesakes);
void namesakes_free(struct namesakes *namesakes); /* NULL is allowed */

/* Returns the suffix for the name of the function of tables->lines[line], with a blank in front:
 * its source file, "(lexer.c)", or its start, "[prog+0x1240]", if its file is not known or a
 * namesake has a file of the same name. NULL if the function has no namesake. `namesakes` may be
 * NULL. The text lives as long as `namesakes`. */
const char *namesakes_suffix(const struct namesakes *namesakes, uint32_t line);

/* Returns whether a suffix is a start address, which differs in another build of the file. */
bool namesakes_is_start(const char *suffix);

#endif
