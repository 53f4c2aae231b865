/* SPDX-License-Identifier: MIT */
/* Reduces operands that Zydis has decoded; see ../data_insn.h. */
#include "arch/data_insn.h"

#include <Zydis/Zydis.h>

static uint8_t number_of(ZydisRegister reg)
{
	ZydisRegister whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);

	return whole >= ZYDIS_REGISTER_RAX && whole <= ZYDIS_REGISTER_R15
		       ? (uint8_t)(whole - ZYDIS_REGISTER_RAX)
		       : INSN_NO_REG;
}

/* Returns whether memory is thread-local, relative to %fs or %gs. */
static bool is_of_thread(const ZydisDecodedOperand *o)
{
	return o->mem.segment == ZYDIS_REGISTER_FS || o->mem.segment == ZYDIS_REGISTER_GS;
}

static struct data_operand operand_of(const ZydisDecodedOperand *o, uint64_t next)
{
	struct data_operand is = {.reg = INSN_NO_REG};

	if (o->type == ZYDIS_OPERAND_TYPE_REGISTER) {
		is.kind = DATA_REGISTER;
		is.reg = number_of(o->reg.value);
	} else if (o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		is.kind = DATA_NUMBER;
		is.number = o->imm.value.s;
	} else if (o->type != ZYDIS_OPERAND_TYPE_MEMORY || is_of_thread(o)) {
		return is;
	} else if (o->mem.base == ZYDIS_REGISTER_RIP) {
		is.kind = DATA_FIXED;
		is.number = (int64_t)(next + (uint64_t)o->mem.disp.value);
	} else if (o->mem.index == ZYDIS_REGISTER_NONE && number_of(o->mem.base) != INSN_NO_REG) {
		is.kind = DATA_BASED;
		is.reg = number_of(o->mem.base);
		is.number = o->mem.disp.value;
	}
	return is;
}

static enum data_operation operation_of(const ZydisDecodedInstruction *is)
{
	switch (is->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_MOVSXD:
		return DATA_MOVE;
	case ZYDIS_MNEMONIC_LEA:
		return DATA_ADDRESS;
	case ZYDIS_MNEMONIC_ADD:
		return DATA_ADD;
	case ZYDIS_MNEMONIC_IMUL:
		return DATA_MULTIPLY;
	case ZYDIS_MNEMONIC_AND:
		return DATA_AND;
	case ZYDIS_MNEMONIC_CMP:
		return DATA_COMPARE;
	case ZYDIS_MNEMONIC_SETZ:
		return DATA_SET_IF_EQUAL;
	case ZYDIS_MNEMONIC_POP:
		return DATA_RESTORE;
	case ZYDIS_MNEMONIC_CALL:
		return DATA_CALL;
	case ZYDIS_MNEMONIC_JMP:
	case ZYDIS_MNEMONIC_RET:
		return DATA_LEAVE;
	default:
		return DATA_OTHER;
	}
}

bool data_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      uint64_t vaddr, struct data_insn *ret_insn)
{
	const ZydisDecoder *zydis = (const ZydisDecoder *)decoder->state;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction is;
	struct data_insn *i = ret_insn;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeFull(zydis, code, size, &is, operands)))
		return false;
	*i = (struct data_insn){.length = is.length,
				.operation = (uint8_t)operation_of(&is),
				.count = is.operand_count_visible};
	for (unsigned o = 0; o < DATA_OPERANDS; o++)
		i->operands[o] = o < is.operand_count_visible
					 ? operand_of(&operands[o], vaddr + is.length)
					 : (struct data_operand){.reg = INSN_NO_REG};
	for (unsigned o = 0; o < is.operand_count; o++) {
		const ZydisDecodedOperand *operand = &operands[o];

		if (operand->type == ZYDIS_OPERAND_TYPE_REGISTER &&
		    operand->actions & ZYDIS_OPERAND_ACTION_MASK_WRITE &&
		    number_of(operand->reg.value) != INSN_NO_REG)
			i->written |= 1u << number_of(operand->reg.value);
	}
	return true;
}
