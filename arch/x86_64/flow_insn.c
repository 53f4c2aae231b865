/* SPDX-License-Identifier: MIT */
/* Control flow by Zydis; see ../flow_insn.h. To decode operands would take Zydis longer than the
 * rest of the instruction, so this reads the fields of opcode, ModRM and SIB instead. */
#include "arch/flow_insn.h"

#include <Zydis/Zydis.h>

static bool has_memory(const ZydisDecodedInstruction *is)
{
	return is->attributes & ZYDIS_ATTRIB_HAS_MODRM && is->raw.modrm.mod != 3;
}

static unsigned reg_of(const ZydisDecodedInstruction *is)
{
	return is->raw.modrm.reg | (unsigned)is->raw.rex.R << 3;
}

static unsigned rm_of(const ZydisDecodedInstruction *is)
{
	return is->raw.modrm.rm | (unsigned)is->raw.rex.B << 3;
}

/* Returns the register that the opcode of a one-byte form contains. */
static unsigned opcode_reg(const ZydisDecodedInstruction *is)
{
	return (is->opcode & 7) | (unsigned)is->raw.rex.B << 3;
}

/* XABORT and XEND, which Zydis counts among jumps, continue with the next instruction if no
 * transaction fails. */
static enum flow_kind kind_of(const ZydisDecodedInstruction *is)
{
	switch (is->meta.category) {
	case ZYDIS_CATEGORY_CALL:
		return FLOW_CALL;
	case ZYDIS_CATEGORY_RET:
		return FLOW_RETURN;
	case ZYDIS_CATEGORY_UNCOND_BR:
		return is->mnemonic == ZYDIS_MNEMONIC_JMP ? FLOW_JUMP : FLOW_NEXT;
	case ZYDIS_CATEGORY_COND_BR:
		return is->mnemonic == ZYDIS_MNEMONIC_XEND ? FLOW_NEXT : FLOW_BRANCH;
	default:
		break;
	}
	switch (is->mnemonic) {
	case ZYDIS_MNEMONIC_UD0:
	case ZYDIS_MNEMONIC_UD1:
	case ZYDIS_MNEMONIC_UD2:
	case ZYDIS_MNEMONIC_HLT:
	case ZYDIS_MNEMONIC_INT3:
		return FLOW_STOP;
	default:
		return FLOW_NEXT;
	}
}

static void take_branch(const ZydisDecodedInstruction *is, struct flow_insn *i)
{
	i->is_direct = is->raw.imm[0].is_relative;
	if (i->is_direct)
		i->distance = is->raw.imm[0].value.s;
	else if (!has_memory(is))
		i->reg = (uint8_t)rm_of(is);
	i->is_switch = is->attributes & ZYDIS_ATTRIB_HAS_NOTRACK;
}

/* --- values -------------------------------------------------------------------------------- */

static void set(struct flow_insn *i, enum flow_value value, unsigned to)
{
	i->value = (uint8_t)value;
	i->to = (uint8_t)to;
}

static void set_number(struct flow_insn *i, const ZydisDecodedInstruction *is, unsigned to)
{
	set(i, FLOW_VALUE_NUMBER, to);
	i->number = is->raw.imm[0].value.u;
}

/* Returns whether a mov writes to memory: a register, a number, or the first register to a fixed
 * address. */
static bool stores(const ZydisDecodedInstruction *is)
{
	const uint8_t form = is->opcode & 0xfe;

	return has_memory(is) ? form == 0x88 || is->opcode == 0x8c || form == 0xc6 : form == 0xa2;
}

static void take_mov(const ZydisDecodedInstruction *is, struct flow_insn *i)
{
	i->stores_to_thread = is->attributes & ZYDIS_ATTRIB_HAS_SEGMENT_FS && stores(is);
	if (is->opcode == 0x89 && !has_memory(is)) {
		set(i, FLOW_VALUE_COPY, rm_of(is));
		i->from = (uint8_t)reg_of(is);
	} else if (is->opcode == 0x8b && !has_memory(is)) {
		set(i, FLOW_VALUE_COPY, reg_of(is));
		i->from = (uint8_t)rm_of(is);
	} else if (is->opcode == 0x8b) {
		set(i, i->has_address ? FLOW_VALUE_WORD : FLOW_VALUE_OTHER, reg_of(is));
	} else if (is->opcode >= 0xb8 && is->opcode <= 0xbf) {
		set_number(i, is, opcode_reg(is));
	} else if (is->opcode == 0xc7) {
		set_number(i, is, has_memory(is) ? INSN_NO_REG : rm_of(is));
	}
}

static void take_add(const ZydisDecodedInstruction *is, struct flow_insn *i)
{
	i->is_sum = true;
	if (is->operand_width != 64)
		return;
	if (is->opcode == 0x03)
		i->sum = (uint8_t)reg_of(is);
	else if (is->opcode == 0x05) /* adds a number to the first register */
		i->sum = 0;
	else if (!has_memory(is))
		i->sum = (uint8_t)rm_of(is);
}

static void take_value(const ZydisDecodedInstruction *is, struct flow_insn *i)
{
	switch (is->mnemonic) {
	case ZYDIS_MNEMONIC_LEA:
		set(i, i->has_address ? FLOW_VALUE_ADDRESS : FLOW_VALUE_OTHER, reg_of(is));
		break;
	case ZYDIS_MNEMONIC_MOV:
		take_mov(is, i);
		break;
	case ZYDIS_MNEMONIC_PUSH:
		i->pushes_number = is->opcode == 0x68 || is->opcode == 0x6a;
		if (i->pushes_number)
			set_number(i, is, INSN_NO_REG);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (!has_memory(is))
			set(i, FLOW_VALUE_OTHER, opcode_reg(is));
		break;
	case ZYDIS_MNEMONIC_ADD:
		take_add(is, i);
		break;
	case ZYDIS_MNEMONIC_XOR:
		i->clears_fp = !has_memory(is) && reg_of(is) == INSN_FP && rm_of(is) == INSN_FP;
		break;
	default:
		break;
	}
}

bool flow_insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		      struct flow_insn *ret_insn)
{
	const ZydisDecoder *zydis = (const ZydisDecoder *)decoder->state;
	struct flow_insn *i = ret_insn;
	ZydisDecodedInstruction is;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(zydis, NULL, code, size, &is)))
		return false;
	*i = (struct flow_insn){.length = is.length,
				.kind = (uint8_t)kind_of(&is),
				.to = INSN_NO_REG,
				.from = INSN_NO_REG,
				.reg = INSN_NO_REG,
				.sum = INSN_NO_REG};
	if (has_memory(&is) && is.raw.modrm.mod == 0 && is.raw.modrm.rm == 5) {
		i->has_address = true;
		i->distance = is.raw.disp.value;
	}
	if (is.attributes & ZYDIS_ATTRIB_HAS_SIB && (is.raw.sib.index != 4 || is.raw.rex.X))
		i->scale = (uint8_t)(1 << is.raw.sib.scale);
	i->is_mark = is.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	i->stops_prediction = is.mnemonic == ZYDIS_MNEMONIC_PAUSE ||
			      is.mnemonic == ZYDIS_MNEMONIC_LFENCE ||
			      is.mnemonic == ZYDIS_MNEMONIC_INT3;
	if (i->kind == FLOW_CALL || i->kind == FLOW_JUMP || i->kind == FLOW_BRANCH)
		take_branch(&is, i);
	else
		take_value(&is, i);
	return true;
}
