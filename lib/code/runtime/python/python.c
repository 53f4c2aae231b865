/* SPDX-License-Identifier: MIT */
/*
 * CPython. Its functions have frames of their own, which its interpreter runs: the kernel half adds
 * these where a walk meets the interpreter (bpf/managed.bpf.h), by the layout of the version
 * (python_layout.h) that the file is of (python_find.h). Names come from the code objects in
 * memory, lines from their tables (python_lines.h).
 */
#include "runtime/python/python_find.h"
#include "runtime/python/python_lines.h"
#include "runtime/runtime.h"

static uint32_t line_of(const struct stackd_managed_code *code, const uint8_t *lines,
			int64_t instruction)
{
	return python_line(code->version, lines, code->line_bytes, code->first_line, instruction);
}

extern const struct runtime runtime_python;
const struct runtime runtime_python = {
	.number = STACKD_RUNTIME_PYTHON,
	.name = "Python",
	.has_interpreter = python_is_in,
	.find_interpreter = python_find,
	.line = line_of,
};
