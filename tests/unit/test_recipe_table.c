/* SPDX-License-Identifier: MIT */
/* How entries become a table: section formats, CIE versions and augmentations, FDEs that touch,
 * overlap or leave gaps, chunks, the two sections together, limits, and damaged bytes. */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include <stdlib.h>

#include "base/hash.h"
#include "cfi_asm.h"
#include "recipe/recipe_rules.h"

#define NO_CODE CODE(DW_CFA_nop)

static const struct stackd_rule *rule_at(const struct recipe_table *t, uint64_t n)
{
	return recipe_lookup(t, CFI_ASM_OFFSET + n);
}

static uint64_t refused(const struct recipe_table *t, enum recipe_refusal why)
{
	return recipe_table_stats(t)->refused[why];
}

/* What makes a table a table; checked for every one that a test compiles. */
static void assert_sound(const struct recipe_table *t)
{
	size_t row_count, rule_count, chunk_count;
	uint32_t first;
	const struct stackd_row *rows = recipe_table_rows(t, &row_count);
	const struct stackd_rule *rules = recipe_table_rules(t, &rule_count);
	const uint32_t *chunks = recipe_table_chunks(t, &first, &chunk_count);

	assert_in_range(rule_count, 3, RECIPE_MAX_RULES);
	assert_int_equal(rules[STACKD_RULE_NONE].cfa, STACKD_CFA_NONE);
	assert_int_equal(rules[STACKD_RULE_END].cfa, STACKD_CFA_END);
	assert_int_equal(rules[STACKD_RULE_DAEMON].cfa, STACKD_CFA_DAEMON);
	assert_int_equal(chunks[0], 0);
	assert_int_equal(chunks[chunk_count], row_count);
	for (size_t c = 0; c < chunk_count; c++) {
		assert_true(chunks[c] < chunks[c + 1]);
		assert_int_equal(rows[chunks[c]].low, 0);
		for (uint32_t i = chunks[c] + 1; i < chunks[c + 1]; i++) {
			assert_true(rows[i - 1].low < rows[i].low);
			assert_int_not_equal(rows[i - 1].rule, rows[i].rule);
		}
	}
	for (size_t i = 0; i < row_count; i++)
		assert_true(rows[i].rule < rule_count);
}

static struct recipe_table *compile2(struct cfi_asm *a, struct cfi_asm *b)
{
	struct recipe_table *t;

	assert_int_equal(cfi_asm_compile2(a, b, &t), 0);
	assert_sound(t);
	buf_free(&a->b);
	if (b)
		buf_free(&b->b);
	return t;
}

static struct recipe_table *compile(struct cfi_asm *a)
{
	return compile2(a, NULL);
}

static size_t row_count(const struct recipe_table *t)
{
	size_t count;

	recipe_table_rows(t, &count);
	return count;
}

/* The CFA's offset, by which these tests tell FDEs apart; 0 where nothing covers. */
static int32_t cfa_at(const struct recipe_table *t, uint64_t n)
{
	const struct stackd_rule *rule = rule_at(t, n);

	assert_true(rule->cfa == STACKD_CFA_NONE || rule->cfa == STACKD_CFA_REG);
	return rule->cfa_offset;
}

static void put_fde(struct cfi_asm *a, uint64_t at, uint64_t bytes, uint8_t cfa)
{
	cfi_asm_fde(a, at, bytes, CODE(DW_CFA_def_cfa_offset, cfa));
}

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

/* A personality and a language's table come before R, and must be passed over rightly. */
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
	/* Near enough for two bytes with a sign. */
	uint64_t start = (encoding & 0x70) == DW_EH_PE_pcrel ? 0xc000 : 0x4000;
	struct recipe_section section;
	struct recipe_segment segment = {start, CFI_ASM_OFFSET, 0x1000};
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

/* --- FDEs together ------------------------------------------------------------------------- */

static void test_order_gaps_and_merging(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x300, 0x40, 24);
	put_fde(&a, 0x100, 0x20, 24);
	put_fde(&a, 0x120, 0x20, 24); /* touches the one before, and says the same */
	put_fde(&a, 0x210, 0x10, 32);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x13f), 24);
	assert_int_equal(cfa_at(t, 0x140), 0);
	assert_int_equal(cfa_at(t, 0x20f), 0);
	assert_int_equal(cfa_at(t, 0x210), 32);
	assert_int_equal(cfa_at(t, 0x220), 0);
	assert_int_equal(cfa_at(t, 0x300), 24);
	assert_int_equal(cfa_at(t, 0x33f), 24);
	assert_int_equal(cfa_at(t, 0x340), 0);
	assert_int_equal(row_count(t), 1 + 3 * 2);
	recipe_table_free(t);
}

/* Up to 15 bytes before a function that is aligned to 16 belong to the function before. */
static void test_padding(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x11, 0x10, 24); /* to 0x21: 15 bytes to the next */
	put_fde(&a, 0x30, 0x10, 32); /* to 0x40: 16 bytes, which could hold a function */
	put_fde(&a, 0x50, 0x08, 40); /* to 0x58: the next is not aligned */
	put_fde(&a, 0x5c, 0x04, 48);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x10), 0);
	assert_int_equal(cfa_at(t, 0x21), 24);
	assert_int_equal(cfa_at(t, 0x2f), 24);
	assert_int_equal(cfa_at(t, 0x30), 32);
	assert_int_equal(cfa_at(t, 0x40), 0);
	assert_int_equal(cfa_at(t, 0x57), 40);
	assert_int_equal(cfa_at(t, 0x58), 0);
	assert_int_equal(cfa_at(t, 0x5c), 48);
	assert_int_equal(cfa_at(t, 0x60), 0);
	recipe_table_free(t);
}

static void test_overlap(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0x120, 0x40, 24); /* its second half is the last one's */
	put_fde(&a, 0x100, 0x30, 32); /* starts earlier: has what both want */
	put_fde(&a, 0x108, 0x08, 40); /* inside */
	put_fde(&a, 0x100, 0x30, 48); /* the same start, later in the section */
	cfi_asm_fde(&a, 0x140, 0x40,
		    CODE(DW_CFA_def_cfa_offset, 56, DW_CFA_advance_loc | 0x10,
			 DW_CFA_def_cfa_offset, 64, DW_CFA_advance_loc | 0x20,
			 DW_CFA_def_cfa_offset, 72));
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0x100), 32);
	assert_int_equal(cfa_at(t, 0x12f), 32);
	assert_int_equal(cfa_at(t, 0x130), 24);
	assert_int_equal(cfa_at(t, 0x15f), 24);
	assert_int_equal(cfa_at(t, 0x160), 64);
	assert_int_equal(cfa_at(t, 0x16f), 64);
	assert_int_equal(cfa_at(t, 0x170), 72);
	assert_int_equal(cfa_at(t, 0x17f), 72);
	assert_int_equal(cfa_at(t, 0x180), 0);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_OVERLAP), 4);
	recipe_table_free(t);
}

/* .eh_frame has the places that both cover, also where .debug_frame begins earlier. */
static void test_two_sections(void **state)
{
	struct cfi_asm eh = {.is_eh_frame = true}, debug = {0};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&eh);
	put_fde(&eh, 0x120, 0x20, 24);
	put_fde(&eh, 0x200, 0x20, 24);
	cfi_asm_usual_cie(&debug);
	put_fde(&debug, 0x100, 0x80, 32);
	put_fde(&debug, 0x300, 0x10, 40);
	t = compile2(&eh, &debug);
	assert_int_equal(cfa_at(t, 0x0ff), 0);
	assert_int_equal(cfa_at(t, 0x100), 32);
	assert_int_equal(cfa_at(t, 0x11f), 32);
	assert_int_equal(cfa_at(t, 0x120), 24);
	assert_int_equal(cfa_at(t, 0x140), 32);
	assert_int_equal(cfa_at(t, 0x180), 0);
	assert_int_equal(cfa_at(t, 0x21f), 24);
	assert_int_equal(cfa_at(t, 0x220), 0);
	assert_int_equal(cfa_at(t, 0x300), 40);
	assert_int_equal(cfa_at(t, 0x310), 0);
	recipe_table_free(t);
}

/* Functions at, across, and far behind the borders of chunks (file offset = 0x2000 + address). */
static void test_chunks(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;
	uint32_t first;
	size_t count;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0xd000, 0x1000, 24);   /* ends at the border */
	put_fde(&a, 0xe000, 0x20, 32);	   /* begins there */
	put_fde(&a, 0x1d000, 0x21001, 40); /* over two borders, and one byte more */
	put_fde(&a, 0x9d000, 0x1000, 48);  /* ends at a border, the last */
	t = compile(&a);
	recipe_table_chunks(t, &first, &count);
	assert_int_equal(first, 0);
	assert_int_equal(count, 10);
	assert_int_equal(cfa_at(t, 0xdfff), 24);
	assert_int_equal(cfa_at(t, 0xe000), 32);
	assert_int_equal(cfa_at(t, 0xe020), 0);
	assert_int_equal(cfa_at(t, 0x1dfff), 40);
	assert_int_equal(cfa_at(t, 0x1e000), 40);
	assert_int_equal(cfa_at(t, 0x2e123), 40);
	assert_int_equal(cfa_at(t, 0x3e000), 40);
	assert_int_equal(cfa_at(t, 0x3e001), 0);
	assert_int_equal(cfa_at(t, 0x6e000), 0);
	assert_int_equal(cfa_at(t, 0x9cfff), 0);
	assert_int_equal(cfa_at(t, 0x9dfff), 48);
	assert_int_equal(cfa_at(t, 0x9e000), 0);
	recipe_table_free(t);
}

/* The last function reaches one byte into a chunk of its own. */
static void test_one_byte_in_the_last_chunk(void **state)
{
	struct cfi_asm a = {.is_eh_frame = true};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0xd000, 0x1001, 24);
	t = compile(&a);
	assert_int_equal(cfa_at(t, 0xe000), 24);
	assert_int_equal(cfa_at(t, 0xe001), 0);
	recipe_table_free(t);
}

/* Random FDEs, placed as the rules say, byte by byte. */
static void test_against_a_model(void **state)
{
	enum { BYTES = 0x30000, FDES = 400 };
	static uint8_t model[BYTES + 16];

	(void)state;
	for (uint64_t seed = 0; seed < 8; seed++) {
		struct {
			uint32_t at, len;
		} fdes[FDES];
		struct cfi_asm a = {.is_eh_frame = true};
		struct recipe_table *t;

		memset(model, 0, sizeof(model));
		cfi_asm_usual_cie(&a);
		for (uint32_t i = 0; i < FDES; i++) {
			uint64_t r = hash_mix64(seed << 32 | i);

			/* Starts differ, and no gap is padding: all is aligned to 32. */
			fdes[i].at = (uint32_t)((i * 1237 + r % 2) % (BYTES / 32)) * 32;
			fdes[i].len = (uint32_t)(1 + (r >> 8) % 40) * 32;
			if (fdes[i].len > BYTES - fdes[i].at)
				fdes[i].len = BYTES - fdes[i].at;
			put_fde(&a, fdes[i].at, fdes[i].len, (uint8_t)(1 + i % 100));
		}
		/* The lowest start first, then the first: what is taken stays taken. */
		for (uint32_t at = 0; at < BYTES; at += 32) {
			for (uint32_t i = 0; i < FDES; i++) {
				for (uint32_t n = 0; fdes[i].at == at && n < fdes[i].len; n++) {
					uint8_t *m = &model[at + n];

					*m = *m ? *m : (uint8_t)(1 + i % 100);
				}
			}
		}
		t = compile(&a);
		for (uint32_t n = 0; n < BYTES + 16; n++) {
			if (cfa_at(t, n) != model[n])
				fail_msg("seed %d: %d at 0x%x, not %d", (int)seed, cfa_at(t, n), n,
					 model[n]);
		}
		recipe_table_free(t);
	}
}

/* --- damage -------------------------------------------------------------------------------- */

static void test_ranges_that_lie(void **state)
{
	struct cfi_asm a = {0};
	struct recipe_table *t;

	(void)state;
	cfi_asm_usual_cie(&a);
	put_fde(&a, 0, 0, 24);			 /* empty */
	put_fde(&a, CFI_ASM_BYTES - 8, 16, 24);	 /* leaves its segment */
	put_fde(&a, -CFI_ASM_CODE, 16, 24);	 /* vaddr 0: what a linker dropped */
	put_fde(&a, 0, -(CFI_ASM_CODE - 1), 24); /* wraps around */
	put_fde(&a, CFI_ASM_BYTES - 8, 8, 32);	 /* the last that is right */
	t = compile(&a);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_EMPTY), 1);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_SEGMENT), 2);
	assert_int_equal(refused(t, RECIPE_REFUSED_FDE_MALFORMED), 1);
	assert_int_equal(recipe_table_stats(t)->fdes, 1);
	assert_int_equal(cfa_at(t, CFI_ASM_BYTES - 1), 32);
	recipe_table_free(t);
}

static void test_offsets_beyond_the_limit(void **state)
{
	struct cfi_asm a = {0};
	struct recipe_section section;
	struct recipe_segment segment = {CFI_ASM_CODE, RECIPE_MAX_OFFSET - 0x40, 0x1000};
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

static void test_cie_pointers_that_lie(void **state)
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
	struct recipe_section section = {.data = (const uint8_t *)"",
					 .size = RECIPE_MAX_SECTION_BYTES + 1};
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

/* --- rules --------------------------------------------------------------------------------- */

/* FDEs with `count` different rules, from CFA offset `first` on. */
static struct recipe_table *compile_rules(uint32_t first, uint32_t count)
{
	struct cfi_asm a = {.is_eh_frame = true};

	cfi_asm_usual_cie(&a);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = first + i;

		cfi_asm_fde(&a, i, 1,
			    CODE(DW_CFA_def_cfa_offset, (v & 0x7f) | 0x80, (v >> 7 & 0x7f) | 0x80,
				 v >> 14 & 0x7f));
	}
	return compile(&a);
}

static void test_more_rules_than_a_row_can_name(void **state)
{
	struct recipe_table *t = compile_rules(1, RECIPE_MAX_RULES);
	size_t count;

	(void)state;
	recipe_table_rules(t, &count);
	assert_int_equal(count, RECIPE_MAX_RULES);
	assert_int_equal(refused(t, RECIPE_REFUSED_RULE_LIMIT), 3);
	assert_int_equal(cfa_at(t, RECIPE_MAX_RULES - 4), RECIPE_MAX_RULES - 3);
	assert_int_equal(rule_at(t, RECIPE_MAX_RULES - 1)->cfa, STACKD_CFA_DAEMON);
	recipe_table_free(t);
}

static void assert_same_rows(const struct recipe_table *t, const struct stackd_row *rows,
			     const struct recipe_rules *all)
{
	size_t n, unused;
	const struct stackd_row *own = recipe_table_rows(t, &n);
	const struct stackd_rule *own_rules = recipe_table_rules(t, &unused);
	const struct stackd_rule *all_rules = recipe_rules_array(all, &unused);

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(rows[i].low, own[i].low);
		assert_memory_equal(&all_rules[rows[i].rule], &own_rules[own[i].rule],
				    sizeof(struct stackd_rule));
	}
}

static void test_rules_are_shared(void **state)
{
	struct recipe_table *one = compile_rules(8, 5000), *two = compile_rules(4008, 5000);
	struct stackd_row *rows = calloc(row_count(two) + row_count(one), sizeof(*rows));
	struct recipe_rules *all;
	uint64_t lost = 1;
	size_t count;

	(void)state;
	assert_int_equal(recipe_rules_new(&all), 0);
	assert_int_equal(recipe_rules_remap(all, one, rows, &lost), 0);
	assert_int_equal(lost, 0);
	assert_same_rows(one, rows, all);
	assert_int_equal(recipe_rules_remap(all, two, rows, &lost), 0);
	assert_int_equal(lost, 0);
	assert_same_rows(two, rows, all);
	recipe_rules_array(all, &count);
	assert_int_equal(count, 3 + 9000);
	recipe_rules_free(all);
	free(rows);
	recipe_table_free(one);
	recipe_table_free(two);
}

static void test_full_shared_rules(void **state)
{
	struct recipe_table *one = compile_rules(8, 65000), *two = compile_rules(64008, 2000);
	struct stackd_row *rows = calloc(row_count(one) + row_count(two), sizeof(*rows));
	struct recipe_rules *all;
	uint64_t lost;
	size_t n, daemon = 0;

	(void)state;
	assert_int_equal(recipe_rules_new(&all), 0);
	assert_int_equal(recipe_rules_remap(all, one, rows, &lost), 0);
	assert_int_equal(lost, 0);
	assert_int_equal(recipe_rules_remap(all, two, rows, &lost), 0);
	recipe_rules_array(all, &n);
	assert_int_equal(n, RECIPE_MAX_RULES);
	assert_int_equal(lost, 1000 - (RECIPE_MAX_RULES - 65003));
	recipe_table_rows(two, &n);
	for (size_t i = 0; i < n; i++)
		daemon += rows[i].rule == STACKD_RULE_DAEMON;
	assert_int_equal(daemon, lost);
	recipe_rules_free(all);
	free(rows);
	recipe_table_free(one);
	recipe_table_free(two);
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
		cmocka_unit_test(test_order_gaps_and_merging),
		cmocka_unit_test(test_padding),
		cmocka_unit_test(test_overlap),
		cmocka_unit_test(test_two_sections),
		cmocka_unit_test(test_chunks),
		cmocka_unit_test(test_one_byte_in_the_last_chunk),
		cmocka_unit_test(test_against_a_model),
		cmocka_unit_test(test_ranges_that_lie),
		cmocka_unit_test(test_offsets_beyond_the_limit),
		cmocka_unit_test(test_cie_pointers_that_lie),
		cmocka_unit_test(test_lengths),
		cmocka_unit_test(test_damaged_sections),
		cmocka_unit_test(test_section_limit),
		cmocka_unit_test(test_more_rules_than_a_row_can_name),
		cmocka_unit_test(test_rules_are_shared),
		cmocka_unit_test(test_full_shared_rules),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
