/* SPDX-License-Identifier: MIT */
/* Reads instructions; see go_switch.h. It knows only the few forms that Go's assembler emits. */
#include "arch/go_switch.h"

#include <string.h>

#define RDX 2 /* in the numbering of instructions */
#define RSP 4

struct code {
	const uint8_t *at, *end;
};

static bool take(struct code *c, const char *bytes, size_t count)
{
	if ((size_t)(c->end - c->at) < count || memcmp(c->at, bytes, count) != 0)
		return false;
	c->at += count;
	return true;
}

static bool take_number(struct code *c, size_t bytes, int32_t *ret_number)
{
	int32_t wide;

	if ((size_t)(c->end - c->at) < bytes)
		return false;
	if (bytes == sizeof(wide)) {
		memcpy(&wide, c->at, sizeof(wide));
		*ret_number = wide;
	} else {
		*ret_number = c->at[0] < 0x80 ? c->at[0] : c->at[0] - 0x100;
	}
	c->at += bytes;
	return true;
}

/* Each take function returns whether the given instruction is next, and moves behind it. This one
 * takes `opcode offset(%from),%to` with 64-bit registers, without REX.R and REX.B. */
static bool take_memory(struct code *c, uint8_t opcode, unsigned from, unsigned *ret_to,
			int32_t *ret_offset)
{
	static const size_t bytes[] = {0, 1, 4};
	uint8_t modrm;

	*ret_offset = 0;
	if (c->end - c->at < 3 || c->at[0] != 0x48 || c->at[1] != opcode)
		return false;
	modrm = c->at[2];
	c->at += 3;
	if (modrm >> 6 == 3 || (modrm & 7) != from || (from == 5 && modrm >> 6 == 0) ||
	    (from == RSP && !take(c, "\x24", 1)))
		return false;
	*ret_to = modrm >> 3 & 7;
	return !bytes[modrm >> 6] || take_number(c, bytes[modrm >> 6], ret_offset);
}

static bool take_load(struct code *c, unsigned from, unsigned *ret_to, int32_t *ret_offset)
{
	return take_memory(c, 0x8b, from, ret_to, ret_offset);
}

/* Takes the load or store (opcode 8b or 89) of a thread-local word, whose offset is a number or is
 * already in %rcx. */
static bool take_thread_local(struct code *c, uint8_t opcode, bool by_rcx, unsigned *ret_reg,
			      int32_t *ret_offset)
{
	if (c->end - c->at < 4 || c->at[0] != 0x64 || c->at[1] != 0x48 || c->at[2] != opcode)
		return false;
	*ret_reg = c->at[3] >> 3 & 7;
	c->at += 4;
	if (by_rcx)
		return (c->at[-1] & 0xc7) == 1;
	return (c->at[-1] & 0xc7) == 4 && take(c, "\x25", 1) && take_number(c, 4, ret_offset);
}

/* Takes `mov $-8,%rcx`, which some programs have before they use %rcx as the offset. */
static bool take_rcx(struct code *c, int32_t *ret_offset)
{
	return take(c, "\x48\xc7\xc1", 3) && take_number(c, 4, ret_offset);
}

static bool fits(int32_t offset)
{
	return offset >= 0 && offset <= INT16_MAX - 8 && !(offset & 7);
}

/* Takes the instructions after the call in systemstack. */
static bool take_way_back(struct code *c, struct go_goroutine *ret)
{
	int32_t by_rcx = 0, g = 0, again = 0, m, curg, sp;
	bool has_rcx = take_rcx(c, &by_rcx);
	unsigned g0, thread, goroutine, stored, to;

	if (!take_thread_local(c, 0x8b, has_rcx, &g0, &g) || g0 == RSP ||
	    !take_load(c, g0, &thread, &m) || thread == RSP ||
	    !take_load(c, thread, &goroutine, &curg) || goroutine == RSP ||
	    !take_thread_local(c, 0x89, has_rcx, &stored, &again) || stored != goroutine ||
	    !take_load(c, goroutine, &to, &sp) || to != RSP || again != g)
		return false;
	if (!fits(m) || !fits(curg) || !fits(sp))
		return false;
	*ret = (struct go_goroutine){.g = has_rcx ? by_rcx : g,
				     .m = (int16_t)m,
				     .curg = (int16_t)curg,
				     .sp = (int16_t)sp};
	return true;
}

/* Returns whether the bytes before a return address can be `call *%reg` with one of the first eight
 * registers, or a direct `call`. */
static bool can_be_call(const uint8_t *code, size_t ret)
{
	return (ret >= 2 && code[ret - 2] == 0xff && (code[ret - 1] & 0xf8) == 0xd0) ||
	       (ret >= 5 && code[ret - 5] == 0xe8);
}

bool go_switch_systemstack(const uint8_t *code, size_t size, struct go_switch *ret_switch,
			   struct go_goroutine *ret_goroutine)
{
	for (size_t at = 0; at < size; at++) {
		struct code c = {code + at, code + size};

		if (!can_be_call(code, at) || !take_way_back(&c, ret_goroutine))
			continue;
		*ret_switch = (struct go_switch){.call = at, .back = (size_t)(c.at - code)};
		return true;
	}
	return false;
}

/* Takes the instructions after a call in asmcgocall. */
static bool take_cgo_way_back(struct code *c, struct go_cgo_frame *ret)
{
	unsigned g, to, other;
	int32_t first, hi, depth, unused;
	bool has_rcx = take_rcx(c, &unused);

	if (!take_load(c, RSP, &g, &first) || g == RSP || !fits(first))
		return false;
	if (take(c, "\x48\x89", 2)) {
		*ret = (struct go_cgo_frame){.depth = (int16_t)first, .is_same = true};
		return c->at < c->end && *c->at++ == (0xc0 | g << 3 | RSP);
	}
	if (!take_load(c, g, &to, &hi) || to == RSP || !fits(hi) ||
	    !take_memory(c, 0x2b, RSP, &other, &depth) || other != to || !fits(depth))
		return false;
	*ret = (struct go_cgo_frame){.g = first, .hi = (int16_t)hi, .depth = (int16_t)depth};
	return take_thread_local(c, 0x89, has_rcx, &other, &unused) && other == g &&
	       take(c, "\x48\x89", 2) && c->at < c->end && *c->at++ == (0xc0 | to << 3 | RSP);
}

bool go_switch_asmcgocall(const uint8_t *code, size_t size, size_t from,
			  struct go_switch *ret_switch, struct go_cgo_frame *ret_frame)
{
	for (size_t at = from + 1; at < size; at++) {
		struct code c = {code + at, code + size};

		if (!can_be_call(code, at) || !take_cgo_way_back(&c, ret_frame))
			continue;
		*ret_switch = (struct go_switch){.call = at, .back = (size_t)(c.at - code)};
		return true;
	}
	return false;
}

/* Returns the length of SIB and displacement of a memory operand, by its ModRM byte; 0: the operand
 * is a register. */
static size_t operand_length(uint8_t modrm)
{
	static const size_t displacement[] = {0, 1, 4, 0};

	return modrm >> 6 == 3 ? 0 : displacement[modrm >> 6] + ((modrm & 7) == RSP);
}

/* Returns the length of an instruction that keeps rdx, and changes rsp only by a constant or a
 * mask, or of a call. 0: it is not one of the instructions that are known to do so. */
static size_t length_keeping_rdx(const uint8_t *code, size_t size)
{
	uint8_t modrm = size < 4 ? 0 : code[2];
	bool is_register = modrm >> 6 == 3;
	unsigned reg = modrm >> 3 & 7, rm = modrm & 7;

	if (size < 4)
		return 0;
	if (code[0] == 0xff && (code[1] & 0xf8) == 0xd0)
		return 2; /* call *%reg */
	if (code[0] == 0xe8)
		return 5;
	if (code[0] != 0x48)
		return 0;
	switch (code[1]) {
	case 0x83: /* sub or and with a small number */
		return is_register && rm == RSP ? 4 : 0;
	case 0xc7: /* mov of a number to memory */
		return is_register ? 0 : 3 + operand_length(modrm) + 4;
	case 0x29: /* sub */
	case 0x89: /* mov */
		return is_register && (rm == RDX || rm == RSP) ? 0 : 3 + operand_length(modrm);
	case 0x8b:
		return reg == RDX || reg == RSP ? 0 : 3 + operand_length(modrm);
	}
	return 0;
}

bool go_switch_is_in_register(const uint8_t *code, size_t size, size_t from, size_t call)
{
	static const uint8_t keeps[] = {0x48, 0x89, 0xe2}; /* mov %rsp,%rdx */
	size_t length = 1;

	if (from > call || call > size || !memmem(code, from, keeps, sizeof(keeps)))
		return false;
	for (; from < call && length; from += length)
		length = length_keeping_rdx(code + from, size - from);
	return from == call;
}

size_t go_switch_return_end(const uint8_t *code, size_t size, size_t back)
{
	struct code c = {code + (back < size ? back : size), code + size};
	int32_t unused;

	if (back > size || !take(&c, "\x89\x44\x24", 3) || !take_number(&c, 1, &unused) ||
	    !take(&c, "\xc3", 1))
		return 0;
	return (size_t)(c.at - code);
}

static bool take_callback_back(struct code *c, struct go_callback *ret, const uint8_t **ret_back)
{
	int32_t by_rcx = 0, g = 0, again = 0, m, g0_at, sp, saved, put;
	bool has_rcx = take_rcx(c, &by_rcx);
	unsigned first, thread, g0, stored, to, before, other;

	if (!take_thread_local(c, 0x8b, has_rcx, &first, &g) || first == RSP ||
	    !take_load(c, first, &thread, &m) || thread == RSP ||
	    !take_load(c, thread, &g0, &g0_at) || g0 == RSP ||
	    !take_thread_local(c, 0x89, has_rcx, &stored, &again) || stored != g0 || again != g ||
	    !take_load(c, g0, &to, &sp) || to != RSP)
		return false;
	*ret_back = c->at;
	if (!take_load(c, RSP, &before, &saved) || before == RSP ||
	    !take_memory(c, 0x89, g0, &other, &put) || other != before || put != sp || !fits(m) ||
	    !fits(g0_at) || !fits(sp) || !fits(saved))
		return false;
	*ret = (struct go_callback){.g = has_rcx ? by_rcx : g,
				    .m = (int16_t)m,
				    .g0 = (int16_t)g0_at,
				    .sp = (int16_t)sp,
				    .saved = (int16_t)saved};
	return true;
}

bool go_switch_cgocallback(const uint8_t *code, size_t size, struct go_switch *ret_switch,
			   struct go_callback *ret_callback)
{
	for (size_t at = 0; at < size; at++) {
		struct code c = {code + at, code + size};
		const uint8_t *back;

		if (!take_callback_back(&c, ret_callback, &back))
			continue;
		*ret_switch = (struct go_switch){.call = at, .back = (size_t)(back - code)};
		return true;
	}
	return false;
}

bool go_switch_morestack(const uint8_t *code, size_t size, const struct go_goroutine *goroutine)
{
	/* mov (%rsp),%rax; mov %rax,sched.pc(%rsi); lea 8(%rsp),%rax; mov %rax,sched.sp(%rsi).
	 * Since Go 1.24 the goroutine is in %rdi. */
	static const uint8_t modrms[] = {0x46, 0x47};
	uint8_t saves[] = {0x48, 0x8b, 0x04, 0x24, 0x48, 0x89, 0, 0, 0x48,
			   0x8d, 0x44, 0x24, 0x08, 0x48, 0x89, 0, 0};

	if (goroutine->sp > INT8_MAX - 8)
		return false;
	saves[7] = (uint8_t)(goroutine->sp + 8);
	saves[16] = (uint8_t)goroutine->sp;
	for (size_t i = 0; i < sizeof(modrms); i++) {
		saves[6] = saves[15] = modrms[i];
		if (memmem(code, size, saves, sizeof(saves)))
			return true;
	}
	return false;
}

bool go_switch_gogo(const uint8_t *code, size_t size, struct go_gogo *ret_gogo)
{
	static const uint8_t sets[] = {0x48, 0x8b, 0x23}; /* mov (%rbx),%rsp */
	/* mov 8(%rbx),%rbx; jmp *%rbx */
	static const uint8_t leaves[] = {0x48, 0x8b, 0x5b, 0x08, 0xff, 0xe3};
	const uint8_t *from = memmem(code, size, sets, sizeof(sets)), *end;

	end = from ? memmem(from, size - (size_t)(from - code), leaves, sizeof(leaves)) : NULL;
	if (!end)
		return false;
	*ret_gogo = (struct go_gogo){
		.from = (size_t)(from - code) + sizeof(sets),
		.loaded = (size_t)(end - code) + 4,
		.end = (size_t)(end - code) + 5,
	};
	return true;
}

/* Returns the length of an instruction that begins with a REX prefix and moves a value to rsp, or
 * masks it; 0: it is another instruction. (A lea with an index register does not occur.) */
static size_t length_of_set(const uint8_t *code, size_t size)
{
	static const size_t displacement[] = {0, 1, 4, 0};
	uint8_t modrm = size < 3 ? 0 : code[2];
	unsigned mode = modrm >> 6;
	bool has_sib = mode != 3 && (modrm & 7) == 4;

	if (size < 3 || (code[0] & 0xf8) != 0x48)
		return 0;
	if (code[1] == 0x89 && !(code[0] & 1) && (modrm & 0xc7) == (0xc0 | RSP))
		return 3;
	if (code[1] == 0x83 && !(code[0] & 1) && modrm == 0xe4)
		return 4;
	if (code[1] == 0x81 && !(code[0] & 1) && modrm == 0xe4)
		return 7;
	if (code[1] == 0x8d && !(code[0] & 4) && (modrm >> 3 & 7) == RSP && mode != 3 && !has_sib)
		return 3 + displacement[mode];
	if (code[1] == 0x8b && !(code[0] & 4) && (modrm >> 3 & 7) == RSP)
		return 3 + has_sib + displacement[mode];
	return 0;
}

size_t go_switch_sets_sp(const uint8_t *code, size_t size)
{
	for (size_t i = 0; i < size; i++) {
		size_t length = length_of_set(code + i, size - i);

		if (length)
			return length < size - i ? i + length : size;
	}
	return size;
}

size_t go_switch_keeps_sp(const uint8_t *code, size_t size, uint8_t *ret_reg)
{
	static const struct {
		uint8_t bytes[3], reg;
	} moves[] = {{{0x49, 0x89, 0xe4}, 12}, {{0x48, 0x89, 0xe3}, 3}};

	for (size_t i = 0; i < sizeof(moves) / sizeof(*moves); i++) {
		const uint8_t *at = memmem(code, size, moves[i].bytes, sizeof(moves[i].bytes));

		if (!at)
			continue;
		*ret_reg = moves[i].reg;
		return (size_t)(at - code) + sizeof(moves[i].bytes);
	}
	return 0;
}

int go_switch_saves_fp(const uint8_t *code, int32_t delta)
{
	int32_t offset;

	if (delta == 8 && code[-1] == 0x55 && !memcmp(code, "\x48\x89\xe5", 3))
		return 0;
	if (!memcmp(code, "\x48\x89\x6c\x24", 4) && (int8_t)code[4] == delta - 8)
		return 5;
	memcpy(&offset, code + 4, sizeof(offset));
	if (!memcmp(code, "\x48\x89\xac\x24", 4) && offset == delta - 8)
		return 8;
	return -1;
}

bool go_switch_pops_return(const uint8_t *code)
{
	return code[-2] == 0x41 && code[-1] == 0x5c;
}
