/* SPDX-License-Identifier: MIT */
/* The short decoder of instructions against Zydis: bytes of all opcodes, with all kinds of prefixes
 * and operands, and the test's own code. */
#include "arch/insn.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <setjmp.h>
/* cmocka wants the headers above */
#include <cmocka.h>

#include "arch/x86_64/insn_short.h"

#define VADDR UINT64_C(0x401000)

static void print(const char *by, const struct insn *i)
{
	print_error("%s: length %u flow %u op %u idiom %u dst %u src %u addend %u entry %u "
		    "padding %d endbr %d unequal %d rbp %d unsigned %d number %d disp %d written "
		    "%x used %x number %u target %llx\n",
		    by, i->length, i->flow, i->op, i->idiom, i->dst, i->src, i->addend, i->entry,
		    i->is_padding, i->is_endbr, i->is_unequal, i->reads_fp, i->is_unsigned,
		    i->is_number, i->disp, i->written, i->used, i->number,
		    (unsigned long long)i->target);
}

static bool is_same(const struct insn *a, const struct insn *b)
{
	return a->length == b->length && a->flow == b->flow && a->op == b->op &&
	       a->idiom == b->idiom && a->dst == b->dst && a->src == b->src &&
	       a->addend == b->addend && a->entry == b->entry && a->is_padding == b->is_padding &&
	       a->is_endbr == b->is_endbr && a->is_unequal == b->is_unequal &&
	       a->is_up_to == b->is_up_to && a->is_local == b->is_local &&
	       a->reads_fp == b->reads_fp && a->is_unsigned == b->is_unsigned &&
	       a->is_number == b->is_number && a->disp == b->disp && a->written == b->written &&
	       a->used == b->used && a->number == b->number && a->target == b->target;
}

/* Compares the two; returns whether the short one knows the instruction. */
static bool compare(const struct insn_decoder *decoder, const uint8_t *code, size_t size)
{
	struct insn_short unused;
	struct insn ours, zydis;
	bool is_short = insn_short_decode(code, size, &unused);
	bool has = insn_decode(decoder, code, size, VADDR, &ours);
	bool has_zydis = insn_decode_any(decoder, code, size, VADDR, &zydis);

	if (has == has_zydis && (!has || is_same(&ours, &zydis)))
		return is_short;
	for (size_t i = 0; i < size; i++)
		print_error("%02x ", code[i]);
	print_error("%s\n", has == has_zydis ? "" : has ? "is none" : "is one");
	if (has)
		print("short", &ours);
	if (has_zydis)
		print("Zydis", &zydis);
	fail();
	return false;
}

static uint64_t next_random(uint64_t *state)
{
	*state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
	return *state >> 24;
}

/* Prefixes before an opcode: most often none, or a REX. */
static size_t put_prefixes(uint8_t *code, uint64_t *state)
{
	static const uint8_t prefixes[] = {0x66, 0xf2, 0xf3, 0x2e, 0x64, 0x67, 0xf0};
	uint64_t r = next_random(state);
	size_t n = 0;

	while (r % 4 == 0 && n < 4) {
		code[n++] = prefixes[(r >> 8) % sizeof(prefixes)];
		r = next_random(state);
	}
	if (r & 16)
		code[n++] = (uint8_t)(0x40 | (r >> 5 & 15));
	return n;
}

static void test_random_bytes(void **unused)
{
	uint64_t state = 16;
	struct insn_decoder decoder;
	size_t known = 0, count = 0;

	(void)unused;
	insn_decoder_init(&decoder);
	for (unsigned turn = 0; turn < 2000; turn++) {
		for (unsigned opcode = 0; opcode < 512; opcode++, count++) {
			uint8_t code[INSN_MAX_BYTES];
			size_t n = put_prefixes(code, &state);

			if (opcode >= 256)
				code[n++] = 0x0f;
			code[n++] = (uint8_t)opcode;
			for (; n < sizeof(code); n++)
				code[n] = (uint8_t)next_random(&state);
			/* Now and then it is cut. */
			n -= turn % 8 ? 0 : next_random(&state) % sizeof(code);
			known += compare(&decoder, code, n);
		}
	}
	assert_true(known > count / 8);
}

/* Compilers' code: nearly all of it is known. */
static void test_own_code(void **unused)
{
	const uint8_t *code = (const uint8_t *)&insn_decode_any;
	struct insn_decoder decoder;
	struct insn i;
	size_t known = 0, count = 0;

	(void)unused;
	insn_decoder_init(&decoder);
	while (insn_decode(&decoder, code, INSN_MAX_BYTES, VADDR, &i) && i.flow != INSN_RETURN &&
	       count < 2000) {
		known += compare(&decoder, code, INSN_MAX_BYTES);
		code += i.length;
		count++;
	}
	assert_true(count > 10 && known > count / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random_bytes),
		cmocka_unit_test(test_own_code),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
