/* SPDX-License-Identifier: MIT */
/* Asks the worker, or compiles; see table_source.h. */
#include "daemon/tables/table_source.h"

#include <errno.h>

#include "base/clock.h"
#include "daemon/worker/ask_worker.h"

struct begun {
	const struct table_stop *stop;
	uint64_t since_ns; /* CPU time */
};

static bool is_due(void *arg)
{
	const struct begun *b = arg;

	return b->stop->is_cancelled(b->stop->arg, clock_ns(CLOCK_THREAD_CPUTIME_ID) - b->since_ns);
}

static int compile_here(void *arg, const struct object *object, bool is_quick,
			const struct table_stop *stop, struct recipe_table **ret_table)
{
	struct begun begun = {stop, clock_ns(CLOCK_THREAD_CPUTIME_ID)};
	const struct analysis_stop due = {is_due, &begun};
	struct elf_file *elf;
	int err = elf_file_clone(object->elf, &elf);

	(void)arg;
	if (err)
		return err;
	if (elf_file_identity(elf) != elf_file_identity(object->elf))
		err = -ESTALE;
	else if (is_quick)
		err = recipe_compile_quick(elf, ret_table);
	else
		err = recipe_compile_until(elf, &due, ret_table);
	elf_file_free(elf);
	return err;
}

static int compile_there(void *worker, const struct object *object, bool is_quick,
			 const struct table_stop *stop, struct recipe_table **ret_table)
{
	return ask_worker_table(worker, object, is_quick, stop->is_cancelled, stop->arg, ret_table);
}

static uint64_t cpu_ns_here(void *arg)
{
	(void)arg;
	return 0;
}

static uint64_t cpu_ns_there(void *worker)
{
	return worker_cpu_ns(worker);
}

struct table_source table_source_here(void)
{
	return (struct table_source){.compile = compile_here, .cpu_ns = cpu_ns_here};
}

struct table_source table_source_there(struct worker *worker)
{
	return (struct table_source){compile_there, cpu_ns_there, worker};
}

int table_source_compile(const struct table_source *source, const struct object *object,
			 bool is_quick, const struct table_stop *stop,
			 struct recipe_table **ret_table)
{
	int err;

	if (!object->elf)
		return object->error ? object->error : -ENOENT;
	if (!elf_file_is_open(object->elf))
		return -EBADF;
	err = source->compile(source->arg, object, is_quick, stop, ret_table);
	/* -ESTALE: the path now leads to another file. The object's own file may be mapped again
	 * later. */
	if (err == -ESTALE)
		return -EBADF;
	/* If the file was closed meanwhile, that is the reason. */
	return err && err != -ECANCELED && !elf_file_is_open(object->elf) ? -EBADF : err;
}
