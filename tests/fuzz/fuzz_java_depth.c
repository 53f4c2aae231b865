/* SPDX-License-Identifier: MIT */
/*
 * Fuzz target: code that HotSpot has compiled, followed for where the return address is.
 *
 *   input := u8 kind                      enum java_code_kind
 *            u8 frame                     words of the frame
 *            u16 entry, u16 stubs         little-endian; in parts of 65535 of the code
 *            code
 *
 * Beyond memory errors and time, it checks that depths are whole words, that instructions do not
 * overlap, that a method returns with the return address on top of the stack, and that the depth
 * behind a push or pop is what that makes of the one before.
 */
#include <endian.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "runtime/hotspot/java_depth.h"

#define HEADER_BYTES 6

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(bool holds)
{
	if (!holds)
		abort();
}

static size_t part_of(size_t len, const uint8_t *header)
{
	uint16_t part;

	memcpy(&part, header, sizeof(part));
	return len * le16toh(part) / UINT16_MAX;
}

/* Checks what a push, a pop or a return does to a depth, where no adapter moves the address. */
static void check_step(const struct java_code *code, const struct java_depths *depths, size_t at,
		       const struct insn *i)
{
	const size_t next = at + i->length;
	const uint32_t before = java_depths_at(depths, at).bytes,
		       behind = java_depths_at(depths, next).bytes;

	if (i->flow == INSN_RETURN)
		check(before == 8 || code->kind != JAVA_CODE_METHOD);
	if (code->kind == JAVA_CODE_ADAPTER || !behind || (at < code->stubs && next >= code->stubs))
		return;
	if (i->op == INSN_PUSH)
		check(behind == before + 8);
	else if (i->op == INSN_POP && i->dst != INSN_SP)
		check(behind == before - 8);
}

static void check_depths(const struct java_code *code, const struct java_depths *depths)
{
	struct insn_decoder decoder;
	size_t end = 0;
	struct insn i;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < code->len; at++) {
		const struct runtime_depth depth = java_depths_at(depths, at);

		check(depth.bytes % 8 == 0 && !(depth.keeps_fp && depth.saves_fp));
		if (!depth.bytes)
			continue;
		check(at >= end);
		check(insn_decode(&decoder, code->bytes + at, code->len - at, at, &i));
		end = at + i.length;
		check(end <= code->len);
		check_step(code, depths, at, &i);
	}
	check(!java_depths_at(depths, code->len).bytes);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct java_code code = {.bytes = data + HEADER_BYTES};
	struct java_depths *depths;

	if (size <= HEADER_BYTES)
		return -1;
	code.len = size - HEADER_BYTES;
	code.kind = (enum java_code_kind)(data[0] % (JAVA_CODE_ADAPTER + 1));
	code.frame_bytes = data[1] * 8u;
	code.entry = part_of(code.len, data + 2);
	code.stubs = part_of(code.len, data + 4);
	if (!java_depths_find(&code, &depths)) {
		check_depths(&code, depths);
		check(java_depths_bytes(depths) > 0);
		java_depths_free(depths);
	}
	return 0;
}
