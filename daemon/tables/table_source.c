/* SPDX-License-Identifier: MIT */
/* Asks the worker, or compiles; see table_source.h. */
#include "daemon/tables/table_source.h"

#include <errno.h>

#include "base/clock.h"
#include "daemon/worker/ask_worker.h"

struct stop {
	bool (*is_cancelled)(void *arg, uint64_t cpu_ns);
	void *arg;
	uint64_t since_ns; /* CPU time */
};

static bool is_due(void *arg)
{
	const struct stop *s = arg;

	return s->is_cancelled(s->arg, clock_ns(CLOCK_THREAD_CPUTIME_ID) - s->since_ns);
}

static int compile_here(const struct object *object, bool is_quick, struct stop *s,
			struct recipe_table **ret_table)
{
	const struct analysis_stop stop = {is_due, s};
	struct elf_file *elf;
	int err = elf_file_clone(object->elf, &elf);

	if (err)
		return err;
	if (elf_file_identity(elf) != elf_file_identity(object->elf))
		err = -ESTALE;
	else if (is_quick)
		err = recipe_compile_quick(elf, ret_table);
	else
		err = recipe_compile_until(elf, &stop, ret_table);
	elf_file_free(elf);
	return err;
}

int table_source_compile(struct worker *worker, const struct object *object, bool is_quick,
			 bool (*is_cancelled)(void *arg, uint64_t cpu_ns), void *arg,
			 struct recipe_table **ret_table)
{
	struct stop stop = {is_cancelled, arg, clock_ns(CLOCK_THREAD_CPUTIME_ID)};
	int err;

	if (!object->elf)
		return object->error ? object->error : -ENOENT;
	if (!elf_file_is_open(object->elf))
		return -EBADF;
	err = worker ? ask_worker_table(worker, object, is_quick, is_cancelled, arg, ret_table)
		     : compile_here(object, is_quick, &stop, ret_table);
	/* The file was replaced: the one that the object was made from may be mapped again. */
	if (err == -ESTALE)
		return -EBADF;
	/* It may have been closed in between: then that is why. */
	return err && err != -ECANCELED && !elf_file_is_open(object->elf) ? -EBADF : err;
}
