/* SPDX-License-Identifier: MIT */
/* Linked addresses of locations: of a program that is compiled here, at known labels. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "proc/object.h"
#include "sym/code_address.h"
#include "sym_program.h"

/* Linked at a fixed address, so that no vaddr is an offset. The byte behind the first call
 * begins no instruction in 64-bit code. */
static const char source[] =
	"__asm__(\".text\\n.globl sample, one, after_one, two, after_two\\n\"\n"
	"\"sample: nopw 0(%rax,%rax,1)\\n\"\n"
	"\"one: call *8(%rax)\\nafter_one: .byte 6\\n\"\n"
	"\"two: call main\\nafter_two: ret\\n\");\n"
	"int main(void) { return 0; }\n";

enum { ONE, TWO, LEAF, NO_CALL, NO_START, FAR, PLACES };

struct place_case {
	struct store_object object;
	struct store_location locations[PLACES];
	struct store_line lines[PLACES];
	uint32_t line_first[PLACES + 1];
	struct store_tables tables;
	struct code_address *found;
	uint64_t sample, one, two; /* vaddrs */
	struct elf_file *file;	   /* owns the build-id */
	char path[64];
};

static uint64_t vaddr_of(const struct elf_file *file, const char *symbol)
{
	uint64_t vaddr = 0;

	assert_true(elf_file_offset_to_vaddr(file, program_offset(file, symbol), &vaddr));
	return vaddr;
}

static void place(struct place_case *c, uint32_t number, uint64_t offset, bool is_return,
		  uint64_t start)
{
	c->locations[number] =
		(struct store_location){.number = number, .offset = offset, .is_return = is_return};
	c->lines[number] = (struct store_line){.location = number, .function_start = start};
	c->line_first[number + 1] = number + 1;
}

static void find(struct place_case *c, const uint32_t *locations, size_t n)
{
	assert_int_equal(code_addresses_find(&c->tables, locations, n, &c->found), 0);
}

static void make_case(struct place_case *c)
{
	struct elf_file *file = program_open("prog");
	const uint64_t sample = program_offset(file, "sample");

	*c = (struct place_case){.sample = vaddr_of(file, "sample"),
				 .one = vaddr_of(file, "one"),
				 .two = vaddr_of(file, "two"),
				 .file = file};
	assert_int_not_equal(c->sample, sample);
	snprintf(c->path, sizeof(c->path), "%s/prog", program_dir);
	c->object = (struct store_object){.kind = OBJECT_ELF,
					  .path = c->path,
					  .file_id = elf_file_id(file),
					  .layout = elf_file_layout(file)};
	c->object.build_id = elf_file_build_id(file, &c->object.build_id_len);
	place(c, ONE, program_offset(file, "after_one") - 1, true, sample);
	place(c, TWO, program_offset(file, "after_two") - 1, true, sample);
	place(c, LEAF, program_offset(file, "one"), false, sample);
	place(c, NO_CALL, program_offset(file, "one") - 1, true, sample);
	place(c, NO_START, program_offset(file, "after_one") - 1, true, 0);
	place(c, FAR, sample + (16u << 20), true, sample);
	c->tables = (struct store_tables){.objects = &c->object,
					  .locations = c->locations,
					  .lines = c->lines,
					  .line_first = c->line_first,
					  .n_objects = 1,
					  .n_locations = PLACES,
					  .n_lines = PLACES};
}

static void free_case(struct place_case *c)
{
	free(c->found);
	elf_file_free(c->file);
}

static void test_instructions(void **state)
{
	/* in no order, and one twice */
	static const uint32_t locations[] = {FAR, TWO, NO_CALL, LEAF, ONE, TWO, NO_START};
	struct place_case c;

	(void)state;
	make_case(&c);
	find(&c, locations, sizeof(locations) / sizeof(*locations));
	assert_int_equal(c.found[ONE].instruction, c.one);
	assert_int_equal(c.found[TWO].instruction, c.two);
	assert_int_equal(c.found[LEAF].instruction, c.one);
	for (int i = 0; i < PLACES; i++)
		assert_int_equal(c.found[i].function, i == NO_START ? 0 : c.sample);
	assert_int_equal(c.found[NO_CALL].instruction, 0);
	assert_int_equal(c.found[NO_START].instruction, 0);
	assert_int_equal(c.found[FAR].instruction, 0);
	free_case(&c);
}

/* A file that is not proven to be the recorded one, and code that is in no file. */
static void test_other_files(void **state)
{
	static const uint32_t locations[] = {ONE, LEAF};
	static const uint8_t id[ELF_BUILD_ID_MAX] = {1, 2, 3};

	(void)state;
	for (int i = 0; i < 4; i++) {
		struct place_case c;

		make_case(&c);
		if (i == 0)
			c.object.build_id = id;
		else if (i == 1)
			c.object.layout++;
		else if (i == 2)
			c.object.path = "/nowhere/prog";
		else
			c.object.kind = OBJECT_MANAGED;
		find(&c, locations, 2);
		for (int j = 0; j < PLACES; j++) {
			assert_int_equal(c.found[j].instruction, 0);
			assert_int_equal(c.found[j].function, 0);
		}
		free_case(&c);
	}
}

static int setup(void **state)
{
	if (program_setup(state))
		return -1;
	program_write("p.c", source);
	return program_shell("cc -O1 -no-pie -Wl,--build-id p.c -o prog");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_instructions),
		cmocka_unit_test(test_other_files),
	};

	return cmocka_run_group_tests(tests, setup, program_teardown);
}
