/* SPDX-License-Identifier: MIT */
/*
 * Checks that the kernel half steps to the caller that libdw finds. Its walk (bpf/walk.h) is built
 * here for user space, under sanitizers, and makes one step from the first, the middle and
 * the last byte of every function of the files on the command line, and from the first byte of
 * each row in between (--rows). libdw's rule for the same byte, evaluated in the same generated
 * thread (agree_memory.h), is the reference: the caller's pc, rsp and callee-saved registers,
 * which of them have a value, and the slots that they came from.
 *
 * Each step is made twice: as a leaf, where every register counts, and as a frame that waits for
 * a call to return, where only the callee-saved ones do. Where the kernel half leaves a frame to
 * the daemon, the daemon's walk is judged instead; it is compared with libdw everywhere.
 *
 * Where all agree, the page of a saved register's slot is taken away, and the step is made once
 * more: that register must be unknown, and so must others in the page, and the rest be as before.
 *
 * To show that the comparison finds errors, the kernel half also steps by a rule with one number
 * changed, another number at each address; every such step must come out as wrong.
 *
 * A function is an entry of .eh_frame or .debug_frame. Exit status 1 if anything is wrong.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "agree_sides.h"
#include "cfi/cfi_index.h"
#include "runtime/go/go_rules.h"

/* The verdicts on an address; the worst of its steps counts. X(enumerator, is it wrong, text) */
#define AGREE_KINDS(X)                                                                             \
	X(SAME, 0, "same caller")                                                                  \
	X(ENDS, 0, "same: the outermost frame, its return address is undefined")                   \
	X(LEFT_RULE, 0, "left to the daemon: no fixed rule can express it")                        \
	X(LEFT_PROGRESS, 0, "left to the daemon: the CFA is not above rsp")                        \
	X(GO, 0, "Go's runtime: call frame information does not know that it switches stacks")     \
	X(NO_ANSWER, 0, "libdw has no answer, nor have we: no CFA, or one in a lost register")     \
	X(ONLY_OURS, 0, "libdw has no answer, the recipe has")                                     \
	X(LEFT_WRONG, 1, "left to the daemon, whose walk differs from libdw")                      \
	X(DAEMON, 1, "the kernel half is right, the daemon's walk is not")                         \
	X(NONE, 1, "libdw has a rule, the recipe has none")                                        \
	X(STOPS, 1, "libdw has an answer, the kernel half stops")                                  \
	X(END, 1, "only one of them ends the stack")                                               \
	X(PC, 1, "the return address, or its slot, differs")                                       \
	X(RSP, 1, "the stack pointer differs")                                                     \
	X(SAVED, 1, "a callee-saved register, or its slot, differs")                               \
	X(KNOWN, 1, "only one of them has a value for a callee-saved register")                    \
	X(HOLE, 1, "they differ where the slot of a register cannot be read")

enum agree_kind {
#define X(e, wrong, text) AGREE_##e,
	AGREE_KINDS(X)
#undef X
		AGREE_COUNT
};

static const struct {
	const char *name, *text;
	bool is_wrong;
} kinds[] = {
#define X(e, wrong, text) {#e, text, wrong},
	AGREE_KINDS(X)
#undef X
};

static const char *const refusals[] = {
#define X(e, name, unit, meaning) meaning,
	RECIPE_REFUSALS(X)
#undef X
};

struct agree {
	const struct elf_file *file;
	struct recipe_table *table; /* owned, as all below */
	struct cfi_index *index;
	struct pclntab *go; /* NULL: no Go program */
	Dwarf *dwarf;
	Dwarf_CFI *eh, *debug; /* the latter is of `dwarf` */
	uint64_t functions;
	uint64_t counts[AGREE_COUNT];
	uint64_t first[AGREE_COUNT]; /* vaddr of the first of each kind */
	uint64_t changed, noticed;   /* rules with a wrong number */
	uint64_t holes;		     /* steps with a slot that cannot be read */
};

struct totals {
	uint64_t files, functions, entries, counts[AGREE_COUNT], changed, noticed, holes;
	uint64_t refused[RECIPE_REFUSED_COUNT];
};

/* --- one step ------------------------------------------------------------------------------ */

/* Compares the callers; with `by_slot`, their slots as well. */
static enum agree_kind compare_callers(const struct side *ours, const struct side *theirs,
				       bool by_slot)
{
	uint32_t asked = theirs->is_signal ? SIDE_LEAF : SIDE_WAITER;

	if (ours->r[STACKD_REG_PC] != theirs->r[STACKD_REG_PC] ||
	    ours->slot[STACKD_REG_PC] != theirs->slot[STACKD_REG_PC] ||
	    ours->is_signal != theirs->is_signal)
		return AGREE_PC;
	if (ours->r[STACKD_REG_SP] != theirs->r[STACKD_REG_SP])
		return AGREE_RSP;
	for (int i = 0; i < WALK_REGS; i++) {
		if (!(asked >> i & 1))
			continue;
		if ((ours->known ^ theirs->known) >> i & 1)
			return AGREE_KNOWN;
		if (!(ours->known >> i & 1))
			continue;
		if (ours->r[i] != theirs->r[i] || (by_slot && ours->slot[i] != theirs->slot[i]))
			return AGREE_SAVED;
	}
	return AGREE_SAME;
}

static enum agree_kind compare(const struct side *ours, const struct side *theirs, bool by_slot)
{
	if (theirs->end == STACKD_END_BAD_RECIPE)
		return ours->end == SIDE_GOES_ON ? AGREE_ONLY_OURS : AGREE_NO_ANSWER;
	if (ours->end == STACKD_END_NO_RECIPE)
		return AGREE_NONE;
	if ((ours->end == STACKD_END_ENTRY) != (theirs->end == STACKD_END_ENTRY))
		return AGREE_END;
	if (ours->end == STACKD_END_ENTRY)
		return AGREE_ENDS;
	/* No walk goes on from there, and libdw leaves the choice to its caller. */
	if (ours->end == STACKD_END_NO_PROGRESS && theirs->r[STACKD_REG_SP] <= AGREE_STACK_POINTER)
		return AGREE_LEFT_PROGRESS;
	if (ours->end != SIDE_GOES_ON)
		return AGREE_STOPS;
	return compare_callers(ours, theirs, by_slot);
}

/* Steps as a leaf by a rule with one wrong number, where the right one agrees with libdw. */
static void step_wrongly(struct agree *a, const struct stackd_rule *rule, Dwarf_Frame *frame,
			 uint64_t vaddr)
{
	struct stackd_rule changed = *rule;
	uint64_t regs[STACKD_REG_COUNT];
	struct side ours, theirs;
	uint64_t which = hash_mix64(vaddr) % (3 + STACKD_SAVED_COUNT);

	if (which < 2 || rule->cfa == STACKD_CFA_SIGNAL)
		changed.cfa_offset += which ? 8 : -8;
	else if (which == 2)
		changed.ra_offset -= 8;
	else
		changed.saved[which - 3] += 8;
	agree_registers(vaddr, regs);
	side_of_libdw(frame, regs, SIDE_LEAF, &theirs);
	side_of_kernel(&changed, regs, SIDE_LEAF, &ours);
	a->changed++;
	a->noticed += compare(&ours, &theirs, true) != AGREE_SAME;
}

static enum agree_kind step(const struct stackd_rule *rule, const struct walk_rule *daemon_rule,
			    Dwarf_Frame *frame, uint64_t vaddr, uint32_t known)
{
	uint64_t regs[STACKD_REG_COUNT];
	struct side ours, daemon, theirs;
	enum agree_kind of_daemon;

	agree_registers(vaddr, regs);
	side_of_libdw(frame, regs, known, &theirs);
	side_of_daemon(daemon_rule, regs, known, &daemon);
	of_daemon = compare(&daemon, &theirs, false);
	if (rule->cfa == STACKD_CFA_DAEMON)
		return kinds[of_daemon].is_wrong ? AGREE_LEFT_WRONG : AGREE_LEFT_RULE;
	side_of_kernel(rule, regs, known, &ours);
	if (!kinds[compare(&ours, &theirs, true)].is_wrong && kinds[of_daemon].is_wrong)
		return AGREE_DAEMON;
	return compare(&ours, &theirs, true);
}

/* The lowest slot of a callee-saved register; UINT64_MAX: none is in memory. */
static uint64_t lowest_slot(const struct side *side)
{
	uint64_t lowest = UINT64_MAX;

	for (int i = 0; i < WALK_REGS; i++) {
		if (SIDE_WAITER >> i & 1 && side->slot[i] && side->slot[i] < lowest)
			lowest = side->slot[i];
	}
	return lowest;
}

/* Steps once more with all registers higher, so that the return address begins a page, and without
 * the page of a saved register. A slot below rsp is no case: the register has its value then, and
 * libdw does not say so. */
static bool is_right_with_hole(struct agree *a, const struct stackd_rule *rule,
			       const struct walk_rule *daemon_rule, Dwarf_Frame *frame,
			       uint64_t vaddr)
{
	uint64_t regs[STACKD_REG_COUNT], slot, up;
	struct side theirs, kernel, daemon;

	agree_registers(vaddr, regs);
	side_of_libdw(frame, regs, SIDE_LEAF, &theirs);
	up = -theirs.slot[STACKD_REG_PC] % AGREE_PAGE;
	for (int i = 0; i < WALK_REGS; i++)
		regs[i] += up;
	side_of_libdw(frame, regs, SIDE_LEAF, &theirs);
	slot = lowest_slot(&theirs);
	if (slot == UINT64_MAX || slot < regs[STACKD_REG_SP] ||
	    slot / AGREE_PAGE == theirs.slot[STACKD_REG_PC] / AGREE_PAGE)
		return true;
	a->holes++;
	agree_drop_page(slot);
	side_of_libdw(frame, regs, SIDE_LEAF, &theirs);
	side_of_kernel(rule, regs, SIDE_LEAF, &kernel);
	side_of_daemon(daemon_rule, regs, SIDE_LEAF, &daemon);
	agree_drop_page(UINT64_MAX);
	return !kinds[compare(&kernel, &theirs, true)].is_wrong &&
	       !kinds[compare(&daemon, &theirs, false)].is_wrong;
}

/* --- addresses ----------------------------------------------------------------------------- */

/* Opens the file's call frame information in libdw, by libdw's own reader. */
static void open_libdw(struct agree *a)
{
	Elf *elf = elf_file_libelf(a->file);

	a->eh = dwarf_getcfi_elf(elf);
	a->dwarf = dwarf_begin_elf(elf, DWARF_C_READ, NULL);
	a->debug = a->dwarf ? dwarf_getcfi(a->dwarf) : NULL;
}

/* The caller frees it. */
static Dwarf_Frame *libdw_frame(const struct agree *a, uint64_t vaddr)
{
	Dwarf_Frame *frame = NULL;

	if (a->eh && !dwarf_cfi_addrframe(a->eh, vaddr, &frame))
		return frame;
	if (a->debug && !dwarf_cfi_addrframe(a->debug, vaddr, &frame))
		return frame;
	return NULL;
}

static void count(struct agree *a, enum agree_kind kind, uint64_t vaddr)
{
	if (!a->counts[kind]++)
		a->first[kind] = vaddr;
}

static bool is_go_special(const struct agree *a, uint64_t vaddr)
{
	struct runtime_rule row;

	return a->go && !go_rules_at(a->go, a->file, vaddr, &row) && row.is_special;
}

/* Judges an address; its row ends at *ret_end, which is above it. 0 or -ENOMEM. */
static int agree_at(struct agree *a, uint64_t vaddr, uint64_t *ret_end)
{
	const struct stackd_rule *rule;
	struct walk_rule daemon_rule;
	Dwarf_Frame *frame;
	Dwarf_Addr end = 0;
	uint64_t offset = UINT64_MAX;
	enum agree_kind leaf, waiter, worst;
	bool is_signal;
	int err;

	*ret_end = vaddr + 1;
	if (is_go_special(a, vaddr)) {
		count(a, AGREE_GO, vaddr);
		return 0;
	}
	err = walk_rule_compile(a->index, vaddr, &daemon_rule);
	if (err)
		return err;
	elf_file_vaddr_to_offset(a->file, vaddr, &offset);
	rule = recipe_lookup(a->table, offset);
	frame = libdw_frame(a, vaddr);
	if (frame)
		dwarf_frame_info(frame, NULL, &end, &is_signal);
	leaf = step(rule, &daemon_rule, frame, vaddr, SIDE_LEAF);
	waiter = step(rule, &daemon_rule, frame, vaddr, SIDE_WAITER);
	/* A waiting frame may have lost a register; its rule is not wrong for that. */
	worst = waiter > leaf && waiter != AGREE_NO_ANSWER ? waiter : leaf;
	count(a, worst, vaddr);
	if (leaf == AGREE_SAME) {
		step_wrongly(a, rule, frame, vaddr);
		if (!is_right_with_hole(a, rule, &daemon_rule, frame, vaddr))
			count(a, AGREE_HOLE, vaddr);
	}
	if (end > vaddr)
		*ret_end = end;
	walk_rule_free(&daemon_rule);
	free(frame);
	return 0;
}

/* A function: its first, middle and last byte, and with `rows` each of its rows' first. */
static int agree_function(struct agree *a, uint64_t start, uint64_t end, bool rows)
{
	uint64_t middle = start + (end - start) / 2, last = end - 1, next, unused;
	int err = agree_at(a, start, &next);

	while (!err && rows && next < end) {
		if (next != middle && next != last)
			err = agree_at(a, next, &next);
		else
			next++;
	}
	if (!err && middle != start)
		err = agree_at(a, middle, &unused);
	if (!err && last != middle && last != start)
		err = agree_at(a, last, &unused);
	a->functions++;
	return err;
}

static int agree_file(struct agree *a, bool rows)
{
	uint64_t start, end;
	int err = recipe_compile_cfi(a->file, &a->table);

	if (!err)
		err = cfi_index_new(a->file, &a->index);
	if (!err)
		open_libdw(a);
	if (!err && pclntab_read(a->file, &a->go) == -ENOMEM)
		err = -ENOMEM;
	for (size_t i = 0; !err && i < cfi_index_count(a->index); i++) {
		cfi_index_range(a->index, i, &start, &end);
		err = agree_function(a, start, end, rows);
	}
	return err;
}

/* --- printing ------------------------------------------------------------------------------ */

static uint64_t sum(const uint64_t *counts, bool wrong_only)
{
	uint64_t n = 0;

	for (int i = 0; i < AGREE_COUNT; i++)
		n += !wrong_only || kinds[i].is_wrong ? counts[i] : 0;
	return n;
}

static double percent(uint64_t part, uint64_t whole)
{
	return whole ? 100.0 * (double)part / (double)whole : 100.0;
}

static void print_file(const char *path, const struct agree *a)
{
	uint64_t agreed = a->counts[AGREE_SAME] + a->counts[AGREE_ENDS];

	printf("%9.5f %% of %8llu addresses, %7llu functions  %s\n",
	       percent(agreed, sum(a->counts, false)), (unsigned long long)sum(a->counts, false),
	       (unsigned long long)a->functions, path);
	for (int i = AGREE_ENDS + 1; i < AGREE_COUNT; i++) {
		if (a->counts[i])
			printf("    %7llu %-13s first at 0x%llx\n",
			       (unsigned long long)a->counts[i], kinds[i].name,
			       (unsigned long long)a->first[i]);
	}
	fflush(stdout);
}

static void print_totals(const struct totals *t)
{
	uint64_t all = sum(t->counts, false);

	printf("%llu files, %llu functions, %llu addresses, %llu wrong\n",
	       (unsigned long long)t->files, (unsigned long long)t->functions,
	       (unsigned long long)all, (unsigned long long)sum(t->counts, true));
	for (int i = 0; i < AGREE_COUNT; i++)
		printf("%10.6f %% %9llu  %-13s %s\n", percent(t->counts[i], all),
		       (unsigned long long)t->counts[i], kinds[i].name, kinds[i].text);
	printf("recipes compiled from %llu entries\n", (unsigned long long)t->entries);
	printf("steps without a page that a saved register is in: %llu\n",
	       (unsigned long long)t->holes);
	printf("rules with one number changed: %llu of %llu noticed\n",
	       (unsigned long long)t->noticed, (unsigned long long)t->changed);
	puts("what no fixed rule can say, in rows, functions or sections of all files:");
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++) {
		if (t->refused[i])
			printf("%9llu  %-16s %s: %s\n", (unsigned long long)t->refused[i],
			       recipe_refusal_name(i), recipe_refusal_unit(i), refusals[i]);
	}
}

static void add_file(struct totals *t, const struct agree *a)
{
	const struct recipe_stats *stats = recipe_table_stats(a->table);

	t->files++;
	t->functions += a->functions;
	t->entries += stats->fdes;
	t->holes += a->holes;
	t->changed += a->changed;
	t->noticed += a->noticed;
	for (int i = 0; i < AGREE_COUNT; i++)
		t->counts[i] += a->counts[i];
	for (int i = 0; i < RECIPE_REFUSED_COUNT; i++)
		t->refused[i] += stats->refused[i];
}

static int agree_path(const char *path, bool rows, struct totals *totals)
{
	struct agree a = {0};
	struct elf_file *file = NULL;
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	int err = fd < 0 ? -errno : elf_file_open(fd, &file);

	a.file = file;
	if (!err)
		err = agree_file(&a, rows);
	if (err == -ENODATA) {
		printf("%44s  %s\n", "no call frame information", path);
		err = 0;
	} else if (err) {
		fprintf(stderr, "%s: %s\n", path, strerror(-err));
	} else {
		print_file(path, &a);
		add_file(totals, &a);
	}
	cfi_index_free(a.index);
	pclntab_free(a.go);
	dwarf_end(a.dwarf);
	dwarf_cfi_end(a.eh);
	recipe_table_free(a.table);
	elf_file_free(file);
	if (fd >= 0)
		close(fd);
	return err;
}

int main(int argc, char **argv)
{
	bool rows = argc > 1 && !strcmp(argv[1], "--rows");
	struct totals totals = {0};
	int failed = 0;

	if (argc < 2 + rows) {
		fprintf(stderr, "usage: walk_agree [--rows] FILE...\n");
		return 2;
	}
	if (!agree_memory_new())
		return 1;
	for (int i = 1 + rows; i < argc; i++)
		failed |= agree_path(argv[i], rows, &totals) != 0;
	print_totals(&totals);
	free(agree_memory);
	return failed || sum(totals.counts, true) || totals.noticed != totals.changed;
}
