/* SPDX-License-Identifier: MIT */
/*
 * The layouts, by minor version: within one, no release has moved a field. The numbers are offsets
 * in the structures that CPython's headers define (Include/internal/pycore_*.h), as compilers for
 * processors of 64 bits lay them out. From 3.13 on most of them are in the file itself
 * (python_offsets.h). tests/live/test_python.py judges them by real interpreters.
 */
#include "runtime/python/python_layout.h"

#include <stddef.h>

static const struct stackd_interpreter layouts[] = {
	{
		.version = 0x0308,
		.form = STACKD_INTERPRETER_OBJECT,
		.interpreters = 32,
		.interpreter_next = 0,
		.threads = 8,
		.thread_next = 8,
		.thread_id = 176,
		.thread_interpreter = 16,
		.thread_frame = 24,
		.frame_code = 32,
		.frame_previous = 24,	  /* f_back */
		.frame_instruction = 104, /* f_lasti: 4 bytes */
		.index_shift = 1,
		.code_first_line = 40,
		.code_file = 104,
		.code_name = 112, /* there is no qualified one */
		.code_lines = 120,
		.text_ascii = 48,
		.text_other = 72,
	},
	{
		.version = 0x0309,
		.form = STACKD_INTERPRETER_OBJECT,
		.interpreters = 32,
		.interpreter_next = 0,
		.threads = 8,
		.thread_next = 8,
		.thread_id = 176,
		.thread_interpreter = 16,
		.thread_frame = 24,
		.frame_code = 32,
		.frame_previous = 24,	  /* f_back */
		.frame_instruction = 104, /* f_lasti: 4 bytes */
		.index_shift = 1,
		.code_first_line = 40,
		.code_file = 104,
		.code_name = 112, /* there is no qualified one */
		.code_lines = 120,
		.text_ascii = 48,
		.text_other = 72,
	},
	{
		.version = 0x030a,
		.form = STACKD_INTERPRETER_OBJECT,
		.interpreters = 32,
		.interpreter_next = 0,
		.threads = 8,
		.thread_next = 8,
		.thread_id = 176,
		.thread_interpreter = 16,
		.thread_frame = 24,
		.frame_code = 32,
		.frame_previous = 24,	 /* f_back */
		.frame_instruction = 96, /* f_lasti: 4 bytes */
		.index_shift = 0,
		.code_first_line = 40,
		.code_file = 104,
		.code_name = 112, /* there is no qualified one */
		.code_lines = 120,
		.text_ascii = 48,
		.text_other = 72,
	},
	{
		.version = 0x030b,
		.form = STACKD_INTERPRETER_CFRAME_ENTRY,
		.interpreters = 40,
		.interpreter_next = 0,
		.threads = 16,
		.thread_next = 8,
		.thread_id = 152,
		.thread_interpreter = 16,
		.thread_stack = 296,
		.thread_frame = 56,
		.cframe_frame = 8,
		.cframe_previous = 16,
		.frame_function = 0,
		.function_version = 128,
		.frame_code = 32,
		.frame_previous = 48,
		.frame_instruction = 56,
		.frame_end = 68, /* is_entry */
		.code_first_line = 72,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_start = 184,
		.text_ascii = 48,
		.text_other = 72,
	},
	{
		.version = 0x030c,
		.form = STACKD_INTERPRETER_CFRAME_OWNER,
		.interpreters = 40,
		.interpreter_next = 0,
		.threads = 72,
		.thread_next = 8,
		.thread_id = 136,
		.thread_interpreter = 16,
		.thread_stack = 232,
		.thread_frame = 56,
		.cframe_frame = 0,
		.cframe_previous = 8,
		.frame_code = 0,
		.frame_previous = 8,
		.frame_instruction = 56,
		.frame_end = 70, /* owner */
		.code_first_line = 68,
		.code_file = 112,
		.code_name = 128,
		.code_lines = 136,
		.code_start = 192,
		.code_version = 92,
		.text_ascii = 40,
		.text_other = 56,
	},
	{
		.version = 0x030d,
		.form = STACKD_INTERPRETER_OWNER,
		.code_version = 92,
		.text_ascii = 40,
		.text_other = 56,
	},
	{
		.version = 0x030e,
		.form = STACKD_INTERPRETER_OWNER,
		.code_version = 92,
		.text_ascii = 40,
		.text_other = 56,
	},
	{
		.version = 0x030f,
		.form = STACKD_INTERPRETER_OWNER,
		.code_version = 92,
		.text_ascii = 40,
		.text_other = 56,
	},
};

bool python_layout(uint32_t version, struct stackd_interpreter *ret_layout)
{
	for (size_t i = 0; i < sizeof(layouts) / sizeof(layouts[0]); i++) {
		if (layouts[i].version != PYTHON_MINOR(version))
			continue;
		*ret_layout = layouts[i];
		ret_layout->version = version;
		ret_layout->language = STACKD_RUNTIME_PYTHON;
		return true;
	}
	return false;
}
