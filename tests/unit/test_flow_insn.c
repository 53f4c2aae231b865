/* SPDX-License-Identifier: MIT */
/*
 * The flow of instructions (arch/flow_insn.h), which is read from fields of opcode, ModRM and SIB,
 * against Zydis' operands: bytes of all opcodes, with prefixes and operands of all kinds. And the
 * forms of which a search for calls depends, each by itself.
 */
#include "arch/flow_insn.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include <Zydis/Zydis.h>

static struct insn_decoder decoder;
static ZydisDecoder zydis;

static int set_up(void **state)
{
	(void)state;
	insn_decoder_init(&decoder);
	return ZYAN_SUCCESS(
		       ZydisDecoderInit(&zydis, ZYDIS_MACHINE_MODE_LONG_64, ZYDIS_STACK_WIDTH_64))
		       ? 0
		       : -1;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 24;
}

static unsigned number_of(ZydisRegister reg)
{
	return reg >= ZYDIS_REGISTER_RAX && reg <= ZYDIS_REGISTER_R15 ? reg - ZYDIS_REGISTER_RAX
								      : INSN_NO_REG;
}

static unsigned register_of(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_REGISTER ? number_of(o->reg.value) : INSN_NO_REG;
}

static bool is_memory(const ZydisDecodedOperand *o)
{
	return o->type == ZYDIS_OPERAND_TYPE_MEMORY;
}

/* A call, a jump or a branch; `o` is its last operand. */
static void judge_branch(const struct flow_insn *i, const ZydisDecodedOperand *o)
{
	assert_int_equal(i->is_direct, o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE);
	if (i->is_direct)
		assert_int_equal(i->distance, o->imm.value.s);
	else /* a jump to 16 bits of a register, which no program has, is one by the register */
		assert_int_equal(i->reg,
				 o->type == ZYDIS_OPERAND_TYPE_REGISTER
					 ? number_of(ZydisRegisterGetLargestEnclosing(
						   ZYDIS_MACHINE_MODE_LONG_64, o->reg.value))
					 : INSN_NO_REG);
	if (is_memory(o) && o->mem.base == ZYDIS_REGISTER_RIP)
		assert_true(i->has_address && i->distance == o->mem.disp.value);
	if (is_memory(o))
		assert_int_equal(i->scale, o->mem.index == ZYDIS_REGISTER_NONE ? 0 : o->mem.scale);
}

static void judge_value(const struct flow_insn *i, ZydisMnemonic m, const ZydisDecodedOperand *o)
{
	if (m == ZYDIS_MNEMONIC_PUSH)
		assert_int_equal(i->pushes_number, o->type == ZYDIS_OPERAND_TYPE_IMMEDIATE);
	if (m == ZYDIS_MNEMONIC_ADD)
		assert_int_equal(i->sum, register_of(&o[0]));
	assert_int_equal(i->is_sum, m == ZYDIS_MNEMONIC_ADD);
	if (m != ZYDIS_MNEMONIC_MOV)
		return;
	assert_int_equal(i->stores_to_thread,
			 is_memory(&o[0]) && o[0].mem.segment == ZYDIS_REGISTER_FS);
	if (register_of(&o[0]) != INSN_NO_REG && register_of(&o[1]) != INSN_NO_REG) {
		assert_int_equal(i->value, FLOW_VALUE_COPY);
		assert_int_equal(i->to, register_of(&o[0]));
		assert_int_equal(i->from, register_of(&o[1]));
	}
	if (register_of(&o[0]) != INSN_NO_REG && o[1].type == ZYDIS_OPERAND_TYPE_IMMEDIATE) {
		assert_int_equal(i->value, FLOW_VALUE_NUMBER);
		assert_int_equal(i->to, register_of(&o[0]));
		assert_int_equal(i->number, o[1].imm.value.u);
	}
	if (register_of(&o[0]) != INSN_NO_REG && is_memory(&o[1]) &&
	    o[1].mem.base == ZYDIS_REGISTER_RIP) {
		assert_int_equal(i->value, FLOW_VALUE_WORD);
		assert_int_equal(i->distance, o[1].mem.disp.value);
	}
}

/* Returns whether the bytes are a call, a jump or a branch. */
static bool judge(const uint8_t *code, size_t size)
{
	ZydisDecodedOperand o[ZYDIS_MAX_OPERAND_COUNT];
	ZydisDecodedInstruction is;
	struct flow_insn i;
	bool has = flow_insn_decode(&decoder, code, size, &i);

	assert_int_equal(has, ZYAN_SUCCESS(ZydisDecoderDecodeFull(&zydis, code, size, &is, o)));
	if (!has)
		return false;
	assert_int_equal(i.length, is.length);
	assert_int_equal(i.kind == FLOW_CALL, is.meta.category == ZYDIS_CATEGORY_CALL);
	assert_int_equal(i.kind == FLOW_RETURN, is.meta.category == ZYDIS_CATEGORY_RET);
	assert_int_equal(i.kind == FLOW_JUMP, is.mnemonic == ZYDIS_MNEMONIC_JMP);
	assert_int_equal(i.kind == FLOW_BRANCH, is.meta.category == ZYDIS_CATEGORY_COND_BR &&
							is.mnemonic != ZYDIS_MNEMONIC_XEND);
	if (i.kind == FLOW_CALL || i.kind == FLOW_JUMP || i.kind == FLOW_BRANCH) {
		judge_branch(&i, &o[is.operand_count_visible - 1]);
		return true;
	}
	judge_value(&i, is.mnemonic, o);
	return false;
}

/* Most often a REX or no prefix. */
static size_t put_prefixes(uint8_t *code, uint64_t *state)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x2e, 0x64, 0x3e, 0xf0};
	uint64_t r = next_random(state);
	size_t n = 0;

	if (r % 4 == 0)
		code[n++] = prefixes[(r >> 8) % sizeof(prefixes)];
	if (r & 16)
		code[n++] = (uint8_t)(0x40 | (r >> 5 & 15));
	return n;
}

static void test_random_bytes(void **unused)
{
	uint64_t state = 23;
	size_t branches = 0;

	(void)unused;
	for (unsigned turn = 0; turn < 1000; turn++) {
		for (unsigned opcode = 0; opcode < 512; opcode++) {
			uint8_t code[INSN_MAX_BYTES];
			size_t n = put_prefixes(code, &state);

			if (opcode >= 256)
				code[n++] = 0x0f;
			code[n++] = (uint8_t)opcode;
			for (; n < sizeof(code); n++)
				code[n] = (uint8_t)next_random(&state);
			branches += judge(code, turn % 8 ? n : next_random(&state) % n);
		}
	}
	assert_true(branches > 10000);
}

static struct flow_insn decode(const char *bytes, size_t size)
{
	struct flow_insn i;

	assert_true(flow_insn_decode(&decoder, (const uint8_t *)bytes, size, &i));
	assert_int_equal(i.length, size);
	return i;
}

#define DECODE(bytes) decode(bytes, sizeof(bytes) - 1)

static void test_forms(void **unused)
{
	struct flow_insn i;

	(void)unused;
	/* A call of the next instruction is a call: insn.h takes it for a push. */
	i = DECODE("\xe8\0\0\0\0");
	assert_int_equal(i.kind, FLOW_CALL);
	assert_int_equal(flow_insn_target(&i, 0x1000), 0x1005);
	/* xabort $0xff and xend go on where no transaction fails. */
	i = DECODE("\xc6\xf8\xff");
	assert_int_equal(i.kind, FLOW_NEXT);
	i = DECODE("\x0f\x01\xd5");
	assert_int_equal(i.kind, FLOW_NEXT);
	/* jmp *table(,%r12,8): r12 is an index, though rsp, of the same low bits, can be none. */
	i = DECODE("\x42\xff\x24\xe5\0\0\x40\0");
	assert_int_equal(i.kind, FLOW_JUMP);
	assert_int_equal(i.scale, 8);
	i = DECODE("\xff\x24\x24"); /* jmp *(%rsp) */
	assert_int_equal(i.scale, 0);
	i = DECODE("\x3e\xff\xe0"); /* notrack jmp *%rax */
	assert_true(i.is_switch && i.reg == 0);
	i = DECODE("\x64\x48\x89\x04\x25\xf8\xff\xff\xff"); /* mov %rax,%fs:-8 */
	assert_true(i.stores_to_thread);
	i = DECODE("\x64\x48\x8b\x04\x25\xf8\xff\xff\xff"); /* mov %fs:-8,%rax */
	assert_true(!i.stores_to_thread && i.value == FLOW_VALUE_OTHER && i.to == 0);
	i = DECODE("\x31\xed"); /* xor %ebp,%ebp */
	assert_true(i.clears_fp);
	i = DECODE("\xf3\x0f\x1e\xfa"); /* endbr64 */
	assert_true(i.is_mark);
	i = DECODE("\xf3\x90"); /* pause */
	assert_true(i.stops_prediction && i.kind == FLOW_NEXT);
	i = DECODE("\x0f\x0b"); /* ud2 */
	assert_int_equal(i.kind, FLOW_STOP);
	i = DECODE("\x4c\x8d\x3d\x10\0\0\0"); /* lea 16(%rip),%r15 */
	assert_true(i.value == FLOW_VALUE_ADDRESS && i.to == 15);
	assert_int_equal(flow_insn_target(&i, 0x1000), 0x1017);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_forms),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
