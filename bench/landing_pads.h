/* SPDX-License-Identifier: MIT */
/*
 * Where exceptions land: code that nothing leads to but the unwinder, by the tables that unwind
 * information refers to (Itanium C++ ABI: Exception Handling; LSB, .gcc_except_table). A program
 * without unwind information never gets there, so such code is none that a walk meets.
 */
#ifndef BENCH_LANDING_PADS_H
#define BENCH_LANDING_PADS_H

#include "base/vec.h"
#include "cfi/cfi_entry.h"

#define LANDING_TABLE_BYTES 65536

struct landing_pads {	     /* zeroed is empty; the owner frees items */
	VEC(uint64_t) items; /* vaddr */
};

/* The encoding of the pointers to a CIE's tables; 0xff: it has none. */
static inline uint8_t landing_encoding(const struct cfi_section *section, struct cfi_reader r)
{
	const char *augmentation;

	cfi_reader_u8(&r); /* the version */
	augmentation = (const char *)r.at;
	while (cfi_reader_u8(&r))
		;
	if (r.failed || augmentation[0] != 'z')
		return 0xff;
	cfi_reader_uleb(&r);
	cfi_reader_sleb(&r);
	cfi_reader_uleb(&r);
	cfi_reader_uleb(&r);
	for (const char *c = augmentation + 1; *c && !r.failed; c++) {
		uint8_t encoding = strchr("PLR", *c) ? cfi_reader_u8(&r) : 0;

		if (*c == 'L')
			return encoding;
		if (*c == 'P')
			cfi_entry_read_address(section, &r, encoding & 0x7f);
	}
	return 0xff;
}

/* Adds the pads of the table at `vaddr`, for a function. */
static inline int landing_read_table(const struct elf_file *elf, uint64_t vaddr, uint64_t function,
				     struct landing_pads *pads)
{
	static uint8_t bytes[LANDING_TABLE_BYTES];
	uint64_t offset;
	int64_t got = elf_file_vaddr_to_offset(elf, vaddr, &offset)
			      ? elf_file_read(elf, offset, bytes, sizeof(bytes))
			      : 0;
	struct cfi_reader r = cfi_reader_of(bytes, got > 0 ? (size_t)got : 0), sites;
	const struct cfi_section section = {.data = bytes, .vaddr = vaddr};
	uint8_t encoding;

	encoding = cfi_reader_u8(&r);
	if (encoding != 0xff) /* what pads count from; 0, where parts of functions are apart */
		function = cfi_entry_read_address(&section, &r, encoding);
	if (cfi_reader_u8(&r) != 0xff)
		cfi_reader_uleb(&r);
	encoding = cfi_reader_u8(&r);
	sites = cfi_reader_sub(&r, cfi_reader_uleb(&r));
	while (encoding == 1 && cfi_reader_left(&sites)) { /* DW_EH_PE_uleb128 */
		uint64_t pad;

		cfi_reader_uleb(&sites);
		cfi_reader_uleb(&sites);
		pad = cfi_reader_uleb(&sites);
		cfi_reader_uleb(&sites);
		if (!pad || sites.failed)
			continue;
		if (VEC_RESERVE(&pads->items, 1))
			return -ENOMEM;
		pads->items.items[pads->items.count++] = function + pad;
	}
	return 0;
}

/* Whether an FDE's pointer to its table is one: all of a null one is zero, but the first byte of
 * any can be. */
static inline bool landing_has_table(struct cfi_reader data)
{
	while (cfi_reader_left(&data)) {
		if (cfi_reader_u8(&data))
			return true;
	}
	return false;
}

static inline int landing_read_fde(const struct elf_file *elf, const struct cfi_section *section,
				   const struct cfi_entry *fde, struct landing_pads *pads)
{
	uint64_t at = fde->cie_at, start, table;
	struct cfi_entry entry;
	enum cfi_refusal refused;
	struct cfi_reader r = fde->body, data;
	struct cfi_cie cie;
	uint8_t encoding;

	if (at == UINT64_MAX || !cfi_entry_next(section, &at, &entry, &refused) || !entry.is_cie)
		return 0;
	encoding = landing_encoding(section, entry.body);
	cfi_entry_read_cie(section, &entry, &cie);
	if (encoding == 0xff || cie.refused != CFI_ACCEPTED)
		return 0;
	start = cfi_entry_read_address(section, &r, cie.pointer_encoding);
	cfi_entry_read_address(section, &r, cie.pointer_encoding & 0x0f);
	data = cfi_reader_sub(&r, cfi_reader_uleb(&r));
	if (!landing_has_table(data))
		return 0;
	table = cfi_entry_read_address(section, &data, encoding);
	return data.failed ? 0 : landing_read_table(elf, table, start, pads);
}

/* Finds all pads of a file. Returns 0 or an error, with *pads to be freed in either case. */
static inline int landing_pads_find(const struct elf_file *elf, struct landing_pads *pads)
{
	struct cfi_sections sections;
	int err = cfi_section_read(elf, &sections);
	struct cfi_entry entry;
	enum cfi_refusal refused;

	if (err)
		return err;
	for (size_t i = 0; i < sections.count && !err; i++) {
		const struct cfi_section *section = &sections.items[i];

		for (uint64_t at = 0; section->is_eh_frame && !err &&
				      cfi_entry_next(section, &at, &entry, &refused);) {
			if (!entry.is_cie)
				err = landing_read_fde(elf, section, &entry, pads);
		}
	}
	cfi_section_release(&sections);
	return err;
}

#endif
