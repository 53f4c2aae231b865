/* SPDX-License-Identifier: MIT */
/*
 * Finds detours with a wrong rule; see detour.h.
 *
 * A function's code is followed once, from its first instruction to its last. Each place has a
 * depth: the distance of the CFA from the stack pointer.
 *
 *   the first instruction       as the information states
 *   behind any other            what the instruction leaves
 *   a branch's target           as at the branch
 *   behind a jump or return     as branches to it say; no branch: as the information states
 *   behind a call               the same where another frame is stated than at the call: it has not
 *                               returned
 *
 * If two ways to a place have different depths, the code is not understood, and all rules stay.
 */
#include "unwind/detour.h"

#include "arch/code_form.h"
#include "arch/insn.h"
#include "base/vec.h"
#include "unwind/fixed_rule.h"

/* The depth that the information states from a byte of the function on; 0: it is no distance from
 * the stack pointer. */
struct stated {
	uint32_t at, rule; /* `rule`: its number in tables */
	int32_t depth;
};

struct function {
	struct insn_decoder decoder;
	const uint8_t *code;
	uint32_t size;
	VEC(struct stated) rows; /* in order; owned */
	uint32_t tail;		 /* byte from which on one depth is stated up to the end */
	int32_t *depths;	 /* owned: by byte; 0: not known. NULL: not followed yet */
	bool is_understood;
};

static void function_fini(struct function *f)
{
	free(f->rows.items);
	free(f->depths);
}

/* Returns the distance of the CFA from the stack pointer; 0: the rule is of another form. */
static int32_t depth_of(const struct stackd_rule *rule)
{
	bool is_plain = rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP &&
			rule->ra_offset == ARCH_RETURN_SLOT && !STACKD_IS_OF_CODE(rule);

	return is_plain ? rule->cfa_offset : 0;
}

static int add_row(struct function *f, uint64_t at, uint32_t number, const struct stackd_rule *rule)
{
	int32_t depth = depth_of(rule);

	if (VEC_RESERVE(&f->rows, 1))
		return -ENOMEM;
	if (!f->rows.count || depth != f->rows.items[f->rows.count - 1].depth)
		f->tail = (uint32_t)at;
	f->rows.items[f->rows.count++] = (struct stated){(uint32_t)at, number, depth};
	return 0;
}

/* Returns the row that covers a byte. The first row covers the first byte. */
static const struct stated *row_at(const struct function *f, uint32_t at)
{
	size_t low = 0, high = f->rows.count;

	while (high - low > 1) {
		size_t middle = (low + high) / 2;

		if (f->rows.items[middle].at <= at)
			low = middle;
		else
			high = middle;
	}
	return &f->rows.items[low];
}

/* --- following ----------------------------------------------------------------------------- */

/* The way to an instruction from the one before. */
struct way {
	enum { WAY_FLOWS, WAY_CALL, WAY_NONE } kind;
	int32_t depth;	/* with which it arrives */
	int32_t stated; /* at the instruction that made it a call */
};

/* Makes the way behind an instruction, to which `way` leads. */
static void pass(struct way *way, const struct insn *insn, int32_t stated)
{
	switch (insn->flow) {
	case INSN_CALL:
	case INSN_CALL_INDIRECT:
		way->kind = WAY_CALL;
		way->stated = stated;
		return;
	case INSN_RETURN:
	case INSN_JUMP:
	case INSN_JUMP_INDIRECT:
	case INSN_STOP:
		way->kind = WAY_NONE;
		return;
	}
	if (!insn->is_padding)
		way->kind = WAY_FLOWS;
}

/* Returns the depth behind an instruction. */
static int32_t depth_behind(const struct insn *insn, int32_t depth)
{
	int64_t behind = depth;

	if (!depth)
		return 0;
	if (insn->op == INSN_PUSH)
		behind += ARCH_CALL_PUSHES;
	else if (insn->op == INSN_POP && insn->dst != INSN_SP)
		behind -= ARCH_CALL_PUSHES;
	else if (insn->op == INSN_COPY && insn->dst == INSN_SP && insn->src == INSN_SP)
		behind -= insn->disp;
	else if (insn->op == INSN_LEAVE || insn->op == INSN_ALIGN || insn->written >> INSN_SP & 1)
		behind = 0;
	return behind > 0 && behind <= INT32_MAX ? (int32_t)behind : 0;
}

/* Returns the depth at an instruction; -1: ways to it differ. */
static int32_t depth_at(const struct function *f, uint32_t at, const struct way *way,
			int32_t stated)
{
	const int32_t known = f->depths[at];

	if (known)
		return way->kind != WAY_FLOWS || !way->depth || way->depth == known ? known : -1;
	if (way->kind == WAY_NONE || (way->kind == WAY_CALL && stated != way->stated))
		return stated;
	return way->depth;
}

/* Notes the depth at a branch's target. Returns false if another way has another one. */
static bool note_target(struct function *f, const struct insn *insn, int32_t depth)
{
	int32_t *known;

	if ((insn->flow != INSN_JUMP && insn->flow != INSN_BRANCH) || !depth ||
	    insn->target >= f->size)
		return true;
	known = &f->depths[insn->target];
	if (*known && *known != depth)
		return false;
	*known = depth;
	return true;
}

/* Returns whether all of the function's code is understood. */
static bool follow(struct function *f)
{
	struct way way = {.kind = WAY_NONE};
	struct insn insn;

	for (uint32_t at = 0; at < f->size; at += insn.length) {
		int32_t stated = row_at(f, at)->depth, depth = depth_at(f, at, &way, stated);

		if (depth < 0 || !insn_decode(&f->decoder, f->code + at, f->size - at, at, &insn))
			return false;
		f->depths[at] = depth;
		if (!note_target(f, &insn, depth))
			return false;
		pass(&way, &insn, stated);
		way.depth = depth_behind(&insn, depth);
	}
	return true;
}

/* --- detours ------------------------------------------------------------------------------- */

/* Finds a direct call and the direct jump back behind it, at byte `at` of the tail. Returns where
 * it ends; 0: there is none. */
static uint32_t detour_at(const struct function *f, uint32_t at, uint32_t *ret_target)
{
	const uint32_t jump = at + CODE_FORM_CALL;
	struct insn insn;
	uint64_t target;

	if (jump >= f->size || at < f->tail ||
	    !code_form_call_target(f->code + at, jump, &target) ||
	    !insn_decode(&f->decoder, f->code + jump, f->size - jump, jump, &insn) ||
	    insn.flow != INSN_JUMP || insn.target >= f->tail)
		return 0;
	*ret_target = (uint32_t)insn.target;
	return jump + insn.length;
}

/* Returns whether the rule of the detour at byte `at`, to `target`, is wrong, and that of `target`
 * holds in it; -ENOMEM. */
static int is_wrong(struct function *f, uint32_t at, uint32_t target)
{
	const int32_t here = row_at(f, at)->depth, there = row_at(f, target)->depth;

	if (!here || !there || here == there)
		return 0;
	if (!f->depths) {
		f->depths = calloc(f->size, sizeof(*f->depths));
		if (!f->depths)
			return -ENOMEM;
		f->is_understood = follow(f);
	}
	return f->is_understood && f->depths[at] == there && f->depths[target] == there;
}

/* Adds rows for the detour at byte `at` of a function that begins at the file offset `start`. */
static int add_detour(const struct function *f, uint32_t start, uint32_t at, uint32_t end,
		      uint32_t target, struct recipe_rows *layer)
{
	uint16_t rule = (uint16_t)row_at(f, target)->rule;
	int err = recipe_rows_add(layer, start + at, rule);

	return err ? err : recipe_rows_add(layer, start + end, STACKD_RULE_NONE);
}

static int search(struct function *f, uint32_t start, struct recipe_rows *layer)
{
	const uint8_t *at = f->code + f->tail, *last = f->code + f->size - CODE_FORM_CALL;
	int err = 0;

	for (; !err && at < last && (at = code_form_find_detour(at, (size_t)(last - at))); at++) {
		uint32_t from = (uint32_t)(at - f->code), target, end = detour_at(f, from, &target);
		int wrong = end ? is_wrong(f, from, target) : 0;

		err = wrong > 0 ? add_detour(f, start, from, end, target, layer) : wrong;
	}
	return err;
}

/* Returns the offset from which on a function's rows state one depth up to its end. */
static uint32_t find_tail(const struct stackd_rule *rules, struct recipe_rows_reader reader)
{
	uint32_t tail = 0;
	int32_t depth = -1;
	struct recipe_row row;

	while (recipe_rows_next(&reader, &row)) {
		int32_t next = depth_of(&rules[row.rule]);

		if (next != depth)
			tail = row.offset;
		depth = next;
	}
	return depth > 0 ? tail : UINT32_MAX;
}

/* Returns whether the end of a function's code, from `tail` on, may have a detour. */
static bool may_have_detour(struct code_window *window, uint32_t tail, uint32_t end)
{
	const uint8_t *code;
	size_t len;

	if (tail >= end || end - tail <= CODE_FORM_CALL)
		return false;
	code = code_window_at(window, tail, end - tail, &len);
	return len > CODE_FORM_CALL && code_form_find_detour(code, len - CODE_FORM_CALL);
}

int detour_find(struct code_window *window, const struct recipe_rules *rules,
		struct recipe_rows_reader reader, uint32_t start, uint32_t end,
		struct recipe_rows *layer)
{
	struct function f = {.code = NULL};
	struct recipe_row row;
	size_t size, count;
	const struct stackd_rule *all = recipe_rules_array(rules, &count);
	int err = 0;

	if (end - start > CODE_WINDOW_BYTES ||
	    (!recipe_rows_is_empty(layer) && recipe_rows_last(layer).offset > start) ||
	    !may_have_detour(window, find_tail(all, reader), end))
		return 0;
	f.code = code_window_at(window, start, end - start, &size);
	if (size != end - start)
		return 0;
	f.size = (uint32_t)size;
	insn_decoder_init(&f.decoder);
	while (!err && recipe_rows_next(&reader, &row))
		err = add_row(&f, row.offset - start, row.rule, &all[row.rule]);
	if (!err)
		err = search(&f, start, layer);
	function_fini(&f);
	return err;
}

/* --- single places ------------------------------------------------------------------------- */

struct taken {
	struct function *function;
	uint64_t start; /* vaddr */
	int err;
};

static bool take_row(void *arg, const struct cfi_row *row)
{
	struct taken *t = arg;
	struct stackd_rule rule = {.cfa = STACKD_CFA_DAEMON};

	if (row->refused == CFI_ACCEPTED)
		fixed_rule_make(&row->state, row->is_signal_frame, &rule);
	t->err = add_row(t->function, row->start - t->start, 0, &rule);
	return !t->err;
}

/* Returns the start of the detour that has the byte `at`, and its target; UINT32_MAX: there is
 * none. */
static uint32_t detour_around(const struct function *f, uint32_t at, bool is_return,
			      uint32_t *ret_target)
{
	if (is_return)
		at = at < CODE_FORM_CALL - 1 ? UINT32_MAX : at - (CODE_FORM_CALL - 1);
	if (at < f->size && detour_at(f, at, ret_target))
		return at;
	if (!is_return && at >= CODE_FORM_CALL && detour_at(f, at - CODE_FORM_CALL, ret_target))
		return at - CODE_FORM_CALL;
	return UINT32_MAX;
}

/* Replaces the rule of the detour around the byte `at` of the function at the vaddr `start`. */
static int improve(struct function *f, const struct cfi_index *index, uint64_t start, uint32_t at,
		   bool is_return, struct walk_rule *rule)
{
	struct taken taken = {f, start, 0};
	struct walk_rule better;
	uint32_t target;
	int err;

	cfi_index_rows(index, start + at, take_row, &taken);
	if (taken.err || !f->rows.count)
		return taken.err;
	at = detour_around(f, at, is_return, &target);
	err = at == UINT32_MAX ? 0 : is_wrong(f, at, target);
	if (err <= 0)
		return err;
	err = walk_rule_compile(index, start + target, &better);
	if (err)
		return err;
	better.is_entry = rule->is_entry;
	better.is_called = rule->is_called;
	walk_rule_free(rule);
	*rule = better;
	return 0;
}

/* Returns whether the code around an offset looks like a detour, before all of the function is
 * read. */
static bool may_be_detour(const struct elf_file *elf, uint64_t offset, bool is_return)
{
	uint8_t code[2 * CODE_FORM_CALL] = {0};
	uint64_t back = is_return ? CODE_FORM_CALL - 1 : CODE_FORM_CALL, target;

	if (offset < back || !elf_file_read_whole(elf, offset - back, code, sizeof(code)))
		return false;
	return code_form_call_target(code, 0, &target) ||
	       (!is_return && code_form_call_target(code + back, 0, &target));
}

int detour_improve(const struct elf_file *elf, const struct cfi_index *index, uint64_t vaddr,
		   bool is_return, struct walk_rule *rule)
{
	struct function f = {.code = NULL};
	uint64_t start, end, offset;
	uint8_t *code;
	int err = 0;

	if (rule->fast.cfa != STACKD_CFA_REG || rule->fast.reg != STACKD_REG_SP || !index ||
	    !cfi_index_find(index, vaddr, &start, &end) || end - start > CODE_WINDOW_BYTES ||
	    !elf_file_vaddr_to_offset(elf, start, &offset) ||
	    !may_be_detour(elf, offset + (vaddr - start), is_return))
		return 0;
	f.size = (uint32_t)(end - start);
	f.code = code = malloc(f.size);
	if (!code)
		return -ENOMEM;
	insn_decoder_init(&f.decoder);
	if (elf_file_read_whole(elf, offset, code, f.size))
		err = improve(&f, index, start, (uint32_t)(vaddr - start), is_return, rule);
	free(code);
	function_fini(&f);
	return err;
}
