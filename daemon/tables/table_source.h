/* SPDX-License-Identifier: MIT */
/* Makes recipe tables: in a worker, which reads the file, or, in tests, in the caller itself. */
#ifndef TABLES_TABLE_SOURCE_H
#define TABLES_TABLE_SOURCE_H

#include "daemon/worker/worker.h"
#include "unwind/recipe.h"

/* Asked now and then, with the CPU time that was spent on a table: whether to give it up. */
struct table_stop {
	bool (*is_cancelled)(void *arg, uint64_t cpu_ns);
	void *arg;
};

/* One of these two, for good. */
struct table_source {
	int (*compile)(void *arg, const struct object *object, bool is_quick,
		       const struct table_stop *stop, struct recipe_table **ret_table);
	void *arg;
};

/* Returns the one of the caller's process. */
struct table_source table_source_here(void);

/* Returns that of a worker, which is borrowed. */
struct table_source table_source_there(struct worker *worker);

/* Compiles an object's table, with `is_quick` by recipe_compile_quick(). Returns 0; -ECANCELED; the
 * object's error, if it has no file; -EBADF: the file is closed, since nothing maps it; or an error
 * of recipe_compile() or worker_call(). The caller frees *ret_table. */
int table_source_compile(const struct table_source *source, const struct object *object,
			 bool is_quick, const struct table_stop *stop,
			 struct recipe_table **ret_table);

#endif
