/* SPDX-License-Identifier: MIT */
/* The formats of sections: DWARF formats, CIE versions and augmentations, encodings, and damaged
 * bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/hash.h"
#include "recipe_table_case.h"

/* --- formats ------------------------------------------------------------------------------- */

static void test_formats(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct cfi_asm a = {.is_eh_frame = i & 1, .is_64bit = i & 2};
		struct recipe_table *t;

		cfi_asm_usual_cie(&a);
		put_fde(&a, 0x100, 0x20, 24);
		put_fde(&a, 0x200, 0x20, 32);
		t = compile(&a);
		assert_int_equal(recipe_table_stats(t)->fdes, 2);
		assert_int_equal(cfa_at(t, 0xff), 0);
		assert_int_equal(cfa_at(t, 0x100), 24);
		assert_int_equal(cfa_at(t, 0x11f), 24);
		assert_int_equal(cfa_at(t, 0x120), 0);
		assert_int_equal(cfa_at(t, 0x21f), 32);
		recipe_table_free(t);
	}
}

/* A CIE with everything that its version has, before its instructions. */
static void begin_cie(struct cfi_asm *a, uint8_t version, const char *augmentation)
{
	cfi_asm_begin(a, true);
	buf_put_u8(&a->b, version);
	buf_put(&a->b, augmentation, strlen(augmentation) + 1);
	if (version == 4)
		cfi_asm_fixed(a, 8, 2); /* sizes of addresses and segments */
	buf_put_varint(&a->b, 1);
	cfi_asm_sleb(a, -8);
	buf_put_u8(&a->b, 16);
}

static void end_cie(struct cfi_asm *a)
{
	buf_put(&a->b, CFI_ASM_USUAL);
	cfi_asm_end(a);
}

static void test_cie_versions(void **state)
{
	static const uint8_t versions[] = {1, 2, 3, 4, 5};

	(void)state;
	for (size_t i = 0; i < sizeof(versions); i++) {
		bool known = versions[i] != 2 && versions[i] != 5;
		struct cfi_asm a = {0};
		struct recipe_table *t;

		begin_cie(&a, versions[i], "");
		end_cie(&a);
		put_fde(&a, 0, 0x20, 24);
		t = compile(&a);
		assert_int_equal(cfa_at(t, 0), known ? 24 : 0);
		assert_int_equal(refused(t, RECIPE_REFUSED_CIE_VERSION), !known);
		recipe_table_free(t);
	}
}

/* A personality and a language's table precede R, and must be skipped by their true sizes. */
static void test_augmentation(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	begin_cie(&a, 1, "zPLBR");
	buf_put_u8(&a.b, 7);
	buf_put_u8(&a.b, DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	cfi_asm_fixed(&a, 0x12345678, 4);
	buf_put_u8(&a.b, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	buf_put_u8(&a.b, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	end_cie(&a);
	put_fde(&a, 0x40, 0x20, 24);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x40), 24);
	recipe_table_free(t);
}

static void test_unknown_augmentations(void **state)
{
	static const char *const strings[] = {"zQR", "eh", "Rz"};

	(void)state;
	for (int i = 0; i < 3; i++) {
		struct cfi_asm a = {.is_eh_frame = true};
		struct recipe_table *t;

		cfi_asm_cie(&a, strings[i], CFI_ASM_USUAL);
		put_fde(&a, 0, 0x20, 24);
		t = compile(&a);
		assert_int_equal(row_count(t), 0);
		assert_int_equal(refused(t, RECIPE_REFUSED_CIE_AUGMENTATION), 1);
		recipe_table_free(t);
	}
}

static void put_sleb_padded(struct cfi_asm *a, int64_t v)
{
	for (int i = 0; i < 9; i++, v >>= 7)
		buf_put_u8(&a->b, (v & 0x7f) | 0x80);
	buf_put_u8(&a->b, v & 0x7f);
}

/* An FDE at CFI_ASM_CODE with its address in this encoding. */
static struct recipe_table *compile_encoded(uint8_t encoding)
{
	struct cfi_asm a = {.is_eh_frame = true};
	static const uint8_t sizes[16] = {8, 0, 2, 4, 8, 0, 0, 0, 0, 0, 2, 4, 8};
	/* The distance fits two signed bytes. */
	uint64_t start = (encoding & 0x70) == DW_EH_PE_pcrel ? 0xc000 : 0x4000;
	struct cfi_section section;
	struct recipe_load segment = {start, CFI_ASM_OFFSET, 0x1000};
	struct recipe_table *t;
	uint8_t size = sizes[encoding & 15];

	begin_cie(&a, 1, "zR");
	buf_put_u8(&a.b, 1);
	buf_put_u8(&a.b, encoding);
	end_cie(&a);
	cfi_asm_begin(&a, false);
	if ((encoding & 0x70) == DW_EH_PE_pcrel)
		start -= CFI_ASM_SECTION + a.b.len;
	for (int i = 0; i < 2; i++) {
		if (size)
			cfi_asm_fixed(&a, i ? 0x20 : start, size);
		else
			put_sleb_padded(&a, i ? 0x20 : (int64_t)start);
	}
	buf_put_u8(&a.b, 0);
	cfi_asm_end(&a);
	section = cfi_asm_section(&a);
	assert_int_equal(recipe_section_compile(&section, 1, &segment, 1, &t), 0);
	buf_free(&a.b);
	return t;
}

static void test_encodings(void **state)
{
	static const uint8_t good[] = {
		DW_EH_PE_absptr,
		DW_EH_PE_udata2,
		DW_EH_PE_udata4,
		DW_EH_PE_udata8,
		DW_EH_PE_sdata2,
		DW_EH_PE_sdata4,
		DW_EH_PE_sdata8,
		DW_EH_PE_uleb128,
		DW_EH_PE_sleb128,
		DW_EH_PE_pcrel | DW_EH_PE_absptr,
		DW_EH_PE_pcrel | DW_EH_PE_sdata2,
		DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		DW_EH_PE_pcrel | DW_EH_PE_sdata8,
		DW_EH_PE_pcrel | DW_EH_PE_sleb128,
		DW_EH_PE_textrel | DW_EH_PE_udata4,
	};
	static const uint8_t bad[] = {
		DW_EH_PE_omit,
		DW_EH_PE_datarel | DW_EH_PE_sdata4,
		DW_EH_PE_funcrel | DW_EH_PE_sdata4,
		DW_EH_PE_aligned,
		DW_EH_PE_indirect | DW_EH_PE_pcrel | DW_EH_PE_sdata4,
		0x05,
		0x0f,
	};

	(void)state;
	for (size_t i = 0; i < sizeof(good); i++) {
		struct recipe_table *t = compile_encoded(good[i]);

		if (cfa_at(t, 0) != 8 || cfa_at(t, 0x1f) != 8 || cfa_at(t, 0x20) != 0)
			fail_msg("encoding 0x%02x is not understood", good[i]);
		recipe_table_free(t);
	}
	for (size_t i = 0; i < sizeof(bad); i++) {
		struct recipe_table *t = compile_encoded(bad[i]);

		assert_int_equal(refused(t, RECIPE_REFUSED_CIE_ENCODING), 1);
		recipe_table_free(t);
	}
}

/* In .debug_frame a CIE may come after its FDEs. */
static void test_cie_behind_its_fde(void **state)
{
	struct cfi_asm a = {0};
	struct recipe_table *t;
	uint32_t cie;

	(void)state;
	put_fde(&a, 0, 0x20, 24);
	cfi_asm_usual_cie(&a);
	cie = htole32((uint32_t)a.cie);
	memcpy(a.b.data + 4, &cie, 4);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0), 24);
	recipe_table_free(t);
}

/* Instructions of a CIE that are wrong refuse the rows of its FDEs, and their range stays. */
static void test_wrong_cie_instructions(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_cie(&a, "zR", CODE(DW_CFA_def_cfa, 7, 8, DW_CFA_advance_loc | 1));
	put_fde(&a, 0, 0x20, 24);
	cfi_asm_cie(&a, "zR", CODE(DW_CFA_nop)); /* no CFA at all */
	cfi_asm_fde(&a, 0x40, 0x20, NO_CODE);
	t = compile(&a);
	assert_int_equal(rule_at(t, 0)->cfa, STACKD_CFA_DAEMON);
	assert_int_equal(rule_at(t, 0x40)->cfa, STACKD_CFA_DAEMON);
	assert_int_equal(refused(t, RECIPE_REFUSED_INSTRUCTION), 1);
	assert_int_equal(refused(t, RECIPE_REFUSED_CFA_MISSING), 1);
	recipe_table_free(t);
}

/* --- damage -------------------------------------------------------------------------------- */

static void test_forged_ranges(void **state)
{
	struct cfi_asm a = {0};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0, 0, 24);			 /* empty */
	put_fde(&a, CFI_ASM_BYTES - 8, 16, 24);	 /* leaves its segment */
	put_fde(&a, -CFI_ASM_CODE, 16, 24);	 /* vaddr 0: dropped by the linker */
	put_fde(&a, 0, -(CFI_ASM_CODE - 1), 24); /* wraps around */
	put_fde(&a, CFI_ASM_BYTES - 8, 8, 32);	 /* the last that is right */
	t = compile(&a);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_EMPTY), 1);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_PROGRAM_HEADER), 2);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_MALFORMED), 1);
	assert_int_equal(recipe_table_stats(t)->fdes, 1);
	assert_int_equal(cfa_at(t, CFI_ASM_BYTES - 1), 32);
	recipe_table_free(t);
}

static void test_offsets_beyond_the_limit(void **state)
{
	struct cfi_asm a = {0};
	struct cfi_section section;
	struct recipe_load segment = {CFI_ASM_CODE, RECIPE_MAX_OFFSET - 0x40, 0x1000};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x20, 0x20, 24);
	put_fde(&a, 0x40, 0x20, 24);
	section = cfi_asm_section(&a);
	assert_int_equal(recipe_section_compile(&section, 1, &segment, 1, &t), 0);
	assert_sound(t);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_OFFSET), 1);
	assert_int_equal(recipe_lookup(t, RECIPE_MAX_OFFSET - 1)->cfa, STACKD_CFA_REG);
	recipe_table_free(t);
	buf_free(&a.b);
}

static void test_forged_cie_pointers(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	a.cie = 4; /* into the CIE */
	put_fde(&a, 0, 0x20, 24);
	a.cie = a.entry; /* to an FDE */
	put_fde(&a, 0x20, 0x20, 24);
	a.cie = a.b.len; /* to itself */
	put_fde(&a, 0x40, 0x20, 24);
	a.cie = a.b.len + 64; /* forward: before the section, to an unsigned distance */
	put_fde(&a, 0x60, 0x20, 24);
	t = compile(&a);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_CIE), 4);
	assert_int_equal(row_count(t), 0);
	recipe_table_free(t);
}

/* Terminators in the middle are passed; a length that leads out ends the section. */
static void test_lengths(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	cfi_asm_fixed(&a, 0, 8);
	put_fde(&a, 0, 0x20, 24);
	cfi_asm_fixed(&a, 0x7fffffff, 4);
	put_fde(&a, 0x40, 0x20, 24);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0), 24);
	assert_int_equal(cfa_at(t, 0x40), 0);
	assert_int_equal(refused(t, RECIPE_REFUSED_ENTRY_LENGTH), 1);
	recipe_table_free(t);
}

static void put_real_looking(struct cfi_asm *a)
{
	cfi_asm_usual_cie(a);
	for (uint64_t i = 0; i < 8; i++)
		cfi_asm_fde(a, i * 0x40, 0x30,
			    CODE(DW_CFA_advance_loc | 1, DW_CFA_def_cfa_offset, 16,
				 DW_CFA_offset | 6, 2, DW_CFA_remember_state, DW_CFA_advance_loc1,
				 9, DW_CFA_expression, 6, 2, DW_OP_breg6, 0,
				 DW_CFA_def_cfa_expression, 3, DW_OP_breg6, 0x78, DW_OP_deref,
				 DW_CFA_restore_state));
}

/* Every prefix of a section, each in memory of exactly its size, and bytes changed at random:
 * whatever it says, a table comes out, and a sanitizer sees no byte read outside. */
static void test_damaged_sections(void **state)
{
	(void)state;
	for (int eh = 0; eh < 2; eh++) {
		struct cfi_asm a = {.is_eh_frame = eh};

		put_real_looking(&a);
		for (uint64_t i = 0; i < 2 * a.b.len + 4000; i++) {
			size_t len = i < a.b.len ? i : a.b.len;
			struct cfi_asm cut = {
				.is_eh_frame = eh, .b.len = len, .b.data = malloc(len)};
			uint64_t r = hash_mix64(i);

			memcpy(cut.b.data, a.b.data, len);
			for (int n = 0; len && i >= a.b.len && n < 1 + (int)(i & 3);
			     n++, r = hash_mix64(r))
				cut.b.data[r % len] = (uint8_t)(r >> 32);
			recipe_table_free(compile(&cut));
		}
		buf_free(&a.b);
	}
}

static void test_section_limit(void **state)
{
	struct cfi_section section = {.data = (const uint8_t *)"",
				      .size = CFI_SECTION_MAX_BYTES + 1};
	struct recipe_table *t;

	(void)state;
	assert_int_equal(recipe_section_compile(&section, 1, NULL, 0, &t), 0);
	assert_int_equal(refused(t, RECIPE_REFUSED_SECTION_SIZE), 1);
	assert_int_equal(row_count(t), 0);
	recipe_table_free(t);
	assert_int_equal(recipe_section_compile(NULL, 0, NULL, 0, &t), 0);
	assert_sound(t);
	assert_int_equal(recipe_lookup(t, 0)->cfa, STACKD_CFA_NONE);
	recipe_table_free(t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_formats),
		cmocka_unit_test(test_cie_versions),
		cmocka_unit_test(test_augmentation),
		cmocka_unit_test(test_unknown_augmentations),
		cmocka_unit_test(test_encodings),
		cmocka_unit_test(test_cie_behind_its_fde),
		cmocka_unit_test(test_wrong_cie_instructions),
		cmocka_unit_test(test_forged_ranges),
		cmocka_unit_test(test_offsets_beyond_the_limit),
		cmocka_unit_test(test_forged_cie_pointers),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_damaged_sections),
		cmocka_unit_test(test_section_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
