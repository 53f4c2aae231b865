/* SPDX-License-Identifier: MIT */
/*
 * V8, which runs JavaScript in node. Its code keeps frame pointers, and its frames are known by
 * their words. Names and lines of functions are read from the memory of the running program
 * (v8_heap.h).
 *
 * The code that runs bytecode is in the program's file. The words of its frames say which function
 * it runs, so a stack with such frames is walked by the daemon, which gets a copy of the stack.
 */
#include "runtime/runtime.h"
#include "runtime/v8/v8_heap.h"
#include "runtime/v8/v8_layout.h"

static bool find_interpreter(const struct elf_file *file, struct runtime_interpreter *ret)
{
	struct v8_layout layout;
	uint64_t start, end;

	if (!v8_layout_is_file(file))
		return false;
	*ret = (struct runtime_interpreter){.is_copied = true};
	if (!v8_layout_read(file, &layout) && layout.interpreter < layout.interpreter_end &&
	    elf_file_vaddr_to_offset(file, layout.interpreter, &start) &&
	    elf_file_vaddr_to_offset(file, layout.interpreter_end - 1, &end)) {
		ret->n_evals = 1;
		ret->evals[0].start = start;
		ret->evals[0].end = end + 1;
	}
	v8_layout_put(&layout, &ret->layout);
	return true;
}

static const struct runtime_machine machine = {
	.is_file = v8_is_file,
	.open = v8_open,
	.close = v8_close,
	.range = v8_range,
	.is_anywhere = true,
	.moves = true,
	.keeps_fp = true,
	.has_layout = true,
	.is_handler = v8_is_handler,
	.piece = v8_piece,
	.is_still = v8_is_still,
	.frames = v8_frames,
	.learn = v8_learn,
	.interpreted = v8_interpreted,
	.sender = v8_sender,
	.function = v8_function,
	.identity = v8_identity,
	.bytes = v8_bytes,
};

extern const struct runtime runtime_v8;
const struct runtime runtime_v8 = {
	.number = STACKD_RUNTIME_V8,
	.name = "JavaScript",
	.machine = &machine,
	.is_pointed = v8_is_pointed,
	.has_interpreter = v8_layout_is_file,
	.find_interpreter = find_interpreter,
};
