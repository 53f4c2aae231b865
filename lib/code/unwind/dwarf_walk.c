/* SPDX-License-Identifier: MIT */
/*
 * The walk; see dwarf_walk.h.
 *
 *   pc ──find──► object, offset ──cache──► rule ──walk_step──► the caller's registers ──► pc
 *                                  └miss──► cfi_index (one per object) ──► walk_rule
 *                                                └none──► analysed_rules
 *
 * An object's first rules are made from an index of one entry each: mostly few more are needed,
 * since the kernel half soon has the object's table. All of the CFI is read once an address has no
 * such entry, or many rules were made from single entries.
 *
 * A return address is looked up one byte below, in the call that it follows: the call may be a
 * function's last instruction. A program counter that was interrupted (the leaf, and what a
 * signal frame leads to) is looked up as it is.
 *
 * If an object has a runtime's table (Go's), that gives rules where there is no CFI, and says where
 * stacks are switched (runtime/runtime.h).
 *
 * The walk is complete where the return address is undefined (glibc's _start, clone and clone3) or
 * 0. It is also complete if no caller is found for a frame in the function at the file's entry
 * address, or in one whose address was put on the stack by hand (compile_at()). This is for start
 * code without CFI, or whose CFI does not mark it as the start: in place of a return address it has
 * argc, or makecontext()'s uc_link.
 */
#include "unwind/dwarf_walk.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/flow_insn.h"
#include "base/vec.h"
#include "cfi/eh_frame_hdr.h"
#include "runtime/runtime.h"
#include "unwind/analysed_rules.h"
#include "unwind/jump_frame.h"
#include "unwind/kept_register.h"
#include "unwind/cfi_repair.h"
#include "unwind/detour.h"
#include "unwind/eh_return.h"
#include "unwind/frame_depth.h"
#include "unwind/rule_cache.h"
#include "unwind/runtime_code.h"
#include "unwind/sigreturn.h"
#include "unwind/stack_start.h"
#include "unwind/stack_switch.h"
#include "unwind/walk_run.h"
#include "unwind/heuristic_step.h"

#define ENTRY_BYTES 64	/* length that is assumed of start code without CFI */
#define ENTRY_MOST  128 /* or up to its first call, if that is so near */
/* Rules of an object that are made from single entries before all of its CFI is read: so many cost
 * less than reading it. */
#define SINGLE_RULES	200
#define SINGLE_RULES_IN 32 /* one more rule for each so many entries of the file */

/* An object's CFI, and the function at the object's entry address. The CFI is only needed for new
 * rules: it is dropped when it has not been used for a while, and read again when it is needed. */
struct walk_object {
	bool is_complete;	      /* all CFI was read: `index` has it, or the file has none */
	bool has_entry;		      /* the function at the entry address was looked for */
	uint32_t singles;	      /* rules that were made from single entries */
	uint32_t max_singles;	      /* most rules that are made so; 0: not computed yet */
	struct cfi_index *index;      /* owned; NULL: no CFI, or not read */
	struct runtime_tables tables; /* owned; empty: the file has none, or they are not read */
	bool has_tables;	      /* the file has some, though they may have been dropped */
	bool has_tried_tables;
	uint64_t used;			 /* trim of its last use */
	uint64_t entry_start, entry_end; /* vaddr of the function at the entry address */
	struct jump_frame jump;		 /* the function in whose frame code without any rule
					  * runs */
	uint32_t searches;		 /* for such a function of another object */
	struct analysed_rules analysed;	 /* for code that no CFI covers */
};

struct dwarf_walk {
	struct rule_cache cache;
	VEC(struct walk_object) objects; /* by number; owned */
	struct jump_frames lenders;	 /* functions in whose frames other objects' code runs */
	uint64_t trims;
	struct runtime_code *code; /* borrowed; NULL: code without a file cannot be read */
	struct dwarf_walk_stats stats;
	struct analysed_source source;
	struct kept_register kept;
	struct walk_rule provisional; /* owns no memory */
};

int dwarf_walk_new(const struct dwarf_walk_options *options, struct dwarf_walk **ret_walk)
{
	struct dwarf_walk *walk = calloc(1, sizeof(*walk));

	if (!walk)
		return -ENOMEM;
	if (rule_cache_init(&walk->cache)) {
		free(walk);
		return -ENOMEM;
	}
	walk->source = (struct analysed_source){options->find_rule, options->rules};
	walk->code = options->code;
	*ret_walk = walk;
	return 0;
}

void dwarf_walk_free(struct dwarf_walk *walk)
{
	if (!walk)
		return;
	for (size_t i = 0; i < walk->objects.count; i++) {
		cfi_index_free(walk->objects.items[i].index);
		runtime_tables_free(&walk->objects.items[i].tables);
		analysed_rules_drop(&walk->objects.items[i].analysed);
		jump_frame_drop(&walk->objects.items[i].jump);
	}
	free(walk->objects.items);
	jump_frames_drop(&walk->lenders);
	rule_cache_fini(&walk->cache);
	kept_register_fini(&walk->kept);
	free(walk);
}

void dwarf_walk_get_stats(const struct dwarf_walk *walk, struct dwarf_walk_stats *ret_stats)
{
	*ret_stats = walk->stats;
}

/* --- objects and rules --------------------------------------------------------------------- */

/* Returns the address behind the first call of start code, to which no jump leads; 0: it has none
 * in ENTRY_MOST bytes. */
static uint64_t behind_first_call(const struct elf_file *elf, uint64_t entry)
{
	uint8_t code[ENTRY_MOST] = {0};
	struct insn_decoder decoder;
	struct flow_insn i;
	uint64_t offset;
	int64_t got;

	if (!elf_file_vaddr_to_offset(elf, entry, &offset))
		return 0;
	got = elf_file_read(elf, offset, code, sizeof(code));
	insn_decoder_init(&decoder);
	for (int64_t at = 0; at < got; at += i.length) {
		if (!flow_insn_decode(&decoder, code + at, (size_t)(got - at), &i))
			return 0;
		if (i.kind == FLOW_CALL)
			return entry + (uint64_t)at + i.length;
		if (i.kind != FLOW_NEXT)
			return 0;
	}
	return 0;
}

/* Notes the range of the function at the entry address. Start code without CFI is assumed to have
 * ENTRY_BYTES; what it calls may return further on (Free Pascal's programs). */
static void set_entry(struct walk_object *wo, const struct elf_file *elf,
		      const struct cfi_index *index, uint64_t entry)
{
	uint64_t end;

	wo->has_entry = true;
	if (!entry || (index && cfi_index_find(index, entry, &wo->entry_start, &wo->entry_end)))
		return;
	end = behind_first_call(elf, entry);
	wo->entry_start = entry;
	wo->entry_end = end > entry + ENTRY_BYTES ? end : entry + ENTRY_BYTES;
}

static int find_object(struct dwarf_walk *walk, const struct object *object,
		       struct walk_object **ret_object)
{
	size_t n = walk->objects.count;

	if (object->number >= n) {
		if (VEC_RESERVE(&walk->objects, object->number + 1 - n))
			return -ENOMEM;
		walk->objects.count = walk->objects.cap;
		memset(walk->objects.items + n, 0,
		       (walk->objects.count - n) * sizeof(*walk->objects.items));
	}
	*ret_object = &walk->objects.items[object->number];
	(*ret_object)->used = walk->trims;
	return 0;
}

/* Finds an object with all of its CFI. */
static int find_complete(struct dwarf_walk *walk, const struct object *object,
			 struct walk_object **ret_object)
{
	struct walk_object *wo;
	int err = find_object(walk, object, &wo);

	if (!err && !wo->is_complete) {
		err = cfi_index_new(object->elf, &wo->index);
		if (err == -ENOMEM)
			return err;
		set_entry(wo, object->elf, wo->index, elf_file_entry_vaddr(object->elf));
		wo->is_complete = true;
		err = 0;
	}
	if (!err)
		*ret_object = wo;
	return err;
}

void dwarf_walk_trim(struct dwarf_walk *walk)
{
	walk->trims++;
	for (size_t i = 0; i < walk->objects.count; i++) {
		struct walk_object *wo = &walk->objects.items[i];

		wo->singles = 0;
		if (wo->used + 1 >= walk->trims)
			continue;
		runtime_tables_free(&wo->tables);
		analysed_rules_drop(&wo->analysed);
		if (!wo->index)
			continue;
		cfi_index_free(wo->index);
		wo->index = NULL;
		wo->is_complete = false;
	}
}

bool dwarf_walk_function(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
			 uint64_t *ret_start, uint64_t *ret_end)
{
	struct walk_object *wo;
	uint64_t vaddr, start, end, from;

	if (!object->elf || find_complete(walk, object, &wo) || !wo->index ||
	    !elf_file_offset_to_vaddr(object->elf, offset, &vaddr) ||
	    !cfi_index_find(wo->index, vaddr, &start, &end) ||
	    !elf_file_vaddr_to_offset(object->elf, start, &from))
		return false;
	*ret_start = from;
	*ret_end = from + (end - start);
	return true;
}

/* Compiles the rule of the code before a return address. If the address is a function's start and
 * nothing covers the byte before it, no call has pushed it: it was put there by hand, as
 * makecontext() does. Then the rule of the function's start holds, and if that leads nowhere, the
 * function is the stack's entry. */
static int compile_at(const struct cfi_index *index, uint64_t vaddr, bool is_return,
		      struct walk_rule *rule)
{
	uint64_t start, end;
	int err = walk_rule_compile(index, vaddr, rule);

	if (err || rule->fast.cfa != STACKD_CFA_NONE || !is_return ||
	    !cfi_index_find(index, vaddr + 1, &start, &end) || start != vaddr + 1)
		return err;
	err = walk_rule_compile(index, start, rule);
	rule->is_entry = true;
	return err;
}

/* Replaces a rule by that of a runtime's table, if the object has one, with the same precedence as
 * in the kernel half's tables (recipe_runtime.h). */
static int add_runtime(struct walk_object *wo, const struct elf_file *elf, uint64_t vaddr,
		       struct walk_rule *rule, bool *ret_is_runtimes)
{
	struct runtime_rule row;
	int err = 0;

	*ret_is_runtimes = false;
	if (!wo->tables.files && (wo->has_tables || !wo->has_tried_tables)) {
		err = runtime_tables_read(elf, &wo->tables);
		wo->has_tables = !err;
		wo->has_tried_tables = true;
	}
	if (!wo->tables.files)
		return err == -ENOMEM ? err : 0;
	err = wo->tables.files->rule_at(wo->tables.tables, elf, vaddr, &row);
	if (err || (!row.is_special &&
		    (rule->fast.cfa != STACKD_CFA_NONE || row.rule.cfa == STACKD_CFA_NONE)))
		return err;
	walk_rule_free(rule);
	*rule = (struct walk_rule){.fast = row.rule, .is_entry = rule->is_entry};
	rule->provenance = PROVENANCE_RUNTIME_TABLE;
	rule->is_signal = row.rule.cfa == STACKD_CFA_SIGNAL || row.rule.cfa == STACKD_CFA_INJECTED;
	*ret_is_runtimes = true;
	return 0;
}

/* Completes a rule of the CFI by the runtime's table, the entry address and the code's
 * instructions. */
static int finish_rule(struct dwarf_walk *walk, const struct object *object, struct walk_object *wo,
		       const struct cfi_index *index, uint64_t vaddr, uint64_t offset,
		       bool is_return, struct walk_rule *rule)
{
	const struct elf_file *elf = object->elf;
	bool is_runtimes;
	int err;

	rule->is_entry |= vaddr >= wo->entry_start && vaddr < wo->entry_end;
	err = add_runtime(wo, elf, vaddr, rule, &is_runtimes);
	if (err || is_runtimes)
		return err;
	eh_return_improve(elf, index, vaddr, offset, rule);
	err = detour_improve(elf, index, vaddr, is_return, rule);
	if (err)
		return err;
	if (rule->fast.cfa == STACKD_CFA_NONE && !sigreturn_is_at(elf, offset + is_return))
		err = analysed_rules_find(&wo->analysed, &walk->source, object, offset,
					  &rule->fast);
	rule->is_provisional = err == -EAGAIN;
	if (err == -ENOMEM)
		return err;
	err = is_return ? 0 : cfi_repair_improve(elf, index, vaddr, offset, rule);
	if (is_return)
		cfi_repair_return(elf, vaddr, rule);
	if (!err && rule->provenance != PROVENANCE_CFI)
		rule->is_called |= cfi_repair_is_start(elf, vaddr, offset);
	return err;
}

static int find_entry(struct walk_object *wo, const struct elf_file *elf)
{
	uint64_t entry = elf_file_entry_vaddr(elf);
	struct cfi_index *index = NULL;
	int err = wo->has_entry || !entry ? 0 : cfi_index_new_at(elf, entry, &index);

	if (!err && !wo->has_entry)
		set_entry(wo, elf, index, entry);
	cfi_index_free(index);
	return err;
}

/* Does compile_at() with an index of a single entry. */
static int compile_near(const struct elf_file *elf, uint64_t vaddr, bool is_return,
			const struct cfi_index *index, struct walk_rule *rule)
{
	struct cfi_index *next;
	int err = walk_rule_compile(index, vaddr, rule);

	if (err || rule->fast.cfa != STACKD_CFA_NONE || !is_return)
		return err;
	err = cfi_index_new_at(elf, vaddr + 1, &next);
	if (err)
		return err;
	err = compile_at(next, vaddr, is_return, rule);
	cfi_index_free(next);
	return err;
}

static bool has_singles_left(struct walk_object *wo, const struct elf_file *elf)
{
	struct eh_frame_hdr *hdr;

	if (wo->singles >= SINGLE_RULES && !wo->max_singles) {
		wo->max_singles = SINGLE_RULES;
		if (!eh_frame_hdr_new(elf, &hdr)) {
			wo->max_singles += (uint32_t)(eh_frame_hdr_count(hdr) / SINGLE_RULES_IN);
			eh_frame_hdr_free(hdr);
		}
	}
	return wo->singles < SINGLE_RULES || wo->singles < wo->max_singles;
}

/* Makes a rule without reading all of the CFI. Returns -ENODATA if all of it is needed. */
static int make_single_rule(struct dwarf_walk *walk, const struct object *object,
			    struct walk_object *wo, uint64_t vaddr, uint64_t offset, bool is_return,
			    struct walk_rule *rule)
{
	const struct elf_file *elf = object->elf;
	struct cfi_index *index;
	int err;

	if (wo->is_complete || !has_singles_left(wo, elf))
		return -ENODATA;
	wo->singles++;
	err = find_entry(wo, elf);
	if (!err)
		err = cfi_index_new_at(elf, vaddr, &index);
	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	err = compile_near(elf, vaddr, is_return, index, rule);
	if (!err)
		err = finish_rule(walk, object, wo, index, vaddr, offset, is_return, rule);
	cfi_index_free(index);
	return err;
}

static int make_rule_of_all(struct dwarf_walk *walk, const struct object *object, uint64_t vaddr,
			    uint64_t offset, bool is_return, struct walk_rule *rule)
{
	struct walk_object *wo;
	int err = find_complete(walk, object, &wo);

	if (!err && wo->index)
		err = compile_at(wo->index, vaddr, is_return, rule);
	return err ? err : finish_rule(walk, object, wo, wo->index, vaddr, offset, is_return, rule);
}

/* Sets the provenance of a rule that comes from neither CFI nor a runtime's table: from a few bytes
 * of code (cfi_repair.h, sigreturn.h), or else a frame pointer is tried. Start code has no
 * caller. */
static void set_provenance(struct walk_rule *rule)
{
	if (rule->fast.cfa == STACKD_CFA_NONE)
		rule->provenance = rule->is_entry ? PROVENANCE_NONE : PROVENANCE_FRAME_POINTER;
	else if (rule->provenance == PROVENANCE_NONE)
		rule->provenance = PROVENANCE_ANALYSED;
}

static int make_rule(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
		     bool is_return, struct walk_rule *ret_rule)
{
	struct walk_rule rule = {.fast.cfa = STACKD_CFA_NONE};
	struct walk_object *wo;
	uint64_t vaddr;
	int err = find_object(walk, object, &wo);

	if (!err && elf_file_offset_to_vaddr(object->elf, offset, &vaddr)) {
		err = make_single_rule(walk, object, wo, vaddr, offset, is_return, &rule);
		if (err == -ENODATA)
			err = make_rule_of_all(walk, object, vaddr, offset, is_return, &rule);
	}
	if (err)
		return err;
	if (rule.fast.cfa == STACKD_CFA_NONE && sigreturn_is_at(object->elf, offset + is_return))
		sigreturn_rule(&rule);
	set_provenance(&rule);
	*ret_rule = rule;
	return 0;
}

#define KEY_OF_RETURN (UINT64_C(1) << 63)

/* Returns NULL if memory is lacking. Return addresses have separate keys: an address that was put
 * on a stack by hand (stack_start.h) has another rule than the instruction one byte below it, which
 * may be a return. */
static const struct walk_rule *get_rule(struct dwarf_walk *walk, const struct object *object,
					uint64_t offset, bool is_return)
{
	const uint64_t key = is_return ? offset | KEY_OF_RETURN : offset;
	const struct walk_rule *found = rule_cache_find(&walk->cache, object->number, key);
	struct walk_rule rule;

	if (found) {
		walk->stats.cache_hits++;
		return found;
	}
	walk->stats.cache_misses++;
	if (make_rule(walk, object, offset, is_return, &rule))
		return NULL;
	if (rule.is_provisional) {
		walk->provisional = rule;
		return &walk->provisional;
	}
	return rule_cache_insert(&walk->cache, object->number, key, &rule);
}

bool dwarf_walk_is_entry(struct dwarf_walk *walk, const struct object *object, uint64_t offset,
			 bool is_return)
{
	const struct walk_rule *rule =
		object->elf ? get_rule(walk, object, offset, is_return) : NULL;

	return rule && (rule->is_entry || rule->fast.cfa == STACKD_CFA_END);
}

/* --- code of files that JIT code jumps to ---------------------------------------------------- */

/* Either all of so many bytes of code are taken to have call frame information, or none. */
#define OUTSIDE_BYTES 4096

struct outside {
	struct dwarf_walk *walk;
	const struct walk_run *run;
	uint64_t bare; /* 1 + number of the OUTSIDE_BYTES that were found last to have none */
};

/* Gives the rule at an address of a file, if it comes from call frame information. */
static bool rule_outside(void *arg, uint64_t address, struct stackd_rule *ret_rule)
{
	const struct outside *o = arg;
	const struct walk_rule *rule;
	const struct object *object;
	uint64_t offset;

	if (!walk_run_find(o->run, address, false, &object, &offset) || !object->elf)
		return false;
	rule = get_rule(o->walk, object, offset, false);
	if (!rule || rule->slow || rule->provenance != PROVENANCE_CFI)
		return false;
	*ret_rule = rule->fast;
	return true;
}

/* Reads the code at an address of a file, if it has no call frame information. */
static size_t read_outside(void *arg, uint64_t address, uint8_t *bytes, size_t size)
{
	struct outside *o = arg;
	const struct walk_rule *rule;
	const struct object *object;
	uint64_t offset;
	int64_t got;

	if (!walk_run_find(o->run, address, false, &object, &offset) || !object->elf)
		return 0;
	if (o->bare != address / OUTSIDE_BYTES + 1) {
		rule = get_rule(o->walk, object, offset, false);
		if (!rule || rule->slow || rule->provenance == PROVENANCE_CFI)
			return 0;
		o->bare = address / OUTSIDE_BYTES + 1;
	}
	got = elf_file_read(object->elf, offset, bytes, size);
	return got > 0 ? (size_t)got : 0;
}

/* --- the walk ------------------------------------------------------------------------------ */

/* At the entry function, a step that fails or leads to no mapping means the end of the stack,
 * unless bytes of the stack are missing. */
static enum stackd_end_reason at_entry(const struct walk_run *run, enum stackd_end_reason reason)
{
	const struct object *object;
	uint64_t offset;

	if (reason == STACKD_END_STACK_CUT || reason == STACKD_END_UNREADABLE)
		return reason;
	if (reason == WALK_GO_ON &&
	    walk_run_find(run, run->at.walk.pc, !run->at.walk.is_exact, &object, &offset))
		return reason;
	return STACKD_END_ENTRY;
}

/* Returns the function in whose frame an object's code without rules runs; NULL if there is none,
 * or memory is lacking. */
static const struct jump_frame *jump_frame_of(struct dwarf_walk *walk, const struct object *object)
{
	struct walk_object *wo;

	if (find_object(walk, object, &wo) ||
	    (!wo->jump.is_known &&
	     (find_complete(walk, object, &wo) || jump_frame_find(&wo->jump, object, wo->index))))
		return NULL;
	return wo->jump.start ? &wo->jump : NULL;
}

static const struct walk_rule *rule_at(void *arg, const struct object *object, uint64_t offset)
{
	return get_rule(arg, object, offset, false);
}

/* Steps out of an object's code that runs in the frame of another object's function. */
static bool in_lent_frame(struct dwarf_walk *walk, struct walk_run *run,
			  const struct object *object)
{
	const struct jump_frame_rules rules = {rule_at, walk};
	struct walk_object *wo;
	uint32_t searches;
	bool has_stepped;

	if (find_object(walk, object, &wo))
		return false;
	searches = wo->searches;
	has_stepped = jump_frames_step(&walk->lenders, run, &rules, &searches);
	walk->objects.items[object->number].searches = searches; /* rule_at() can move them */
	return has_stepped;
}

/* Steps out of code in a program's own data, as made by Lisp systems that dump their memory into a
 * program (GCL). It is not laid out as C compilers lay out code, so it is analysed like JIT code,
 * around the address. */
static enum stackd_end_reason out_of_data(struct walk_run *run, const struct object *object,
					  uint64_t offset)
{
	enum stackd_end_reason reason = heuristic_step_without_recipes(run, object, offset);

	return reason == STACKD_END_NO_RECIPE ? STACKD_END_RUNTIME_CODE : reason;
}

/* Steps out of a file's code that has neither CFI nor a rule of a runtime's table. `found` may be
 * in the cache, where the search in heuristic_step_from_taker() can put other rules in its
 * place. */
static enum stackd_end_reason by_weak_rule(struct dwarf_walk *walk, struct walk_run *run,
					   const struct object *object, uint64_t offset,
					   const struct walk_rule *found)
{
	const struct jump_frame_rules rules = {rule_at, walk};
	const struct walk_rule copy = *found, *rule = &copy;
	const struct jump_frame *jump;

	if (found->slow)
		return walk_step_by_rule(&run->at, found);
	if (ARCH_HAS_LINK) /* a frame pointer tells no stack pointer there */
		return walk_step_by_rule(&run->at, found);
	if (heuristic_step_from_taker(run))
		return WALK_GO_ON;
	jump = rule->is_called ? NULL : jump_frame_of(walk, object);
	if (jump) {
		const struct jump_frame frame = *jump; /* rule_at() can move it */

		run->provenance = PROVENANCE_ANALYSED;
		return jump_frame_step(run, &frame, &rules) ? WALK_GO_ON : STACKD_END_NO_RECIPE;
	}
	if (!rule->is_called && in_lent_frame(walk, run, object)) {
		run->provenance = PROVENANCE_ANALYSED;
		return WALK_GO_ON;
	}
	if (rule->fast.cfa == STACKD_CFA_NONE && elf_file_is_data(object->elf, offset))
		return out_of_data(run, object, offset);
	if (rule->fast.cfa == STACKD_CFA_NONE && rule->is_provisional)
		return heuristic_step_without_recipes(run, object, offset);
	if (rule->fast.cfa == STACKD_CFA_NONE)
		return heuristic_step_by_frame_pointer(run, object, offset);
	return walk_step_by_rule(&run->at, rule);
}

/* Steps out of code that has no file. */
static enum stackd_end_reason without_file(struct dwarf_walk *walk, struct walk_run *run,
					   const struct object *object)
{
	const struct jump_frame_rules rules = {rule_at, walk};

	if (object->kind != OBJECT_JIT || !jump_frame_leave_interpreter(run, &rules))
		return heuristic_step_without_file(run, object);
	run->provenance = PROVENANCE_ANALYSED;
	return WALK_GO_ON;
}

/* Returns the register that a rule's CFA counts from; STACKD_REG_COUNT if there is none, or an
 * expression. */
static unsigned cfa_register(const struct walk_rule *rule)
{
	const struct stackd_rule *cfa = rule->slow ? &rule->slow->cfa : &rule->fast;

	switch (cfa->cfa) {
	case STACKD_CFA_REG:
	case STACKD_CFA_DEREF:
	case STACKD_CFA_OTHER:
		return cfa->reg;
	}
	return STACKD_REG_COUNT;
}

/* Notes the values of the caller-saved registers that are known in the present frame. */
static void note_values(struct walk_run *run)
{
	uint32_t known = run->at.walk.valid & ARCH_VOLATILE_REGS;

	for (; known; known &= known - 1) {
		unsigned reg = (unsigned)__builtin_ctz(known);

		run->last_value[reg] = run->at.walk.r[reg];
		run->last_known[reg] = run->count - 1;
	}
}

/* Sets the CFA's register to its last known value, if no callee has changed it since. */
static void find_kept(struct dwarf_walk *walk, struct walk_run *run, const struct walk_rule *rule)
{
	unsigned reg = cfa_register(rule);

	if (reg == STACKD_REG_COUNT || run->at.walk.valid >> reg & 1 ||
	    !(ARCH_VOLATILE_REGS >> reg & 1) || run->in->known)
		return;
	for (size_t i = run->last_known[reg]; i + 1 < run->count; i++) {
		if (!kept_register_is_kept(&walk->kept, &run->frames[i], &run->frames[i + 1], reg))
			return;
	}
	run->at.walk.r[reg] = run->last_value[reg];
	run->at.walk.valid |= 1u << reg;
}

/* Returns whether a function has called, and its frame counts from the frame pointer, whose value
 * is lost: eh_return.h. */
static bool has_lost_pointer(const struct walk_run *run, const struct walk_rule *rule)
{
	const struct walk *w = &run->at.walk;

	return !w->is_exact && !rule->slow && rule->provenance == PROVENANCE_CFI &&
	       rule->fast.cfa == STACKD_CFA_REG && rule->fast.reg == STACKD_REG_FP &&
	       (!(w->valid >> STACKD_REG_FP & 1) || !w->r[STACKD_REG_FP]);
}

/* Returns the size of a function's frame, by its entry alone if there is a table of entries. */
static int32_t frame_size(struct dwarf_walk *walk, const struct object *object, uint64_t offset)
{
	struct cfi_index *index;
	struct walk_object *wo;
	uint64_t vaddr;
	int32_t size;

	if (!elf_file_offset_to_vaddr(object->elf, offset, &vaddr))
		return 0;
	if (!cfi_index_new_at(object->elf, vaddr, &index)) {
		size = frame_depth_of(object->elf, index, vaddr);
		cfi_index_free(index);
		return size;
	}
	return !find_complete(walk, object, &wo) && wo->index
		       ? frame_depth_of(object->elf, wo->index, vaddr)
		       : 0;
}

/* Steps out of such a function, whose frame is found by the stack pointer if it has one size. */
static enum stackd_end_reason by_depth(struct dwarf_walk *walk, struct walk_run *run,
				       const struct object *object, uint64_t offset,
				       const struct walk_rule *found)
{
	struct walk_rule rule = *found;

	rule.fast.reg = STACKD_REG_SP;
	rule.fast.cfa_offset = frame_size(walk, object, offset);
	return rule.fast.cfa_offset ? walk_step_by_rule(&run->at, &rule) : STACKD_END_BAD_RECIPE;
}

/* Most bytes between the end of a thread's stack and the frame at which it begins: thread-local
 * variables are in between. */
#define ABOVE_ROOT 4096
/* At such multiples a mapping ends; a thread's stack ends elsewhere, at its control block or at its
 * first stack pointer. */
#define MAPPING_PAGE 4096

/* Returns whether a stack pointer is outside of the leaf's stack. */
static bool is_elsewhere(const struct walk_run *run, uint64_t sp)
{
	return sp < run->at.memory.start || sp >= run->at.memory.end;
}

/* Returns whether the words from the stack pointer up to the stack's end have the address of the
 * outermost frame once more. Such a frame is a copy, in a local array of the thread. */
static bool is_copied(const struct walk_run *run)
{
	const struct walk *w = &run->at.walk;
	uint64_t word;

	for (uint64_t at = w->r[STACKD_REG_SP]; at + 8 <= run->at.memory.end; at += 8)
		if (walk_memory_read8(&run->at.memory, at, &word) && word == w->pc)
			return true;
	return false;
}

/* Returns how the walk knows that the stack begins at its outermost frame, which has the rule END,
 * or is in the code where a program or a context begins. Such a frame can be on a copy of a stack,
 * or left behind by an earlier use of the memory. A leaf is where it is. */
static enum stackd_root root_at(const struct walk_run *run)
{
	const uint64_t end = run->at.memory.end, sp = run->at.walk.r[STACKD_REG_SP];

	if (!end || (run->count == 1 && !run->in->is_return))
		return STACKD_ROOT_PROVEN;
	if (is_elsewhere(run, sp))
		return run->has_left ? STACKD_ROOT_PROVEN : STACKD_ROOT_CROSSED;
	return end - sp <= ABOVE_ROOT && end % MAPPING_PAGE && !is_copied(run) ? STACKD_ROOT_PROVEN
									       : STACKD_ROOT_AWAY;
}

/* Notes whether a signal has led from the leaf's stack to another one. */
static void note_stack(struct walk_run *run)
{
	const uint64_t sp = run->at.walk.r[STACKD_REG_SP];

	run->has_left |= run->at.walk.is_exact && is_elsewhere(run, sp);
}

static enum stackd_end_reason to_caller(struct dwarf_walk *walk, struct walk_run *run,
					const struct object *object, uint64_t offset)
{
	const struct walk_rule *rule;
	enum stackd_end_reason reason;
	bool is_entry;

	run->is_guess = false;
	run->provenance = PROVENANCE_FRAME_POINTER;
	run->root = STACKD_ROOT_PROVEN;
	if (run->has_next)
		return heuristic_step_by_next(run);
	if (!object->elf && ARCH_HAS_LINK)
		return STACKD_END_NO_RECIPE;
	if (!object->elf)
		return without_file(walk, run, object);
	rule = get_rule(walk, object, offset, !run->at.walk.is_exact);
	if (!rule)
		return STACKD_END_NO_RECIPE;
	is_entry = rule->is_entry;
	run->provenance = rule->provenance;
	if (is_entry || (!rule->slow && rule->fast.cfa == STACKD_CFA_END))
		run->root = (uint8_t)root_at(run);
	find_kept(walk, run, rule);
	if (has_lost_pointer(run, rule))
		reason = by_depth(walk, run, object, offset, rule);
	else if (rule->provenance == PROVENANCE_FRAME_POINTER ||
		 rule->provenance == PROVENANCE_ANALYSED)
		reason = by_weak_rule(walk, run, object, offset, rule);
	else
		reason = walk_step_by_rule(&run->at, rule);
	return is_entry ? at_entry(run, reason) : reason;
}

/* Fills in the frame of the present state. Returns false if its address is in no known mapping. */
static bool enter_frame(const struct walk_run *run, struct walk_frame *frame)
{
	const struct walk *w = &run->at.walk;

	*frame = (struct walk_frame){
		.address = w->pc,
		.offset = w->pc,
		.slot = w->slot,
		.is_return = !w->is_exact,
		.is_guess = run->is_guess,
	};
	return walk_run_find(run, frame->address, !w->is_exact, &frame->object, &frame->offset);
}

/* Returns the provenance of a step; a frame pointer that leads nowhere counts as no rule. */
static uint8_t provenance_of_step(const struct walk_run *run, enum stackd_end_reason reason)
{
	bool is_found = reason == WALK_GO_ON || reason == STACKD_END_ENTRY;

	return run->provenance == PROVENANCE_FRAME_POINTER && !is_found ? PROVENANCE_NONE
									: run->provenance;
}

/* Returns how the walk ends at a return address of 0. The stack is complete if the 0 is at the end
 * of the stack's memory, or if the frame has called: programs put 0 below a coroutine's first
 * function. In a leaf that may be changing its stack, for frame pointers, and for rules from
 * instructions, 0 is a word like any other: code that is entered by jumps runs in another
 * function's frame. Behind a signal, 0 is a bad pointer that was called. Sets the root: at the end
 * of a mapping, which is not where a thread's own stack ends, 0 proves as little as in the midst of
 * memory. */
static enum stackd_end_reason at_zero(struct walk_run *run)
{
	const struct walk_frame *frame = &run->frames[run->count - 1];

	run->root = STACKD_ROOT_ZERO;
	if (frame->is_return && frame->object->elf &&
	    stack_start_is_code(frame->object->elf, frame->offset + 1)) {
		run->root = STACKD_ROOT_AWAY;
		return STACKD_END_ENTRY;
	}
	if (walk_run_is_at_end(run, run->at.walk.slot)) {
		if (run->at.memory.end % MAPPING_PAGE)
			run->root = STACKD_ROOT_PROVEN;
		return STACKD_END_ENTRY;
	}
	if (frame->is_return && run->provenance != PROVENANCE_FRAME_POINTER &&
	    run->provenance != PROVENANCE_ANALYSED)
		return STACKD_END_ENTRY;
	if (!frame->is_return && run->provenance == PROVENANCE_CFI &&
	    !stack_switch_may_precede(frame->object->elf, 0, frame->offset))
		return STACKD_END_ENTRY;
	return STACKD_END_STACK_SWITCH;
}

enum stackd_end_reason dwarf_walk_stack(struct dwarf_walk *walk, const struct walk_input *in,
					struct walk_frame *frames, size_t max_frames,
					size_t *ret_count)
{
	struct walk_run run = {
		.in = in,
		.code = walk->code,
		.frames = frames,
		.at = {.memory = {in->stack,
				  in->stack_start ? in->stack_start : in->regs.r[STACKD_REG_SP],
				  in->stack_bytes, in->stack_cut, in->stack_holes, in->stack_end,
				  in->stack_more_holes, in->n_stack_more_holes,
				  in->stack_start ? 0 : in->below},
		       .walk = {.pc = in->regs.r[STACKD_REG_PC],
				.valid = in->known ? in->known & WALK_KNOWN_ALL : WALK_KNOWN_ALL,
				.is_exact = !in->is_return}},
	};
	enum stackd_end_reason reason = STACKD_END_TOO_DEEP;
	struct outside elsewhere = {.walk = walk, .run = &run};
	const struct runtime_code_outside outside = {rule_outside, read_outside, &elsewhere};
	size_t n = 0;

	memcpy(run.at.walk.r, in->regs.r, sizeof(run.at.walk.r));
	if (walk->code)
		runtime_code_use_outside(walk->code, &outside);
	if (walk->code && in->has_code)
		runtime_code_begin(walk->code, in->pid, in->code, in->code_count);
	while (n < max_frames) {
		struct walk_frame *frame = &frames[n++];

		if (!enter_frame(&run, frame) &&
		    !(heuristic_step_leave_trampoline(&run) && enter_frame(&run, frame))) {
			if (heuristic_step_from_nowhere(&run))
				continue;
			/* An address in no mapping is not a return address: its frame is
			 * dropped. */
			n -= frame->is_return && n > 1;
			reason = STACKD_END_NO_MAPPING;
			break;
		}
		run.count = n;
		note_values(&run);
		reason = to_caller(walk, &run, frame->object, frame->offset);
		frame->provenance = provenance_of_step(&run, reason);
		if (reason == WALK_GO_ON && !run.at.walk.is_exact && !run.at.walk.pc)
			reason = at_zero(&run);
		if (reason == STACKD_END_ENTRY)
			frame->root = run.root;
		if (reason != WALK_GO_ON)
			break;
		note_stack(&run);
		reason = STACKD_END_TOO_DEEP;
	}
	if (walk->code)
		runtime_code_end(walk->code);
	walk->stats.frames += n;
	walk->stats.frame_pointer_steps += run.guesses;
	*ret_count = n;
	return reason;
}
