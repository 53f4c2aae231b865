/* SPDX-License-Identifier: MIT */
/* Matches the instructions that set up the frame, and decodes those around them; see
 * java_entry.h. */
#include "arch/java_entry.h"

#include <string.h>

#include "arch/insn.h"

#define POPS 1 /* bytes of pop %rax */

struct bytes {
	const uint8_t *code;
	size_t len;
};

/* Returns whether the given bytes are at *at, and moves *at behind them if so. */
static bool skip(const struct bytes *b, size_t *at, const char *bytes, size_t len)
{
	if (*at > b->len || b->len - *at < len || memcmp(b->code + *at, bytes, len) != 0)
		return false;
	*at += len;
	return true;
}

#define SKIP(b, at, bytes) skip(b, at, bytes, sizeof(bytes) - 1)

/* Returns whether the code at `at` is that from pop %rax to the end of the frame's setup. *ret_push
 * is the offset of push %rax. */
static bool match(const struct bytes *b, size_t at, size_t *ret_push)
{
	if (!SKIP(b, &at, "\x58\x4c\x8d\x74\xcc\xf8\x85\xd2") ||
	    !(SKIP(b, &at, "\x7e\x09") || SKIP(b, &at, "\x7e\x06") ||
	      SKIP(b, &at, "\x0f\x8e\x09\0\0\0") || SKIP(b, &at, "\x0f\x8e\x06\0\0\0")) ||
	    !(SKIP(b, &at, "\x68\0\0\0\0") || SKIP(b, &at, "\x6a\0")) ||
	    !SKIP(b, &at, "\xff\xca\x7f"))
		return false;
	*ret_push = ++at;
	return SKIP(b, &at, "\x50\x55\x48\x8b\xec") || SKIP(b, &at, "\x50\x55\x48\x89\xe5");
}

/* Returns whether an instruction keeps rsp and rbp; a push is allowed if `may_push`. */
static bool keeps_stack(const struct insn *i, bool may_push)
{
	const uint32_t written = 1u << INSN_SP | 1u << INSN_FP;

	if (i->op == INSN_PUSH)
		return may_push;
	return i->op != INSN_POP && i->op != INSN_LEAVE && i->op != INSN_ALIGN &&
	       !(i->written & written) && i->dst != INSN_SP && i->dst != INSN_FP;
}

/* Returns whether the instructions from `from` on lead to `to`, in sequence or by a branch, and
 * keep the stack; pushes are allowed if `may_push`. */
static bool leads(const struct bytes *b, size_t from, size_t to, bool may_push)
{
	struct insn_decoder decoder;
	struct insn i;

	insn_decoder_init(&decoder);
	for (; from < to; from += i.length) {
		if (!insn_decode(&decoder, b->code + from, b->len - from, from, &i))
			return false;
		if (i.flow == INSN_BRANCH && i.target == to)
			return true;
		if (i.flow != INSN_NEXT || !(i.op == INSN_STORE || keeps_stack(&i, may_push)))
			return false;
	}
	return from == to;
}

/* Returns whether an instruction begins at `at`, if the bytes are decoded from `from` on. */
static bool has_instruction(const struct bytes *b, size_t from, size_t at)
{
	struct insn_decoder decoder;
	struct insn i;

	insn_decoder_init(&decoder);
	while (from < at && insn_decode(&decoder, b->code + from, b->len - from, from, &i))
		from += i.length;
	return from == at;
}

/* Returns the state at `at`, after mov %rsp,%rbp, which ends at `made`, so that rbp is the
 * frame's. */
static enum java_entry in_frame(const struct bytes *b, size_t made, size_t at)
{
	size_t behind = made;

	if (!SKIP(b, &behind, "\x41\x55") || !leads(b, made, at, true))
		return JAVA_ENTRY_NONE;
	return at >= behind ? JAVA_ENTRY_HAS_SENDER : JAVA_ENTRY_MADE;
}

/* Returns whether a method that the interpreter has called returns to `at`. The frame is then the
 * interpreter's, which loads its stack pointer from the frame, and has not cleared that word
 * yet. */
static bool is_return_entry(const struct bytes *b, size_t at)
{
	size_t second = at - 4;

	return SKIP(b, &at, "\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0") ||
	       SKIP(b, &second, "\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0");
}

enum java_entry java_entry_at(const uint8_t *code, size_t len, size_t at)
{
	const struct bytes b = {code, len};
	size_t first = at > JAVA_ENTRY_BEFORE ? at - JAVA_ENTRY_BEFORE : 0, push;

	if (is_return_entry(&b, at))
		return JAVA_ENTRY_HAS_SENDER;
	for (size_t pop = first; pop < len && pop <= at + JAVA_ENTRY_AFTER; pop++) {
		if (code[pop] != 0x58 || !match(&b, pop, &push))
			continue;
		if (at <= pop)
			return leads(&b, at, pop, false) ? JAVA_ENTRY_ON_TOP : JAVA_ENTRY_NONE;
		if (at <= push)
			return has_instruction(&b, pop + POPS, at) ? JAVA_ENTRY_IN_REGISTER
								   : JAVA_ENTRY_NONE;
		if (at == push + 1)
			return JAVA_ENTRY_ON_TOP;
		if (at == push + 2)
			return JAVA_ENTRY_PUSHED;
		return at >= push + 5 ? in_frame(&b, push + 5, at) : JAVA_ENTRY_NONE;
	}
	return JAVA_ENTRY_NONE;
}

bool java_entry_is_start(const uint8_t *code)
{
	int32_t distance;

	if (code[0] != 0x89 || code[1] != 0x84 || code[2] != 0x24 || code[7] != 0x55 ||
	    code[8] != 0x48 || (code[9] != 0x81 && code[9] != 0x83) || code[10] != 0xec)
		return false;
	memcpy(&distance, code + 3, sizeof(distance));
	return distance < 0 && distance % 4096 == 0;
}
