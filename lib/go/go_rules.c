/* SPDX-License-Identifier: MIT */
/* From stack deltas to rules; see go_rules.h. */
#include "go/go_rules.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define BORROWS_WITHIN 64    /* bytes of a function, in which rsp is put by */
#define WINDOW	       65536 /* bytes of code that are kept: functions come in order of address */
#define SIGCONTEXT     40    /* from rsp on return from a handler to r8 in the sigcontext */
#define REACH	       16    /* bytes around a change of rsp that are looked at */

struct reader {
	const struct pclntab *table;
	const struct elf_file *file;
	go_rules_take *take;
	void *arg;
	const Elf64_Phdr *load; /* the program header of the function at hand */
	uint64_t end;		/* vaddr where the function before ends; 0: nothing to end */
	struct go_rules_row last;
	bool has_last;
	uint64_t window_at; /* file offset */
	size_t window_bytes;
	uint8_t window[WINDOW];
};

enum go_stack go_rules_stack(const char *name)
{
	static const struct {
		const char *name;
		enum go_stack stack;
	} known[] = {
		{"goexit", GO_STACK_OUTERMOST},
		{"mstart", GO_STACK_OUTERMOST},
		{"rt0_go", GO_STACK_OUTERMOST},
		{"systemstack", GO_STACK_SWITCH},
		{"systemstack_switch", GO_STACK_SWITCH},
		{"mcall", GO_STACK_SWITCH},
		{"gogo", GO_STACK_SWITCH},
		{"morestack", GO_STACK_SWITCH},
		{"morestack_noctxt", GO_STACK_SWITCH},
		{"asmcgocall", GO_STACK_SWITCH},
		{"asmcgocall_no_g", GO_STACK_SWITCH},
		{"asmcgocall_landingpad", GO_STACK_SWITCH},
		{"cgocallback", GO_STACK_SWITCH},
		{"nanotime1", GO_STACK_BORROWS},
		{"walltime", GO_STACK_BORROWS},
		{"walltime1", GO_STACK_BORROWS},
		{"sigreturn", GO_STACK_SIGNAL},
		{"sigreturn__sigaction", GO_STACK_SIGNAL},
	};
	size_t len = name ? strlen(name) : 0;

	if (len >= 5 && !strcmp(name + len - 5, ".abi0"))
		len -= 5;
	if (len >= 10 && !strncmp(name, "_rt0_amd64", 10))
		return strstr(name, "_lib") ? GO_STACK_USUAL : GO_STACK_OUTERMOST;
	if (len == 8 && !strncmp(name, "time.now", 8))
		return GO_STACK_BORROWS;
	if (len < 8 || strncmp(name, "runtime.", 8) != 0)
		return GO_STACK_USUAL;
	for (size_t i = 0; i < sizeof(known) / sizeof(*known); i++) {
		if (strlen(known[i].name) == len - 8 && !strncmp(known[i].name, name + 8, len - 8))
			return known[i].stack;
	}
	return GO_STACK_USUAL;
}

/* --- rows ------------------------------------------------------------------------------------ */

static int put(struct reader *r, uint64_t vaddr, const struct stackd_rule *rule, bool is_special)
{
	struct go_rules_row row = {
		.offset = r->load->p_offset + (vaddr - r->load->p_vaddr),
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

static int take_deltas(struct reader *r, const struct pclntab_function *f)
{
	const struct stackd_rule none = {.cfa = STACKD_CFA_NONE};
	struct pclntab_values values = pclntab_values_begin(r->table, f, f->pcsp);
	uint64_t start, end, saved = 0, covered = f->start;
	bool has_frame = false;
	int32_t delta;
	int err = 0;

	while (!err && pclntab_values_next(&values, &start, &end, &delta)) {
		bool is_sane = delta >= 0 && delta <= INT32_MAX - 8;
		struct stackd_rule rule;

		if (is_sane && delta && !has_frame) {
			has_frame = true;
			saved = saved_from(r, start, delta);
		}
		rule = is_sane ? rule_of(delta, saved && saved <= start) : none;
		err = put(r, start, &rule, false);
		if (!err && is_sane && saved > start && saved < end) {
			rule = rule_of(delta, true);
			err = put(r, saved, &rule, false);
		}
		covered = end;
	}
	return !err && covered < f->end ? put(r, covered, &none, false) : err;
}

static int take_special(struct reader *r, const struct pclntab_function *f, enum go_stack stack)
{
	struct stackd_rule rule = {.cfa = stack == GO_STACK_OUTERMOST ? STACKD_CFA_END
								      : STACKD_CFA_SWITCH};

	if (stack != GO_STACK_SIGNAL)
		return put(r, f->start, &rule, true);
	rule = (struct stackd_rule){
		.cfa = STACKD_CFA_SIGNAL, .reg = STACKD_REG_RSP, .cfa_offset = SIGCONTEXT};
	return put(r, f->start - (f->start > r->load->p_vaddr), &rule, true);
}

/* The end of the first `mov %rsp,%r12` in a function; 0: there is none in the bytes looked at. */
static uint64_t old_rsp_from(struct reader *r, const struct pclntab_function *f)
{
	uint64_t offset = r->load->p_offset + (f->start - r->load->p_vaddr);
	uint64_t size = f->end - f->start;
	uint8_t code[BORROWS_WITHIN];
	const uint8_t *at;
	int64_t n = elf_file_read(r->file, offset, code, size < sizeof(code) ? size : sizeof(code));

	at = n > 0 ? memmem(code, (size_t)n, "\x49\x89\xe4", 3) : NULL;
	return at ? f->start + (uint64_t)(at - code) + 3 : 0;
}

/* The function's frame before it takes the thread's stack, and by %r12 from then on. */
static int take_borrowing(struct reader *r, const struct pclntab_function *f)
{
	struct stackd_rule rule = {.cfa = STACKD_CFA_SWITCH};
	struct pclntab_values values = pclntab_values_begin(r->table, f, f->pcsp);
	uint64_t from = old_rsp_from(r, f), start, end;
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
		rule.reg = 12;
		return err ? err : put(r, from, &rule, true);
	}
	rule = (struct stackd_rule){.cfa = STACKD_CFA_SWITCH};
	return err ? err : put(r, f->start, &rule, true);
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
	enum go_stack stack = go_rules_stack(f->name);
	int err;

	if (f->start >= f->end)
		return 0;
	err = end_function(r, f->start);
	if (err || (!is_in_load(r, f) && !find_load(r, f)))
		return err;
	r->end = f->end;
	if (stack == GO_STACK_BORROWS)
		return take_borrowing(r, f);
	if (stack != GO_STACK_USUAL)
		return take_special(r, f, stack);
	return f->pcsp ? take_deltas(r, f) : put(r, f->start, &none, false);
}

int go_rules_each(const struct pclntab *table, const struct elf_file *file, go_rules_take *take,
		  void *arg)
{
	struct reader *r = calloc(1, sizeof(*r));
	int err = r ? 0 : -ENOMEM;

	if (err)
		return err;
	r->table = table;
	r->file = file;
	r->take = take;
	r->arg = arg;
	for (size_t i = 0; i < pclntab_count(table) && !err; i++) {
		struct pclntab_function function;

		if (pclntab_get(table, i, &function))
			err = take_function(r, &function);
	}
	if (!err)
		err = end_function(r, 0);
	free(r);
	return err;
}
