/* SPDX-License-Identifier: MIT */
/*
 * Ruby. Its methods and blocks have frames of their own, which its interpreter runs: the kernel
 * half adds these where a walk meets the interpreter (bpf/managed_ruby.bpf.h), by the layout of the
 * version that the file is of (ruby_find.h). It reads the lines as well, from Ruby's own tables in
 * memory, so a frame's instruction is its line.
 */
#include "runtime/ruby/ruby_find.h"
#include "runtime/runtime.h"

static uint32_t line_of(const struct stackd_managed_code *code, const uint8_t *lines,
			int64_t instruction)
{
	(void)code;
	(void)lines;
	return instruction > 0 ? (uint32_t)instruction : 0;
}

extern const struct runtime runtime_ruby;
const struct runtime runtime_ruby = {
	.number = STACKD_RUNTIME_RUBY,
	.name = "Ruby",
	.find_interpreter = ruby_find,
	.line = line_of,
};
