/* SPDX-License-Identifier: MIT */
/*
 * Reads an unwind rule back from the kernel half's tables, for walks of the daemon, which has no
 * copy of the tables. Gives every rule, whether it was made from call frame information or from
 * code.
 */
#ifndef TABLES_LOADED_RULE_H
#define TABLES_LOADED_RULE_H

#include "daemon/tables/tables.h"

/* Finds the rule of file `number` at a file offset; STACKD_CFA_NONE: there is none. Returns 0;
 * -ENOENT: the file's table is not loaded, or was evicted meanwhile; or the negative errno of
 * mmap(). */
int loaded_rule_find(const struct tables_maps *maps, uint32_t number, uint64_t offset,
		     struct stackd_rule *ret_rule);

#endif
