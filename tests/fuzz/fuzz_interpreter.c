/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: an ELF file in which interpreters of all runtimes are searched for. Beyond memory
 * errors and time, it checks that what is found is in order, and within its bounds.
 */
#include <stdlib.h>

#include "elf/elf_file.h"
#include "runtime/runtime.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static void check_perl(const struct stackd_interpreter *facts)
{
	const struct stackd_perl *perl = &facts->perl;
	uint8_t last = 0;

	for (unsigned kind = 0; kind < STACKD_PERL_SITE_KINDS; kind++) {
		check(perl->ends[kind] >= last && perl->ends[kind] <= STACKD_PERL_SITES);
		last = perl->ends[kind];
	}
	check(perl->body_from && facts->frame_register);
	check(facts->left_from[0] < facts->left_to[0]);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct runtime_interpreter is;
	struct elf_file *file;

	if (elf_file_open_memory(data, size, &file))
		return -1;
	runtime_has_interpreter(file);
	if (runtime_find_interpreter(file, &is)) {
		check(is.facts.version && is.n_evals <= RUNTIME_EVALS);
		check(is.facts.form != STACKD_INTERPRETER_NONE || !is.n_evals);
		for (size_t i = 0; i < is.n_evals; i++)
			check(is.evals[i].start <= is.evals[i].end);
		if (is.facts.form == STACKD_INTERPRETER_PERL)
			check_perl(&is.facts);
	}
	elf_file_free(file);
	return 0;
}
