/* SPDX-License-Identifier: MIT */
/* Makes rows from ranges of a file: reads the bytes, solves the data flow, and writes rules in
 * order; see analysis.h. */
#include "analysis/analysis.h"

#include <string.h>

#include "analysis/function_starts.h"
#include "analysis/noreturn_calls.h"
#include "analysis/return_table.h"
#include "analysis/solve.h"
#include "arch/code_form.h"
#include "arch/handler_return.h"

#define MAX_NOPS  256 /* bytes of an area */
#define MAX_START 32  /* limit of the instructions of start code, up to its first call */

struct analysis {
	VEC(struct code_area) areas;
	uint8_t *bytes;
	struct code code;
	struct solver *solver;
	struct function_starts starts;
	struct unclobbered preserved;
	struct analysis_stats stats;
};

static uint64_t size_of(const struct analysis_input *in)
{
	uint64_t size = 0;

	for (size_t i = 0; i < in->range_count && size < ANALYSIS_MAX_BYTES; i++) {
		uint64_t len = in->ranges[i].end - in->ranges[i].start;

		size += len < ANALYSIS_MAX_BYTES - size ? len : ANALYSIS_MAX_BYTES - size;
	}
	return size;
}

static int read_ranges(struct analysis *a, const struct analysis_input *in)
{
	uint64_t total = size_of(in), first = 0;

	a->bytes = malloc(total + 1);
	if (!a->bytes || VEC_RESERVE(&a->areas, in->range_count + 1))
		return -ENOMEM;
	for (size_t i = 0; i < in->range_count; i++) {
		uint64_t all = in->ranges[i].end - in->ranges[i].start, offset;
		uint64_t len = all < total - first ? all : total - first;

		a->stats.left_out += all - len;
		if (!len || !elf_file_vaddr_to_offset(in->elf, in->ranges[i].start, &offset) ||
		    !elf_file_read_whole(in->elf, offset, a->bytes + first, len)) {
			a->stats.left_out += len;
			continue;
		}
		a->areas.items[a->areas.count++] = (struct code_area){
			.vaddr = in->ranges[i].start,
			.size = len,
			.first = (uint32_t)first,
			.bytes = a->bytes + first,
			.is_first = in->ranges[i].is_first,
		};
		first += len;
	}
	return 0;
}

/* Returns whether a file's entry point is used: in files at a fixed address, and programs that an
 * interpreter loads. In libraries, the linker may have set it to anything. */
static bool has_entry(const struct elf_file *elf)
{
	uint64_t vaddr;

	return !elf_file_is_position_independent(elf) ||
	       elf_file_header_vaddr(elf, PT_INTERP, &vaddr);
}

/* Returns the address of main(), which a program's start code passes as the first argument of its
 * first call, to the C library. 0: not found. */
static uint64_t main_of(const struct code *code, uint64_t entry)
{
	uint64_t at = entry, found = 0, offset;
	uint8_t bytes[INSN_MAX_BYTES];
	struct insn i;

	for (int n = 0; n < MAX_START && elf_file_vaddr_to_offset(code->elf, at, &offset); n++) {
		int64_t got = elf_file_read(code->elf, offset, bytes, sizeof(bytes));

		if (got <= 0 || !insn_decode(&code->decoder, bytes, (size_t)got, at, &i))
			return 0;
		if (i.flow != INSN_NEXT)
			return i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT ? found : 0;
		if (i.idiom == INSN_ADDRESS && i.dst == INSN_ARGUMENT)
			found = i.target;
		at += i.length;
	}
	return 0;
}

/* Returns whether a function begins at an address that code outside of the ranges takes. Programs
 * in C call their assembly by such addresses. (But code also takes addresses of tables of
 * numbers.) */
static bool begins_there(const struct code *code, uint64_t vaddr)
{
	uint32_t at = code_find(code, vaddr);

	return at != CODE_NONE && code->marks[at] & (CODE_PADDED | CODE_ENDBR) &&
	       code_is_sane(code, at);
}

/* Follows flow from all starts of functions, the most certain first. */
static int solve_all(struct analysis *a, const struct analysis_input *in)
{
	uint64_t entry = elf_file_entry_vaddr(in->elf);
	int err = 0;

	if (has_entry(in->elf))
		err = solve_add_entry(a->solver, entry);
	for (size_t i = 0; i < a->starts.certain.count && !err; i++)
		err = solve_add_function(a->solver, a->starts.certain.items[i]);
	for (size_t i = 0; i < in->certain_count && !err; i++)
		err = solve_add_function(a->solver, in->certain[i]);
	for (size_t i = 0; i < in->pointed_count && !err; i++) {
		if (begins_there(&a->code, in->pointed[i]))
			err = solve_add_function(a->solver, in->pointed[i]);
	}
	if (!err)
		noreturn_count_calls(&a->starts.noreturn, &a->code);
	if (!err)
		err = solve_certain(a->solver);
	if (!err && has_entry(in->elf))
		err = solve_main(a->solver, main_of(&a->code, entry));
	for (size_t i = 0; i < a->starts.pointers.count && !err; i++)
		err = solve_pointer(a->solver, a->starts.pointers.items[i]);
	if (!err)
		err = solve_likely(a->solver);
	return err && solve_is_full(a->solver) ? -E2BIG : err;
}

struct emission {
	struct analysis *analysis;
	const struct code_area *area;
	struct stackd_rule last;
	uint64_t key; /* key of the last rule that was made; 0: none */
	struct stackd_rule made;
	int has; /* result of solve_rule() */
	enum analysis_abstained why;
	uint32_t inside;	/* number of bytes that are left of the present instruction */
	uint32_t in_signal;	/* number of bytes that are left of code that returns from a signal
				 * handler */
	uint32_t at, before_at; /* the present instruction, and the one before */
	bool is_held; /* bytes that no path has reached begin at `held`; they may be padding */
	uint64_t held;
	struct stackd_rule before; /* the rule of the bytes before them */
	analysis_row_fn *emit;
	void *arg;
};

/* Like solve_rule(), but keeps the last result, since most instructions have the same key as the
 * instruction before. */
static int make_rule(struct emission *e, uint32_t at, struct stackd_rule *ret_rule)
{
	uint64_t key = solve_rule_key(e->analysis->solver, at);

	if (!key)
		return 0;
	if (key != e->key) {
		e->has = solve_rule(e->analysis->solver, at, &e->made, &e->why);
		e->key = key == SOLVE_NO_KEY ? 0 : key;
	}
	*ret_rule = e->made;
	return e->has;
}

/* Gives the rule at byte `b` of the area. Returns false if it is the rule of the byte before,
 * because the byte is inside of an instruction. Bytes that no path has reached have no rule. */
static bool rule_at(struct emission *e, uint32_t b, struct stackd_rule *ret_rule)
{
	struct analysis_stats *stats = &e->analysis->stats;
	int has = make_rule(e, e->area->first + b, ret_rule);

	if (!has && e->inside) {
		e->inside--;
		return false;
	}
	e->before_at = e->at;
	e->at = b;
	e->inside = has ? solve_length(e->analysis->solver, e->area->first + b) : 0;
	e->inside -= e->inside != 0;
	stats->instructions += has != 0;
	if (has == 2)
		stats->abstained[e->why]++;
	if (has != 1)
		*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_NONE};
	return true;
}

/* Gives the rule of code that returns from a signal handler: that of the kernel's signal frame.
 * Returns false if there is other code. The handler returns to the first byte of that code, and
 * walks look up the byte before; C libraries that allow for that have a no-op there. */
static bool signal_rule_at(struct emission *e, uint32_t b, struct stackd_rule *ret_rule)
{
	const uint8_t *bytes = e->area->bytes + b;
	size_t left = e->area->size - b;

	if (!e->in_signal && !handler_return_may_begin[bytes[0]])
		return false;
	if (!e->in_signal)
		e->in_signal = (uint32_t)handler_return_bytes_with_nop(bytes, left);
	if (!e->in_signal)
		e->in_signal = (uint32_t)handler_return_bytes(bytes, left);
	if (!e->in_signal)
		return false;
	e->in_signal--;
	*ret_rule = (struct stackd_rule){
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_SP, .cfa_offset = ARCH_SIGCONTEXT};
	return true;
}

/* Returns whether an area contains only no-ops. A function that ends without a jump runs through
 * them into the next function (the C library's __memset_chk() into memset()). */
static bool is_all_nops(const struct code *code, const struct code_area *area)
{
	uint32_t at = area->first, bytes;

	if (area->is_first || area->size > MAX_NOPS)
		return false;
	while (at < code_end(area) && area->bytes[at - area->first] != ARCH_BREAKPOINT &&
	       area->bytes[at - area->first] && (bytes = code_padding_bytes(code, area, at)))
		at += bytes;
	return at >= code_end(area);
}

static int emit_nops(const struct code_area *area, uint64_t offset, analysis_row_fn *emit,
		     void *arg)
{
	static const struct stackd_rule none, entry = {.cfa = STACKD_CFA_REG,
						       .reg = STACKD_REG_SP,
						       .cfa_offset = ARCH_CALL_PUSHES,
						       .ra_offset = ARCH_RETURN_SLOT};
	int err = emit(arg, offset, &entry);

	return err ? err : emit(arg, offset + area->size, &none);
}

/* Ends bytes without a rule, behind a return, before `offset`. As padding before an aligned
 * function, they keep the rule before them (recipe.h): the code to which a coroutine's first
 * function returns is there in assembly. What instructions run into is no padding. */
static int end_held(struct emission *e, uint64_t offset)
{
	static const struct stackd_rule none;

	if (!e->is_held)
		return 0;
	e->is_held = false;
	if (offset % CODE_FUNCTION_ALIGN == 0 && offset - e->held < CODE_FUNCTION_ALIGN) {
		e->last = e->before;
		return 0;
	}
	return e->emit(e->arg, e->held, &none);
}

/* Gives a row, if it has another rule than the one before. */
static int give(struct emission *e, uint64_t offset, const struct stackd_rule *rule)
{
	bool is_none = rule->cfa == STACKD_CFA_NONE;
	int err = 0;

	if (is_none && e->last.cfa == STACKD_CFA_REG &&
	    code_form_is_return(e->area->bytes + e->before_at)) {
		e->is_held = true;
		e->held = offset;
		e->before = e->last;
		e->last = *rule;
		return 0;
	}
	if (!is_none)
		err = end_held(e, offset);
	if (!err && memcmp(rule, &e->last, sizeof(*rule)) != 0)
		err = e->emit(e->arg, offset, rule);
	e->last = *rule;
	return err;
}

/* Gives the rows of an area. */
static int emit_area(struct analysis *a, const struct analysis_input *in,
		     const struct code_area *area, analysis_row_fn *emit, void *arg)
{
	static const struct stackd_rule none;
	struct emission e = {
		.analysis = a, .area = area, .last = {.cfa = UINT8_MAX}, .emit = emit, .arg = arg};
	struct stackd_rule rule;
	uint64_t offset;
	int err = 0;

	if (!elf_file_vaddr_to_offset(in->elf, area->vaddr, &offset))
		return 0;
	if (!in->needs_returns && is_all_nops(&a->code, area))
		return emit_nops(area, offset, emit, arg);
	for (uint32_t b = 0; b < area->size && !err; b++) {
		bool is_new = rule_at(&e, b, &rule), is_signal = signal_rule_at(&e, b, &rule);

		if (!is_new && !is_signal && e.last.cfa == STACKD_CFA_SIGNAL)
			rule = none;
		else if (!is_new && !is_signal)
			continue;
		err = give(&e, offset + b, &rule);
	}
	if (!err)
		err = end_held(&e, offset + area->size);
	return err ? err : emit(arg, offset + area->size, &none);
}

static int analyse(struct analysis *a, const struct analysis_input *in)
{
	int err = read_ranges(a, in);

	if (!err && in->has_starts)
		err = function_starts_read(in->elf, &a->starts);
	else if (!err)
		err = noreturn_finish(&a->starts.noreturn);
	if (!err)
		err = code_init(&a->code, in->elf, a->areas.items, a->areas.count,
				in->needs_returns, &in->stop);
	for (size_t i = 0; i < in->called_count && !err; i++)
		code_mark(&a->code, in->called[i], CODE_CALLED);
	for (size_t i = 0; i < in->pointed_count && !err; i++)
		code_mark(&a->code, in->pointed[i], CODE_POINTED);
	if (!err)
		a->starts.pointers.count = return_table_remove(&a->code, a->starts.pointers.items,
							       a->starts.pointers.count);
	/* A word whose value is not the address of an instruction is a number. */
	for (size_t i = 0; i < a->starts.called.count && !err; i++)
		code_mark(&a->code, a->starts.called.items[i], CODE_CALLED);
	for (size_t i = 0; i < a->starts.pointers.count && !err; i++)
		code_mark_pointed(&a->code, a->starts.pointers.items[i]);
	if (!err)
		err = solve_new(&a->code, &a->starts.noreturn, &a->preserved, &a->solver);
	if (!err && in->needs_returns)
		solve_need_returns(a->solver);
	if (!err)
		err = solve_all(a, in);
	return err ? err : unclobbered_settle(&a->preserved, &a->code);
}

int analysis_run(const struct analysis_input *in, analysis_row_fn *emit, void *arg,
		 struct analysis_stats *ret_stats)
{
	struct analysis a = {0};
	int err = analyse(&a, in);

	if (err == -E2BIG) { /* flow took too long, so no rule is certain */
		a.stats.left_out += a.code.size;
		a.areas.count = 0;
		err = 0;
	}
	for (size_t i = 0; i < a.areas.count && !err; i++)
		err = emit_area(&a, in, &a.areas.items[i], emit, arg);
	if (!err) {
		a.stats.is_jumped_into = solve_is_jumped_into(a.solver);
		a.stats.functions = solve_function_count(a.solver);
		*ret_stats = a.stats;
	}
	solve_free(a.solver);
	unclobbered_fini(&a.preserved);
	code_fini(&a.code);
	function_starts_free(&a.starts);
	free(a.areas.items);
	free(a.bytes);
	return err;
}
