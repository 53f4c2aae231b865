/* SPDX-License-Identifier: MIT */
/*
 * Perl. Its functions, and code that it evaluates, have contexts of their own, which its
 * interpreter stacks: the kernel half adds these where a walk meets the interpreter
 * (bpf/managed_perl.bpf.h), by the layout of the version that the file is of (perl_find.h). It
 * reads the lines as well, so a frame's instruction is its line.
 */
#include "runtime/perl/perl_find.h"
#include "runtime/runtime.h"

static uint32_t line_of(const struct stackd_managed_code *code, const uint8_t *lines,
			int64_t instruction)
{
	(void)code;
	(void)lines;
	return instruction > 0 ? (uint32_t)instruction : 0;
}

extern const struct runtime runtime_perl;
const struct runtime runtime_perl = {
	.number = STACKD_RUNTIME_PERL,
	.name = "Perl",
	.has_interpreter = perl_is_in,
	.find_interpreter = perl_find,
	.line = line_of,
};
