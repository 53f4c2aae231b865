/* SPDX-License-Identifier: MIT */
/* Formats instructions with Zydis, and pads no numbers; see ../disassembler.h. */
#include "arch/disassembler.h"

#include <Zydis/Zydis.h>
#include <errno.h>
#include <stdlib.h>

struct disassembler {
	ZydisDecoder decoder;
	ZydisFormatter formatter;
};

int disassembler_new(bool intel, struct disassembler **ret_disassembler)
{
	struct disassembler *d = calloc(1, sizeof(*d));

	if (!d)
		return -ENOMEM;
	ZydisDecoderInit(&d->decoder, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64);
	ZydisFormatterInit(&d->formatter,
			   intel ? ZYDIS_FORMATTER_STYLE_INTEL : ZYDIS_FORMATTER_STYLE_ATT);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_ADDR_PADDING_ABSOLUTE,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_IMM_PADDING,
				  ZYDIS_PADDING_DISABLED);
	ZydisFormatterSetProperty(&d->formatter, ZYDIS_FORMATTER_PROP_DISP_PADDING,
				  ZYDIS_PADDING_DISABLED);
	*ret_disassembler = d;
	return 0;
}

void disassembler_free(struct disassembler *d)
{
	free(d);
}

bool disassemble(const struct disassembler *d, const uint8_t *code, size_t size, uint64_t vaddr,
		 struct disassembled *ret_insn)
{
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(&d->decoder, code, size, &is, operands)) ||
	    !ZYAN_SUCCESS(ZydisFormatterFormatInstruction(&d->formatter, &is, operands,
							  is.operand_count_visible, ret_insn->text,
							  sizeof(ret_insn->text), vaddr, NULL)))
		return false;
	ret_insn->length = is.length;
	ret_insn->has_target =
		is.operand_count_visible && operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE &&
		operands[0].imm.is_relative &&
		ZYAN_SUCCESS(ZydisCalcAbsoluteAddress(&is, &operands[0], vaddr, &ret_insn->target));
	return true;
}
