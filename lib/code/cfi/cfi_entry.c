/* SPDX-License-Identifier: MIT */
/*
 * Reads CIEs and FDEs; see cfi_entry.h.
 *
 *   .eh_frame     u32 length | u32 0 or distance back to the CIE | body
 *   .debug_frame  u32 length | u32 ~0 or offset of the CIE       | body
 *
 * A length of 0xffffffff is followed by the true length in 64 bits. Then .debug_frame's second
 * field has 64 bits, too, while .eh_frame's still has 32.
 *
 * Pointers through memory (DW_EH_PE_indirect) are refused for addresses, since that memory is a
 * process's, and only the file is read here. Pointers relative to the data segment are refused as
 * well: no tool emits them in these sections, and a guessed base would give wrong recipes.
 */
#include "cfi/cfi_entry.h"

#include <dwarf.h>

#include "cfi/cfi_machine.h"

#define ENCODING_FORMAT 0x0f /* bits of a pointer's encoding that say how it is stored */
#define ENCODING_BASE	0x70 /* bits that say to which base it is added */

/* Reads the CIE pointer; in .eh_frame it is relative to its own position. */
static void read_cie_pointer(const struct cfi_section *section, struct cfi_entry *entry)
{
	uint64_t field = (uint64_t)(entry->body.at - section->data), v;

	if (section->is_eh_frame) {
		v = cfi_reader_u32(&entry->body);
		entry->is_cie = !v;
		entry->cie_at = v <= field ? field - v : UINT64_MAX;
		return;
	}
	v = entry->is_64bit ? cfi_reader_u64(&entry->body) : cfi_reader_u32(&entry->body);
	entry->is_cie = v == (entry->is_64bit ? UINT64_MAX : UINT32_MAX);
	entry->cie_at = v;
}

bool cfi_entry_next(const struct cfi_section *section, uint64_t *at, struct cfi_entry *ret_entry,
		    enum cfi_refusal *ret_refused)
{
	struct cfi_reader r;
	uint64_t len = 0;

	*ret_refused = CFI_ACCEPTED;
	if (*at >= section->size)
		return false;
	r = cfi_reader_of(section->data + *at, section->size - *at);
	while (!len && cfi_reader_left(&r) >= 4) {
		*ret_entry = (struct cfi_entry){.at = (uint64_t)(r.at - section->data)};
		len = cfi_reader_u32(&r);
	}
	if (!len)
		return false;
	ret_entry->is_64bit = len == UINT32_MAX;
	if (ret_entry->is_64bit)
		len = cfi_reader_u64(&r);
	ret_entry->body = cfi_reader_sub(&r, len);
	if (!r.failed)
		read_cie_pointer(section, ret_entry);
	if (ret_entry->body.failed) {
		*ret_refused = CFI_REFUSED_ENTRY_LENGTH;
		return false;
	}
	*at = (uint64_t)(r.at - section->data);
	return true;
}

/* --- pointers ------------------------------------------------------------------------------ */

/* Reads the stored value of an encoded pointer, without its base. */
static uint64_t read_stored(struct cfi_reader *r, uint8_t encoding)
{
	switch (encoding & ENCODING_FORMAT) {
	case DW_EH_PE_absptr:
	case DW_EH_PE_udata8:
	case DW_EH_PE_sdata8:
		return cfi_reader_u64(r);
	case DW_EH_PE_uleb128:
		return cfi_reader_uleb(r);
	case DW_EH_PE_sleb128:
		return (uint64_t)cfi_reader_sleb(r);
	case DW_EH_PE_udata2:
		return cfi_reader_u16(r);
	case DW_EH_PE_sdata2:
		return (uint64_t)(int16_t)cfi_reader_u16(r);
	case DW_EH_PE_udata4:
		return cfi_reader_u32(r);
	case DW_EH_PE_sdata4:
		return (uint64_t)(int32_t)cfi_reader_u32(r);
	}
	cfi_reader_fail(r);
	return 0;
}

static bool encoding_is_known(uint8_t encoding)
{
	static const uint16_t formats =
		1 << DW_EH_PE_absptr | 1 << DW_EH_PE_udata8 | 1 << DW_EH_PE_sdata8 |
		1 << DW_EH_PE_uleb128 | 1 << DW_EH_PE_sleb128 | 1 << DW_EH_PE_udata2 |
		1 << DW_EH_PE_sdata2 | 1 << DW_EH_PE_udata4 | 1 << DW_EH_PE_sdata4;

	return formats >> (encoding & ENCODING_FORMAT) & 1;
}

static bool is_aligned(uint8_t encoding)
{
	return (encoding & ENCODING_BASE) == DW_EH_PE_aligned;
}

static bool encoding_is_address(uint8_t encoding)
{
	uint8_t base = encoding & ENCODING_BASE;

	return encoding_is_known(encoding) && !(encoding & DW_EH_PE_indirect) &&
	       (base == DW_EH_PE_absptr || base == DW_EH_PE_pcrel || base == DW_EH_PE_textrel);
}

/* Reads an address. The text base is 0, as for every unwinder on this platform. */
uint64_t cfi_entry_read_address(const struct cfi_section *section, struct cfi_reader *r,
				uint8_t encoding)
{
	uint64_t field = section->vaddr + (uint64_t)(r->at - section->data);
	uint64_t v = read_stored(r, encoding);

	return (encoding & ENCODING_BASE) == DW_EH_PE_pcrel ? v + field : v;
}

/* --- CIE ----------------------------------------------------------------------------------- */

/* Reads the letters of the string, each with its part of the augmentation data in `data`. */
static enum cfi_refusal read_augmentation(const char *letters, struct cfi_reader *data,
					  struct cfi_cie *cie)
{
	for (; *letters; letters++) {
		uint8_t encoding;

		switch (*letters) {
		case 'R': /* how FDEs encode addresses */
			cie->pointer_encoding = cfi_reader_u8(data);
			break;
		case 'P': /* a personality routine */
			encoding = cfi_reader_u8(data);
			if (!encoding_is_known(encoding) || is_aligned(encoding))
				return CFI_REFUSED_CIE_ENCODING;
			read_stored(data, encoding);
			break;
		case 'L': /* how FDEs encode the pointer to exception tables */
			cfi_reader_u8(data);
			cie->has_handlers = true;
			break;
		case 'S':
			cie->is_signal_frame = true;
			break;
		case 'B': /* pointer authentication: no data */
			break;
		default:
			return CFI_REFUSED_CIE_AUGMENTATION;
		}
	}
	if (data->failed)
		return CFI_REFUSED_CIE_MALFORMED;
	return encoding_is_address(cie->pointer_encoding) ? CFI_ACCEPTED : CFI_REFUSED_CIE_ENCODING;
}

/* Checks the CIE's version and, in version 4, the sizes after the augmentation string. */
static bool version_is_known(uint8_t version, struct cfi_reader *r)
{
	if (version == 4) {
		uint8_t address_size = cfi_reader_u8(r), segment_size = cfi_reader_u8(r);

		return address_size == 8 && !segment_size;
	}
	return version == 1 || version == 3;
}

static enum cfi_refusal read_cie(struct cfi_reader *r, struct cfi_cie *cie)
{
	uint8_t version = cfi_reader_u8(r);
	const char *letters = (const char *)r->at;
	const uint8_t *zero = cfi_reader_left(r) ? memchr(r->at, 0, cfi_reader_left(r)) : NULL;
	struct cfi_reader data = cfi_reader_of(NULL, 0);
	uint64_t ra;

	if (!zero)
		return CFI_REFUSED_CIE_MALFORMED;
	r->at = zero + 1;
	if (!version_is_known(version, r))
		return CFI_REFUSED_CIE_VERSION;
	cie->code_align = cfi_reader_uleb(r);
	cie->data_align = cfi_reader_sleb(r);
	ra = version == 1 ? cfi_reader_u8(r) : cfi_reader_uleb(r);
	if (*letters == 'z') {
		cie->has_augmentation_data = true;
		data = cfi_reader_sub(r, cfi_reader_uleb(r));
		letters++;
	} else if (*letters) {
		return CFI_REFUSED_CIE_AUGMENTATION;
	}
	if (r->failed || ra != ARCH_CFI_RETURN)
		return CFI_REFUSED_CIE_MALFORMED;
	return read_augmentation(letters, &data, cie);
}

void cfi_entry_read_cie(const struct cfi_section *section, const struct cfi_entry *entry,
			struct cfi_cie *ret_cie)
{
	struct cfi_reader r = entry->body;

	*ret_cie = (struct cfi_cie){
		.at = entry->at,
		.rows = CFI_ACCEPTED,
		.initial.refused = CFI_REFUSED_CFA_MISSING,
	};
	ret_cie->refused = read_cie(&r, ret_cie);
	if (ret_cie->refused == CFI_ACCEPTED)
		ret_cie->rows = cfi_machine_run_cie(section, ret_cie, r);
}

/* --- FDE ----------------------------------------------------------------------------------- */

enum cfi_refusal cfi_entry_read_fde(const struct cfi_section *section,
				    const struct cfi_entry *entry, const struct cfi_cie *cie,
				    struct cfi_fde *ret_fde)
{
	struct cfi_reader r = entry->body;
	uint64_t start, len;

	if (cie->refused != CFI_ACCEPTED)
		return cie->refused;
	start = cfi_entry_read_address(section, &r, cie->pointer_encoding);
	len = read_stored(&r, cie->pointer_encoding);
	if (cie->has_augmentation_data)
		cfi_reader_block(&r, cfi_reader_uleb(&r));
	if (r.failed || __builtin_add_overflow(start, len, &ret_fde->end))
		return CFI_REFUSED_FDE_MALFORMED;
	if (!len)
		return CFI_REFUSED_FDE_EMPTY;
	ret_fde->start = start;
	ret_fde->instructions = r;
	return CFI_ACCEPTED;
}
