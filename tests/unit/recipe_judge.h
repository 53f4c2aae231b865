/* SPDX-License-Identifier: MIT */
/*
 * Compares a file's compiled recipes with libdw's rules for the same addresses.
 *
 * libdw gives each rule as a DWARF expression. Both are evaluated in one generated frame: registers
 * hold random numbers, and the word at an address is a hash of the address, so that two ways to
 * compute a CFA or a slot agree only if they are the same way. Compared are the CFA, the return
 * address, and the caller's six callee-saved registers.
 *
 * The addresses are those of libdw, which shares no code with what is judged: for each of its rows
 * in the executable segments the first, middle and last byte, and each byte that it has no row for;
 * and each first byte of a row of ours with the byte before it. Padding between functions, where
 * recipes keep the rule before it, is read, and must be instructions that do nothing.
 */
#ifndef TESTS_RECIPE_JUDGE_H
#define TESTS_RECIPE_JUDGE_H

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <gelf.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "unwind/recipe.h"

#define JUDGE_KINDS(X)                                                                             \
	X(AGREE, "agree")                                                                          \
	X(DAEMON, "left to the daemon: no rule can say it")                                        \
	X(ONLY_OURS, "libdw has no rule, the recipe has")                                          \
	X(ONLY_LIBDW, "libdw has a rule, the recipe has none")                                     \
	X(END, "only one of them says that the stack ends")                                        \
	X(CFA, "the CFA differs")                                                                  \
	X(RETURN, "the return address differs")                                                    \
	X(SAVED, "a callee-saved register differs")

enum judge_kind {
#define JUDGE_X(e, text) JUDGE_##e,
	JUDGE_KINDS(JUDGE_X)
#undef JUDGE_X
		JUDGE_COUNT
};

struct judge {
	const struct elf_file *file;
	const struct recipe_table *table;
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug;
	uint64_t regs[STACKD_REG_COUNT];
	uint64_t no_code; /* addresses that are not in any function */
	uint64_t counts[JUDGE_COUNT];
	uint64_t first[JUDGE_COUNT]; /* vaddr of the first of each kind */
};

/* A frame's caller: what both sides must agree on. */
struct judged {
	bool ends;
	uint64_t cfa, ra, saved[STACKD_SAVED_COUNT];
	bool is_unknown[STACKD_SAVED_COUNT]; /* the register is undefined */
};

static inline uint64_t judge_memory(uint64_t address)
{
	return hash_mix64(address ^ UINT64_C(0x5bd1e9955bd1e995));
}

static inline int judge_saved_reg(int i)
{
	static const int regs[] = {
#define STACKD_X(name, dwarf) dwarf,
		STACKD_SAVED_REGS(STACKD_X)
#undef STACKD_X
	};
	return regs[i];
}

/* --- libdw's side -------------------------------------------------------------------------- */

/* The operations that push a value; false if this is none of them. */
static inline bool judge_push(const struct judge *j, const Dwarf_Op *op, uint64_t cfa,
			      uint64_t *ret)
{
	if (op->atom >= DW_OP_breg0 && op->atom <= DW_OP_breg16)
		*ret = j->regs[op->atom - DW_OP_breg0] + op->number;
	else if (op->atom == DW_OP_bregx && op->number < STACKD_REG_COUNT)
		*ret = j->regs[op->number] + op->number2;
	else if (op->atom >= DW_OP_lit0 && op->atom <= DW_OP_lit31)
		*ret = op->atom - DW_OP_lit0;
	else if (op->atom >= DW_OP_const1u && op->atom <= DW_OP_consts)
		*ret = op->number;
	else if (op->atom == DW_OP_call_frame_cfa)
		*ret = cfa;
	else
		return false;
	return true;
}

/* The operations that replace the top of the stack; false if this is none of them. */
static inline bool judge_unary(const Dwarf_Op *op, uint64_t *top)
{
	if (op->atom == DW_OP_deref)
		*top = judge_memory(*top);
	else if (op->atom == DW_OP_plus_uconst)
		*top += op->number;
	else
		return false;
	return true;
}

/* The operations on the two topmost values, of which `a` is the top; false if this is none. */
static inline bool judge_binary(const Dwarf_Op *op, uint64_t b, uint64_t a, uint64_t *ret)
{
	switch (op->atom) {
	case DW_OP_plus:
		*ret = b + a;
		return true;
	case DW_OP_minus:
		*ret = b - a;
		return true;
	case DW_OP_mul:
		*ret = b * a;
		return true;
	case DW_OP_and:
		*ret = b & a;
		return true;
	case DW_OP_shl:
		*ret = a < 64 ? b << a : 0;
		return true;
	case DW_OP_ge:
		*ret = (int64_t)b >= (int64_t)a;
		return true;
	}
	return false;
}

/* Applies one operation to the stack of n values; false if it does not occur in call frame
 * information, or if the stack has too few values. */
static inline bool judge_step(const struct judge *j, const Dwarf_Op *op, uint64_t cfa, uint64_t *s,
			      int *n)
{
	if (judge_push(j, op, cfa, &s[*n])) {
		*n += 1;
		return true;
	}
	if (*n && op->atom == DW_OP_drop) {
		*n -= 1;
		return true;
	}
	if (*n && judge_unary(op, &s[*n - 1]))
		return true;
	if (*n < 2 || !judge_binary(op, s[*n - 2], s[*n - 1], &s[*n - 2]))
		return false;
	*n -= 1;
	return true;
}

/* Evaluates an expression: its result if is_value, else the word in memory at its result. */
static inline bool judge_eval(const struct judge *j, const Dwarf_Op *ops, size_t n_ops,
			      uint64_t cfa, bool is_value, uint64_t *ret)
{
	uint64_t stack[64];
	int n = 0;

	for (size_t i = 0; i < n_ops; i++) {
		if (ops[i].atom >= DW_OP_reg0 && ops[i].atom <= DW_OP_reg16 && n_ops == 1) {
			*ret = j->regs[ops[i].atom - DW_OP_reg0];
			return true;
		}
		if (ops[i].atom == DW_OP_stack_value)
			is_value = true;
		else if (n == 63 || !judge_step(j, &ops[i], cfa, stack, &n))
			return false;
	}
	if (n)
		*ret = is_value ? stack[n - 1] : judge_memory(stack[n - 1]);
	return n > 0;
}

static inline bool judge_reg(const struct judge *j, Dwarf_Frame *frame, int reg, uint64_t cfa,
			     uint64_t *ret, bool *ret_unknown)
{
	Dwarf_Op mem[3], *ops;
	size_t n;

	*ret_unknown = false;
	if (dwarf_frame_register(frame, reg, mem, &ops, &n))
		return false;
	if (!n) {
		/* libdw's default rules for this platform name rax where they mean rbx, so that
		 * rbx is "unspecified" to it wherever the file gives no rule (seen in 0.188). */
		*ret_unknown = ops == mem && reg != 3;
		*ret = j->regs[reg];
		return true;
	}
	return judge_eval(j, ops, n, cfa, false, ret);
}

/* false: not an expression that this judge can evaluate. */
static inline bool judge_libdw(const struct judge *j, Dwarf_Frame *frame, struct judged *ret)
{
	Dwarf_Op *ops;
	size_t n;

	*ret = (struct judged){0};
	if (!judge_reg(j, frame, STACKD_REG_PC, 0, &ret->ra, &ret->ends))
		return false;
	if (ret->ends)
		return true;
	if (dwarf_frame_cfa(frame, &ops, &n) || !judge_eval(j, ops, n, 0, true, &ret->cfa))
		return false;
	if (!judge_reg(j, frame, STACKD_REG_PC, ret->cfa, &ret->ra, &ret->ends))
		return false;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (!judge_reg(j, frame, judge_saved_reg(i), ret->cfa, &ret->saved[i],
			       &ret->is_unknown[i]))
			return false;
	}
	return true;
}

/* --- the recipe's side --------------------------------------------------------------------- */

static inline uint64_t judge_rule_cfa(const struct judge *j, const struct stackd_rule *rule)
{
	uint64_t at = j->regs[rule->reg] + (uint64_t)(int64_t)rule->cfa_offset;

	switch (rule->cfa) {
	case STACKD_CFA_DEREF:
		return judge_memory(at) + (uint64_t)(int64_t)rule->cfa_add;
	case STACKD_CFA_PLT:
		return at + ((j->regs[STACKD_REG_PC] & 15) >= (uint64_t)rule->cfa_add ? 8 : 0);
	case STACKD_CFA_SIGNAL:
		return judge_memory(at + 120);
	}
	return at;
}

static inline void judge_rule(const struct judge *j, const struct stackd_rule *rule,
			      struct judged *ret)
{
	/* In struct sigcontext, from r8: rbp, rbx, r12 to r15. */
	static const int in_sigcontext[] = {80, 88, 32, 40, 48, 56};

	*ret = (struct judged){.ends = rule->cfa == STACKD_CFA_END};
	ret->cfa = judge_rule_cfa(j, rule);
	ret->ra = judge_memory(ret->cfa + (uint64_t)(int64_t)rule->ra_offset);
	if (rule->cfa == STACKD_CFA_SIGNAL)
		ret->ra = judge_memory(j->regs[STACKD_REG_SP] + rule->cfa_offset + 128);
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		uint64_t offset = (uint64_t)(int64_t)rule->saved[i];

		ret->saved[i] = j->regs[judge_saved_reg(i)];
		if (rule->cfa == STACKD_CFA_SIGNAL)
			ret->saved[i] = judge_memory(j->regs[STACKD_REG_SP] + rule->cfa_offset +
						     in_sigcontext[i]);
		else if (rule->saved_via_reg >> i & 1)
			ret->saved[i] = judge_memory(j->regs[rule->saved_reg] + offset);
		else if (offset)
			ret->saved[i] = judge_memory(ret->cfa + offset);
	}
}

/* --- comparing ----------------------------------------------------------------------------- */

static inline Dwarf_Frame *judge_frame(const struct judge *j, uint64_t vaddr)
{
	Dwarf_Frame *frame = NULL;

	if (j->eh && !dwarf_cfi_addrframe(j->eh, vaddr, &frame))
		return frame;
	if (j->debug && !dwarf_cfi_addrframe(j->debug, vaddr, &frame))
		return frame;
	return NULL;
}

/* The length of one instruction that does nothing: nop in its long forms, int3, or zeros that a
 * linker filled in. 0 for anything else. */
static inline size_t judge_nop(const uint8_t *p, size_t len)
{
	size_t n = 0;

	while (n < len && (p[n] == 0x66 || p[n] == 0x2e))
		n++;
	if (n < len && (p[n] == 0x90 || (!n && (p[n] == 0xcc || !p[n]))))
		return n + 1;
	if (len - n >= 3 && p[n] == 0x0f && p[n + 1] == 0x1f) {
		uint8_t modrm = p[n + 2];

		n += 3 + ((modrm & 7) == 4) + (modrm >> 6 == 1 ? 1 : modrm >> 6 == 2 ? 4 : 0);
		return n <= len ? n : 0;
	}
	return 0;
}

/* True if libdw has no rule from before `vaddr` to the next 16-byte boundary, has one there, and
 * the bytes between are no-ops. */
static inline bool judge_is_padding(const struct judge *j, uint64_t vaddr)
{
	uint64_t end = (vaddr | 15) + 1, start = vaddr, offset;
	uint8_t bytes[16];
	Dwarf_Frame *frame = judge_frame(j, end);
	size_t n = 0, step;

	if (!frame)
		return false;
	free(frame);
	for (frame = NULL; !frame && end - start < 16; start -= !frame)
		frame = judge_frame(j, start - 1);
	free(frame);
	if (!elf_file_vaddr_to_offset(j->file, start, &offset) ||
	    elf_file_read(j->file, offset, bytes, end - start) != (int64_t)(end - start))
		return false;
	for (; n < end - start; n += step) {
		step = judge_nop(bytes + n, end - start - n);
		if (!step)
			return false;
	}
	return true;
}

static inline enum judge_kind judge_compare(struct judge *j, Dwarf_Frame *frame,
					    const struct stackd_rule *rule, uint64_t vaddr)
{
	struct judged theirs, ours;
	Dwarf_Op *ops;
	size_t n_ops;

	if (!frame) {
		if (rule->cfa == STACKD_CFA_NONE)
			return JUDGE_AGREE;
		return judge_is_padding(j, vaddr) ? JUDGE_AGREE : JUDGE_ONLY_OURS;
	}
	if (rule->cfa == STACKD_CFA_NONE)
		return JUDGE_ONLY_LIBDW;
	if (rule->cfa == STACKD_CFA_DAEMON)
		return JUDGE_DAEMON;
	if (dwarf_frame_cfa(frame, &ops, &n_ops))
		return JUDGE_ONLY_OURS;
	j->regs[STACKD_REG_PC] = vaddr;
	judge_rule(j, rule, &ours);
	if (!judge_libdw(j, frame, &theirs))
		return JUDGE_CFA;
	if (ours.ends != theirs.ends)
		return JUDGE_END;
	if (ours.ends)
		return JUDGE_AGREE;
	if (ours.cfa != theirs.cfa)
		return JUDGE_CFA;
	if (ours.ra != theirs.ra)
		return JUDGE_RETURN;
	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (theirs.is_unknown[i] || ours.saved[i] != theirs.saved[i])
			return JUDGE_SAVED;
	}
	return JUDGE_AGREE;
}

/* Compares at one address; *ret_end, if it is wanted, is the end of libdw's row there. */
static inline void judge_at(struct judge *j, uint64_t vaddr, uint64_t *ret_end)
{
	const struct stackd_rule *rule;
	Dwarf_Frame *frame = judge_frame(j, vaddr);
	Dwarf_Addr end = vaddr + 1;
	enum judge_kind kind;
	uint64_t offset;
	bool is_signal;

	if (!elf_file_vaddr_to_offset(j->file, vaddr, &offset))
		offset = UINT64_MAX;
	rule = recipe_lookup(j->table, offset);
	if (frame)
		dwarf_frame_info(frame, NULL, &end, &is_signal);
	if (ret_end)
		*ret_end = end > vaddr ? end : vaddr + 1;
	kind = judge_compare(j, frame, rule, vaddr);
	free(frame);
	if (!frame && kind == JUDGE_AGREE) {
		j->no_code++; /* they are numerous, and would raise the share */
		return;
	}
	if (!j->counts[kind]++)
		j->first[kind] = vaddr;
}

static inline void judge_range(struct judge *j, uint64_t start, uint64_t end)
{
	uint64_t at = start, next;

	for (; at < end; at = next) {
		judge_at(j, at, &next);
		if (next > end)
			next = end;
		if (next - at > 2)
			judge_at(j, at + (next - at) / 2, NULL);
		if (next - at > 1)
			judge_at(j, next - 1, NULL);
	}
}

static inline void judge_our_rows(struct judge *j)
{
	uint32_t first;
	size_t row_count, chunk_count;
	const struct stackd_row *rows = recipe_table_rows(j->table, &row_count);
	const uint32_t *chunks = recipe_table_chunks(j->table, &first, &chunk_count);

	for (size_t c = 0; c < chunk_count; c++) {
		for (uint32_t i = chunks[c]; i < chunks[c + 1]; i++) {
			uint64_t offset = ((uint64_t)(first + c) << 16) + rows[i].low, vaddr;

			if (elf_file_offset_to_vaddr(j->file, offset, &vaddr))
				judge_at(j, vaddr, NULL);
			if (offset && elf_file_offset_to_vaddr(j->file, offset - 1, &vaddr))
				judge_at(j, vaddr, NULL);
		}
	}
}

/* Judges all rows of a file. */
static inline void judge_file(struct judge *j, const struct elf_file *file,
			      const struct recipe_table *table)
{
	Elf *elf = elf_file_libelf(file);
	size_t count = 0;

	*j = (struct judge){.file = file, .table = table};
	for (int i = 0; i < STACKD_REG_COUNT; i++)
		j->regs[i] = hash_mix64((uint64_t)i + 1) & 0xfffffffffff8;
	j->eh = dwarf_getcfi_elf(elf);
	j->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	j->debug = j->dwarf ? dwarf_getcfi(j->dwarf) : NULL;
	elf_getphdrnum(elf, &count);
	for (size_t i = 0; i < count; i++) {
		GElf_Phdr p;

		if (gelf_getphdr(elf, (int)i, &p) && p.p_type == PT_LOAD && (p.p_flags & PF_X))
			judge_range(j, p.p_vaddr, p.p_vaddr + p.p_filesz);
	}
	judge_our_rows(j);
	dwarf_end(j->dwarf);
	dwarf_cfi_end(j->eh);
}

static inline const char *judge_kind_name(enum judge_kind kind)
{
	static const char *const names[] = {
#define JUDGE_X(e, text) text,
		JUDGE_KINDS(JUDGE_X)
#undef JUDGE_X
	};
	return names[kind];
}

/* Addresses judged. */
static inline uint64_t judge_total(const struct judge *j)
{
	uint64_t n = 0;

	for (int i = 0; i < JUDGE_COUNT; i++)
		n += j->counts[i];
	return n;
}

/* The number of addresses where the recipe contradicts libdw. Without a rule of libdw, neither is
 * wrong. */
static inline uint64_t judge_wrong(const struct judge *j)
{
	return judge_total(j) - j->counts[JUDGE_AGREE] - j->counts[JUDGE_DAEMON] -
	       j->counts[JUDGE_ONLY_OURS];
}

#endif
