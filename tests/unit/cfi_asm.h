/* SPDX-License-Identifier: MIT */
/*
 * A small assembler of call frame sections: what the recipe tests feed to the compiler.
 *
 * An entry is begun, filled byte by byte, and ended, which pads it and writes its length. The
 * section stands at CFI_ASM_SECTION, and its code in one segment: addresses from CFI_ASM_CODE on
 * are file offsets from CFI_ASM_OFFSET on.
 */
#ifndef TESTS_CFI_ASM_H
#define TESTS_CFI_ASM_H

#include <dwarf.h>
#include <endian.h>
#include <string.h>

#include "base/buf.h"
#include "unwind/recipe.h"

#define CFI_ASM_SECTION UINT64_C(0x10000)
#define CFI_ASM_CODE	UINT64_C(0x400000)
#define CFI_ASM_OFFSET	UINT64_C(0x2000)
#define CFI_ASM_BYTES	UINT64_C(0x200000)

/* Instructions as an array of bytes and its size. */
#define CODE(...) (const uint8_t[]){__VA_ARGS__}, sizeof((const uint8_t[]){__VA_ARGS__})

struct cfi_asm {
	struct buf b;
	bool is_eh_frame;
	bool is_64bit;
	size_t entry, cie; /* where the current entry and the last CIE begin */
};

static inline void cfi_asm_fixed(struct cfi_asm *a, uint64_t v, size_t bytes)
{
	v = htole64(v);
	buf_put(&a->b, &v, bytes);
}

static inline void cfi_asm_sleb(struct cfi_asm *a, int64_t v)
{
	for (; v < -64 || v > 63; v >>= 7)
		buf_put_u8(&a->b, (v & 0x7f) | 0x80);
	buf_put_u8(&a->b, v & 0x7f);
}

/* The length's field, and the CIE pointer (distance or offset of the last CIE, or the mark). */
static inline void cfi_asm_begin(struct cfi_asm *a, bool is_cie)
{
	size_t wide = a->is_64bit ? 8 : 4;
	uint64_t mark = a->is_eh_frame ? 0 : UINT64_MAX;

	a->entry = a->b.len;
	if (a->is_64bit)
		cfi_asm_fixed(a, UINT32_MAX, 4);
	cfi_asm_fixed(a, 0, wide);
	if (is_cie)
		a->cie = a->entry;
	if (!is_cie)
		mark = a->is_eh_frame ? a->b.len - a->cie : a->cie;
	cfi_asm_fixed(a, mark, a->is_eh_frame ? 4 : wide);
}

static inline void cfi_asm_end(struct cfi_asm *a)
{
	size_t field = a->entry + (a->is_64bit ? 4 : 0), wide = a->is_64bit ? 8 : 4;
	uint64_t len;

	while (a->b.len % 8)
		buf_put_u8(&a->b, DW_CFA_nop);
	len = htole64(a->b.len - field - wide);
	memcpy(a->b.data + field, &len, wide);
}

/* A CIE of version 1 (.debug_frame: 3) with code alignment 1, data alignment -8, and addresses as
 * most files have them: in .eh_frame relative to themselves in 32 bits. */
static inline void cfi_asm_cie(struct cfi_asm *a, const char *augmentation, const uint8_t *code,
			       size_t len)
{
	cfi_asm_begin(a, true);
	buf_put_u8(&a->b, a->is_eh_frame ? 1 : 3);
	buf_put(&a->b, augmentation, strlen(augmentation) + 1);
	buf_put_varint(&a->b, 1);
	cfi_asm_sleb(a, -8);
	buf_put_u8(&a->b, 16);
	if (augmentation[0] == 'z') {
		buf_put_u8(&a->b, 1);
		buf_put_u8(&a->b, DW_EH_PE_pcrel | DW_EH_PE_sdata4);
	}
	buf_put(&a->b, code, len);
	cfi_asm_end(a);
}

/* The usual start: CFA = rsp + 8, return address at CFA - 8. */
#define CFI_ASM_USUAL CODE(DW_CFA_def_cfa, 7, 8, DW_CFA_offset | 16, 1)

static inline void cfi_asm_usual_cie(struct cfi_asm *a)
{
	cfi_asm_cie(a, a->is_eh_frame ? "zR" : "", CFI_ASM_USUAL);
}

/* An FDE of the last CIE over code at `at` bytes from CFI_ASM_CODE. */
static inline void cfi_asm_fde(struct cfi_asm *a, uint64_t at, uint64_t bytes, const uint8_t *code,
			       size_t len)
{
	cfi_asm_begin(a, false);
	if (a->is_eh_frame) {
		cfi_asm_fixed(a, CFI_ASM_CODE + at - (CFI_ASM_SECTION + a->b.len), 4);
		cfi_asm_fixed(a, bytes, 4);
		buf_put_u8(&a->b, 0);
	} else {
		cfi_asm_fixed(a, CFI_ASM_CODE + at, 8);
		cfi_asm_fixed(a, bytes, 8);
	}
	buf_put(&a->b, code, len);
	cfi_asm_end(a);
}

/* FDEs with `count` different rules, from CFA offset `first` on. */
static inline void cfi_asm_rules(struct cfi_asm *a, uint32_t first, uint32_t count)
{
	cfi_asm_usual_cie(a);
	for (uint32_t i = 0; i < count; i++) {
		uint32_t v = first + i;

		cfi_asm_fde(a, i, 1,
			    CODE(DW_CFA_def_cfa_offset, (v & 0x7f) | 0x80, (v >> 7 & 0x7f) | 0x80,
				 v >> 14 & 0x7f));
	}
}

static inline struct cfi_section cfi_asm_section(const struct cfi_asm *a)
{
	return (struct cfi_section){
		.data = a->b.data,
		.size = a->b.len,
		.vaddr = CFI_ASM_SECTION,
		.is_eh_frame = a->is_eh_frame,
	};
}

static inline int cfi_asm_compile2(const struct cfi_asm *first, const struct cfi_asm *second,
				   struct recipe_table **ret_table)
{
	struct cfi_section sections[2] = {cfi_asm_section(first)};
	struct recipe_load segment = {CFI_ASM_CODE, CFI_ASM_OFFSET, CFI_ASM_BYTES};

	if (second)
		sections[1] = cfi_asm_section(second);
	return recipe_section_compile(sections, second ? 2 : 1, &segment, 1, ret_table);
}

static inline int cfi_asm_compile(const struct cfi_asm *a, struct recipe_table **ret_table)
{
	return cfi_asm_compile2(a, NULL, ret_table);
}

#endif
