/* SPDX-License-Identifier: MIT */
/* Follows a function's code from its entry down, and from its returns up; see probe_move.h. */
#include "daemon/regions/probe_move.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/insn.h"
#include "arch/probe_place.h"
#include "arch/target.h"

#define MOST_BYTES  (16u << 10) /* longest function; in longer ones a probe hardly matters */
#define MOST_PASSED 16		/* most instructions that a probe moves past */
#define PRESERVED   (INSN_PRESERVED | 1u << INSN_SP)
#define NONE	    SIZE_MAX

/* A place: an instruction of the function. */
struct place {
	uint64_t vaddr;
	struct insn insn;
	uint8_t condition;   /* the condition of a branch */
	bool is_emulated;    /* the kernel emulates the instruction if a probe is on it */
	bool is_long_nop;    /* it is a long nop, where no probe can be */
	bool sets_registers; /* it only copies registers or constants to registers */
	bool is_target;	     /* it is the target of a jump */
	bool is_used;	     /* a probe is on it */
};

struct code {
	VEC(struct place) places; /* by rising address */
	size_t entry;		  /* index of the first instruction in `places` */
	bool jumps_anywhere; /* the targets of some jump are not known, so that any instruction may
			      * be one */
	uint8_t *is_reached; /* result of reach_from(): for each place, whether it can be reached */
	VEC(size_t) open;    /* worklist of reach_from() */
};

/* --- instructions ---------------------------------------------------------------------------- */

static int decode_part(struct code *c, const struct code_part *part, const uint8_t *code)
{
	struct insn_decoder decoder;

	insn_decoder_init(&decoder);
	for (uint64_t at = 0; at < part->size;) {
		struct place p = {.vaddr = part->vaddr + at};

		if (!insn_decode(&decoder, code + at, part->size - at, p.vaddr, &p.insn))
			return -ENOEXEC;
		p.is_emulated = probe_place_is_emulated(code + at, &p.insn);
		p.is_long_nop = probe_place_is_long_nop(code + at, part->size - at);
		p.sets_registers = probe_place_sets_registers(code + at, &p.insn);
		if (p.insn.flow == INSN_BRANCH)
			p.condition = (uint8_t)probe_place_condition(code + at, &p.insn);
		c->jumps_anywhere |= p.insn.flow == INSN_JUMP_INDIRECT;
		if (VEC_RESERVE(&c->places, 1))
			return -ENOMEM;
		c->places.items[c->places.count++] = p;
		at += p.insn.length;
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	uint64_t x = ((const struct place *)a)->vaddr, y = ((const struct place *)b)->vaddr;

	return (x > y) - (x < y);
}

/* Returns the index of the instruction at an address; NONE: no instruction begins there. */
static size_t place_at(const struct code *c, uint64_t vaddr)
{
	const struct place key = {.vaddr = vaddr}, *found;

	found = bsearch(&key, c->places.items, c->places.count, sizeof(key), compare);
	return found ? (size_t)(found - c->places.items) : NONE;
}

static bool is_jump(const struct insn *i)
{
	return i->flow == INSN_JUMP || i->flow == INSN_BRANCH;
}

/* Sets is_target of all targets of jumps and branches. If one leads into the middle of an
 * instruction, sets jumps_anywhere. */
static void find_targets(struct code *c, const struct code_part *parts, size_t n_parts)
{
	for (size_t i = 0; i < c->places.count; i++) {
		const struct insn *insn = &c->places.items[i].insn;
		size_t to = is_jump(insn) ? place_at(c, insn->target) : NONE;

		if (to != NONE)
			c->places.items[to].is_target = true;
		for (size_t k = 0; is_jump(insn) && to == NONE && k < n_parts; k++)
			c->jumps_anywhere |= insn->target - parts[k].vaddr < parts[k].size;
	}
}

/* Decodes all parts of a function into c->places. The buffer has zeros behind the code, so that
 * instructions can be examined without checks for its end. 0; -ENOEXEC: the code cannot be decoded;
 * -ENOMEM. */
static int decode(struct code *c, const struct elf_file *file, const struct code_part *parts,
		  size_t n_parts)
{
	int err = 0;

	for (size_t i = 0; i < n_parts && !err; i++) {
		uint64_t offset;
		uint8_t *code;

		if (parts[i].size > MOST_BYTES ||
		    !elf_file_vaddr_to_offset(file, parts[i].vaddr, &offset))
			return -ENOEXEC;
		code = calloc(1, parts[i].size + INSN_MAX_BYTES);
		if (!code)
			return -ENOMEM;
		err = elf_file_read_whole(file, offset, code, parts[i].size)
			      ? decode_part(c, &parts[i], code)
			      : -ENOEXEC;
		free(code);
	}
	if (!err && c->places.count) {
		qsort(c->places.items, c->places.count, sizeof(*c->places.items), compare);
		find_targets(c, parts, n_parts);
	}
	return err;
}

/* Returns whether there is a place after place `i`, and it is the instruction right behind it. */
static bool has_next(const struct code *c, size_t i)
{
	const struct place *p = &c->places.items[i];

	return i + 1 < c->places.count && p->vaddr + p->insn.length == p[1].vaddr;
}

/* Returns whether a place is a conditional branch to an instruction of the function. */
static bool is_inner_branch(const struct code *c, const struct place *p)
{
	return p->insn.flow == INSN_BRANCH && place_at(c, p->insn.target) != NONE;
}

/* --- entries --------------------------------------------------------------------------------- */

/* Returns whether a file is built for shadow stacks. Then a call can have no probe, because the
 * kernel, when it emulates a call, may not push the return address to the shadow stack. */
static bool may_have_shadow_stack(const struct elf_file *file)
{
	size_t count;
	const Elf64_Phdr *headers = elf_file_program_headers(file, &count);
	uint32_t words[256];

	for (size_t i = 0; i < count; i++) {
		int64_t got;

		if (headers[i].p_type != PT_GNU_PROPERTY)
			continue;
		got = elf_file_read(file, headers[i].p_offset, words,
				    headers[i].p_filesz < sizeof(words) ? headers[i].p_filesz
									: sizeof(words));
		if (headers[i].p_filesz > sizeof(words))
			return true;
		for (size_t w = 0; got >= 0 && (w + 3) * sizeof(*words) <= (size_t)got; w++) {
			if (target_has_shadow_stack(words[w], words[w + 2]))
				return true;
		}
	}
	return false;
}

/* Returns whether the entry's probe can move past an instruction. Adds the bytes of stack that the
 * instruction allocates to *frame. */
static bool passes(const struct insn *i, bool uses_arguments, uint64_t *frame)
{
	if (i->flow != INSN_NEXT || i->op == INSN_PUSH || i->op == INSN_POP)
		return false;
	if (uses_arguments && i->written & (INSN_ARGUMENTS | 1u << INSN_SP))
		return false;
	if (i->op == INSN_COPY && i->dst == INSN_SP && i->src == INSN_SP) {
		*frame += (uint64_t) - (int64_t)i->disp;
		return i->disp < 0 && *frame % 8 == 0;
	}
	return !(i->written >> INSN_SP & 1);
}

/* Moves the entry's probe past five-byte nops, which can have no probe. Result as of
 * move_entry(). */
static size_t pass_long_nops(const struct code *c, struct function_exits *exits)
{
	const struct place *first = &c->places.items[c->entry], *p = first;

	while (p->is_long_nop && has_next(c, (size_t)(p - c->places.items)) && !p[1].is_target &&
	       p - first < MOST_PASSED)
		p++;
	exits->after = (uint8_t)(p->vaddr - first->vaddr);
	return (size_t)(p - c->places.items);
}

/* Moves the entry's probe, if that makes it cost less. Returns the index of the instruction that
 * has the probe. */
static size_t move_entry(const struct code *c, const struct elf_file *file, bool uses_arguments,
			 struct function_exits *exits)
{
	uint64_t frame = 0;

	for (size_t i = c->entry; i - c->entry < MOST_PASSED; i++) {
		const struct place *p = &c->places.items[i];
		bool is_cheap = p->is_emulated &&
				(p->insn.op == INSN_PUSH || is_inner_branch(c, p) ||
				 (p->insn.flow == INSN_CALL && !may_have_shadow_stack(file)));

		if (i != c->entry && p->is_target)
			break;
		if (is_cheap) {
			exits->after = (uint8_t)(p->vaddr - c->places.items[c->entry].vaddr);
			exits->frame = (uint8_t)(frame / 8);
			return i;
		}
		if (!passes(&p->insn, uses_arguments, &frame) || !has_next(c, i) ||
		    frame / 8 > STACKD_ENTRY_FRAME(~0ull))
			break;
	}
	return pass_long_nops(c, exits);
}

/* --- returns --------------------------------------------------------------------------------- */

/* What the instructions between an edge and a return do. */
struct epilogue {
	uint32_t saved;	 /* registers that they pop, as bits for STACKD_EXIT_REST() */
	uint64_t frame;	 /* words of stack that they remove */
	bool is_removed; /* one of them removes the frame by an addition to the stack pointer;
			  * instructions before it may pop nothing */
};

/* An edge: a jump, or a branch that is taken (is_taken) or not, behind which the function does
 * nothing but `rest` and the return. */
struct edge {
	size_t place;
	bool is_taken;
	struct epilogue rest;
};

#define MOST_EDGES 4 /* most edges to one return, because each needs a probe */

struct edges {
	struct edge all[MOST_EDGES];
	size_t count;
};

/* Returns the number of the bit that a register has in the cookie of an exit; -1: it has none. */
static int saved_number(unsigned reg)
{
	if (reg >= INSN_REG_COUNT)
		return -1;
	switch (insn_dwarf_number(reg)) {
#define X(number, bit)                                                                             \
	case number:                                                                               \
		return bit;
		ARCH_PUSHED_REGS(X)
#undef X
	}
	return -1;
}

/* Adds the instruction right before those of *e to *e. Returns whether it can be part of an
 * epilogue; if not, the probe cannot move past it. */
static bool take(struct epilogue *e, const struct place *p)
{
	const struct insn *i = &p->insn;

	if (i->flow != INSN_NEXT)
		return false;
	if (i->op == INSN_POP) {
		int number = saved_number(i->dst);

		if (number < 0 || e->is_removed || e->saved & ((1u << (number + 1)) - 1))
			return false;
		e->saved |= 1u << number;
		e->frame++;
		return true;
	}
	if (i->op == INSN_COPY && i->dst == INSN_SP && i->src == INSN_SP) {
		bool is_first = !e->is_removed && i->disp > 0 && i->disp % 8 == 0;

		e->is_removed = true;
		e->frame += (uint64_t)i->disp / 8;
		return is_first;
	}
	return p->sets_registers && !(i->written & PRESERVED);
}

static int reach(struct code *c, size_t place)
{
	if (place == NONE || c->is_reached[place])
		return 0;
	c->is_reached[place] = 1;
	if (VEC_RESERVE(&c->open, 1))
		return -ENOMEM;
	c->open.items[c->open.count++] = place;
	return 0;
}

/* Sets c->is_reached of all instructions to which the function's code can come from a place. 0 or
 * -ENOMEM. */
static int reach_from(struct code *c, size_t place)
{
	int err;

	memset(c->is_reached, 0, c->places.count);
	c->open.count = 0;
	err = reach(c, place);
	while (c->open.count && !err) {
		size_t i = c->open.items[--c->open.count];
		const struct insn *insn = &c->places.items[i].insn;
		bool goes_on = insn->flow == INSN_NEXT || insn->flow == INSN_BRANCH ||
			       insn->flow == INSN_CALL || insn->flow == INSN_CALL_INDIRECT;

		if (is_jump(insn))
			err = reach(c, place_at(c, insn->target));
		if (!err && goes_on && has_next(c, i))
			err = reach(c, i + 1);
	}
	return err;
}

/* Returns 1 if the branch of an edge is in a loop: it can be executed again after it has gone the
 * other way than along the edge. 0: it cannot, or the edge is a jump; -ENOMEM. */
static int is_repeated(struct code *c, const struct edge *edge)
{
	const struct insn *insn = &c->places.items[edge->place].insn;
	int err;

	if (insn->flow == INSN_JUMP)
		return 0;
	err = reach_from(c, edge->is_taken ? edge->place + 1 : place_at(c, insn->target));
	return err ? err : c->is_reached[edge->place];
}

/* Adds an edge to `edges`. 1; 0: it was not added, because its instruction must have no probe or
 * has one already, or because there are MOST_EDGES edges; -ENOMEM. */
static int add_edge(struct code *c, struct edges *edges, const struct edge *edge)
{
	const struct place *p = &c->places.items[edge->place];
	int repeats;

	if (edges->count == MOST_EDGES || !p->is_emulated || p->is_used ||
	    edge->rest.frame > STACKD_EXIT_FRAME(~0ull) || place_at(c, p->insn.target) == NONE ||
	    (p->insn.flow == INSN_BRANCH && !has_next(c, edge->place)))
		return 0;
	for (size_t i = 0; i < edges->count; i++) {
		if (edges->all[i].place == edge->place)
			return 0;
	}
	repeats = is_repeated(c, edge);
	if (repeats)
		return repeats < 0 ? repeats : 0;
	edges->all[edges->count++] = *edge;
	return 1;
}

/* Adds to `edges` each jump and conditional branch whose target is place `to`; of a branch, the
 * edge where it is taken. `rest`: what the code from `to` to the return does. Returns 1, also if
 * there is none; 0: one of them was not added (add_edge()); -ENOMEM. */
static int add_jumps(struct code *c, struct edges *edges, size_t to, const struct epilogue *rest)
{
	const uint64_t vaddr = c->places.items[to].vaddr;
	int found = 1;

	for (size_t i = 0; c->places.items[to].is_target && i < c->places.count && found > 0; i++) {
		const struct insn *insn = &c->places.items[i].insn;

		if (is_jump(insn) && insn->target == vaddr)
			found = add_edge(c, edges, &(struct edge){i, true, *rest});
	}
	return found;
}

/* Returns whether the instruction before a place can be followed by the one at the place without a
 * jump. */
static bool falls_into(const struct code *c, size_t i)
{
	unsigned flow = i ? c->places.items[i - 1].insn.flow : INSN_STOP;

	return flow != INSN_JUMP && flow != INSN_RETURN && flow != INSN_STOP && has_next(c, i - 1);
}

/* Finds all edges that lead to the return at index `ret`. 1; 0: the return can be reached in
 * another way, too, or one of the edges was not added (add_edge()); -ENOMEM. */
static int find_edges(struct code *c, size_t ret, struct edges *edges)
{
	struct epilogue rest = {0};

	*edges = (struct edges){0};
	for (size_t i = ret; ret - i < MOST_PASSED && i != c->entry; i--) {
		int found = add_jumps(c, edges, i, &rest);

		if (found <= 0)
			return found;
		if (!falls_into(c, i))
			return edges->count > 0;
		if (c->places.items[i - 1].insn.flow == INSN_BRANCH)
			return add_edge(c, edges, &(struct edge){i - 1, false, rest});
		if (!take(&rest, &c->places.items[i - 1]))
			return 0;
	}
	return 0;
}

/* Changes an exit, which was at a return, into one at an edge that leads there. 0; -ENOEXEC: the
 * edge's instruction has no file offset. */
static int move_exit(const struct code *c, const struct elf_file *file, const struct edge *edge,
		     struct function_exit *exit)
{
	const struct place *p = &c->places.items[edge->place];
	unsigned branch = STACKD_EXIT_BRANCH | (p->condition ^ !edge->is_taken);

	exit->kind = (uint8_t)(STACKD_EXIT_EPILOGUE |
			       (p->insn.flow == INSN_JUMP ? STACKD_EXIT_JUMP : branch));
	exit->saved = (uint8_t)edge->rest.saved;
	exit->frame = (uint16_t)edge->rest.frame;
	return elf_file_vaddr_to_offset(file, p->vaddr, &exit->offset) ? 0 : -ENOEXEC;
}

/* Replaces the exit at `index`, a return, by one exit for each edge that leads to it. 0, -ENOEXEC
 * or -ENOMEM. */
static int move_return(struct code *c, const struct elf_file *file, const struct edges *edges,
		       struct function_exits *exits, size_t index)
{
	int err = 0;

	if (VEC_RESERVE(&exits->all, edges->count))
		return -ENOMEM;
	for (size_t i = 0; i < edges->count && !err; i++) {
		struct function_exit *exit = &exits->all.items[i ? exits->all.count : index];

		*exit = exits->all.items[index];
		err = move_exit(c, file, &edges->all[i], exit);
		c->places.items[edges->all[i].place].is_used = true;
		exits->all.count += i > 0;
	}
	return err;
}

static int move_returns(struct code *c, const struct elf_file *file, struct function_exits *exits)
{
	const size_t count = exits->all.count;
	int found = 1;

	for (size_t i = 0; i < count && found >= 0; i++) {
		const struct function_exit *exit = &exits->all.items[i];
		struct edges edges;
		uint64_t vaddr;
		size_t ret = NONE;

		if (exit->kind == STACKD_EXIT_RETURN &&
		    elf_file_offset_to_vaddr(file, exit->offset, &vaddr))
			ret = place_at(c, vaddr);
		found = ret == NONE ? 0 : find_edges(c, ret, &edges);
		if (found > 0)
			found = move_return(c, file, &edges, exits, i);
	}
	return found < 0 ? found : 0;
}

int probe_move(const struct elf_file *file, const struct code_part *parts, size_t n_parts,
	       bool uses_arguments, struct function_exits *exits)
{
	struct code c = {.entry = NONE};
	int err = n_parts ? decode(&c, file, parts, n_parts) : -ENOEXEC;

	if (!err)
		c.entry = place_at(&c, parts[0].vaddr);
	if (c.entry != NONE && c.jumps_anywhere)
		pass_long_nops(&c, exits);
	else if (c.entry != NONE) {
		c.places.items[move_entry(&c, file, uses_arguments, exits)].is_used = true;
		c.is_reached = malloc(c.places.count);
		err = c.is_reached ? move_returns(&c, file, exits) : -ENOMEM;
	}
	free(c.is_reached);
	free(c.open.items);
	free(c.places.items);
	return err == -ENOEXEC ? 0 : err;
}
