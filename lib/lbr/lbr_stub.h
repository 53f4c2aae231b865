/* SPDX-License-Identifier: MIT */
/* Instructions in files, and stubs: code that only jumps on. Shared by the parts of lib/lbr. */
#ifndef LBR_LBR_STUB_H
#define LBR_LBR_STUB_H

#include <Zydis/Zydis.h>
#include <stdbool.h>
#include <stdint.h>

#include "proc/object.h"

/* A place in a file that can be read: object->elf is there. */
struct lbr_location {
	const struct object *object;
	uint64_t offset;
};

struct lbr_instruction {
	ZydisDecodedInstruction is;
	ZydisDecodedOperand operands[ZYDIS_MAX_OPERAND_COUNT];
};

/* Decodes the instruction at the start of `len` bytes. False: there is no valid one. */
bool lbr_decode(const ZydisDecoder *decoder, const uint8_t *bytes, size_t len,
		struct lbr_instruction *ret);

/* Decodes the instruction at a location of a file. False: it cannot be read, or is not valid. */
bool lbr_decode_at(const ZydisDecoder *decoder, const struct lbr_location *location,
		   struct lbr_instruction *ret);

/* True of a jump or call whose target the instruction itself states. */
static inline bool lbr_is_direct(const struct lbr_instruction *i)
{
	return i->operands[0].type == ZYDIS_OPERAND_TYPE_IMMEDIATE;
}

/* Where a direct branch at `offset` goes; in file offsets, since a file's code is one piece. */
static inline uint64_t lbr_target(const struct lbr_instruction *i, uint64_t offset)
{
	return offset + i->is.length + (uint64_t)i->operands[0].imm.value.s;
}

enum lbr_stub {
	LBR_STUB_NONE,	   /* no stub */
	LBR_STUB_ANYWHERE, /* leads to whatever a register or a word in memory says */
	LBR_STUB_OUTSIDE,  /* the same, and that is a function of another file */
};

/* What kind of stub begins at a place, if one does: an entry of a PLT, a jump through a register
 * or memory, a retpoline. Reads the file's relocations: the caller keeps the answer. */
enum lbr_stub lbr_stub_at(const ZydisDecoder *decoder, const struct lbr_location *location);

#endif
