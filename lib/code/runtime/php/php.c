/* SPDX-License-Identifier: MIT */
/*
 * PHP. Its functions, methods and files have frames of their own, which its interpreter runs: the
 * kernel half adds these where a walk meets the interpreter (bpf/managed_php.bpf.h), by the layout
 * of the version that the file is of (php_find.h). It reads the lines as well, so a frame's
 * instruction is its line.
 */
#include "runtime/php/php_find.h"
#include "runtime/runtime.h"

static uint32_t line_of(const struct stackd_managed_code *code, const uint8_t *lines,
			int64_t instruction)
{
	(void)code;
	(void)lines;
	return instruction > 0 ? (uint32_t)instruction : 0;
}

extern const struct runtime runtime_php;
const struct runtime runtime_php = {
	.number = STACKD_RUNTIME_PHP,
	.name = "PHP",
	.has_interpreter = php_is_in,
	.find_interpreter = php_find,
	.line = line_of,
};
