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
	size_t first = at;

	if (SKIP(b, &first, "\x58\x4c\x8d\x74\xcc\xf8\x68\0\0\0\0\x68\0\0\0\0") ||
	    SKIP(b, &first, "\x58\x4c\x8d\x74\xcc\xf8\x6a\0\x6a\0")) {
		*ret_push = first;
		return SKIP(b, &first, "\x50\x55\x48\x8b\xec") ||
		       SKIP(b, &first, "\x50\x55\x48\x89\xe5");
	}
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

/* Returns whether a method that the interpreter has called returns to `at`: the frame is the
 * interpreter's. */
static bool is_return_entry(const struct bytes *b, size_t at)
{
	static const struct {
		const char *code;
		size_t len, steps[4];
	} forms[] = {
		{"\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0\x4c\x8b\x6d\xc0", 16, {0, 4, 12}},
		{"\x48\x8b\x4d\xf0\x48\x8d\x64\xcd\0\x48\xc7\x45\xf0\0\0\0\0\x4c\x8b\x6d\xc0",
		 21,
		 {0, 4, 9, 17}},
	};

	for (size_t f = 0; f < sizeof(forms) / sizeof(*forms); f++) {
		for (size_t k = 0; k < 4 && (!k || forms[f].steps[k]); k++) {
			size_t start = at - forms[f].steps[k];

			if (at >= forms[f].steps[k] && skip(b, &start, forms[f].code, forms[f].len))
				return true;
		}
	}
	return false;
}

#define LEAVE_BEFORE 64 /* most bytes from leave to the jump */
#define RSI	     6	/* numbers in instructions */
#define RDX	     2

/* Skips instructions that keep the stack and the register `reg`, and do not pass `end`. Returns
 * whether they lead to `end`. */
static bool leads_past(const struct bytes *b, size_t from, size_t end, unsigned reg)
{
	struct insn_decoder decoder;
	struct insn i;

	insn_decoder_init(&decoder);
	for (; from < end; from += i.length) {
		if (!insn_decode(&decoder, b->code + from, b->len - from, from, &i) ||
		    (i.flow != INSN_NEXT && i.flow != INSN_BRANCH) || i.written >> reg & 1 ||
		    i.dst == reg || !(i.op == INSN_STORE || keeps_stack(&i, false)))
			return false;
	}
	return from == end;
}

/* Returns the state at `at` behind a leave at `leave`. */
static enum java_entry after_leave(const struct bytes *b, size_t leave, size_t at)
{
	size_t pop = leave + 1, moved;
	unsigned reg;

	if (pop + 8 < b->len && !memcmp(b->code + pop, "\x41\xc6\x87", 3) && !b->code[pop + 7])
		pop += 8; /* movb $0,disp(%r15) */
	moved = pop + 1;
	if (pop >= b->len || (b->code[pop] != 0x58 + RSI && b->code[pop] != 0x58 + RDX) ||
	    !SKIP(b, &moved, "\x48\x8b\xe3"))
		return JAVA_ENTRY_NONE;
	if (at == leave + 1 || at == pop)
		return JAVA_ENTRY_LEFT_ON_TOP;
	reg = b->code[pop] - 0x58u;
	if (at != pop + 1 && (at < moved || !leads_past(b, moved, at, reg)))
		return JAVA_ENTRY_NONE;
	return reg == RSI ? JAVA_ENTRY_LEFT_IN_RSI : JAVA_ENTRY_LEFT_IN_RDX;
}

static enum java_entry leaving(const struct bytes *b, size_t at)
{
	enum java_entry entry = JAVA_ENTRY_NONE;

	for (size_t k = 1; k <= LEAVE_BEFORE && k <= at && entry == JAVA_ENTRY_NONE; k++) {
		if (b->code[at - k] == 0xc9)
			entry = after_leave(b, at - k, at);
	}
	return entry;
}

/* Returns the state at `at` of the code that makes a frame. */
static enum java_entry making(const struct bytes *b, size_t at)
{
	size_t first = at > JAVA_ENTRY_BEFORE ? at - JAVA_ENTRY_BEFORE : 0, push;

	for (size_t pop = first; pop < b->len && pop <= at + JAVA_ENTRY_AFTER; pop++) {
		if (b->code[pop] != 0x58 || !match(b, pop, &push))
			continue;
		if (at <= pop)
			return leads(b, at, pop, false) ? JAVA_ENTRY_ON_TOP : JAVA_ENTRY_NONE;
		if (at <= push)
			return has_instruction(b, pop + POPS, at) ? JAVA_ENTRY_IN_REGISTER
								  : JAVA_ENTRY_NONE;
		if (at == push + 1)
			return JAVA_ENTRY_ON_TOP;
		if (at == push + 2)
			return JAVA_ENTRY_PUSHED;
		return at >= push + 5 ? in_frame(b, push + 5, at) : JAVA_ENTRY_NONE;
	}
	return JAVA_ENTRY_NONE;
}

enum java_entry java_entry_at(const uint8_t *code, size_t len, size_t at)
{
	const struct bytes b = {code, len};
	enum java_entry entry;

	if (is_return_entry(&b, at))
		return JAVA_ENTRY_RETURNED;
	entry = making(&b, at);
	return entry == JAVA_ENTRY_NONE && at < len ? leaving(&b, at) : entry;
}

uint32_t java_entry_popped(const uint8_t *code)
{
	struct insn_decoder decoder;
	struct insn i;
	uint32_t popped = 0;

	insn_decoder_init(&decoder);
	for (size_t at = 0; at < JAVA_ENTRY_POP_BYTES; at += i.length) {
		if (!insn_decode(&decoder, code + at, JAVA_ENTRY_POP_BYTES - at, at, &i) ||
		    i.op != INSN_POP || i.dst == INSN_FP)
			break;
		popped += 8;
	}
	return popped;
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
