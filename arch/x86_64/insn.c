/* SPDX-License-Identifier: MIT */
/*
 * Decodes with Zydis, and reduces an instruction to what matters for a frame; see insn.h. Most
 * instructions are decoded by the faster insn_short.h.
 *
 * Operands take Zydis twice as long as the rest of an instruction, so they are decoded only if they
 * are needed: not those of jumps, and not implicit ones if none of them is a general register.
 */
#include "arch/insn.h"

#include <Zydis/Zydis.h>
#include <string.h>

#include "arch/x86_64/insn_short.h"

#define MAX_SCALED_NUMBER 0xffff /* numbers that bound a jump table are smaller */

_Static_assert(sizeof(ZydisDecoder) <= sizeof(struct insn_decoder), "the decoder's state");

void insn_decoder_init(struct insn_decoder *ret_decoder)
{
	ZydisDecoderInit((ZydisDecoder *)ret_decoder->state, ZYDIS_MACHINE_MODE_LONG_64,
			 ZYDIS_STACK_WIDTH_64);
}

unsigned insn_dwarf_number(unsigned reg)
{
	static const uint8_t numbers[INSN_REG_COUNT] = {0, 2, 1,  3,  7,  6,  4,  5,
							8, 9, 10, 11, 12, 13, 14, 15};

	return numbers[reg];
}

int insn_saved_index(unsigned reg)
{
	static const uint8_t saved[STACKD_SAVED_COUNT] = INSN_SAVED_REGS;

	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		if (saved[i] == reg)
			return i;
	return -1;
}

bool insn_changes_unnamed(const struct insn *i, const uint8_t *code)
{
	if (i->flow == INSN_BRANCH) /* true for loop; false for je and the like (short and near),
				     * and for jrcxz */
		return (code[0] & 0xf0) != 0x70 && code[0] != 0x0f && code[0] != 0xe3;
	return code[0] == 0xcd || (code[0] == 0x0f && (code[1] == 0x05 || code[1] == 0x34));
}

static unsigned number_of(ZydisRegister reg)
{
	ZydisRegister whole;

	if (reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15)
		return reg - ZYDIS_REGISTER_RAX;
	if (reg == ZYDIS_REGISTER_NONE || reg > ZYDIS_REGISTER_RAX)
		return INSN_NO_REG;
	whole = ZydisRegisterGetLargestEnclosing(ZYDIS_MACHINE_MODE_LONG_64, reg);
	if (whole < ZYDIS_REGISTER_RAX || whole > ZYDIS_REGISTER_R15)
		return INSN_NO_REG;
	return whole - ZYDIS_REGISTER_RAX;
}

/* Returns the number of the register that an operand is, if it has 64 bits; else INSN_NO_REG. */
static unsigned wide(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER && o->size == 64 ? number_of(o->reg.value)
								       : INSN_NO_REG;
}

static bool is_flat(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY && o->mem.segment != ZYDIS_REGISTER_FS &&
	       o->mem.segment != ZYDIS_REGISTER_GS;
}

/* Returns the base register of memory at base + displacement; INSN_NO_REG for any other operand. */
static unsigned based(const ZydisDecodedOperand *o)
{
	if (!is_flat(o) || o->mem.index != ZYDIS_REGISTER_NONE ||
	    o->mem.base < ZYDIS_REGISTER_RAX || o->mem.base > ZYDIS_REGISTER_R15)
		return INSN_NO_REG;
	return number_of(o->mem.base);
}

static void set(struct insn *i, enum insn_op op, unsigned dst, unsigned src, int64_t disp)
{
	i->op = op;
	i->dst = (uint8_t)dst;
	i->src = (uint8_t)src;
	i->disp = (int32_t)disp;
}

static bool is_register(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER;
}

static bool is_immediate(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

bool insn_saves_register(const struct insn *i)
{
	return i->op == INSN_PUSH && i->src < 16 && INSN_PRESERVED >> i->src & 1;
}

bool insn_ends_frame(const struct insn *i)
{
	if (i->op == INSN_COPY)
		return i->dst == INSN_SP && (i->src != INSN_SP || i->disp > 0);
	return i->op == INSN_LEAVE ||
	       (i->op == INSN_POP && i->dst < 16 && INSN_PRESERVED >> i->dst & 1);
}

/* --- tables -------------------------------------------------------------------------------- */

/* Classifies a load of `entry` bytes into dst from a table in which an index register selects the
 * entry. */
static void classify_entry(const ZydisDecodedOperand *memory, unsigned dst, unsigned entry,
			   bool is_unsigned, struct insn *i)
{
	if (!is_flat(memory) || memory->mem.index == ZYDIS_REGISTER_NONE ||
	    memory->mem.scale != entry || memory->mem.base == ZYDIS_REGISTER_RIP)
		return;
	i->idiom = INSN_ENTRY;
	i->dst = (uint8_t)dst;
	i->src = (uint8_t)number_of(memory->mem.base);
	i->disp = (int32_t)memory->mem.disp.value;
	i->entry = (uint8_t)entry;
	i->is_unsigned = is_unsigned;
}

/* Returns whether memory is at base + index + displacement. */
static bool is_sum(const ZydisDecodedOperand *o)
{
	return o->mem.base >= ZYDIS_REGISTER_RAX && o->mem.base <= ZYDIS_REGISTER_R15 &&
	       o->mem.index >= ZYDIS_REGISTER_RAX && o->mem.index <= ZYDIS_REGISTER_R15 &&
	       o->mem.scale == 1;
}

/* Classifies a load of 32 bits. In unoptimised code, the index was multiplied by an earlier
 * instruction, and a later one extends the result. */
static void classify_short_load(const ZydisDecodedOperand *o, struct insn *i)
{
	classify_entry(&o[1], number_of(o[0].reg.value), 4, true, i);
	if (!is_flat(&o[1]) || !is_sum(&o[1]))
		return;
	i->idiom = INSN_ENTRY;
	i->dst = (uint8_t)number_of(o[0].reg.value);
	i->src = (uint8_t)number_of(o[1].mem.base);
	i->addend = (uint8_t)number_of(o[1].mem.index);
	i->disp = (int32_t)o[1].mem.disp.value;
	i->entry = 4;
	i->is_unsigned = true;
}

static void set_extended(struct insn *i, unsigned dst, unsigned src)
{
	i->idiom = INSN_EXTENDED;
	i->dst = (uint8_t)dst;
	i->src = (uint8_t)src;
}

static void classify_extension(const ZydisDecodedOperand *o, struct insn *i, bool is_unsigned)
{
	if (is_register(&o[0]) && is_register(&o[1]) && o[1].size == 32 && !is_unsigned)
		set_extended(i, number_of(o[0].reg.value), number_of(o[1].reg.value));
	else if (is_register(&o[0]) && (o[1].size == 32 || o[1].size == 16))
		classify_entry(&o[1], number_of(o[0].reg.value), o[1].size / 8, is_unsigned, i);
}

static void classify_bound(const ZydisDecodedOperand *o, struct insn *i)
{
	uint64_t mask = o[0].size < 64 ? (UINT64_C(1) << o[0].size) - 1 : UINT64_MAX;

	if (!is_immediate(&o[1]) || (o[1].imm.value.u & mask) > MAX_SCALED_NUMBER)
		return;
	i->idiom = INSN_BOUND;
	i->src = is_register(&o[0]) ? (uint8_t)number_of(o[0].reg.value) : INSN_NO_REG;
	i->number = (uint32_t)(o[1].imm.value.u & mask);
}

/* --- data ---------------------------------------------------------------------------------- */

static void classify_mov(const ZydisDecodedOperand *o, struct insn *i)
{
	unsigned to = wide(&o[0]), from = wide(&o[1]);

	if (to != INSN_NO_REG && from != INSN_NO_REG)
		set(i, INSN_COPY, to, from, 0);
	else if (to != INSN_NO_REG && based(&o[1]) != INSN_NO_REG)
		set(i, INSN_LOAD, to, based(&o[1]), o[1].mem.disp.value);
	else if (from != INSN_NO_REG && based(&o[0]) != INSN_NO_REG)
		set(i, INSN_STORE, based(&o[0]), from, o[0].mem.disp.value);
	else if (to != INSN_NO_REG)
		classify_entry(&o[1], to, 8, true, i);
	else if (is_register(&o[0]) && o[0].size == 32)
		classify_short_load(o, i);
	if (is_register(&o[0]) && is_immediate(&o[1]) && o[0].size >= 32 &&
	    (o[0].size == 32 || o[1].imm.value.u <= INT32_MAX)) {
		i->idiom = INSN_ADDRESS;
		i->is_number = true;
		i->dst = (uint8_t)number_of(o[0].reg.value);
		i->target = o[1].imm.value.u & UINT32_MAX;
	}
}

static void classify_addition(struct insn *i, unsigned dst, unsigned a, unsigned b)
{
	i->idiom = INSN_SUM;
	i->dst = (uint8_t)dst;
	i->src = (uint8_t)a;
	i->addend = (uint8_t)b;
}

static void classify_lea(const ZydisDecodedOperand *o, struct insn *i, uint64_t next)
{
	if (o[1].mem.base == ZYDIS_REGISTER_RIP) {
		i->idiom = INSN_ADDRESS;
		i->dst = (uint8_t)number_of(o[0].reg.value);
		i->target = next + (uint64_t)o[1].mem.disp.value;
	} else if (wide(&o[0]) != INSN_NO_REG && based(&o[1]) != INSN_NO_REG) {
		set(i, INSN_COPY, wide(&o[0]), based(&o[1]), o[1].mem.disp.value);
	} else if (wide(&o[0]) != INSN_NO_REG && is_sum(&o[1])) {
		classify_addition(i, wide(&o[0]), number_of(o[1].mem.base),
				  number_of(o[1].mem.index));
		i->disp = (int32_t)o[1].mem.disp.value;
	} else if (wide(&o[0]) != INSN_NO_REG && o[1].mem.base >= ZYDIS_REGISTER_RAX &&
		   o[1].mem.base <= ZYDIS_REGISTER_R15) {
		i->idiom = INSN_INDEXED;
		i->dst = (uint8_t)wide(&o[0]);
		i->src = (uint8_t)number_of(o[1].mem.base);
	}
}

static void classify_sum(const ZydisDecodedOperand *o, struct insn *i, int sign)
{
	if (is_immediate(&o[1]) && wide(&o[0]) != INSN_NO_REG &&
	    o[1].imm.value.s >= INT32_MIN / 2 && o[1].imm.value.s <= INT32_MAX / 2) {
		set(i, INSN_COPY, wide(&o[0]), wide(&o[0]), sign * o[1].imm.value.s);
	} else if (sign > 0 && wide(&o[0]) != INSN_NO_REG && wide(&o[1]) != INSN_NO_REG) {
		classify_addition(i, wide(&o[0]), wide(&o[0]), wide(&o[1]));
	}
}

static void classify_and(const ZydisDecodedOperand *o, struct insn *i)
{
	if (wide(&o[0]) == INSN_SP && is_immediate(&o[1]) && o[1].imm.value.s < 0)
		set(i, INSN_ALIGN, INSN_SP, INSN_SP, 0);
	else if (is_register(&o[0]))
		classify_bound(o, i);
}

static void classify_stack_bound(const ZydisDecodedOperand *o, struct insn *i)
{
	unsigned a = wide(&o[0]), b = wide(&o[1]);

	if (a == INSN_NO_REG || b == INSN_NO_REG || (a == INSN_SP) == (b == INSN_SP))
		return;
	i->idiom = INSN_STACK_BOUND;
	i->src = (uint8_t)(a == INSN_SP ? b : a);
}

static void classify_xor(const ZydisDecodedOperand *o, struct insn *i)
{
	if (is_register(&o[0]) && is_register(&o[1]) && o[0].reg.value == o[1].reg.value &&
	    o[0].size >= 32 && number_of(o[0].reg.value) != INSN_NO_REG)
		set(i, INSN_ZERO, number_of(o[0].reg.value), INSN_NO_REG, 0);
}

static void classify_comparison(const ZydisDecodedOperand *o, struct insn *i)
{
	i->idiom = INSN_COMPARISON;
	classify_bound(o, i);
	classify_stack_bound(o, i);
}

static void classify_push(const ZydisDecodedOperand *o, struct insn *i)
{
	if (o->size != 64 && !is_immediate(o))
		return;
	set(i, INSN_PUSH, INSN_SP, wide(o), 0);
	if (based(o) != INSN_SP)
		return;
	i->idiom = INSN_STACK_WORD;
	i->disp = (int32_t)o->mem.disp.value;
}

/* Classifies what the instruction does to registers and stack. */
static void classify_data(ZydisMnemonic m, const ZydisDecodedOperand *o, struct insn *i,
			  uint64_t next)
{
	switch (m) {
	case ZYDIS_MNEMONIC_PUSH:
		classify_push(&o[0], i);
		break;
	case ZYDIS_MNEMONIC_PUSHFQ:
		set(i, INSN_PUSH, INSN_SP, INSN_NO_REG, 0);
		break;
	case ZYDIS_MNEMONIC_POP:
		if (o[0].size == 64)
			set(i, INSN_POP, wide(&o[0]), INSN_SP, 0);
		break;
	case ZYDIS_MNEMONIC_POPFQ:
		set(i, INSN_POP, INSN_NO_REG, INSN_SP, 0);
		break;
	case ZYDIS_MNEMONIC_LEAVE:
		set(i, INSN_LEAVE, INSN_SP, INSN_FP, 0);
		break;
	case ZYDIS_MNEMONIC_MOV:
		classify_mov(o, i);
		break;
	case ZYDIS_MNEMONIC_LEA:
		classify_lea(o, i, next);
		break;
	case ZYDIS_MNEMONIC_ADD:
		classify_sum(o, i, 1);
		break;
	case ZYDIS_MNEMONIC_SUB:
		classify_sum(o, i, -1);
		break;
	case ZYDIS_MNEMONIC_AND:
		classify_and(o, i);
		break;
	case ZYDIS_MNEMONIC_XOR:
		classify_xor(o, i);
		break;
	case ZYDIS_MNEMONIC_CMP:
		classify_comparison(o, i);
		break;
	case ZYDIS_MNEMONIC_TEST:
		i->idiom = INSN_COMPARISON;
		break;
	case ZYDIS_MNEMONIC_CDQE:
		set_extended(i, 0, 0);
		break;
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
		classify_extension(o, i, false);
		break;
	case ZYDIS_MNEMONIC_MOVZX:
		classify_extension(o, i, true);
		break;
	default:
		break;
	}
}

/* --- flow ---------------------------------------------------------------------------------- */

static void classify_branch(ZydisMnemonic m, struct insn *i)
{
	i->is_unequal = m == ZYDIS_MNEMONIC_JNZ;
	if (m == ZYDIS_MNEMONIC_JNBE || m == ZYDIS_MNEMONIC_JBE || m == ZYDIS_MNEMONIC_JNB ||
	    m == ZYDIS_MNEMONIC_JB) {
		i->idiom = INSN_BOUND_TEST;
		i->number = m == ZYDIS_MNEMONIC_JNB || m == ZYDIS_MNEMONIC_JB;
		i->is_up_to = m == ZYDIS_MNEMONIC_JBE || m == ZYDIS_MNEMONIC_JB;
	}
}

static void classify_flow(const ZydisDecodedInstruction *is, struct insn *i, uint64_t next)
{
	bool is_direct = is->raw.imm[0].is_relative;

	if (is->meta.category == ZYDIS_CATEGORY_CALL)
		i->flow = is_direct ? INSN_CALL : INSN_CALL_INDIRECT;
	else if (is->meta.category == ZYDIS_CATEGORY_COND_BR)
		i->flow = INSN_BRANCH;
	else if (is->meta.category == ZYDIS_CATEGORY_UNCOND_BR)
		i->flow = is_direct ? INSN_JUMP : INSN_JUMP_INDIRECT;
	else if (is->meta.category == ZYDIS_CATEGORY_RET)
		i->flow = INSN_RETURN;
	else if (is->mnemonic == ZYDIS_MNEMONIC_UD2 || is->mnemonic == ZYDIS_MNEMONIC_HLT ||
		 is->mnemonic == ZYDIS_MNEMONIC_INT3)
		i->flow = INSN_STOP;
	if (i->flow != INSN_NEXT && is_direct)
		i->target = next + (uint64_t)is->raw.imm[0].value.s;
	/* a call by which code finds its own address is a push */
	if (i->flow == INSN_CALL && i->target == next) {
		i->flow = INSN_NEXT;
		set(i, INSN_PUSH, INSN_SP, INSN_NO_REG, 0);
	}
	classify_branch(is->mnemonic, i);
}

/* Classifies an indirect jump or call: by a register, a table, or a word of memory. */
static void classify_indirect(const ZydisDecodedOperand *o, struct insn *i, uint64_t next)
{
	i->src = (uint8_t)wide(&o[0]);
	if (is_flat(&o[0]) && o[0].mem.base == ZYDIS_REGISTER_RIP) {
		i->idiom = INSN_SLOT;
		i->target = next + (uint64_t)o[0].mem.disp.value;
	} else if (i->flow == INSN_CALL_INDIRECT && based(&o[0]) != INSN_NO_REG) {
		i->idiom = INSN_FIELD;
		i->addend = (uint8_t)based(&o[0]);
		i->disp = (int32_t)o[0].mem.disp.value;
	} else if (i->flow == INSN_JUMP_INDIRECT) {
		classify_entry(&o[0], INSN_NO_REG, 8, true, i);
	}
}

/* --- decoding ------------------------------------------------------------------------------ */

/* Returns whether none of an instruction's implicit operands is a general register, other than the
 * stack pointer in its usual role. */
static bool has_plain_operands(const ZydisDecodedInstruction *is)
{
	switch (is->mnemonic) {
	case ZYDIS_MNEMONIC_MOV:
	case ZYDIS_MNEMONIC_LEA:
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
	case ZYDIS_MNEMONIC_MOVSXD:
	case ZYDIS_MNEMONIC_MOVSX:
	case ZYDIS_MNEMONIC_MOVZX:
	case ZYDIS_MNEMONIC_SHL:
	case ZYDIS_MNEMONIC_SHR:
	case ZYDIS_MNEMONIC_SAR:
	case ZYDIS_MNEMONIC_INC:
	case ZYDIS_MNEMONIC_DEC:
	case ZYDIS_MNEMONIC_NEG:
	case ZYDIS_MNEMONIC_NOT:
		return true;
	case ZYDIS_MNEMONIC_CBW:
	case ZYDIS_MNEMONIC_CWDE:
	case ZYDIS_MNEMONIC_CDQE:
	case ZYDIS_MNEMONIC_CWD:
	case ZYDIS_MNEMONIC_CDQ:
	case ZYDIS_MNEMONIC_CQO:
		return false;
	default:
		return is->meta.category == ZYDIS_CATEGORY_CMOV ||
		       is->meta.category == ZYDIS_CATEGORY_SETCC ||
		       is->meta.category == ZYDIS_CATEGORY_DATAXFER ||
		       is->meta.category == ZYDIS_CATEGORY_SSE ||
		       is->meta.category == ZYDIS_CATEGORY_AVX ||
		       is->meta.category == ZYDIS_CATEGORY_AVX2 ||
		       is->meta.category == ZYDIS_CATEGORY_AVX512 ||
		       is->meta.category == ZYDIS_CATEGORY_LOGICAL_FP ||
		       is->meta.category == ZYDIS_CATEGORY_BROADCAST ||
		       is->meta.category == ZYDIS_CATEGORY_CONVERT;
	}
}

static uint8_t operand_count(const ZydisDecodedInstruction *is, const struct insn *i)
{
	switch (i->flow) {
	case INSN_JUMP:
	case INSN_BRANCH:
	case INSN_CALL:
	case INSN_RETURN:
	case INSN_STOP:
		return 0;
	case INSN_JUMP_INDIRECT:
	case INSN_CALL_INDIRECT:
		return 1;
	}
	if (i->is_padding || i->is_endbr)
		return 0;
	return has_plain_operands(is) ? is->operand_count_visible : is->operand_count;
}

/* Notes the registers from which an operand's value or address is computed. */
static void note_used(const ZydisDecodedOperand *o, struct insn *i)
{
	bool is_read = o->actions & ZYDIS_OPERAND_ACTION_MASK_READ;

	if (is_register(o) && is_read && number_of(o->reg.value) != INSN_NO_REG)
		i->used |= 1u << number_of(o->reg.value);
	if (o->type != ZYDIS_OPERAND_TYPE_MEMORY)
		return;
	if (number_of(o->mem.base) != INSN_NO_REG)
		i->used |= 1u << number_of(o->mem.base);
	if (number_of(o->mem.index) != INSN_NO_REG)
		i->used |= 1u << number_of(o->mem.index);
}

static void note_registers(const ZydisDecodedOperand *o, unsigned count, struct insn *i)
{
	for (unsigned k = 0; k < count; k++) {
		unsigned number = is_register(&o[k]) ? number_of(o[k].reg.value) : INSN_NO_REG;

		note_used(&o[k], i);
		if (number == INSN_NO_REG)
			continue;
		if (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_WRITE)
			i->written |= 1u << number;
		if (o[k].actions & ZYDIS_OPERAND_ACTION_MASK_READ && number == INSN_FP)
			i->reads_fp = true;
	}
}

/* Returns whether an instruction that reads rbp only computes with it: it neither keeps the value
 * nor changes rbp. */
static bool only_computes(ZydisMnemonic m, const struct insn *i)
{
	if (i->op != INSN_OTHER || i->written >> INSN_FP & 1)
		return false;
	switch (m) {
	case ZYDIS_MNEMONIC_ADD:
	case ZYDIS_MNEMONIC_SUB:
	case ZYDIS_MNEMONIC_AND:
	case ZYDIS_MNEMONIC_OR:
	case ZYDIS_MNEMONIC_XOR:
	case ZYDIS_MNEMONIC_IMUL:
	case ZYDIS_MNEMONIC_CMP:
	case ZYDIS_MNEMONIC_TEST:
		return true;
	default:
		return false;
	}
}

/* Classifies an instruction by its operands. */
static void classify_operands(ZydisMnemonic m, const ZydisDecodedOperand *o, unsigned count,
			      uint64_t next, struct insn *i)
{
	note_registers(o, count, i);
	classify_data(m, o, i, next);
	if (i->op == INSN_PUSH || i->op == INSN_ZERO)
		i->used = 0;
	else if (i->op == INSN_STORE)
		i->used = 1u << i->dst;
	i->reads_fp &= i->op != INSN_PUSH && i->op != INSN_ZERO && !only_computes(m, i);
}

bool insn_decode_any(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		     uint64_t vaddr, struct insn *ret_insn)
{
	const ZydisDecoder *zydis = (const ZydisDecoder *)decoder->state;
	ZydisDecoderContext context;
	ZydisDecodedInstruction is;
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	struct insn *i = ret_insn;
	uint8_t count;

	if (!ZYAN_SUCCESS(ZydisDecoderDecodeInstruction(zydis, &context, code, size, &is)))
		return false;
	*i = (struct insn){
		.length = is.length, .dst = INSN_NO_REG, .src = INSN_NO_REG, .addend = INSN_NO_REG};
	i->is_padding = is.mnemonic == ZYDIS_MNEMONIC_NOP || is.mnemonic == ZYDIS_MNEMONIC_INT3;
	i->is_endbr = is.mnemonic == ZYDIS_MNEMONIC_ENDBR64;
	classify_flow(&is, i, vaddr + is.length);
	count = operand_count(&is, i);
	if (!count)
		return true;
	memset(o, 0, 2 * sizeof(*o));
	if (!ZYAN_SUCCESS(ZydisDecoderDecodeOperands(zydis, &context, &is, o, count)))
		return false;
	if (i->flow != INSN_NEXT) {
		note_used(&o[0], i);
		classify_indirect(o, i, vaddr + is.length);
		return true;
	}
	classify_operands(is.mnemonic, o, count, vaddr + is.length, i);
	return true;
}

bool insn_decode(const struct insn_decoder *decoder, const uint8_t *code, size_t size,
		 uint64_t vaddr, struct insn *ret_insn)
{
	struct insn_short s;
	struct insn *i = ret_insn;

	if (!insn_short_decode(code, size, &s))
		return insn_decode_any(decoder, code, size, vaddr, ret_insn);
	*i = (struct insn){.length = s.length,
			   .flow = s.flow,
			   .dst = INSN_NO_REG,
			   .src = INSN_NO_REG,
			   .addend = INSN_NO_REG,
			   .is_padding = s.name == ZYDIS_MNEMONIC_NOP};
	if (s.flow == INSN_CALL || s.flow == INSN_JUMP || s.flow == INSN_BRANCH) {
		i->target = vaddr + s.length + (uint64_t)(int64_t)s.relative;
		classify_branch(s.name, i);
	} else if (s.flow == INSN_CALL_INDIRECT || s.flow == INSN_JUMP_INDIRECT) {
		note_used(&s.operands[0], i);
		classify_indirect(s.operands, i, vaddr + s.length);
	} else if (s.flow == INSN_NEXT && !i->is_padding) {
		i->written = s.written;
		i->used = s.used;
		i->reads_fp = s.used >> INSN_FP & 1;
		classify_operands(s.name, s.operands, s.count, vaddr + s.length, i);
	}
	return true;
}
