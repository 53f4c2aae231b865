/* SPDX-License-Identifier: MIT */
/* Makes rules of functions of Go's runtime that switch stacks; go_stack.h describes them, and
 * go_switch.h reads their instructions. */
#include "runtime/go/go_rules_internal.h"

#include <string.h>

#define CGO_CALLS  4   /* limit of the calls of C in asmcgocall */
#define CODE_BYTES 512 /* limit of the bytes of a function that switches stacks */
/* first bytes of a function, in which it must copy the stack pointer to a register */
#define BORROWS_WITHIN 64

/* The first CODE_BYTES of a function's code. */
struct function_code {
	size_t size;
	uint8_t bytes[CODE_BYTES];
};

static void read_code(struct go_reader *r, const struct pclntab_function *f,
		      struct function_code *ret_code)
{
	uint64_t size = f->end - f->start;
	int64_t n = elf_file_read(r->file, go_reader_offset(r, f->start), ret_code->bytes,
				  size < CODE_BYTES ? size : CODE_BYTES);

	ret_code->size = n > 0 ? (size_t)n : 0;
}

/* Returns how far the stack pointer at a vaddr would be below its value at the function's entry, if
 * stacks had not been switched; -1: not known, or it does not fit into a rule. */
static int32_t delta_at(struct go_reader *r, const struct pclntab_function *f, uint64_t vaddr)
{
	struct pclntab_values values = pclntab_values_begin(r->table, f, f->pcsp);
	uint64_t start, end;
	int32_t delta;

	while (pclntab_values_next(&values, &start, &end, &delta)) {
		if (vaddr >= start && vaddr < end)
			return delta <= INT16_MAX - 8 ? delta : -1;
	}
	return -1;
}

/* Adds the rows of systemstack. On the system stack, the walk continues where the goroutine left
 * its stack. `from` is the offset behind the instruction that sets the stack pointer. */
static int take_systemstack(struct go_reader *r, const struct pclntab_function *f,
			    const struct function_code *code, size_t from)
{
	struct go_layer after = {.end = f->end, .cfa = STACKD_CFA_REG, .is_special = true};
	struct go_goroutine *g = &r->goroutine;
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_GOROUTINE, .reg = STACKD_REG_SP, .ra_offset = -8};
	struct go_switch found;
	int32_t delta;
	int err;

	if (!go_switch_systemstack(code->bytes, code->size, &found, g) || found.call <= from)
		return 0;
	delta = delta_at(r, f, f->start + found.call);
	if (delta < 0)
		return 0;
	r->has_goroutine = true;
	rule.cfa_add = (int16_t)(delta + 8);
	rule.cfa_offset = g->g;
	rule.saved[0] = g->m;
	rule.saved[1] = g->curg;
	rule.saved[2] = g->sp;
	err = go_reader_put(r, f->start + from, &rule, true);
	after.from = f->start + found.back;
	return err ? err : go_reader_deltas(r, f, after);
}

/* Adds the rows of cgocallback. On the goroutine's stack, the walk continues where the thread left
 * its system stack. */
static int take_cgocallback(struct go_reader *r, const struct pclntab_function *f,
			    const struct function_code *code, size_t from)
{
	struct go_layer after = {.end = f->end, .cfa = STACKD_CFA_REG, .is_special = true};
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_CALLBACK, .reg = STACKD_REG_SP, .ra_offset = -8};
	struct go_switch found;
	struct go_callback c;
	int32_t delta;
	int err;

	if (!go_switch_cgocallback(code->bytes, code->size, &found, &c) || found.call <= from)
		return 0;
	delta = delta_at(r, f, f->start + found.back);
	if (delta < 0)
		return 0;
	rule.cfa_add = (int16_t)(delta + 8);
	rule.cfa_offset = c.g;
	rule.saved[0] = c.m;
	rule.saved[1] = c.g0;
	rule.saved[2] = c.sp;
	rule.saved[3] = c.saved;
	err = go_reader_put(r, f->start + from, &rule, true);
	after.from = f->start + found.back;
	return err ? err : go_reader_deltas(r, f, after);
}

/* Adds the row of morestack. On the system stack, the walk continues in the function that called
 * morestack. */
static int take_morestack(struct go_reader *r, const struct pclntab_function *f,
			  const struct function_code *code, size_t from)
{
	const struct go_goroutine *g = &r->goroutine;
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_GOROUTINE, .reg = STACKD_REG_SP, .cfa_offset = g->g};

	if (!r->has_goroutine || !go_switch_morestack(code->bytes, code->size, g))
		return 0;
	rule.saved[0] = g->m;
	rule.saved[1] = g->curg;
	rule.saved[2] = g->sp;
	return go_reader_put(r, f->start + from, &rule, true);
}

static struct stackd_rule cgo_rule(const struct go_cgo_frame *frame, int32_t delta)
{
	struct stackd_rule rule = {
		.cfa = frame->is_same ? STACKD_CFA_DEREF : STACKD_CFA_DEPTH,
		.reg = STACKD_REG_SP,
		.cfa_offset = frame->is_same ? frame->depth : frame->g,
		.cfa_add = (int16_t)(delta + 8),
		.ra_offset = -8,
	};

	if (!frame->is_same) {
		rule.saved[0] = frame->hi;
		rule.saved[1] = frame->depth;
	}
	return rule;
}

/* Adds the rows around one call of a C function in asmcgocall, from *from on, and moves *from
 * behind them. The CFA is computed from the register up to the call, from the frame on the system
 * stack until the stack pointer is set back, and as usual up to the return. */
static int take_cgo_call(struct go_reader *r, const struct pclntab_function *f,
			 const struct function_code *code, const struct go_switch *found,
			 const struct stackd_rule *by_frame, size_t *from)
{
	int32_t delta = by_frame->cfa_add - 8;
	struct stackd_rule unknown = {.cfa = STACKD_CFA_SWITCH}, usual = go_rule_of(delta, false);
	struct stackd_rule by_register = usual;
	size_t end = go_switch_return_end(code->bytes, code->size, found->back);
	bool is_in_register = go_switch_is_in_register(code->bytes, code->size, *from, found->call);
	int err;

	by_register.cfa = STACKD_CFA_OTHER;
	by_register.reg = GO_SWITCH_C_REG;
	err = go_reader_put(r, f->start + *from, is_in_register ? &by_register : &unknown, true);
	if (!err)
		err = go_reader_put(r, f->start + found->call - 1, by_frame, true);
	if (!err)
		err = go_reader_put(r, f->start + found->back, end ? &usual : &unknown, true);
	if (!err && end)
		err = go_reader_put(r, f->start + end, &unknown, true);
	*from = end ? end : found->back;
	return err;
}

/* Adds the rows of asmcgocall on the system stack, from the offset `from` on. */
static int take_asmcgocall(struct go_reader *r, const struct pclntab_function *f,
			   const struct function_code *code, size_t from)
{
	struct go_switch found = {.call = from};
	struct go_cgo_frame frame;
	int err = 0;

	for (int i = 0; i < CGO_CALLS && !err; i++) {
		struct stackd_rule rule;
		int32_t delta;

		if (!go_switch_asmcgocall(code->bytes, code->size, found.call, &found, &frame))
			break;
		delta = delta_at(r, f, f->start + found.call);
		if (delta < 0)
			continue;
		rule = cgo_rule(&frame, delta);
		err = take_cgo_call(r, f, code, &found, &rule, &from);
	}
	return err;
}

/* Adds the rows of gogo on a goroutine's stack, before it jumps to the goroutine's code. */
static int take_gogo(struct go_reader *r, const struct pclntab_function *f,
		     const struct function_code *code, size_t from)
{
	const struct stackd_rule unknown = {.cfa = STACKD_CFA_SWITCH};
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_GOROUTINE, .reg = GO_SWITCH_CODE_REG, .cfa_offset = 8};
	struct go_gogo found;
	int err;

	if (!go_switch_gogo(code->bytes, code->size, &found) || found.from != from)
		return 0;
	err = go_reader_put(r, f->start + found.from, &rule, true);
	rule.cfa_offset = 0;
	rule.cfa_add = 1;
	if (!err)
		err = go_reader_put(r, f->start + found.loaded, &rule, true);
	return err ? err : go_reader_put(r, f->start + found.end, &unknown, true);
}

int go_reader_switch(struct go_reader *r, const struct pclntab_function *f, enum go_stack stack)
{
	struct go_layer before = {.from = f->start, .cfa = STACKD_CFA_REG, .is_special = true};
	struct stackd_rule rule = {.cfa = stack == GO_STACK_MCALL ? STACKD_CFA_END
								  : STACKD_CFA_SWITCH};
	struct function_code code;
	size_t from;
	int err = 0;

	read_code(r, f, &code);
	from = go_switch_sets_sp(code.bytes, code.size);
	if (from >= code.size && stack == GO_STACK_GOGO && f->end - f->start == code.size)
		/* this function ends with a jump to the rest of its code */
		return go_reader_telling(r, f, STACKD_CFA_REG);
	if (from >= code.size)
		return go_reader_put(r, f->start, &rule, true);
	before.end = f->start + from;
	if (f->pcsp)
		err = go_reader_deltas(r, f, before);
	if (!err && stack == GO_STACK_SYSTEMSTACK)
		err = take_systemstack(r, f, &code, from);
	else if (!err && stack == GO_STACK_CGOCALLBACK)
		err = take_cgocallback(r, f, &code, from);
	else if (!err && stack == GO_STACK_GOGO)
		err = take_gogo(r, f, &code, from);
	else if (!err && stack == GO_STACK_MORESTACK)
		err = take_morestack(r, f, &code, from);
	else if (!err && stack == GO_STACK_ASMCGOCALL)
		err = take_asmcgocall(r, f, &code, from);
	if (!err && (!r->has_last || r->last.offset < go_reader_offset(r, before.end)))
		err = go_reader_put(r, before.end, &rule, true);
	return err;
}

/* Returns the vaddr from which on a function has its stack pointer in a register that C preserves,
 * and gives the register; 0: it has not, within its first BORROWS_WITHIN bytes. */
static uint64_t kept_sp_from(struct go_reader *r, const struct pclntab_function *f,
			     uint8_t *ret_reg)
{
	uint64_t size = f->end - f->start;
	uint8_t code[BORROWS_WITHIN];
	int64_t n = elf_file_read(r->file, go_reader_offset(r, f->start), code,
				  size < sizeof(code) ? size : sizeof(code));
	size_t end = n > 0 ? go_switch_keeps_sp(code, (size_t)n, ret_reg) : 0;

	return end ? f->start + end : 0;
}

/* Up to the copy of the stack pointer, the function has its usual frame; then the CFA is computed
 * from the register. */
int go_reader_borrowing(struct go_reader *r, const struct pclntab_function *f)
{
	struct stackd_rule rule = {.cfa = STACKD_CFA_SWITCH};
	struct pclntab_values values = pclntab_values_begin(r->table, f, f->pcsp);
	uint8_t reg = 0;
	uint64_t from = kept_sp_from(r, f, &reg), start, end;
	int32_t delta;
	int err = 0;

	while (from && !err && pclntab_values_next(&values, &start, &end, &delta)) {
		if (delta < 0 || delta > INT32_MAX - 8)
			break;
		rule = go_rule_of(delta, false);
		err = go_reader_put(r, start, &rule, true);
		if (from < start || from >= end)
			continue;
		rule.cfa = STACKD_CFA_OTHER;
		rule.reg = reg;
		return err ? err : go_reader_put(r, from, &rule, true);
	}
	rule = (struct stackd_rule){.cfa = STACKD_CFA_SWITCH};
	return err ? err : go_reader_put(r, f->start, &rule, true);
}

/* The row begins a byte before sigreturn, since walks look up the byte before a return address. */
int go_reader_signal(struct go_reader *r, const struct pclntab_function *f)
{
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_SP, .cfa_offset = ARCH_SIGCONTEXT};

	return go_reader_put(r, f->start - (f->start > r->load->p_vaddr), &rule, true);
}
