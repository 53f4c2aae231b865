/* SPDX-License-Identifier: MIT */
/* Makes recipe tables: in a worker, which reads the file; or, in tests, in the calling process. */
#ifndef TABLES_TABLE_SOURCE_H
#define TABLES_TABLE_SOURCE_H

#include "daemon/worker/worker.h"
#include "unwind/recipe.h"

/* is_cancelled() is called now and then while a table is made, with the CPU time that was spent on
 * it so far, and returns whether the table must be given up. */
struct table_stop {
	bool (*is_cancelled)(void *arg, uint64_t cpu_ns);
	void *arg;
};

/* What makes tables: table_source_here() or table_source_there(). */
struct table_source {
	int (*compile)(void *arg, const struct object *object, bool is_quick,
		       const struct table_stop *stop, struct recipe_table **ret_table);
	/* returns the CPU time that was spent so far, other than that of the calling thread */
	uint64_t (*cpu_ns)(void *arg);
	void *arg;
};

/* Returns a source that makes tables in the caller's process. */
struct table_source table_source_here(void);

/* Returns a source that makes tables in a worker, which is borrowed. */
struct table_source table_source_there(struct worker *worker);

/* Compiles an object's table, with `is_quick` by recipe_compile_quick(). Returns 0; -ECANCELED:
 * is_cancelled() said so; object->error, if the object has no file; -EBADF: the file was closed,
 * since no process maps it, or its path leads to another file now; or an error of recipe_compile()
 * or worker_call(). The caller frees *ret_table. */
int table_source_compile(const struct table_source *source, const struct object *object,
			 bool is_quick, const struct table_stop *stop,
			 struct recipe_table **ret_table);

#endif
