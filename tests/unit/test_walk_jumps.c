/* SPDX-License-Identifier: MIT */
/*
 * Walks in a file that has code which jumps enter (unwind/jump_frame.h): that code's steps, and
 * those of the C runtime's code, which such a file has as well, and which runs in no such frame.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <link.h>

#include "walk_self.h"

/* Written as GHC's StgRun and code that it jumps to. Never called. */
__asm__(".pushsection .text\n"
	".balign 64\n"
	".type walk_run, @function\n"
	"walk_run: .cfi_startproc\n"
	"sub $40, %rsp\n"
	".cfi_def_cfa rsp, 0\n"
	".cfi_offset rip, 40\n"
	".cfi_escape 0x16, 0x07, 0x02, 0x77, 0x30\n" /* rsp = rsp + 48 */
	"jmp *%rdi\n"
	".cfi_endproc\n"
	".size walk_run, . - walk_run\n"
	".balign 64\n"
	"walk_code: mov $1, %eax\n"
	"jmp walk_code\n"
	"walk_code_return: ret\n"
	".balign 64\n"
	"walk_aligned: call walk_code_return\n"
	"walk_aligned_behind: mov %rax, %rbx\n"
	"add $8, %rsp\n"
	"jmp walk_code\n"
	"walk_pushed: sub $16, %rsp\n"
	"push %rax\n"
	"walk_argument: call walk_code_return\n"
	"add $24, %rsp\n"
	"jmp walk_code\n"
	".balign 64\n"
	"walk_called: mov $1, %eax\n"
	"jnz walk_code\n"
	"ret\n"
	".balign 64\n"
	"call *%rax\n"
	"walk_behind_pointer: nop\n"
	"call walk_code\n"
	"walk_behind_code: nop\n"
	"call walk_called\n"
	"walk_behind_called: nop\n"
	".globl walk_code, walk_code_return, walk_behind, walk_aligned, walk_aligned_behind\n"
	".globl walk_pushed, walk_argument, walk_called, walk_behind_code, walk_behind_called\n"
	".globl walk_behind_pointer\n"
	".balign 64\n"
	"call walk_run\n"
	"walk_behind: nop\n"
	".popsection\n");
extern const char walk_code[], walk_code_return[], walk_behind[], walk_aligned[],
	walk_aligned_behind[], walk_pushed[], walk_argument[], walk_called[], walk_behind_code[],
	walk_behind_called[], walk_behind_pointer[];
extern const char _init[], _fini[];

static struct self_map *map;
static struct dwarf_walk *walk;

static int set_up(void **state)
{
	(void)state;
	map = self_map_new();
	return map && !dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	dwarf_walk_free(walk);
	self_map_free(map);
	return 0;
}

/* Walks one step from `pc`; where it leads, or 0. `above`: the return address's word; `top`: the
 * first word. */
static uint64_t step_below(const void *top, const void *pc, unsigned above)
{
	uint64_t stack[16] = {0};
	struct walk_frame frames[2];
	struct walk_input in = {.stack = (const uint8_t *)stack,
				.stack_bytes = sizeof(stack),
				.find = self_find,
				.arg = map};
	size_t count;

	stack[0] = (uint64_t)top;
	stack[above] = (uint64_t)walk_behind;
	in.regs.r[STACKD_REG_SP] = (uint64_t)stack;
	in.regs.r[STACKD_REG_PC] = (uint64_t)pc;
	dwarf_walk_stack(walk, &in, frames, 2, &count);
	return count > 1 ? frames[1].address : 0;
}

static uint64_t step_from(const void *pc, unsigned above)
{
	return step_below(NULL, pc, above);
}

static void test_code(void **state)
{
	(void)state;
	assert_int_equal(step_from(walk_code, 5), walk_behind);
	assert_int_equal(step_from(walk_code, 6), 0);
	assert_int_equal(step_from(walk_code, 0), 0);
}

/* Around calls of C, code takes some of the stack: what it gives back behind the call. */
static void test_code_that_calls(void **state)
{
	(void)state;
	assert_int_equal(step_from(walk_aligned, 6), walk_behind);
	assert_int_equal(step_from(walk_aligned_behind, 6), walk_behind);
	assert_int_equal(step_from(walk_aligned, 5), 0);
	assert_int_equal(step_from(walk_pushed, 5), walk_behind);
	assert_int_equal(step_from(walk_argument, 8), walk_behind);
	assert_int_equal(step_from(walk_argument, 5), 0);
}

/* Code that was called is in a frame of its own, and a return address where the jumped frame's
 * would be is a stale one. */
static void test_called_code(void **state)
{
	(void)state;
	assert_int_equal(step_from(walk_called, 5), 0);
	assert_int_equal(step_from(walk_called, 6), 0);
	assert_int_equal(step_below(walk_behind_code, walk_code, 5), 0);
	assert_int_equal(step_below(walk_behind_pointer, walk_code, 5), 0);
}

/* A return address of a call of something else, on top of the stack, is stale. */
static void test_stale_word_on_top(void **state)
{
	(void)state;
	assert_int_equal(step_below(walk_behind_called, walk_code, 5), walk_behind);
	assert_int_equal(step_below(walk_code, walk_code, 5), walk_behind);
}

static const void *calls_compare;

static int compare(const void *a, const void *b)
{
	(void)a;
	(void)b;
	calls_compare = __builtin_return_address(0);
	return 0;
}

/* The word on top can lead to the first rule of a file that makes the walk's array of files move.
 */
static void test_files_that_move(void **state)
{
	struct dwarf_walk *before = walk;
	const struct object *found;
	struct object *library;
	uint64_t offset;
	int items[4] = {0};
	uint32_t number;

	(void)state;
	qsort(items, 4, sizeof(items[0]), compare);
	assert_true(self_find(map, (uint64_t)calls_compare, &found, &offset));
	library = &map->objects[found->number];
	number = library->number;
	library->number = 4 * SELF_MAX_MAPPINGS;
	assert_int_equal(dwarf_walk_new(&(struct dwarf_walk_options){0}, &walk), 0);
	assert_int_equal(step_below(calls_compare, walk_code, 5), walk_behind);
	dwarf_walk_free(walk);
	walk = before;
	library->number = number;
}

/* The code of _init and _fini is known by where it is, and ret by what it does. */
static void test_start_code(void **state)
{
	const char *const functions[] = {_init, _fini};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *sub = functions[i];

		if (!memcmp(sub, "\xf3\x0f\x1e\xfa", 4))
			sub += 4;
		assert_int_equal(step_from(functions[i], 0), walk_behind);
		assert_int_equal(step_from(sub + 4, 1), walk_behind);
		assert_int_equal(step_from(sub + 4, 5), 0);
	}
	assert_int_equal(step_from(walk_code_return, 0), walk_behind);
}

/* The function in this array of the program: .init_array's first, and .fini_array's. */
static const char *of_array(uint64_t tag)
{
	for (const ElfW(Dyn) *row = _DYNAMIC; row->d_tag != DT_NULL; row++) {
		uint64_t base = map->mappings[0].start - map->mappings[0].offset;

		if ((uint64_t)row->d_tag == tag)
			return ((const char *const *)(base + row->d_un.d_ptr))[0];
	}
	fail();
	return NULL;
}

/* frame_dummy and __do_global_dtors_aux: where they begin, and so what they go on to. */
static void test_arrays(void **state)
{
	const uint64_t tags[] = {DT_INIT_ARRAY, DT_FINI_ARRAY};

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		const char *function = of_array(tags[i]);

		assert_int_equal(step_from(function, 0), walk_behind);
		assert_int_equal(step_from(function, 5), 0);
		if (!memcmp(function, "\xf3\x0f\x1e\xfa", 4))
			assert_int_equal(step_from(function + 4, 0), walk_behind);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_code),
		cmocka_unit_test(test_code_that_calls),
		cmocka_unit_test(test_called_code),
		cmocka_unit_test(test_stale_word_on_top),
		cmocka_unit_test(test_start_code),
		cmocka_unit_test(test_arrays),
		cmocka_unit_test(test_files_that_move),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
