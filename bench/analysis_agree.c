/* SPDX-License-Identifier: MIT */
/*
 * Withholds the call frame information of each file on the command line from the analyser, and
 * compares its rules with those of that information, for every instruction that it covers (padding
 * left out). Prints a line for each file, in millionths of the instructions, and the same for
 * calls, whose rules are those of callers:
 *
 *   equal    the same CFA, and the same slots of saved registers; or they differ in a register that
 *            instructions have just pushed or popped, so that its value is in both places; or it is
 *            ret, and ours says rsp + 8, as any that is true there
 *   form     the CFA from another register, or a register that only one of the two says is in a
 *            slot: both can be true, and this does not settle it
 *   wrong    another distance of the CFA from the same register, or another slot
 *   cfi      as wrong, but the instructions say that ours is right: both are equal before a push, a
 *            pop or a sum of rsp, and only ours moves with it; or a call leads there, which has
 *            pushed the return address; or a register was pushed, and has changed since. (clang's
 *            call frame information says late what an epilogue does, some says nothing of what
 *            inline assembly pushes, and LuaJIT's has one rule for an interpreter and its entries.)
 *   none     the analyser has no rule
 *
 * Code that only exceptions lead to is left out: without unwind information, there are none. How
 * much that is, is printed, too, and what the analyser abstained for, by reason.
 */
#include <Zydis/Zydis.h>
#include <stdlib.h>
#include <time.h>

#include "analysis/analysis.h"
#include "arch/insn.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "cfi/cfi_index.h"
#include "landing_pads.h"
#include "recipe_file.h"
#include "unwind/recipe_analysis.h"

enum judged { EQUAL, FORM, WRONG, CFI, NONE, JUDGED_COUNT };

struct row {
	uint64_t offset;
	struct stackd_rule rule;
};

struct agree {
	VEC(struct row) rows;
	uint64_t all[JUDGED_COUNT], calls[JUDGED_COUNT];
	struct int_map
		jumped; /* CFA's distance from rsp at jumps to a vaddr, of rules that are right */
	struct int_map called; /* vaddr that calls lead to */
	struct int_map landed; /* instructions without a rule that exceptions lead to, by vaddr */
	unsigned shown;	       /* wrong ones still to be printed */
};

static int add_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	struct agree *a = arg;

	if (VEC_RESERVE(&a->rows, 1))
		return -ENOMEM;
	a->rows.items[a->rows.count++] = (struct row){offset, *rule};
	return 0;
}

static const struct stackd_rule *find_row(const struct agree *a, uint64_t offset)
{
	static const struct stackd_rule none;
	size_t low = 0, high = a->rows.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (a->rows.items[middle].offset <= offset)
			low = middle + 1;
		else
			high = middle;
	}
	return low ? &a->rows.items[low - 1].rule : &none;
}

/* --- landing pads -------------------------------------------------------------------------- */

static int land(struct agree *a, const struct recipe_file *f, const struct insn_decoder *decoder,
		struct landing_pads *todo)
{
	uint64_t vaddr = todo->items.items[--todo->items.count], offset;
	uint8_t code[INSN_MAX_BYTES];
	uint32_t unused;
	struct insn i;

	while (elf_file_vaddr_to_offset(f->elf, vaddr, &offset) &&
	       find_row(a, offset)->cfa == STACKD_CFA_NONE &&
	       int_map_find(&a->landed, vaddr) == INT_MAP_NONE) {
		int64_t got = elf_file_read(f->elf, offset, code, sizeof(code));

		if (got <= 0 || !insn_decode(decoder, code, (size_t)got, vaddr, &i))
			return 0;
		if (int_map_enter(&a->landed, vaddr, 1, &unused) || VEC_RESERVE(&todo->items, 1))
			return -ENOMEM;
		if (i.flow == INSN_JUMP || i.flow == INSN_BRANCH)
			todo->items.items[todo->items.count++] = i.target;
		if (i.flow == INSN_JUMP || i.flow == INSN_RETURN || i.flow == INSN_STOP ||
		    i.flow == INSN_JUMP_INDIRECT)
			return 0;
		vaddr += i.length;
	}
	return 0;
}

/* Follows the code that begins at landing pads, as far as it has no rules. */
static int land_all(struct agree *a, const struct recipe_file *f)
{
	struct landing_pads todo = {0};
	struct insn_decoder decoder;
	int err = landing_pads_find(f->elf, &todo);

	insn_decoder_init(&decoder);
	while (!err && todo.items.count)
		err = land(a, f, &decoder, &todo);
	free(todo.items.items);
	return err;
}

/* --- comparing ----------------------------------------------------------------------------- */

/* A slot below rsp is one that was popped: the register holds the same. */
static bool is_popped(const struct stackd_rule *rule, int slot)
{
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP &&
	       -slot > rule->cfa_offset;
}

static enum judged judge_saved(const struct stackd_rule *ours, const struct stackd_rule *cfi)
{
	enum judged worst = EQUAL;

	for (int i = 0; i < STACKD_SAVED_COUNT; i++) {
		if (ours->saved[i] == cfi->saved[i] ||
		    (!ours->saved[i] && is_popped(ours, cfi->saved[i])))
			continue;
		if (ours->saved[i] && cfi->saved[i])
			return WRONG;
		worst = FORM;
	}
	return worst;
}

static enum judged judge(const struct stackd_rule *ours, const struct stackd_rule *cfi)
{
	if (ours->cfa == STACKD_CFA_NONE)
		return NONE;
	if (!memcmp(ours, cfi, sizeof(*ours)))
		return EQUAL;
	if (ours->cfa != cfi->cfa || ours->reg != cfi->reg || ours->saved_via_reg ||
	    cfi->saved_via_reg)
		return FORM;
	if (ours->cfa_offset != cfi->cfa_offset || ours->cfa_add != cfi->cfa_add)
		return WRONG;
	return judge_saved(ours, cfi);
}

/* How far an instruction moves rsp up; false: by no known distance. */
static bool moves_by(const struct insn *i, int32_t *ret_bytes)
{
	*ret_bytes = 0;
	if (i->op == INSN_PUSH)
		*ret_bytes = -8;
	else if (i->op == INSN_POP && i->dst != INSN_SP)
		*ret_bytes = 8;
	else if (i->op == INSN_COPY && i->dst == INSN_SP && i->src == INSN_SP)
		*ret_bytes = i->disp;
	else
		return !(i->written >> INSN_SP & 1) && i->op != INSN_LEAVE && i->op != INSN_ALIGN;
	return true;
}

/* The instruction before, in a row. */
struct before {
	struct insn insn;
	const struct stackd_rule *ours;
	bool is_settled;		    /* its rule is known to be right */
	int32_t depth;			    /* the CFA's distance from rsp; 0: not known */
	int32_t pushed[STACKD_SAVED_COUNT]; /* slots that pushes of this function wrote; 0: none */
	int32_t restored[STACKD_SAVED_COUNT]; /* and those that registers were popped from */
	uint32_t changed;		      /* bit k: saved register k was written */
};

static const uint8_t saved_registers[STACKD_SAVED_COUNT] = {5, 3, 12, 13, 14, 15};

static bool goes_on(const struct insn *i)
{
	return i->flow != INSN_JUMP && i->flow != INSN_RETURN && i->flow != INSN_JUMP_INDIRECT &&
	       i->flow != INSN_STOP;
}

/* Finds the depth behind an instruction. */
static void move_depth(struct before *b)
{
	int32_t bytes;

	b->depth =
		b->depth && goes_on(&b->insn) && moves_by(&b->insn, &bytes) ? b->depth - bytes : 0;
}

/* Notes what an instruction does with saved registers. */
static void note_saved(struct before *b)
{
	bool is_by_rsp = b->ours->cfa == STACKD_CFA_REG && b->ours->reg == STACKD_REG_SP;

	if (b->is_settled && is_by_rsp)
		b->depth = b->ours->cfa_offset;
	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		uint8_t reg = saved_registers[k];
		bool is_pop =
			(b->insn.op == INSN_POP || b->insn.op == INSN_LOAD) && b->insn.dst == reg;

		if (b->insn.op == INSN_PUSH && b->insn.src == reg && b->depth && !b->pushed[k] &&
		    !(b->changed >> k & 1))
			b->pushed[k] = -b->depth - 8;
		if (b->insn.op == INSN_STORE && b->insn.src == reg && b->insn.dst == INSN_SP &&
		    b->depth && !b->pushed[k] && !(b->changed >> k & 1))
			b->pushed[k] = b->insn.disp - b->depth;
		if (is_pop)
			b->restored[k] = b->ours->saved[k];
		else if (!goes_on(&b->insn) || b->insn.written >> reg & 1)
			b->restored[k] = 0;
		if (b->insn.written >> reg & 1)
			b->changed |= 1u << k;
	}
	move_depth(b);
}

/* Judges slots that only one of the two says, by instructions. */
static enum judged settle_saved(const struct before *b, const struct stackd_rule *ours,
				const struct stackd_rule *cfi)
{
	enum judged worst = EQUAL;

	if (ours->cfa != cfi->cfa || ours->reg != cfi->reg || ours->cfa_offset != cfi->cfa_offset ||
	    ours->saved_via_reg || cfi->saved_via_reg)
		return FORM;
	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		bool is_popped_now = b->restored[k] && cfi->saved[k] == b->restored[k];

		if (ours->saved[k] == cfi->saved[k] || is_popped(ours, cfi->saved[k]) ||
		    (!ours->saved[k] && is_popped_now))
			continue;
		if (cfi->saved[k] || ours->saved[k] != b->pushed[k])
			return FORM;
		if (b->changed >> k & 1)
			worst = CFI;
	}
	return worst;
}

/* Whether the CFA is the same, and the slots that differ are where registers were pushed. */
static bool has_pushed(const struct before *b, const struct stackd_rule *ours,
		       const struct stackd_rule *cfi)
{
	if (ours->cfa_offset != cfi->cfa_offset || ours->cfa_add != cfi->cfa_add)
		return false;
	for (int k = 0; k < STACKD_SAVED_COUNT; k++) {
		if (ours->saved[k] && ours->saved[k] != cfi->saved[k] &&
		    ours->saved[k] != b->pushed[k])
			return false;
	}
	return true;
}

/* Whether ours follows from the instruction before. */
static bool follows(const struct before *b, const struct stackd_rule *ours)
{
	int32_t bytes;

	return b->is_settled && goes_on(&b->insn) && b->ours->reg == STACKD_REG_SP &&
	       ours->reg == STACKD_REG_SP && b->ours->cfa == STACKD_CFA_REG &&
	       ours->cfa == STACKD_CFA_REG && moves_by(&b->insn, &bytes) &&
	       ours->cfa_offset == b->ours->cfa_offset - bytes;
}

/* Notes where an instruction calls or jumps to; the first jump counts. Returns 0 or -ENOMEM. */
static int note_target(struct agree *a, const struct before *b)
{
	uint32_t unused;

	if (b->insn.flow == INSN_CALL)
		return int_map_enter(&a->called, b->insn.target, 1, &unused);
	if ((b->insn.flow == INSN_JUMP || b->insn.flow == INSN_BRANCH) && b->is_settled &&
	    b->ours->cfa == STACKD_CFA_REG && b->ours->reg == STACKD_REG_SP)
		return int_map_enter(&a->jumped, b->insn.target, (uint32_t)b->ours->cfa_offset,
				     &unused);
	return 0;
}

static bool is_by_rsp(const struct stackd_rule *rule, int32_t offset)
{
	return rule->cfa == STACKD_CFA_REG && rule->reg == STACKD_REG_SP &&
	       rule->cfa_offset == offset;
}

/* Whether a call or a jump says that ours is right. */
static bool is_led_to(const struct agree *a, uint64_t vaddr, const struct stackd_rule *ours)
{
	uint32_t jumped = int_map_find(&a->jumped, vaddr);

	if (int_map_find(&a->called, vaddr) != INT_MAP_NONE && is_by_rsp(ours, 8))
		return true;
	return jumped != INT_MAP_NONE && is_by_rsp(ours, (int32_t)jumped);
}

/* Settles a judgement by the instruction and by those before it. */
static enum judged settle(const struct before *b, const struct insn *i, enum judged j,
			  bool is_right, const struct stackd_rule *ours,
			  const struct stackd_rule *cfi)
{
	if (i->flow == INSN_RETURN && is_by_rsp(ours, 8))
		return j == FORM ? EQUAL : j == WRONG ? CFI : j;
	if (j == WRONG && (is_right || has_pushed(b, ours, cfi)))
		return CFI;
	return j == FORM ? settle_saved(b, ours, cfi) : j;
}

static void show(uint64_t vaddr, const struct stackd_rule *ours, const struct stackd_rule *cfi)
{
	printf("    0x%llx: r%u%+d, CFI r%u%+d;", (unsigned long long)vaddr, ours->reg,
	       ours->cfa_offset, cfi->reg, cfi->cfa_offset);
	for (int i = 0; i < STACKD_SAVED_COUNT; i++)
		printf(" %d/%d", ours->saved[i], cfi->saved[i]);
	printf("\n");
}

static void judge_range(struct agree *a, const struct recipe_file *f, const uint8_t *code,
			uint64_t start, uint64_t size, uint64_t offset)
{
	struct before before = {0};
	struct insn_decoder decoder;
	struct insn i;

	insn_decoder_init(&decoder);
	for (uint64_t b = 0; b < size; b += i.length) {
		const struct stackd_rule *ours, *cfi = recipe_lookup(f->table, offset + b);
		enum judged j;
		bool is_right;

		if (!insn_decode(&decoder, code + b, size - b, start + b, &i))
			return;
		if (i.is_padding || (cfi->cfa != STACKD_CFA_REG && cfi->cfa != STACKD_CFA_DEREF) ||
		    int_map_find(&a->landed, start + b) != INT_MAP_NONE)
			continue;
		ours = find_row(a, offset + b);
		j = judge(ours, cfi);
		is_right = follows(&before, ours) || is_led_to(a, start + b, ours);
		j = settle(&before, &i, j, is_right, ours, cfi);
		before.insn = i;
		before.ours = ours;
		before.is_settled = is_right || j == EQUAL || j == CFI;
		note_saved(&before);
		if (note_target(a, &before))
			return;
		a->all[j]++;
		if (i.flow == INSN_CALL || i.flow == INSN_CALL_INDIRECT)
			a->calls[j]++;
		if (j == WRONG && a->shown) {
			a->shown--;
			show(start + b, ours, cfi);
		}
	}
}

static int judge_all(struct agree *a, const struct recipe_file *f)
{
	struct cfi_index *index;
	int err = cfi_index_new(f->elf, &index);

	for (size_t i = 0; !err && i < cfi_index_count(index); i++) {
		uint64_t start, end, offset;
		uint8_t *code;

		cfi_index_range(index, i, &start, &end);
		code = end - start < ANALYSIS_MAX_BYTES ? malloc(end - start + 1) : NULL;
		if (code && elf_file_vaddr_to_offset(f->elf, start, &offset) &&
		    elf_file_read_whole(f->elf, offset, code, end - start))
			judge_range(a, f, code, start, end - start, offset);
		free(code);
	}
	if (!err)
		cfi_index_free(index);
	return err;
}

static void print_counts(const char *kind, const uint64_t *n)
{
	uint64_t total = n[EQUAL] + n[FORM] + n[WRONG] + n[CFI] + n[NONE];

	printf("  %s %9llu:", kind, (unsigned long long)total);
	for (int i = 0; i < JUDGED_COUNT; i++) {
		static const char *const names[] = {"equal", "form", "wrong", "cfi", "none"};

		printf("  %s %.0f", names[i], total ? 1e6 * (double)n[i] / (double)total : 0);
	}
	printf("\n");
}

/* All code of the file, as if it had no call frame information. */
static int find_code(const struct recipe_file *f, struct recipe_gaps *gaps)
{
	struct recipe_load loads[16];
	struct recipe_rows none = {0};
	size_t count, n = 0;
	const Elf64_Phdr *p = elf_file_program_headers(f->elf, &count);

	for (size_t i = 0; i < count && n < 16; i++) {
		if (p[i].p_type == PT_LOAD && p[i].p_flags & PF_X)
			loads[n++] = (struct recipe_load){.vaddr = p[i].p_vaddr,
							  .offset = p[i].p_offset,
							  .size = p[i].p_filesz};
	}
	return recipe_gaps_find(f->elf, loads, n, &none, gaps);
}

static int analyse(struct agree *a, const struct recipe_file *f, const char *path)
{
	struct recipe_gaps gaps = {0};
	struct analysis_input in = {.elf = f->elf, .has_starts = true};
	struct analysis_stats stats;
	struct timespec from, to;
	int err = find_code(f, &gaps);

	in.ranges = gaps.items.items;
	in.range_count = gaps.items.count;
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &from);
	if (!err)
		err = analysis_run(&in, add_row, a, &stats);
	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &to);
	free(gaps.items.items);
	if (err)
		return err;
	printf("%s  %.1f MB/s, %llu functions, %llu instructions; abstained: CFA %llu saved %llu "
	       "return %llu code %llu\n",
	       path,
	       (double)gaps.bytes / 1e6 /
		       ((double)(to.tv_sec - from.tv_sec) +
			1e-9 * (double)(to.tv_nsec - from.tv_nsec)),
	       (unsigned long long)stats.functions, (unsigned long long)stats.instructions,
	       (unsigned long long)stats.abstained[0], (unsigned long long)stats.abstained[1],
	       (unsigned long long)stats.abstained[2], (unsigned long long)stats.abstained[3]);
	return 0;
}

static int judge_path(const char *path, unsigned shown)
{
	struct agree a = {0};
	struct recipe_file f;
	int err = recipe_file_open(path, &f);

	if (!err)
		err = recipe_compile_cfi(f.elf, &f.table);
	if (!err)
		err = analyse(&a, &f, path);
	if (!err)
		err = land_all(&a, &f);
	if (!err)
		err = judge_all(&a, &f);
	/* Once more, with the jumps that lead back. */
	memset(a.all, 0, sizeof(a.all));
	memset(a.calls, 0, sizeof(a.calls));
	a.shown = shown;
	if (!err)
		err = judge_all(&a, &f);
	if (!err) {
		print_counts("all  ", a.all);
		print_counts("calls", a.calls);
		printf("  landed %zu\n", a.landed.used);
	}
	free(a.rows.items);
	int_map_fini(&a.landed);
	int_map_fini(&a.jumped);
	int_map_fini(&a.called);
	return recipe_file_close(&f, path, err);
}

int main(int argc, char **argv)
{
	unsigned shown = argc > 2 && argv[1][0] == '-' ? (unsigned)atoi(argv[1] + 1) : 0;
	int failed = 0;

	if (argc < 2) {
		fprintf(stderr, "usage: analysis_agree [-WRONG_ONES_SHOWN] FILE...\n");
		return 2;
	}
	for (int i = 1; i < argc; i++) {
		if (argv[i][0] != '-')
			failed |= judge_path(argv[i], shown) != 0;
	}
	return failed;
}
