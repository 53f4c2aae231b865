/* SPDX-License-Identifier: MIT */
/*
 * Generated call frame information: the entries of an index, the rows of their instructions, and
 * sections that are compressed or forged.
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <errno.h>

#include "cfi/cfi_index.h"
#include "cfi/cfi_machine.h"
#include "cfi_file.h"

#define COUNT(a) (sizeof(a) / sizeof((a)[0]))

/* The number of entries in the index of a section. */
static size_t count_entries(const struct bytes *b)
{
	struct elf_file *file = make_file(".eh_frame", 0, b->data, b->len);
	struct cfi_index *index = NULL;
	int err = cfi_index_new(file, &index);
	size_t n = err ? 0 : cfi_index_count(index);

	assert_true(err == 0 || err == -ENODATA);
	cfi_index_free(index);
	elf_file_free(file);
	return n;
}

/* The reason for which the last row of a program is refused, or CFI_ACCEPTED. */
static enum cfi_refusal run(const void *program, size_t len)
{
	struct bytes b = {.len = 0};
	struct cfi_index *index = NULL;
	struct elf_file *file;
	struct cfi_row row;
	uint64_t start, end;

	put_fde(&b, put_entry(&b, 0, good_cie, sizeof(good_cie)), program, len);
	file = make_file(".eh_frame", 0, b.data, b.len);
	assert_int_equal(cfi_index_new(file, &index), 0);
	cfi_index_range(index, 0, &start, &end);
	assert_true(cfi_index_row(index, end - 1, &row));
	assert_false(cfi_index_row(index, end, &row));
	cfi_index_free(index);
	elf_file_free(file);
	return row.refused;
}

#define RUNS(expected, ...)                                                                        \
	assert_int_equal(                                                                          \
		run((const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})),       \
		CFI_##expected)
#define PASSES(...)  RUNS(ACCEPTED, __VA_ARGS__)
#define REFUSED(...) RUNS(REFUSED_INSTRUCTION, __VA_ARGS__)

/* Programs are padded with nops to 8 - 1 = 7 bytes (after 9 of the head): 7, 15, ... are complete.
 */
static void test_programs(void **state)
{
	uint8_t remembers[CFI_MACHINE_DEPTH + 1];

	(void)state;
	PASSES(0x41, 0x0e, 16, 0x86, 2, 0x43, 0x0d, 6, 0xc6, 0x0c, 7, 8);
	PASSES(0x02, 0x41, 0x03, 1, 0, 0x04, 1, 0, 0, 0);
	PASSES(0x0a, 0x0b, 0x07, 16, 0x08, 3, 0x09, 16, 5, 0x06, 3);
	PASSES(0x0f, 3, 0x77, 8, 0x06, 0x10, 6, 2, 0x76, 0, 0x16, 3, 1, 0x30);
	PASSES(0x2e, 0xff, 0x01, 0x11, 6, 2, 0x12, 7, 0x7f, 0x13, 0x70);
	/* operands that run over the end */
	REFUSED(0, 0, 0, 0, 0, 0, 0x02);
	REFUSED(0, 0, 0, 0, 0, 0x03, 1);
	REFUSED(0, 0, 0, 0, 0, 0x0e, 0x80);
	REFUSED(0, 0, 0, 0, 0, 0, 0x86);
	REFUSED(0, 0, 0, 0, 0x0f, 3, 0x30);
	/* registers that no walk restores are skipped */
	PASSES(0x05, 0xff, 0xff, 0xff, 0x3f, 1);
	PASSES(0x07, 0x80, 0x02);
	PASSES(0x07, 0xff, 0x01);
	/* LEB128 of ten bytes, and longer */
	PASSES(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	REFUSED(0x0e, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x01);
	/* set_loc back, a hole, a vendor's */
	REFUSED(0x01, 0, 0, 0, 0);
	RUNS(REFUSED_OPCODE, 0x17);
	RUNS(REFUSED_OPCODE, 0x3f);
	/* states */
	REFUSED(0x0b);
	memset(remembers, 0x0a, sizeof(remembers));
	assert_int_equal(run(remembers, CFI_MACHINE_DEPTH), CFI_ACCEPTED);
	assert_int_equal(run(remembers, CFI_MACHINE_DEPTH + 1), CFI_REFUSED_STATE_DEPTH);
}

static void test_entries(void **state)
{
	static const uint8_t program[] = {0x0e, 16};
	uint8_t cie[32];
	struct bytes b;

	(void)state;
	for (size_t i = 0; i < sizeof(good_cie); i++) {
		static const uint8_t bad[] = {9, 'y', 'X', 'X', 0x80, 0x80, 0xff, 99, 0x9b};

		if (i >= sizeof(bad))
			break;
		memcpy(cie, good_cie, sizeof(good_cie));
		cie[i] = bad[i];
		if (i == 4 || i == 5) /* an endless LEB128 */
			memset(cie + i, 0x80, sizeof(good_cie) - i);
		b.len = 0;
		put_fde(&b, put_entry(&b, 0, cie, sizeof(good_cie)), program, sizeof(program));
		if (count_entries(&b))
			fail_msg("byte %zu of the CIE", i);
	}
	/* an FDE without its CIE; cut at every byte */
	b.len = 0;
	put_entry(&b, 0, good_cie, sizeof(good_cie));
	put_fde(&b, 4, program, sizeof(program));
	assert_int_equal(count_entries(&b), 0);
	b.len = 0;
	put_fde(&b, put_entry(&b, 0, good_cie, sizeof(good_cie)), program, sizeof(program));
	put_fde(&b, 0, program, sizeof(program));
	assert_int_equal(count_entries(&b), 2);
	for (size_t all = b.len; b.len; b.len--)
		assert_int_equal(count_entries(&b), b.len == all ? 2 : b.len >= 48);
}

/* Version 4, absolute addresses, return address at CFA - 8, rbx saved from the fourth byte on. */
static void put_debug_frame(struct bytes *b)
{
	static const uint8_t cie[] = {4, 0, 8, 0, 1, 0x78, 16, 0x0c, 7, 8, 0x90, 1};
	static const uint8_t program[] = {0x44, 0x0e, 16, 0x83, 2};
	uint8_t body[16 + sizeof(program)];

	memcpy(body, &(uint64_t){0x400100}, 8);
	memcpy(body + 8, &(uint64_t){0x40}, 8);
	memcpy(body + 16, program, sizeof(program));
	put_entry(b, UINT32_MAX, cie, sizeof(cie));
	put_entry(b, 0, body, sizeof(body));
}

static void check_debug_frame(uint64_t flags, const struct bytes *b)
{
	struct elf_file *file = make_file(".debug_frame", flags, b->data, b->len);
	struct cfi_index *index = NULL;
	struct cfi_row row;

	assert_int_equal(cfi_index_new(file, &index), 0);
	assert_true(cfi_index_row(index, 0x400103, &row));
	assert_int_equal(row.refused, CFI_ACCEPTED);
	assert_int_equal(row.state.cfa, STACKD_CFA_REG);
	assert_int_equal(row.state.cfa_reg, STACKD_REG_SP);
	assert_int_equal(row.state.cfa_offset, 8);
	assert_int_equal(row.state.regs[STACKD_REG_PC].how, CFI_AT_CFA);
	assert_int_equal(row.state.regs[STACKD_REG_PC].offset, -8);
	assert_int_equal(row.state.regs[3].how, CFI_UNSET);
	assert_true(cfi_index_row(index, 0x400104, &row));
	assert_int_equal(row.state.cfa_offset, 16);
	assert_int_equal(row.state.regs[3].how, CFI_AT_CFA);
	assert_int_equal(row.state.regs[3].offset, -16);
	assert_true(cfi_index_row(index, 0x40013f, &row));
	assert_false(cfi_index_row(index, 0x4000ff, &row));
	assert_false(cfi_index_row(index, 0x400140, &row));
	cfi_index_free(index);
	elf_file_free(file);
}

static void test_debug_frame(void **state)
{
	struct bytes b = {.len = 0};

	(void)state;
	put_debug_frame(&b);
	check_debug_frame(0, &b);
}

/* `from` as a compressed section: a header, and a zlib stream of one stored block. */
static void compress(struct bytes *to, const struct bytes *from, uint64_t size_in_header)
{
	Elf64_Chdr header = {.ch_type = ELFCOMPRESS_ZLIB, .ch_addralign = 1};
	uint8_t head[] = {0x78, 1, 1, (uint8_t)from->len, 0, (uint8_t)~from->len, 0xff};
	uint32_t a = 1, b = 0; /* Adler-32 */

	assert_true(from->len < 256);
	header.ch_size = size_in_header;
	put(to, &header, sizeof(header));
	put(to, head, sizeof(head));
	put(to, from->data, from->len);
	for (size_t i = 0; i < from->len; i++) {
		a = (a + from->data[i]) % 65521;
		b = (b + a) % 65521;
	}
	put32(to, __builtin_bswap32(b << 16 | a));
}

static void test_compressed_debug_frame(void **state)
{
	static const uint64_t lies[] = {0, 1, CFI_SECTION_MAX_BYTES + 1, UINT64_MAX};
	struct bytes plain = {.len = 0}, packed = {.len = 0};
	struct cfi_index *index = NULL;

	(void)state;
	put_debug_frame(&plain);
	compress(&packed, &plain, plain.len);
	check_debug_frame(SHF_COMPRESSED, &packed);
	for (size_t i = 0; i < COUNT(lies); i++) {
		struct elf_file *file;

		packed.len = 0;
		compress(&packed, &plain, lies[i]);
		file = make_file(".debug_frame", SHF_COMPRESSED, packed.data, packed.len);
		assert_int_equal(cfi_index_new(file, &index), -ENODATA);
		elf_file_free(file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_entries),
		cmocka_unit_test(test_debug_frame),
		cmocka_unit_test(test_compressed_debug_frame),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
