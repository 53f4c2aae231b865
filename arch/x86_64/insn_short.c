/* SPDX-License-Identifier: MIT */
/*
 * Decodes by a table of one-byte opcodes, a function for opcodes after 0f, and functions for
 * control flow (see insn_short.h). Whatever is less simple is left to Zydis: instructions with
 * other prefixes, operands of 16 bits, or a reserved encoding.
 *
 *   [66|f2|f3 before 0f] [REX] opcode [ModRM [SIB] [displacement]] [immediate]
 */
#include "arch/x86_64/insn_short.h"

#include <string.h>

#include "arch/insn.h"

#define READ	   ZYDIS_OPERAND_ACTION_READ
#define WRITE	   ZYDIS_OPERAND_ACTION_WRITE
#define READ_WRITE ZYDIS_OPERAND_ACTION_READWRITE
#define RSP_BIT	   (1u << INSN_SP)
#define RBP_BIT	   (1u << INSN_FP)

#define REX_W 8
#define REX_R 4
#define REX_X 2
#define REX_B 1

struct cursor {
	const uint8_t *code;
	size_t size, at;
	uint8_t prefix; /* 66, f2, f3, or 0 */
	uint8_t rex;	/* 0: none */
	bool is_short;	/* the instruction needs more bytes than there are */
};

static uint8_t take(struct cursor *c)
{
	if (c->at >= c->size) {
		c->is_short = true;
		return 0;
	}
	return c->code[c->at++];
}

static int32_t take_signed(struct cursor *c, unsigned bytes)
{
	uint32_t value = 0;

	if (bytes > c->size - c->at) {
		c->is_short = true;
		return 0;
	}
	memcpy(&value, c->code + c->at, bytes);
	c->at += bytes;
	return bytes == 1 ? (int8_t)value : (int32_t)value;
}

/* --- operands ------------------------------------------------------------------------------ */

/* Makes an operand of a register of 8, 32 or 64 bits. */
static void set_register(ZydisDecodedOperand *o, const struct cursor *c, unsigned number,
			 unsigned bits, unsigned actions)
{
	o->type = ZYDIS_OPERAND_TYPE_REGISTER;
	o->size = (uint16_t)bits;
	o->actions = (ZydisOperandActions)actions;
	if (bits == 64)
		o->reg.value = (ZydisRegister)(ZYDIS_REGISTER_RAX + number);
	else if (bits == 32)
		o->reg.value = (ZydisRegister)(ZYDIS_REGISTER_EAX + number);
	else /* ah to bh have the number of their whole registers, as al has */
		o->reg.value = (ZydisRegister)(ZYDIS_REGISTER_EAX +
					       (!c->rex && number >= 4 && number < 8 ? number - 4
										     : number));
}

static void set_immediate(ZydisDecodedOperand *o, int64_t value)
{
	o->type = ZYDIS_OPERAND_TYPE_IMMEDIATE;
	o->imm.value.s = value;
}

static void take_sib(struct cursor *c, unsigned mod, ZydisDecodedOperand *o)
{
	uint8_t sib = take(c);
	unsigned index = (sib >> 3 & 7) | (c->rex & REX_X ? 8 : 0);
	unsigned base = (sib & 7) | (c->rex & REX_B ? 8 : 0);

	if (index != INSN_SP) {
		o->mem.index = (ZydisRegister)(ZYDIS_REGISTER_RAX + index);
		o->mem.scale = (uint8_t)(1u << (sib >> 6));
	}
	if (mod || (sib & 7) != 5)
		o->mem.base = (ZydisRegister)(ZYDIS_REGISTER_RAX + base);
	else
		o->mem.disp.value = take_signed(c, 4);
}

static void take_memory(struct cursor *c, uint8_t modrm, ZydisDecodedOperand *o, unsigned bits)
{
	unsigned mod = modrm >> 6, rm = modrm & 7;

	o->type = ZYDIS_OPERAND_TYPE_MEMORY;
	o->size = (uint16_t)bits;
	o->mem.segment = ZYDIS_REGISTER_DS;
	o->mem.base = o->mem.index = ZYDIS_REGISTER_NONE;
	o->mem.disp.value = 0;
	if (rm == 4) {
		take_sib(c, mod, o);
	} else if (!mod && rm == 5) {
		o->mem.base = ZYDIS_REGISTER_RIP;
		o->mem.disp.value = take_signed(c, 4);
	} else {
		o->mem.base =
			(ZydisRegister)(ZYDIS_REGISTER_RAX + (rm | (c->rex & REX_B ? 8u : 0u)));
	}
	if (mod == 1 || mod == 2)
		o->mem.disp.value = take_signed(c, mod == 1 ? 1 : 4);
}

/* Takes the operand that ModRM says is a register or memory. */
static void take_either(struct cursor *c, uint8_t modrm, ZydisDecodedOperand *o, unsigned bits,
			unsigned actions)
{
	if (modrm >> 6 == 3)
		set_register(o, c, (modrm & 7u) | (c->rex & REX_B ? 8u : 0u), bits, actions);
	else
		take_memory(c, modrm, o, bits);
}

static unsigned reg_of(const struct cursor *c, uint8_t modrm)
{
	return (modrm >> 3 & 7u) | (c->rex & REX_R ? 8u : 0u);
}

/* --- opcodes of one byte ------------------------------------------------------------------- */

enum form {
	NO_FORM,
	TO_EITHER, /* either, register */
	TO_REGISTER,
	BY_GROUP, /* either, immediate: ModRM has the operation */
	TO_ACCUMULATOR,
	SHIFT, /* either, by an immediate, 1 or cl */
	OTHER_FORM,
};

static const ZydisMnemonic sums[8] = {
	ZYDIS_MNEMONIC_ADD, ZYDIS_MNEMONIC_OR,	ZYDIS_MNEMONIC_ADC, ZYDIS_MNEMONIC_SBB,
	ZYDIS_MNEMONIC_AND, ZYDIS_MNEMONIC_SUB, ZYDIS_MNEMONIC_XOR, ZYDIS_MNEMONIC_CMP,
};

static unsigned actions_of(ZydisMnemonic name)
{
	if (name == ZYDIS_MNEMONIC_CMP || name == ZYDIS_MNEMONIC_TEST)
		return READ;
	return name == ZYDIS_MNEMONIC_MOV || name == ZYDIS_MNEMONIC_LEA ? WRITE : READ_WRITE;
}

static enum form form_of(uint8_t opcode, ZydisMnemonic *ret_name)
{
	if (opcode < 0x40) {
		static const uint8_t forms[8] = {TO_EITHER,   TO_EITHER,      TO_REGISTER,
						 TO_REGISTER, TO_ACCUMULATOR, TO_ACCUMULATOR};

		*ret_name = sums[opcode >> 3];
		return (enum form)forms[opcode & 7];
	}
	*ret_name = ZYDIS_MNEMONIC_MOV;
	if (opcode >= 0x88 && opcode <= 0x8b)
		return opcode < 0x8a ? TO_EITHER : TO_REGISTER;
	*ret_name = ZYDIS_MNEMONIC_TEST;
	if (opcode == 0x84 || opcode == 0x85)
		return TO_EITHER;
	if (opcode == 0xa8 || opcode == 0xa9)
		return TO_ACCUMULATOR;
	if (opcode == 0x80 || opcode == 0x81 || opcode == 0x83 || opcode == 0xc6 || opcode == 0xc7)
		return BY_GROUP;
	if (opcode == 0xc0 || opcode == 0xc1 || (opcode >= 0xd0 && opcode <= 0xd3))
		return SHIFT;
	return OTHER_FORM;
}

static bool by_group(struct cursor *c, uint8_t opcode, unsigned bits, struct insn_short *i)
{
	uint8_t modrm = take(c);
	unsigned group = modrm >> 3 & 7;

	if (opcode >= 0xc0 && group)
		return false;
	i->name = opcode >= 0xc0 ? ZYDIS_MNEMONIC_MOV : sums[group];
	take_either(c, modrm, &i->operands[0], bits, actions_of(i->name));
	set_immediate(&i->operands[1], take_signed(c, bits == 8 || opcode == 0x83 ? 1 : 4));
	return true;
}

static bool shift(struct cursor *c, uint8_t opcode, unsigned bits, struct insn_short *i)
{
	uint8_t modrm = take(c);
	unsigned group = modrm >> 3 & 7;

	if (group != 4 && group != 5 && group != 7)
		return false;
	i->name = group == 4   ? ZYDIS_MNEMONIC_SHL
		  : group == 5 ? ZYDIS_MNEMONIC_SHR
			       : ZYDIS_MNEMONIC_SAR;
	take_either(c, modrm, &i->operands[0], bits, READ_WRITE);
	if (opcode < 0xd0)
		set_immediate(&i->operands[1], take_signed(c, 1));
	else if (opcode < 0xd2)
		set_immediate(&i->operands[1], 1);
	else
		set_register(&i->operands[1], c, 1, 32, READ);
	return true;
}

/* Decodes an instruction with one of these opcodes, whose lowest bit is 0 for operands of 8 bits.
 * Returns false if it is not one of them. */
static bool computes(struct cursor *c, uint8_t opcode, struct insn_short *i)
{
	unsigned bits = !(opcode & 1) ? 8 : c->rex & REX_W ? 64 : 32;
	enum form form = form_of(opcode, &i->name);
	unsigned actions = actions_of(i->name), to_register = form == TO_REGISTER;
	uint8_t modrm;

	i->count = 2;
	switch (form) {
	case TO_EITHER:
	case TO_REGISTER:
		modrm = take(c);
		take_either(c, modrm, &i->operands[to_register], bits,
			    to_register ? READ : actions);
		set_register(&i->operands[!to_register], c, reg_of(c, modrm), bits,
			     to_register ? actions : READ);
		return true;
	case TO_ACCUMULATOR:
		set_register(&i->operands[0], c, 0, bits, actions);
		set_immediate(&i->operands[1], take_signed(c, bits == 8 ? 1 : 4));
		return true;
	case BY_GROUP:
		return by_group(c, opcode, bits, i);
	case SHIFT:
		return shift(c, opcode, bits, i);
	default:
		return false;
	}
}

static bool push_or_pop(const struct cursor *c, uint8_t opcode, struct insn_short *i)
{
	bool is_pop = opcode >= 0x58;

	i->name = is_pop ? ZYDIS_MNEMONIC_POP : ZYDIS_MNEMONIC_PUSH;
	i->count = 1;
	i->used = i->written = RSP_BIT;
	set_register(&i->operands[0], c, (opcode & 7u) | (c->rex & REX_B ? 8u : 0u), 64,
		     is_pop ? WRITE : READ);
	return true;
}

static bool load_number(struct cursor *c, uint8_t opcode, struct insn_short *i)
{
	if (c->rex & REX_W)
		return false;
	i->name = ZYDIS_MNEMONIC_MOV;
	i->count = 2;
	set_register(&i->operands[0], c, (opcode & 7u) | (c->rex & REX_B ? 8u : 0u), 32, WRITE);
	set_immediate(&i->operands[1], take_signed(c, 4));
	return true;
}

static bool jump(struct cursor *c, enum insn_flow flow, unsigned bytes, struct insn_short *i)
{
	i->flow = (uint8_t)flow;
	i->relative = take_signed(c, bytes);
	return flow != INSN_CALL || i->relative; /* a call of the next instruction is left to
						  * Zydis */
}

static bool branch(struct cursor *c, uint8_t opcode, unsigned bytes, struct insn_short *i)
{
	static const ZydisMnemonic names[16] = {
		[2] = ZYDIS_MNEMONIC_JB,  [3] = ZYDIS_MNEMONIC_JNB,  [5] = ZYDIS_MNEMONIC_JNZ,
		[6] = ZYDIS_MNEMONIC_JBE, [7] = ZYDIS_MNEMONIC_JNBE,
	};

	i->name = names[opcode & 15];
	return jump(c, INSN_BRANCH, bytes, i);
}

/* Decodes calls and jumps through a register or memory, and inc and dec. */
static bool through(struct cursor *c, struct insn_short *i)
{
	uint8_t modrm = take(c);
	unsigned group = modrm >> 3 & 7;

	i->count = 1;
	if (group <= 1) {
		i->name = group ? ZYDIS_MNEMONIC_DEC : ZYDIS_MNEMONIC_INC;
		take_either(c, modrm, &i->operands[0], c->rex & REX_W ? 64 : 32, READ_WRITE);
		return true;
	}
	if (group != 2 && group != 4)
		return false;
	i->flow = group == 2 ? INSN_CALL_INDIRECT : INSN_JUMP_INDIRECT;
	take_either(c, modrm, &i->operands[0], 64, READ);
	return true;
}

static bool take_address(struct cursor *c, struct insn_short *i)
{
	unsigned bits = c->rex & REX_W ? 64 : 32;
	uint8_t modrm = take(c);

	if (modrm >> 6 == 3)
		return false;
	i->name = ZYDIS_MNEMONIC_LEA;
	i->count = 2;
	take_memory(c, modrm, &i->operands[1], bits);
	set_register(&i->operands[0], c, reg_of(c, modrm), bits, WRITE);
	return true;
}

/* Decodes a move of an operand of `from` bits to a larger register. */
static bool extend(struct cursor *c, ZydisMnemonic name, unsigned from, struct insn_short *i)
{
	uint8_t modrm = take(c);

	i->name = name;
	i->count = 2;
	/* A 16-bit register gets the number of the 32-bit one; only its size matters. */
	take_either(c, modrm, &i->operands[1], from == 16 && modrm >> 6 == 3 ? 32 : from, READ);
	i->operands[1].size = (uint16_t)from;
	set_register(&i->operands[0], c, reg_of(c, modrm), c->rex & REX_W ? 64 : 32, WRITE);
	return true;
}

static bool leave_frame(struct insn_short *i)
{
	i->name = ZYDIS_MNEMONIC_LEAVE;
	i->used = i->written = RSP_BIT | RBP_BIT;
	return true;
}

/* Decodes all other opcodes of one byte. */
static bool decode_other(struct cursor *c, uint8_t opcode, struct insn_short *i)
{
	i->count = 0;
	i->name = ZYDIS_MNEMONIC_INVALID;
	if ((opcode & 0xf0) == 0x50)
		return push_or_pop(c, opcode, i);
	if ((opcode & 0xf0) == 0x70)
		return branch(c, opcode, 1, i);
	if ((opcode & 0xf8) == 0xb8)
		return load_number(c, opcode, i);
	switch (opcode) {
	case 0x63:
		return c->rex & REX_W && extend(c, ZYDIS_MNEMONIC_MOVSXD, 32, i);
	case 0x8d:
		return take_address(c, i);
	case 0x90:
		i->name = ZYDIS_MNEMONIC_NOP;
		return !c->rex;
	case 0xc3:
		i->flow = INSN_RETURN;
		return true;
	case 0xc9:
		return leave_frame(i);
	case 0xe8:
		return jump(c, INSN_CALL, 4, i);
	case 0xe9:
		return jump(c, INSN_JUMP, 4, i);
	case 0xeb:
		return jump(c, INSN_JUMP, 1, i);
	case 0xff:
		return through(c, i);
	default:
		return false;
	}
}

/* --- opcodes behind 0f --------------------------------------------------------------------- */

/* Vector opcodes that use general registers only for addresses: for each prefix, a bit for each
 * opcode, 16 opcodes to a number. */
static const uint16_t plain[16] = {[1] = 0x0033, [2] = 0xc300, [5] = 0xf7f2};
static const uint16_t with_66[16] = {[1] = 0x0033, [2] = 0xc300,  [5] = 0xf7f2,	 [6] = 0xbfff,
				     [7] = 0x8070, [13] = 0x8810, [14] = 0x8800, [15] = 0x7c00};
static const uint16_t with_f2[16] = {[1] = 0x0003, [5] = 0xf702};
static const uint16_t with_f3[16] = {[1] = 0x0003, [5] = 0xf702, [6] = 0x8000, [7] = 0x8000};

static bool decode_vector(struct cursor *c, uint8_t opcode, struct insn_short *i)
{
	const uint16_t *rows = c->prefix == 0x66   ? with_66
			       : c->prefix == 0xf2 ? with_f2
			       : c->prefix	   ? with_f3
						   : plain;
	uint8_t modrm;

	if (!(rows[opcode >> 4] >> (opcode & 15) & 1))
		return false;
	modrm = take(c);
	if (modrm >> 6 == 3)
		return true;
	i->count = 1;
	take_memory(c, modrm, &i->operands[0], 128);
	return true;
}

/* Takes a no-op with operands. */
static bool skip_operands(struct cursor *c, struct insn_short *i)
{
	ZydisDecodedOperand unused = {0};
	uint8_t modrm = take(c);

	if (modrm >> 6 != 3)
		take_memory(c, modrm, &unused, 32);
	i->name = ZYDIS_MNEMONIC_NOP;
	return !(modrm >> 3 & 7);
}

static bool decode_second(struct cursor *c, struct insn_short *i)
{
	uint8_t opcode = take(c);

	if (!c->prefix && (opcode & 0xf0) == 0x80)
		return branch(c, opcode, 4, i);
	if (!c->prefix && (opcode == 0xb6 || opcode == 0xb7))
		return extend(c, ZYDIS_MNEMONIC_MOVZX, opcode & 1 ? 16 : 8, i);
	if (!c->prefix && (opcode == 0xbe || opcode == 0xbf))
		return extend(c, ZYDIS_MNEMONIC_MOVSX, opcode & 1 ? 16 : 8, i);
	if (opcode == 0x1f && (!c->prefix || c->prefix == 0x66))
		return skip_operands(c, i);
	return decode_vector(c, opcode, i);
}

/* --- the whole instruction ------------------------------------------------------------------ */

/* Takes the prefixes of a no-op of many bytes: 66 ... 66 2e 0f 1f. */
static bool skip_prefixes(struct cursor *c)
{
	size_t from = c->at;

	while (c->at < c->size && c->at < 8 && (c->code[c->at] == 0x66 || c->code[c->at] == 0x2e))
		c->at++;
	if (c->at - from > 1 || (c->at > from && c->code[from] == 0x2e)) {
		c->prefix = 0x66;
		return c->size - c->at >= 2 && c->code[c->at] == 0x0f && c->code[c->at + 1] == 0x1f;
	}
	if (c->at > from)
		c->prefix = 0x66;
	return true;
}

bool insn_short_decode(const uint8_t *code, size_t size, struct insn_short *i)
{
	struct cursor c = {.code = code, .size = size};
	uint8_t opcode;
	bool is_one;

	i->flow = INSN_NEXT;
	i->count = 0;
	i->used = i->written = 0;
	i->name = ZYDIS_MNEMONIC_INVALID;
	if (!skip_prefixes(&c))
		return false;
	opcode = take(&c);
	if (!c.prefix && (opcode == 0xf2 || opcode == 0xf3)) {
		c.prefix = opcode;
		opcode = take(&c);
	}
	if ((opcode & 0xf0) == 0x40) {
		c.rex = opcode;
		opcode = take(&c);
	}
	if (opcode == 0x0f)
		is_one = decode_second(&c, i);
	else if (c.prefix)
		return false;
	else
		is_one = computes(&c, opcode, i) || decode_other(&c, opcode, i);
	i->length = (uint8_t)c.at;
	return is_one && !c.is_short && c.at <= INSN_MAX_BYTES;
}
