/* SPDX-License-Identifier: MIT */
/* Makes rules from stack deltas; see go_rules.h. */
#include "runtime/go/go_rules_internal.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define IS_RETURN 2 /* cfa_add of STACKD_CFA_GOROUTINE: see stackd_abi.h */
/* flag of a function, since Go 1.17: it sets the stack pointer to anything */
#define FLAG_SPWRITE 2
/* limit of the size of a function for which go_rules_at() makes rules */
#define FUNCTION_BYTES (4 << 20)

/* --- rows ------------------------------------------------------------------------------------ */

uint64_t go_reader_offset(const struct go_reader *r, uint64_t vaddr)
{
	return r->load->p_offset + (vaddr - r->load->p_vaddr);
}

int go_reader_put(struct go_reader *r, uint64_t vaddr, const struct stackd_rule *rule,
		  bool is_special)
{
	struct runtime_rule row = {
		.offset = go_reader_offset(r, vaddr),
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

struct stackd_rule go_rule_of(int32_t delta, bool is_saved)
{
	struct stackd_rule rule = {
		.cfa = STACKD_CFA_REG,
		.reg = STACKD_REG_SP,
		.cfa_offset = delta + 8,
		.ra_offset = -8,
	};

	if (is_saved && delta >= 8)
		rule.saved[0] = -16;
	return rule;
}

/* --- the frame pointer's slot ---------------------------------------------------------------- */

/* Returns the code from GO_SWITCH_REACH bytes before a vaddr to GO_SWITCH_REACH bytes after it;
 * NULL: not all of it can be read. */
static const uint8_t *code_around(struct go_reader *r, uint64_t vaddr)
{
	uint64_t from = vaddr - r->load->p_vaddr, offset = r->load->p_offset + from;
	int64_t n;

	if (from < GO_SWITCH_REACH || r->load->p_filesz - from < GO_SWITCH_REACH)
		return NULL;
	if (offset - GO_SWITCH_REACH < r->window_at ||
	    offset + GO_SWITCH_REACH > r->window_at + r->window_bytes) {
		n = elf_file_read(r->file, offset - GO_SWITCH_REACH, r->window, sizeof(r->window));
		r->window_at = offset - GO_SWITCH_REACH;
		r->window_bytes = n < 0 ? 0 : (size_t)n;
		if (n < 2 * GO_SWITCH_REACH)
			return NULL;
	}
	return r->window + (offset - r->window_at);
}

/* Returns the vaddr from which on the frame pointer is saved, in a frame that was made by the
 * instruction before `vaddr`: `vaddr`, or the end of the next instruction; 0: not known. */
static uint64_t saved_from(struct go_reader *r, uint64_t vaddr, int32_t delta)
{
	const uint8_t *code = code_around(r, vaddr);
	int bytes = code ? go_switch_saves_fp(code, delta) : -1;

	return bytes < 0 ? 0 : vaddr + (uint64_t)bytes;
}

/* --- functions ------------------------------------------------------------------------------- */

static struct go_layer usual_layer(const struct pclntab_function *f)
{
	return (struct go_layer){.from = f->start, .end = f->end, .cfa = STACKD_CFA_REG};
}

/* Returns whether the instruction before a vaddr pops the return address. rawVforkSyscall keeps it
 * in a register, since the child that it makes uses the same stack. */
static bool pops_return(struct go_reader *r, uint64_t vaddr)
{
	const uint8_t *code = code_around(r, vaddr);

	return code && go_switch_pops_return(code);
}

/* Adds the rule for a stack delta that holds from `start` to `end`. From `saved` on, which may be
 * in between, the frame pointer is saved. */
static int put_delta(struct go_reader *r, const struct go_layer *layer, uint64_t start,
		     uint64_t end, int32_t delta, uint64_t saved)
{
	struct stackd_rule rule = {.cfa = STACKD_CFA_NONE};
	bool is_sane = delta >= 0 && delta <= INT32_MAX - 8;
	int err;

	if (delta == -8 && pops_return(r, start)) {
		rule = (struct stackd_rule){.cfa = STACKD_CFA_GOROUTINE,
					    .reg = GO_SWITCH_RETURN_REG,
					    .cfa_add = IS_RETURN};
		return go_reader_put(r, start, &rule, true);
	}

	if (is_sane) {
		rule = go_rule_of(delta, saved && saved <= start);
		rule.cfa = layer->cfa;
	}
	err = go_reader_put(r, start, &rule, layer->is_special);
	if (err || !is_sane || saved <= start || saved >= end)
		return err;
	rule = go_rule_of(delta, true);
	rule.cfa = layer->cfa;
	return go_reader_put(r, saved, &rule, layer->is_special);
}

int go_reader_deltas(struct go_reader *r, const struct pclntab_function *f, struct go_layer layer)
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
	return !err && covered < layer.end ? go_reader_put(r, covered, &none, layer.is_special)
					   : err;
}

/* Adds rows for a function with a usual frame, as rules of the kind `cfa`. */
int go_reader_telling(struct go_reader *r, const struct pclntab_function *f, enum stackd_cfa cfa)
{
	struct go_layer layer = usual_layer(f);

	layer.cfa = (uint8_t)cfa;
	layer.is_special = true;
	return go_reader_deltas(r, f, layer);
}

static bool find_load(struct go_reader *r, const struct pclntab_function *f)
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

static bool is_in_load(const struct go_reader *r, const struct pclntab_function *f)
{
	return r->load && f->start >= r->load->p_vaddr &&
	       f->end - r->load->p_vaddr <= r->load->p_filesz;
}

/* Ends the rules of the previous function, unless the next one begins right there. */
static int end_function(struct go_reader *r, uint64_t next)
{
	const struct stackd_rule none = {.cfa = STACKD_CFA_NONE};
	uint64_t end = r->end;

	r->end = 0;
	return end && end != next ? go_reader_put(r, end, &none, false) : 0;
}

static int take_function(struct go_reader *r, const struct pclntab_function *f)
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
			return go_reader_switch(r, f, stack);
		return f->pcsp ? go_reader_deltas(r, f, usual_layer(f))
			       : go_reader_put(r, f->start, &none, false);
	case GO_STACK_OUTERMOST:
		return go_reader_put(r, f->start, &outermost, true);
	case GO_STACK_SCHEDULER:
		return go_reader_telling(r, f, STACKD_CFA_SCHEDULER);
	case GO_STACK_INJECTED:
		return go_reader_telling(r, f, STACKD_CFA_INJECTED);
	case GO_STACK_BORROWS:
		return go_reader_borrowing(r, f);
	case GO_STACK_SIGNAL:
		return go_reader_signal(r, f);
	default:
		return go_reader_switch(r, f, stack);
	}
}

static struct go_reader *reader_new(const struct pclntab *table, const struct elf_file *file,
				    runtime_take_rule *take, void *arg)
{
	struct go_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return NULL;
	r->table = table;
	r->file = file;
	r->take = take;
	r->arg = arg;
	return r;
}

int go_rules_each(const struct pclntab *table, const struct elf_file *file, runtime_take_rule *take,
		  void *arg)
{
	struct go_reader *r = reader_new(table, file, take, arg);
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
	struct runtime_rule *row;
};

static int take_wanted(void *arg, const struct runtime_rule *row)
{
	const struct wanted *wanted = arg;

	if (row->offset <= wanted->offset)
		*wanted->row = *row;
	return 0;
}

int go_rules_at(const struct pclntab *table, const struct elf_file *file, uint64_t vaddr,
		struct runtime_rule *ret_row)
{
	struct runtime_rule row = {.rule.cfa = STACKD_CFA_NONE};
	struct wanted wanted = {.row = &row};
	struct pclntab_function function, next;
	struct go_reader *r;
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
