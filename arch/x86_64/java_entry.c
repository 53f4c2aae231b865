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

/* Returns whether `at` is at an instruction of a form, whose bytes are around it. */
static bool is_in(const struct bytes *b, size_t at, const char *form, size_t len)
{
	for (size_t k = 0; k < len && k <= at; k++) {
		size_t start = at - k;

		if (skip(b, &start, form, len))
			return has_instruction(b, at - k, at);
	}
	return false;
}

#define IS_IN(b, at, form) is_in(b, at, form, sizeof(form) - 1)

/* Returns whether a method that the interpreter has called returns to `at`: the frame is the
 * interpreter's. */
static bool is_return_entry(const struct bytes *b, size_t at)
{
	return IS_IN(b, at, "\x48\x8b\x65\xf0\x48\xc7\x45\xf0\0\0\0\0\x4c\x8b\x6d\xc0") ||
	       IS_IN(b, at,
		     "\x48\x8b\x4d\xf0\x48\x8d\x64\xcd\0\x48\xc7\x45\xf0\0\0\0\0\x4c\x8b"
		     "\x6d\xc0");
}

/* Returns whether a method is about to jump to one that it calls: from lea 8(%rsp),%r13 on. The
 * form's last two bytes are without the distance in a Method. */
static bool is_calling(const struct bytes *b, size_t at)
{
	return IS_IN(b, at, "\x4c\x8d\x6c\x24\x08\x4c\x89\x6d\xf0\xff\x63") ||
	       IS_IN(b, at,
		     "\x4c\x8d\x6c\x24\x08\x49\x8b\xcd\x48\x2b\xcd\x48\xc1\xf9\x03\x48\x89\x4d"
		     "\xf0\xff\x63");
}

#define LEAVE_BEFORE 64 /* most bytes from leave to the jump */
#define JUMP_BEHIND  32 /* most bytes from where the stack pointer is set to the jump */
#define RSI	     6	/* numbers in instructions */
#define RDX	     2
#define RBX	     3
#define R11	     11

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

/* Skips pop REG. */
static bool skip_pop(const struct bytes *b, size_t *at, unsigned *ret_reg)
{
	size_t op = *at;
	unsigned high = SKIP(b, &op, "\x41") ? 8 : 0;

	if (op >= b->len || (b->code[op] & 0xf8) != 0x58)
		return false;
	*ret_reg = high + (b->code[op] & 7u);
	*at = op + 1;
	return true;
}

/* Skips mov REG,%rsp, where the register is one that has the caller's stack pointer. */
static bool skip_sender(const struct bytes *b, size_t *at, unsigned *ret_reg)
{
	*ret_reg = SKIP(b, at, "\x48\x8b\xe3") ? RBX : R11;
	return *ret_reg == RBX || SKIP(b, at, "\x49\x8b\xe3");
}

/* Returns whether the code at `from` leads to jmp *REG. */
static bool leads_to_jump(const struct bytes *b, size_t from, unsigned reg)
{
	for (size_t end = from; end < from + JUMP_BEHIND; end++) {
		size_t jump = end;

		if (reg >= 8 && !SKIP(b, &jump, "\x41"))
			continue;
		if (SKIP(b, &jump, "\xff") && jump < b->len && b->code[jump] == (0xe0 | (reg & 7)))
			return leads_past(b, from, end, reg);
	}
	return false;
}

/* Returns the state at `at` behind a leave at `leave`. */
static enum java_entry after_leave(const struct bytes *b, size_t leave, size_t at,
				   struct java_entry_left *ret_left)
{
	static const uint8_t dwarf[16] = {0, 2, 1, 3, 7, 6, 4, 5, 8, 9, 10, 11, 12, 13, 14, 15};
	size_t pop = leave + 1, popped, moved;
	unsigned reg, sender;

	if (pop + 8 < b->len && !memcmp(b->code + pop, "\x41\xc6\x87", 3) && !b->code[pop + 7])
		pop += 8; /* movb $0,disp(%r15) */
	popped = pop;
	if (!skip_pop(b, &popped, &reg))
		return JAVA_ENTRY_NONE;
	moved = popped;
	if (!skip_sender(b, &moved, &sender))
		return JAVA_ENTRY_NONE;
	/* An exception is handled by calls before the jump. */
	if ((sender != RBX || (reg != RSI && reg != RDX)) && !leads_to_jump(b, moved, reg))
		return JAVA_ENTRY_NONE;
	*ret_left = (struct java_entry_left){dwarf[reg], dwarf[sender]};
	if (at == leave + 1 || at == pop)
		return JAVA_ENTRY_LEFT_ON_TOP;
	return at == popped || (at >= moved && leads_past(b, moved, at, reg)) ? JAVA_ENTRY_LEFT
									      : JAVA_ENTRY_NONE;
}

static enum java_entry leaving(const struct bytes *b, size_t at, struct java_entry_left *ret_left)
{
	enum java_entry entry = JAVA_ENTRY_NONE;

	for (size_t k = 1; k <= LEAVE_BEFORE && k <= at && entry == JAVA_ENTRY_NONE; k++) {
		if (b->code[at - k] == 0xc9)
			entry = after_leave(b, at - k, at, ret_left);
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

enum java_entry java_entry_at(const uint8_t *code, size_t len, size_t at,
			      struct java_entry_left *ret_left)
{
	const struct bytes b = {code, len};
	enum java_entry entry;

	if (is_return_entry(&b, at))
		return JAVA_ENTRY_RETURNED;
	if (is_calling(&b, at))
		return JAVA_ENTRY_CALLS;
	entry = making(&b, at);
	return entry == JAVA_ENTRY_NONE && at < len ? leaving(&b, at, ret_left) : entry;
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

#define MOV_BYTES  10 /* of movabs METHOD,%rbx */
#define STUB_BYTES (MOV_BYTES + 5)

bool java_entry_is_call_stub(const uint8_t *code, size_t len, size_t at)
{
	for (size_t before = 0; before <= MOV_BYTES && before <= at; before += MOV_BYTES) {
		const uint8_t *stub = code + at - before;

		if (len - (at - before) >= STUB_BYTES && stub[0] == 0x48 && stub[1] == 0xbb &&
		    stub[MOV_BYTES] == 0xe9)
			return true;
	}
	return false;
}

bool java_entry_thaws(const uint8_t *code)
{
	return memcmp(code, "\x49\x8b\xa7", 3) == 0;
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

#define FIRST_BYTES 7 /* of a method's first instruction */

size_t java_entry_is_closed(const uint8_t *code, size_t len, bool *ret_is_made)
{
	static const uint8_t saves_fp[] = {0x48, 0x89, 0x6c, 0x24}; /* mov %rbp,N(%rsp) */

	if (len < FIRST_BYTES + sizeof(saves_fp) || code[0] != 0xe9)
		return 0;
	*ret_is_made = memcmp(code + FIRST_BYTES, saves_fp, sizeof(saves_fp)) == 0;
	return *ret_is_made || code[FIRST_BYTES] == 0x55 ? FIRST_BYTES : 0;
}
