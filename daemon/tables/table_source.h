/* SPDX-License-Identifier: MIT */
/* Where recipe tables come from: a worker, which reads the file, or in tests the caller itself. */
#ifndef TABLES_TABLE_SOURCE_H
#define TABLES_TABLE_SOURCE_H

#include "daemon/worker/worker.h"
#include "unwind/recipe.h"

/* Compiles an object's table, with `is_quick` by recipe_compile_quick(). `is_cancelled` is asked
 * now and then, with the CPU time that was spent on it. Returns 0; -ECANCELED; the object's error,
 * if it has no file; -EBADF: the file is closed, since nothing maps it; or an error of
 * recipe_compile() or worker_call(). The caller frees *ret_table. */
int table_source_compile(struct worker *worker, const struct object *object, bool is_quick,
			 bool (*is_cancelled)(void *arg, uint64_t cpu_ns), void *arg,
			 struct recipe_table **ret_table);

#endif
