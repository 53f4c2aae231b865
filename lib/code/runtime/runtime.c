/* SPDX-License-Identifier: MIT */
/* The table of runtimes, and functions that try all of them; see runtime.h. */
#include "runtime/runtime.h"

#include <errno.h>

#define X(NAME, name) extern const struct runtime runtime_##name;
STACKD_RUNTIMES(X)
#undef X

const struct runtime *const runtimes[STACKD_RUNTIME_COUNT] = {
#define X(NAME, name) [STACKD_RUNTIME_##NAME] = &runtime_##name,
	STACKD_RUNTIMES(X)
#undef X
};

/* A loop over the runtimes that have functions of a kind (a member of struct runtime). */
#define FOR_EACH_WITH(i, kind)                                                                     \
	for (size_t i = 0; ARCH_KNOWS_RUNTIMES && i < STACKD_RUNTIME_COUNT; i++)                   \
		if (runtimes[i]->kind)

uint32_t runtime_number_of(const struct runtime *runtime)
{
	return runtime ? runtime->number : STACKD_RUNTIME_COUNT;
}

const struct runtime *runtime_of_number(uint32_t number)
{
	return number < STACKD_RUNTIME_COUNT ? runtimes[number] : NULL;
}

/* --- files ----------------------------------------------------------------------------------- */

const struct runtime *runtime_of_file(const struct elf_file *file)
{
	FOR_EACH_WITH(i, files)
	{
		if (runtimes[i]->files->is_file(file))
			return runtimes[i];
	}
	return NULL;
}

int runtime_tables_read(const struct elf_file *file, struct runtime_tables *ret_tables)
{
	FOR_EACH_WITH(i, files)
	{
		const struct runtime_files *files = runtimes[i]->files;
		void *tables;
		int err = files->read(file, &tables);

		if (!err)
			*ret_tables = (struct runtime_tables){files, tables};
		if (err != -ENOENT)
			return err;
	}
	return -ENOENT;
}

void runtime_tables_free(struct runtime_tables *t)
{
	if (t->files)
		t->files->free(t->tables);
	*t = (struct runtime_tables){0};
}

/* --- interpreters ---------------------------------------------------------------------------- */

bool runtime_has_interpreter(const struct elf_file *file)
{
	FOR_EACH_WITH(i, has_interpreter)
	{
		if (runtimes[i]->has_interpreter(file))
			return true;
	}
	return false;
}

bool runtime_find_interpreter(const struct elf_file *file,
			      struct runtime_interpreter *ret_interpreter)
{
	FOR_EACH_WITH(i, find_interpreter)
	{
		if (runtimes[i]->find_interpreter(file, ret_interpreter))
			return true;
	}
	return false;
}

/* --- processes ------------------------------------------------------------------------------- */

const struct runtime *runtime_find_process(const uint8_t *code, size_t len, uint64_t start,
					   uint64_t end, union stackd_runtime_facts *ret_facts)
{
	FOR_EACH_WITH(i, processes)
	{
		if (runtimes[i]->processes->find(code, len, start, end, ret_facts))
			return runtimes[i];
	}
	return NULL;
}

/* --- frames ---------------------------------------------------------------------------------- */

const struct runtime *runtime_frame_waits(const struct walk_memory *memory, uint64_t fp,
					  uint64_t slot, uint64_t *ret_link)
{
	FOR_EACH_WITH(i, frames)
	{
		if (runtimes[i]->frames->waits(memory, fp, slot, ret_link))
			return runtimes[i];
	}
	return NULL;
}

bool runtime_frame_sender(const struct walk_memory *memory, uint64_t fp, uint64_t *ret_sp)
{
	FOR_EACH_WITH(i, frames)
	{
		if (runtimes[i]->frames->sender(memory, fp, ret_sp))
			return true;
	}
	return false;
}

bool runtime_frame_runs(const struct walk_memory *memory, uint64_t fp, uint64_t sp)
{
	FOR_EACH_WITH(i, frames)
	{
		if (runtimes[i]->frames->runs(memory, fp, sp))
			return true;
	}
	return false;
}

bool runtime_frame_is_pointed(const struct walk_memory *memory, uint64_t fp)
{
	FOR_EACH_WITH(i, is_pointed)
	{
		if (runtimes[i]->is_pointed(memory, fp))
			return true;
	}
	return false;
}

bool runtime_frame_enter(const struct walk_memory *memory, const uint8_t *code, size_t len,
			 size_t at, const uint64_t *r, struct runtime_caller *ret_caller)
{
	FOR_EACH_WITH(i, frames)
	{
		if (runtimes[i]->frames->enter(memory, code, len, at, r, ret_caller))
			return true;
	}
	return false;
}

size_t runtime_frame_starts(const uint8_t *code, size_t len, uint64_t address, uint64_t *ret_starts,
			    size_t max)
{
	size_t n = 0;

	FOR_EACH_WITH(i, frames)
	n += runtimes[i]->frames->starts(code, len, address, ret_starts + n, max - n);
	return n;
}
