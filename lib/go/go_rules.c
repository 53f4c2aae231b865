/* SPDX-License-Identifier: MIT */
/* From stack deltas to rules; see go_rules.h. */
#include "go/go_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "go/go_stack.h"
#include "go/go_switch.h"

#define REG_RBX	       3 /* DWARF's numbers */
#define REG_R12	       12
#define IS_RETURN      2	 /* as cfa_add of STACKD_CFA_GOROUTINE: see stackd_abi.h */
#define FLAG_SPWRITE   2	 /* of a function since Go 1.17: it sets rsp to anything */
#define CGO_CALLS      4	 /* in asmcgocall, at most */
#define FUNCTION_BYTES (4 << 20) /* of which a single rule is made */
#define CODE_BYTES     512	 /* of a function that switches stacks, at most */
#define BORROWS_WITHIN 64	 /* bytes of a function, in which rsp is put by */
#define WINDOW	       65536 /* bytes of code that are kept: functions come in order of address */
#define SIGCONTEXT     40    /* from rsp on return from a handler to r8 in the sigcontext */
#define REACH	       16    /* bytes around a change of rsp that are looked at */

struct reader {
	const struct pclntab *table;
	const struct elf_file *file;
	go_rules_take *take;
	void *arg;
	const Elf64_Phdr *load;	       /* the program header of the function at hand */
	uint64_t end;		       /* vaddr where the function before ends; 0: nothing to end */
	struct go_goroutine goroutine; /* as systemstack has it */
	bool has_goroutine;
	struct go_rules_row last;
	bool has_last;
	uint64_t window_at; /* file offset */
	size_t window_bytes;
	uint8_t window[WINDOW];
};

/* --- rows ------------------------------------------------------------------------------------ */

static uint64_t offset_of(const struct reader *r, uint64_t vaddr)
{
	return r->load->p_offset + (vaddr - r->load->p_vaddr);
}

static int put(struct reader *r, uint64_t vaddr, const struct stackd_rule *rule, bool is_special)
{
	struct go_rules_row row = {
		.offset = offset_of(r, vaddr),
		.rule = *rule,
		.is_special = is_special,
	};

	if (r->has_last &&
	    (row.offset < r->last.offset || (!memcmp(&row.rule, &r->last.rule, sizeof(row.rule)) &&
					     row.is_special == r->last.is_special)))
		return 0;
	r->last = row;
	r->has_last = true;
	return r->take(r->arg, &row);
}

static struct stackd_rule rule_of(int32_t delta, bool is_saved)
{
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_REG,
		.reg = STACKD_REG_RSP,
		.cfa_offset = delta + 8,
		.ra_offset = -8,
	};

	if (is_saved && delta >= 8)
		rule.saved[0] = -16;
	return rule;
}

/* --- where rbp is saved ---------------------------------------------------------------------- */

/* The code from REACH bytes before a vaddr to REACH after it, or NULL. */
static const uint8_t *code_around(struct reader *r, uint64_t vaddr)
{
	uint64_t from = vaddr - r->load->p_vaddr, offset = r->load->p_offset + from;
	int64_t n;

	if (from < REACH || r->load->p_filesz - from < REACH)
		return NULL;
	if (offset - REACH < r->window_at || offset + REACH > r->window_at + r->window_bytes) {
		n = elf_file_read(r->file, offset - REACH, r->window, sizeof(r->window));
		r->window_at = offset - REACH;
		r->window_bytes = n < 0 ? 0 : (size_t)n;
		if (n < 2 * REACH)
			return NULL;
	}
	return r->window + (offset - r->window_at);
}

/* From where on rbp is saved, in a frame whose first change of rsp has been made at `vaddr`: that
 * itself, or the end of the `mov` there; 0: not known. */
static uint64_t saved_from(struct reader *r, uint64_t vaddr, int32_t delta)
{
	const uint8_t *code = code_around(r, vaddr);
	int32_t offset;

	if (!code)
		return 0;
	if (delta == 8 && code[-1] == 0x55 && !memcmp(code, "\x48\x89\xe5", 3))
		return vaddr;
	if (!memcmp(code, "\x48\x89\x6c\x24", 4) && (int8_t)code[4] == delta - 8)
		return vaddr + 5;
	memcpy(&offset, code + 4, sizeof(offset));
	if (!memcmp(code, "\x48\x89\xac\x24", 4) && offset == delta - 8)
		return vaddr + 8;
	return 0;
}

/* --- functions ------------------------------------------------------------------------------- */

/* Which rules stack deltas come to. */
struct layer {
	uint64_t from, end; /* vaddr */
	uint8_t cfa;	    /* of kind STACKD_CFA_REG, or one like it */
	bool is_special;
};

static struct layer usual_layer(const struct pclntab_function *f)
{
	return (struct layer){.from = f->start, .end = f->end, .cfa = STACKD_CFA_REG};
}

/* Whether `pop %r12` ends at a vaddr: rawVforkSyscall keeps its return address there, since the
 * child that it makes uses the same stack. */
static bool pops_r12(struct reader *r, uint64_t vaddr)
{
	const uint8_t *code = code_around(r, vaddr);

	return code && code[-2] == 0x41 && code[-1] == 0x5c;
}

/* Puts the rule of a delta that holds from `start` to `end`, in which rbp may come to be saved at
 * `saved`. */
static int put_delta(struct reader *r, const struct layer *layer, uint64_t start, uint64_t end,
		     int32_t delta, uint64_t saved)
{
	struct stackd_rule rule = {.cfa = STACKD_CFA_NONE};
	bool is_sane = delta >= 0 && delta <= INT32_MAX - 8;
	int err;

	if (delta == -8 && pops_r12(r, start)) {
		rule = (struct stackd_rule){
			.cfa = STACKD_CFA_GOROUTINE, .reg = REG_R12, .cfa_add = IS_RETURN};
		return put(r, start, &rule, true);
	}

	if (is_sane) {
		rule = rule_of(delta, saved && saved <= start);
		rule.cfa = layer->cfa;
	}
	err = put(r, start, &rule, layer->is_special);
	if (err || !is_sane || saved <= start || saved >= end)
		return err;
	rule = rule_of(delta, true);
	rule.cfa = layer->cfa;
	return put(r, saved, &rule, layer->is_special);
}

static int take_deltas(struct reader *r, const struct pclntab_function *f, struct layer layer)
{
	const struct stackd_rule none = {.cfa = STACKD_CFA_NONE};
	struct pclntab_values values = pclntab_values_begin(r->table, f, f->pcsp);
	uint64_t start, end, saved = 0, covered = layer.from;
	bool has_frame = false;
	int32_t delta;
	int err = 0;

	while (!err && covered < layer.end && pclntab_values_next(&values, &start, &end, &delta)) {
		if (delta > 0 && delta <= INT32_MAX - 8 && !has_frame) {
			has_frame = true;
			saved = saved_from(r, start, delta);
		}
		if (end <= covered)
			continue;
		end = end < layer.end ? end : layer.end;
		err = put_delta(r, &layer, start < covered ? covered : start, end, delta, saved);
		covered = end;
	}
	return !err && covered < layer.end ? put(r, covered, &none, layer.is_special) : err;
}

/* A function whose frame is as others, but tells something of its callers. */
static int take_telling(struct reader *r, const struct pclntab_function *f, enum stackd_cfa cfa)
{
	struct layer layer = usual_layer(f);

	layer.cfa = (uint8_t)cfa;
	layer.is_special = true;
	return take_deltas(r, f, layer);
}

/* --- functions that switch stacks ------------------------------------------------------------ */

/* A function's code, or the beginning of it. */
struct function_code {
	size_t size;
	uint8_t bytes[CODE_BYTES];
};

static void read_code(struct reader *r, const struct pclntab_function *f,
		      struct function_code *ret_code)
{
	uint64_t size = f->end - f->start;
	int64_t n = elf_file_read(r->file, offset_of(r, f->start), ret_code->bytes,
				  size < CODE_BYTES ? size : CODE_BYTES);

	ret_code->size = n > 0 ? (size_t)n : 0;
}

/* How far rsp is below its value at entry, at a vaddr, if rsp is what it would be but for a switch
 * of stacks. Returns -1 if that is not known, or does not fit a rule. */
static int32_t delta_at(struct reader *r, const struct pclntab_function *f, uint64_t vaddr)
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

/* On the system stack in systemstack: goes on where the goroutine left its own stack. `from`: where
 * rsp has been set. */
static int take_systemstack(struct reader *r, const struct pclntab_function *f,
			    const struct function_code *code, size_t from)
{
	struct layer after = {.end = f->end, .cfa = STACKD_CFA_REG, .is_special = true};
	struct go_goroutine *g = &r->goroutine;
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_GOROUTINE, .reg = STACKD_REG_RSP, .ra_offset = -8};
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
	err = put(r, f->start + from, &rule, true);
	after.from = f->start + found.back;
	return err ? err : take_deltas(r, f, after);
}

/* On the goroutine's stack in cgocallback: goes on where the thread left its system stack. */
static int take_cgocallback(struct reader *r, const struct pclntab_function *f,
			    const struct function_code *code, size_t from)
{
	struct layer after = {.end = f->end, .cfa = STACKD_CFA_REG, .is_special = true};
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_CALLBACK, .reg = STACKD_REG_RSP, .ra_offset = -8};
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
	err = put(r, f->start + from, &rule, true);
	after.from = f->start + found.back;
	return err ? err : take_deltas(r, f, after);
}

/* On the system stack in morestack: goes on in the function that called it. */
static int take_morestack(struct reader *r, const struct pclntab_function *f,
			  const struct function_code *code, size_t from)
{
	const struct go_goroutine *g = &r->goroutine;
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_GOROUTINE,
		.reg = STACKD_REG_RSP,
		.cfa_offset = g->g,
		.saved = {g->m, g->curg, g->sp},
	};

	if (!r->has_goroutine || !go_switch_morestack(code->bytes, code->size, g))
		return 0;
	return put(r, f->start + from, &rule, true);
}

/* At the calls of C functions in asmcgocall. */
static int take_asmcgocall(struct reader *r, const struct pclntab_function *f,
			   const struct function_code *code)
{
	const struct stackd_rule unknown = {.cfa = STACKD_CFA_SWITCH};
	struct go_switch found = {0};
	struct go_cgo_frame frame;
	int err = 0;

	for (int i = 0; i < CGO_CALLS && !err; i++) {
		int32_t delta;
		struct stackd_rule rule;

		if (!go_switch_asmcgocall(code->bytes, code->size, found.call, &found, &frame))
			break;
		delta = delta_at(r, f, f->start + found.call);
		rule = (struct stackd_rule){
			.cfa = frame.is_same ? STACKD_CFA_DEREF : STACKD_CFA_DEPTH,
			.reg = STACKD_REG_RSP,
			.cfa_offset = frame.is_same ? frame.depth : frame.g,
			.cfa_add = (int16_t)(delta + 8),
			.ra_offset = -8,
		};

		if (delta < 0)
			continue;
		if (!frame.is_same) {
			rule.saved[0] = frame.hi;
			rule.saved[1] = frame.depth;
		}
		err = put(r, f->start + found.call - 1, &rule, true);
		if (!err)
			err = put(r, f->start + found.call, &unknown, true);
	}
	return err;
}

/* Where gogo is on a goroutine's stack, before it jumps to its code. */
static int take_gogo(struct reader *r, const struct pclntab_function *f,
		     const struct function_code *code, size_t from)
{
	const struct stackd_rule unknown = {.cfa = STACKD_CFA_SWITCH};
	struct stackd_rule rule = {.cfa = STACKD_CFA_GOROUTINE, .reg = REG_RBX, .cfa_offset = 8};
	struct go_gogo found;
	int err;

	if (!go_switch_gogo(code->bytes, code->size, &found) || found.from != from)
		return 0;
	err = put(r, f->start + found.from, &rule, true);
	rule.cfa_offset = 0;
	rule.cfa_add = 1;
	if (!err)
		err = put(r, f->start + found.loaded, &rule, true);
	return err ? err : put(r, f->start + found.end, &unknown, true);
}

/* A function has its own frame up to where it sets rsp. */
static int take_switch(struct reader *r, const struct pclntab_function *f, enum go_stack stack)
{
	struct layer before = {.from = f->start, .cfa = STACKD_CFA_REG, .is_special = true};
	struct stackd_rule rule = {.cfa = stack == GO_STACK_MCALL ? STACKD_CFA_END
								  : STACKD_CFA_SWITCH};
	struct function_code code;
	size_t from;
	int err = 0;

	read_code(r, f, &code);
	from = go_switch_sets_rsp(code.bytes, code.size);
	if (from >= code.size && stack == GO_STACK_GOGO && f->end - f->start == code.size)
		return take_telling(r, f, STACKD_CFA_REG); /* up to a jump to the rest of it */
	if (from >= code.size)
		return put(r, f->start, &rule, true);
	before.end = f->start + from;
	if (f->pcsp)
		err = take_deltas(r, f, before);
	if (!err && stack == GO_STACK_SYSTEMSTACK)
		err = take_systemstack(r, f, &code, from);
	else if (!err && stack == GO_STACK_CGOCALLBACK)
		err = take_cgocallback(r, f, &code, from);
	else if (!err && stack == GO_STACK_GOGO)
		err = take_gogo(r, f, &code, from);
	else if (!err && stack == GO_STACK_MORESTACK)
		err = take_morestack(r, f, &code, from);
	if (!err && (!r->has_last || r->last.offset < offset_of(r, before.end)))
		err = put(r, before.end, &rule, true);
	return !err && stack == GO_STACK_ASMCGOCALL ? take_asmcgocall(r, f, &code) : err;
}

/* The end of the first `mov %rsp,%r12` or `mov %rsp,%rbx` in a function, and the register; 0: there
 * is none in the bytes looked at. */
static uint64_t old_rsp_from(struct reader *r, const struct pclntab_function *f, uint8_t *ret_reg)
{
	uint64_t size = f->end - f->start;
	uint8_t code[BORROWS_WITHIN];
	const uint8_t *at;
	int64_t n = elf_file_read(r->file, offset_of(r, f->start), code,
				  size < sizeof(code) ? size : sizeof(code));

	*ret_reg = 12;
	at = n > 0 ? memmem(code, (size_t)n, "\x49\x89\xe4", 3) : NULL;
	if (!at && n > 0) {
		*ret_reg = REG_RBX;
		at = memmem(code, (size_t)n, "\x48\x89\xe3", 3);
	}
	return at ? f->start + (uint64_t)(at - code) + 3 : 0;
}

/* The function's frame before it takes the thread's stack, and by the register from then on. */
static int take_borrowing(struct reader *r, const struct pclntab_function *f)
{
	struct stackd_rule rule = {.cfa = STACKD_CFA_SWITCH};
	struct pclntab_values values = pclntab_values_begin(r->table, f, f->pcsp);
	uint8_t reg;
	uint64_t from = old_rsp_from(r, f, &reg), start, end;
	int32_t delta;
	int err = 0;

	while (from && !err && pclntab_values_next(&values, &start, &end, &delta)) {
		if (delta < 0 || delta > INT32_MAX - 8)
			break;
		rule = rule_of(delta, false);
		err = put(r, start, &rule, true);
		if (from < start || from >= end)
			continue;
		rule.cfa = STACKD_CFA_OTHER;
		rule.reg = reg;
		return err ? err : put(r, from, &rule, true);
	}
	rule = (struct stackd_rule){.cfa = STACKD_CFA_SWITCH};
	return err ? err : put(r, f->start, &rule, true);
}

/* sigreturn's rule is found by the byte before it. */
static int take_signal(struct reader *r, const struct pclntab_function *f)
{
	const struct stackd_rule rule = {
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_RSP, .cfa_offset = SIGCONTEXT};

	return put(r, f->start - (f->start > r->load->p_vaddr), &rule, true);
}

static bool find_load(struct reader *r, const struct pclntab_function *f)
{
	size_t count;
	const Elf64_Phdr *p = elf_file_program_headers(r->file, &count);

	for (size_t i = 0; i < count; i++) {
		if (p[i].p_type != PT_LOAD || !(p[i].p_flags & PF_X) || f->start < p[i].p_vaddr ||
		    f->end - p[i].p_vaddr > p[i].p_filesz)
			continue;
		r->load = &p[i];
		return true;
	}
	return false;
}

static bool is_in_load(const struct reader *r, const struct pclntab_function *f)
{
	return r->load && f->start >= r->load->p_vaddr &&
	       f->end - r->load->p_vaddr <= r->load->p_filesz;
}

/* Ends the rules of the function before, unless another begins there. */
static int end_function(struct reader *r, uint64_t next)
{
	const struct stackd_rule none = {.cfa = STACKD_CFA_NONE};
	uint64_t end = r->end;

	r->end = 0;
	return end && end != next ? put(r, end, &none, false) : 0;
}

static int take_function(struct reader *r, const struct pclntab_function *f)
{
	const struct stackd_rule none = {.cfa = STACKD_CFA_NONE};
	const struct stackd_rule outermost = {.cfa = STACKD_CFA_END};
	enum go_stack stack = go_stack_of(f->name);
	int err;

	if (f->start >= f->end)
		return 0;
	err = end_function(r, f->start);
	if (err || (!is_in_load(r, f) && !find_load(r, f)))
		return err;
	r->end = f->end;
	switch (stack) {
	case GO_STACK_USUAL:
		if (f->flags & FLAG_SPWRITE)
			return take_switch(r, f, stack);
		return f->pcsp ? take_deltas(r, f, usual_layer(f)) : put(r, f->start, &none, false);
	case GO_STACK_OUTERMOST:
		return put(r, f->start, &outermost, true);
	case GO_STACK_SCHEDULER:
		return take_telling(r, f, STACKD_CFA_SCHEDULER);
	case GO_STACK_INJECTED:
		return take_telling(r, f, STACKD_CFA_INJECTED);
	case GO_STACK_BORROWS:
		return take_borrowing(r, f);
	case GO_STACK_SIGNAL:
		return take_signal(r, f);
	default:
		return take_switch(r, f, stack);
	}
}

static struct reader *reader_new(const struct pclntab *table, const struct elf_file *file,
				 go_rules_take *take, void *arg)
{
	struct reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->table = table;
	r->file = file;
	r->take = take;
	r->arg = arg;
	return r;
}

int go_rules_each(const struct pclntab *table, const struct elf_file *file, go_rules_take *take,
		  void *arg)
{
	struct reader *r = reader_new(table, file, take, arg);
	int err = r ? 0 : -ENOMEM;

	for (size_t i = 0; !err && i < pclntab_count(table); i++) {
		struct pclntab_function function;

		if (pclntab_get(table, i, &function))
			err = take_function(r, &function);
	}
	if (!err)
		err = end_function(r, 0);
	free(r);
	return err;
}

/* --- one address ----------------------------------------------------------------------------- */

struct wanted {
	uint64_t offset;
	struct go_rules_row *row;
};

static int take_wanted(void *arg, const struct go_rules_row *row)
{
	const struct wanted *wanted = arg;

	if (row->offset <= wanted->offset)
		*wanted->row = *row;
	return 0;
}

int go_rules_at(const struct pclntab *table, const struct elf_file *file, uint64_t vaddr,
		struct go_rules_row *ret_row)
{
	struct go_rules_row row = {.rule.cfa = STACKD_CFA_NONE};
	struct wanted wanted = {.row = &row};
	struct pclntab_function function, next;
	struct reader *r;
	int err = 0;

	if (!elf_file_vaddr_to_offset(file, vaddr, &wanted.offset) ||
	    !pclntab_find(table, vaddr, &function) ||
	    function.end - function.start > FUNCTION_BYTES) {
		*ret_row = row;
		return 0;
	}
	r = reader_new(table, file, take_wanted, &wanted);
	if (!r)
		return -ENOMEM;
	err = take_function(r, &function);
	if (!err && vaddr + 1 == function.end && pclntab_find(table, vaddr + 1, &next) &&
	    next.end - next.start <= FUNCTION_BYTES)
		err = take_function(r, &next);
	free(r);
	if (!err)
		*ret_row = row;
	return err;
}
