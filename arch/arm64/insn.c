/* SPDX-License-Identifier: MIT */
/*
 * Instructions of arm64 are not decoded yet: see ../insn.h, ../flow_insn.h, ../data_insn.h and
 * ../disassembler.h. So no rule is made from instructions, no call is followed through code, and
 * `annotate` has no text; what would need that is marked, as it is for code that cannot be read.
 * What a few words of code prove is in code_form.c and call_site.c.
 */
#include "arch/insn.h"

#include <errno.h>

#include "arch/data_insn.h"
#include "arch/disassembler.h"
#include "arch/flow_insn.h"

void insn_decoder_init(struct insn_decoder *ret_decoder)
{
	*ret_decoder = (struct insn_decoder){{0}};
}

unsigned insn_dwarf_number(unsigned reg)
{
	return reg;
}

int insn_saved_index(unsigned reg)
{
	return reg == INSN_FP ? 0 : -1;
}

bool insn_changes_unnamed(const struct insn *insn, const uint8_t *code)
{
	(void)insn, (void)code;
	return true;
}

bool insn_saves_register(const struct insn *insn)
{
	(void)insn;
	return false;
}

bool insn_ends_frame(const struct insn *insn)
{
	(void)insn;
	return false;
}

bool insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct insn *ret_insn)
{
	(void)decoder, (void)code, (void)size, (void)vaddr, (void)ret_insn;
	return false;
}

bool insn_decode_within(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
			size_t at, uint64_t vaddr, struct insn *ret_insn)
{
	(void)at;
	return insn_decode(decoder, code, size, vaddr, ret_insn);
}

bool insn_decode_any(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		     uint64_t vaddr, struct insn *ret_insn)
{
	return insn_decode(decoder, code, size, vaddr, ret_insn);
}

bool flow_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      struct flow_insn *ret_insn)
{
	(void)decoder, (void)code, (void)size, (void)ret_insn;
	return false;
}

bool data_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      uint64_t vaddr, struct data_insn *ret_insn)
{
	(void)decoder, (void)code, (void)size, (void)vaddr, (void)ret_insn;
	return false;
}

/* There is no disassembler; callers get the error of a library that is missing. */
int disassembler_new(bool intel, struct disassembler **ret_disassembler)
{
	(void)intel, (void)ret_disassembler;
	return -ENOMEM;
}

void disassembler_free(struct disassembler *disassembler)
{
	(void)disassembler;
}

bool disassemble(const struct disassembler *disassembler, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct disassembled *ret_insn)
{
	(void)disassembler, (void)code, (void)size, (void)vaddr, (void)ret_insn;
	return false;
}
