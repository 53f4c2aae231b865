/* SPDX-License-Identifier: MIT */
/*
 * Reads executable sections, and handles DWARF outside of them; see code_sections.h.
 *
 * In a line table, a sequence begins with DW_LNE_set_address: the bytes 0 (an extended opcode), 9
 * (its length), 2, and the address. The table is not decoded, but searched for these bytes followed
 * by the address of a discarded function: eleven bytes of which eight are equal do not occur
 * otherwise.
 */
#include "sym/code_sections.h"

#include <errno.h>
#include <gelf.h>
#include <stdlib.h>
#include <string.h>

#include "base/vec.h"

#define SET_ADDRESS_BYTES 3
#define OUT_OF_THE_WAY	  (UINT64_C(1) << 63) /* no user code is there; sums do not wrap */

int code_sections_read(Elf *elf, struct code_sections *sections)
{
	Elf_Scn *scn = NULL;

	while ((scn = elf_nextscn(elf, scn))) {
		GElf_Shdr shdr;
		uint64_t end;

		if (!gelf_getshdr(scn, &shdr) ||
		    (shdr.sh_flags & (SHF_ALLOC | SHF_EXECINSTR)) != (SHF_ALLOC | SHF_EXECINSTR) ||
		    __builtin_add_overflow(shdr.sh_addr, shdr.sh_size, &end))
			continue;
		if (VEC_GROW(sections->sections, sections->cap, sections->count + 1) < 0)
			return -ENOMEM;
		sections->sections[sections->count++] =
			(struct code_section){.start = shdr.sh_addr, .end = end};
	}
	return 0;
}

void code_sections_free(struct code_sections *sections)
{
	free(sections->sections);
	*sections = (struct code_sections){0};
}

bool code_sections_hold(const struct code_sections *sections, uint64_t start, uint64_t end)
{
	for (size_t i = 0; i < sections->count; i++)
		if (start >= sections->sections[i].start && start < end &&
		    end <= sections->sections[i].end)
			return true;
	return false;
}

/* Returns whether an address is a number that linkers write for a discarded function, and there is
 * no code at it. */
static bool is_discarded(const struct code_sections *sections, uint64_t vaddr)
{
	return (vaddr <= 1 || vaddr >= UINT64_MAX - 1) &&
	       (vaddr == UINT64_MAX || !code_sections_hold(sections, vaddr, vaddr + 1));
}

static Elf_Data *line_table(Elf *elf)
{
	Elf_Scn *scn = NULL;
	size_t names;

	if (elf_getshdrstrndx(elf, &names))
		return NULL;
	while ((scn = elf_nextscn(elf, scn))) {
		const char *name;
		GElf_Shdr shdr;

		if (!gelf_getshdr(scn, &shdr) || shdr.sh_type == SHT_NOBITS)
			continue;
		name = elf_strptr(elf, names, shdr.sh_name);
		if (name && (!strcmp(name, ".debug_line") || !strcmp(name, ".zdebug_line")))
			return elf_rawdata(scn, NULL);
	}
	return NULL;
}

void code_sections_move_discarded_lines(const struct code_sections *sections, Elf *elf)
{
	static const uint8_t set_address[SET_ADDRESS_BYTES] = {0, 9, 2};
	const uint64_t moved = OUT_OF_THE_WAY;
	const Elf_Data *data = line_table(elf);
	uint8_t *at = data ? data->d_buf : NULL, *end = at ? at + data->d_size : NULL;

	while (at && (at = memmem(at, (size_t)(end - at), set_address, sizeof(set_address)))) {
		uint64_t address;

		at += sizeof(set_address);
		if ((size_t)(end - at) < sizeof(address))
			break;
		memcpy(&address, at, sizeof(address));
		if (is_discarded(sections, address))
			memcpy(at, &moved, sizeof(moved));
	}
}
