/* SPDX-License-Identifier: MIT */
/*
 * Recognises stubs; see callflow_stub.h. Their forms, each with or without a landing pad before it:
 *
 *   jmp *slot                            an entry of a PLT; also a jump through a register
 *   push $n; jmp x                       the lazy half of one
 *   call over; pause; ...                a retpoline: the call pushes the address that its `ret`
 *                                        then takes, after another was written over it
 *
 * A relocation fills the slot of a PLT. If it names a symbol that the file does not define, the
 * stub leads out of the file, so a call of the stub cannot have led to code of the same file. The
 * exception is the PLT itself, if symbols are bound at their first call:
 *
 *   jmp *slot ─► push $n; jmp PLT0 ─► push GOT[1]; jmp *GOT[2] ─► the dynamic linker's resolver
 *
 * Until then, the slot points into the file: to the lazy half, which pushes the relocation's
 * number. GOT[2] has no relocation: the dynamic linker stores its resolver there; DT_PLTGOT has the
 * address of the GOT. The resolver ends in a jump to the function.
 */
#include "callflow/callflow_stub.h"

#include <gelf.h>
#include <libelf.h>

#include "arch/target.h"

#define MAX_CODE	16 /* bytes that are read for an instruction */
#define MAX_RELOCATIONS (1 << 20)
#define MAX_DYNAMIC	4096 /* limit of the entries of the dynamic section */

bool callflow_decode_at(const struct insn_decoder *decoder,
			const struct callflow_location *location, struct flow_insn *ret)
{
	uint8_t bytes[MAX_CODE];
	int64_t got = elf_file_read(location->object->elf, location->offset, bytes, sizeof(bytes));

	return got > 0 && flow_insn_decode(decoder, bytes, (size_t)got, ret);
}

/* --- relocations ----------------------------------------------------------------------------- */

/* Gives the symbol that a relocation names. Returns false if it names none. */
static bool find_symbol(Elf *elf, size_t section, uint64_t number, GElf_Sym *ret_symbol)
{
	Elf_Scn *scn = elf_getscn(elf, section);
	Elf_Data *data = scn ? elf_getdata(scn, NULL) : NULL;

	return number && number < INT32_MAX && data && data->d_buf &&
	       gelf_getsym(data, (int)number, ret_symbol);
}

/* Searches one section for the relocation of `slot`. Returns 1: the relocation names a symbol; 0:
 * it names none, and *ret_rela is the relocation; -1: it was not found. */
static int relocation_in(Elf *elf, Elf_Scn *scn, const GElf_Shdr *header, uint64_t slot,
			 GElf_Rela *ret_rela, GElf_Sym *ret_symbol)
{
	Elf_Data *data = elf_getdata(scn, NULL);
	size_t n = data && data->d_buf ? data->d_size / sizeof(Elf64_Rela) : 0;

	for (size_t i = 0; i < n && i < MAX_RELOCATIONS; i++) {
		if (!gelf_getrela(data, (int)i, ret_rela) || ret_rela->r_offset != slot)
			continue;
		return find_symbol(elf, header->sh_link, GELF_R_SYM(ret_rela->r_info), ret_symbol);
	}
	return -1;
}

/* Returns whether a jump or call goes through a word at a fixed address, and gives the word's
 * vaddr.
 */
static bool word_of(const struct callflow_location *location, const struct flow_insn *jump,
		    uint64_t *ret_vaddr)
{
	if ((jump->kind != FLOW_JUMP && jump->kind != FLOW_CALL) || !jump->has_address ||
	    !elf_file_offset_to_vaddr(location->object->elf, location->offset, ret_vaddr))
		return false;
	*ret_vaddr = flow_insn_target(jump, *ret_vaddr);
	return true;
}

/* Finds the relocation that fills a word. Returns as relocation_in(). */
static int find_relocation(const struct callflow_location *location, uint64_t word,
			   GElf_Rela *ret_rela, GElf_Sym *ret_symbol)
{
	Elf *elf = elf_file_libelf(location->object->elf);
	Elf_Scn *scn = NULL;
	int found = -1;

	while (elf && found < 0 && (scn = elf_nextscn(elf, scn)) != NULL) {
		GElf_Shdr header;

		if (gelf_getshdr(scn, &header) && header.sh_type == SHT_RELA &&
		    header.sh_flags & SHF_ALLOC)
			found = relocation_in(elf, scn, &header, word, ret_rela, ret_symbol);
	}
	return found;
}

/* Gives the symbol of the relocation that fills a word. Returns false if it names none. */
static bool symbol_of(const struct callflow_location *location, uint64_t word, GElf_Sym *ret_symbol)
{
	GElf_Rela rela;

	return find_relocation(location, word, &rela, ret_symbol) == 1;
}

/* Returns the vaddr in the same file that a word always holds: the dynamic linker fills it, and
 * then write-protects it. 0: it may hold others. */
static uint64_t constant_of(const struct callflow_location *location, uint64_t word)
{
	const struct elf_file *elf = location->object->elf;
	const Elf64_Phdr *headers;
	GElf_Rela rela;
	GElf_Sym symbol;
	size_t n;

	headers = elf_file_program_headers(elf, &n);
	while (n &&
	       (headers->p_type != PT_GNU_RELRO || word - headers->p_vaddr >= headers->p_memsz))
		headers++, n--;
	if (!n || find_relocation(location, word, &rela, &symbol) != 0 ||
	    target_relocation((uint32_t)GELF_R_TYPE(rela.r_info)) != TARGET_RELOCATION_RELATIVE)
		return 0;
	return (uint64_t)rela.r_addend;
}

/* Returns whether a word is GOT[2], which has the address of the dynamic linker's resolver. */
static bool is_resolvers(const struct callflow_location *location, uint64_t word)
{
	const struct elf_file *elf = location->object->elf;
	const Elf64_Phdr *headers;
	Elf64_Dyn entry;
	size_t n;

	headers = elf_file_program_headers(elf, &n);
	while (n && headers->p_type != PT_DYNAMIC)
		headers++, n--;
	for (uint64_t at = 0; n && at + sizeof(entry) <= headers->p_filesz; at += sizeof(entry)) {
		if (at >= MAX_DYNAMIC * sizeof(entry) ||
		    !elf_file_read_whole(elf, headers->p_offset + at, &entry, sizeof(entry)) ||
		    entry.d_tag == DT_NULL)
			return false;
		if (entry.d_tag == DT_PLTGOT)
			return word == entry.d_un.d_ptr + 2 * sizeof(uint64_t);
	}
	return false;
}

static bool leads_outside(const struct callflow_location *location, const struct flow_insn *jump)
{
	GElf_Sym symbol;
	uint64_t word;

	if (!word_of(location, jump, &word))
		return false;
	if (symbol_of(location, word, &symbol))
		return symbol.st_shndx == SHN_UNDEF;
	return is_resolvers(location, word);
}

uint64_t callflow_stub_own_target(const struct insn_decoder *decoder,
				  const struct callflow_location *location)
{
	struct flow_insn jump;
	GElf_Sym symbol;
	uint64_t word;

	if (!callflow_decode_at(decoder, location, &jump) || !word_of(location, &jump, &word) ||
	    !symbol_of(location, word, &symbol) || symbol.st_shndx == SHN_UNDEF ||
	    GELF_ST_TYPE(symbol.st_info) != STT_FUNC)
		return 0;
	return symbol.st_value;
}

uint64_t callflow_stub_unbound_target(const struct insn_decoder *decoder,
				      const struct callflow_location *at)
{
	const struct elf_file *elf = at->object->elf;
	struct callflow_location location = *at;
	struct flow_insn i;
	uint64_t word, offset, target;

	if (callflow_decode_at(decoder, &location, &i) && i.is_mark)
		location.offset += i.length;
	if (!callflow_decode_at(decoder, &location, &i) || !word_of(&location, &i, &word) ||
	    !elf_file_vaddr_to_offset(elf, word, &offset) ||
	    !elf_file_read_whole(elf, offset, &target, sizeof(target)))
		return 0;
	return target;
}

bool callflow_stub_is_linked_call(const struct insn_decoder *decoder,
				  const struct callflow_location *location, uint64_t *ret_target)
{
	struct flow_insn call;
	GElf_Sym symbol;
	uint64_t word;

	if (!callflow_decode_at(decoder, location, &call) || call.kind != FLOW_CALL ||
	    !word_of(location, &call, &word))
		return false;
	if (symbol_of(location, word, &symbol)) {
		*ret_target = symbol.st_shndx == SHN_UNDEF ? 0 : symbol.st_value;
		return true;
	}
	*ret_target = constant_of(location, word);
	return *ret_target;
}

/* --- shapes ---------------------------------------------------------------------------------- */

static bool is_retpoline(const struct insn_decoder *decoder, struct callflow_location location,
			 struct flow_insn i)
{
	uint64_t to = i.is_direct ? flow_insn_target(&i, location.offset) : 0;

	location.offset += i.length;
	return to - location.offset <= 16 && callflow_decode_at(decoder, &location, &i) &&
	       i.stops_prediction;
}

enum callflow_stub callflow_stub_at(const struct insn_decoder *decoder,
				    const struct callflow_location *at)
{
	struct callflow_location location = *at;
	struct flow_insn i;
	bool pushed = false;

	for (int n = 0; n < 3 && callflow_decode_at(decoder, &location, &i); n++) {
		if (i.kind == FLOW_JUMP && i.is_direct)
			return pushed ? CALLFLOW_STUB_ANYWHERE : CALLFLOW_STUB_NONE;
		if (i.kind == FLOW_JUMP)
			return leads_outside(&location, &i) ? CALLFLOW_STUB_OUTSIDE
							    : CALLFLOW_STUB_ANYWHERE;
		if (i.kind == FLOW_CALL && n == 0 && is_retpoline(decoder, location, i))
			return CALLFLOW_STUB_ANYWHERE;
		if (!i.is_mark && (pushed || !i.pushes_number))
			return CALLFLOW_STUB_NONE;
		pushed |= i.pushes_number;
		location.offset += i.length;
	}
	return CALLFLOW_STUB_NONE;
}
