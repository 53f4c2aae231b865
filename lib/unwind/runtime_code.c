/* SPDX-License-Identifier: MIT */
/* A table of pieces of code, of which new ones replace old; see runtime_code.h. */
#include "unwind/runtime_code.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/analysis.h"
#include "analysis/entry_frame.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/vec.h"
#include "unwind/java_frame.h"
#include "unwind/leaf_rule.h"

#define SAVED_RBP 0 /* its index in STACKD_SAVED_REGS */
#define PUSH_RBP  0x55
#define REP	  0xf3 /* of endbr64 */

struct row {
	uint64_t address; /* the rule holds from there up to the next row */
	struct stackd_rule rule;
};

struct piece {
	pid_t pid;	  /* 0: there is none */
	uint64_t number;  /* of its core: address / RUNTIME_CODE_CORE */
	uint64_t checked; /* the tick at which its bytes were those of the memory */
	struct object object;
	VEC(struct row) rows;
};

#define ENTRIES 64 /* by process id: the last process of each remainder */

/* Where code of a process is entered that other mappings have more of. */
struct entry {
	pid_t pid;
	uint64_t start;
};

struct runtime_code {
	runtime_code_read_fn *read;
	runtime_code_start_fn *start;
	void *arg;
	uint64_t (*clock)(void);
	int64_t credit_ns;
	uint64_t ticks;
	struct piece pieces[RUNTIME_CODE_PIECES];
	struct entry entries[ENTRIES];
	uint8_t bytes[2][RUNTIME_CODE_BYTES]; /* of the memory, and of the piece */
};

static uint64_t thread_clock(void)
{
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

int runtime_code_new(runtime_code_read_fn *read, runtime_code_start_fn *start, void *arg,
		     uint64_t (*clock)(void), struct runtime_code **ret_code)
{
	struct runtime_code *c = calloc(1, sizeof(*c));

	if (!c)
		return -ENOMEM;
	c->read = read;
	c->start = start;
	c->arg = arg;
	c->clock = clock ? clock : thread_clock;
	c->credit_ns = RUNTIME_CODE_SAVED_NS;
	*ret_code = c;
	return 0;
}

static void drop(struct piece *p)
{
	elf_file_free(p->object.elf);
	free(p->rows.items);
	*p = (struct piece){0};
}

void runtime_code_free(struct runtime_code *c)
{
	if (!c)
		return;
	for (size_t i = 0; i < RUNTIME_CODE_PIECES; i++)
		drop(&c->pieces[i]);
	free(c);
}

void runtime_code_tick(struct runtime_code *c)
{
	c->ticks++;
	c->credit_ns += RUNTIME_CODE_EARNED_NS;
	if (c->credit_ns > RUNTIME_CODE_SAVED_NS)
		c->credit_ns = RUNTIME_CODE_SAVED_NS;
}

/* --- pieces -------------------------------------------------------------------------------- */

static int add_row(void *arg, uint64_t offset, const struct stackd_rule *rule)
{
	struct piece *p = arg;

	if (VEC_RESERVE(&p->rows, 1))
		return -ENOMEM;
	p->rows.items[p->rows.count++] = (struct row){offset, *rule};
	return 0;
}

/* Makes a piece of the `len` bytes that were read at `start`. */
static int fill(struct runtime_code *c, struct piece *p, uint64_t start, size_t len)
{
	const struct analysis_range range = {start, start + len, false};
	uint64_t starts[JAVA_FRAME_STARTS];
	struct analysis_input in = {
		.ranges = &range,
		.range_count = 1,
		.certain = starts,
		.certain_count = java_frame_starts(c->bytes[0], len, start, starts),
		.needs_returns = true,
	};
	struct analysis_stats stats;
	int err = elf_file_of_code(c->bytes[0], len, start, &p->object.elf);

	p->object.kind = OBJECT_JIT;
	p->object.path = "[jit]";
	in.elf = p->object.elf;
	return err ? err : analysis_run(&in, add_row, p, &stats);
}

static bool is_same(struct runtime_code *c, const struct piece *p, uint64_t start, size_t len)
{
	return elf_file_read(p->object.elf, start, c->bytes[1], RUNTIME_CODE_BYTES) ==
		       (int64_t)len &&
	       !memcmp(c->bytes[0], c->bytes[1], len) &&
	       !elf_file_read(p->object.elf, start - 1, c->bytes[1], 1);
}

/* Compares a piece with the memory, and makes it anew where they differ. Where there is no memory
 * any more, the process has ended: samples of its last moment may be still to come. */
static void refresh(struct runtime_code *c, struct piece *p, pid_t pid, uint64_t address)
{
	uint64_t number = address / RUNTIME_CODE_CORE, in_core = address % RUNTIME_CODE_CORE;
	uint64_t begin = c->clock(), start = 0;
	size_t len;

	if (c->credit_ns <= 0) {
		drop(p);
		return;
	}
	len = c->read(c->arg, pid, address, RUNTIME_CODE_MARGIN + in_core,
		      RUNTIME_CODE_CORE - in_core + RUNTIME_CODE_MARGIN, c->bytes[0], &start);
	if (len && (!p->pid || !is_same(c, p, start, len))) {
		drop(p);
		if (!fill(c, p, start, len))
			p->pid = pid;
		else
			drop(p);
	}
	p->number = number;
	p->checked = c->ticks;
	c->credit_ns -= (int64_t)(c->clock() - begin);
}

/* The piece with the address in its core, or NULL. */
static struct piece *find(struct runtime_code *c, pid_t pid, uint64_t address)
{
	uint64_t number = address / RUNTIME_CODE_CORE;
	uint64_t hash = hash_mix64(number ^ (uint64_t)(uint32_t)pid << 40);
	struct piece *p = &c->pieces[hash % RUNTIME_CODE_PIECES];

	if (pid <= 0)
		return NULL;
	if (p->pid != pid || p->number != number)
		drop(p);
	if (!p->pid || p->checked != c->ticks)
		refresh(c, p, pid, address);
	return p->pid ? p : NULL;
}

const struct object *runtime_code_at(struct runtime_code *c, pid_t pid, uint64_t address)
{
	struct piece *p = find(c, pid, address);

	return p ? &p->object : NULL;
}

/* --- rules --------------------------------------------------------------------------------- */

static void look_up(const struct piece *p, uint64_t address, struct stackd_rule *ret_rule)
{
	size_t low = 0, high = p->rows.count;

	while (low < high) {
		size_t middle = (low + high) / 2;

		if (p->rows.items[middle].address <= address)
			low = middle + 1;
		else
			high = middle;
	}
	if (low)
		*ret_rule = p->rows.items[low - 1].rule;
}

void runtime_code_rule(struct runtime_code *c, pid_t pid, uint64_t address, bool is_return,
		       struct stackd_rule *ret_rule)
{
	struct piece *p = find(c, pid, address);

	*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_NONE};
	if (!p)
		return;
	look_up(p, address, ret_rule);
	if (!is_return && leaf_rule_is_return(p->object.elf, address))
		*ret_rule = (struct stackd_rule){.cfa = STACKD_CFA_REG,
						 .reg = STACKD_REG_RSP,
						 .cfa_offset = 8,
						 .ra_offset = -8};
}

/* A function begins to make its frame by pushing rbp, right below its return address; before that,
 * steps at a push or a return take the return address from the top of the stack. */
bool runtime_code_is_bare(struct runtime_code *c, pid_t pid, uint64_t address, bool is_return)
{
	struct stackd_rule rule;
	struct piece *p;
	uint8_t code;

	runtime_code_rule(c, pid, address, is_return, &rule);
	if (rule.cfa != STACKD_CFA_REG || rule.reg != STACKD_REG_RSP ||
	    rule.saved[SAVED_RBP] == -16)
		return false;
	p = find(c, pid, address);
	if (is_return || rule.cfa_offset != 8 || !p)
		return true;
	return elf_file_read(p->object.elf, address, &code, 1) == 1 && code != PUSH_RBP &&
	       code != REP && !leaf_rule_is_return(p->object.elf, address);
}

/* The frame that the code at `start` makes, as it is at an address, or behind its jump. */
static bool entry_at(struct runtime_code *c, pid_t pid, uint64_t start, uint64_t address,
		     struct stackd_rule *ret_rule)
{
	struct piece *p = start ? find(c, pid, start) : NULL;

	return p && entry_frame_find(p->object.elf, start, address, ret_rule);
}

bool runtime_code_entry(struct runtime_code *c, pid_t pid, uint64_t address,
			struct stackd_rule *ret_rule)
{
	uint64_t start = c->start(c->arg, pid, address);
	struct entry *entry = &c->entries[(uint32_t)pid % ENTRIES];

	if (entry_at(c, pid, start, address, ret_rule)) {
		*entry = (struct entry){pid, start};
		return true;
	}
	return start && start != entry->start && entry->pid == pid &&
	       entry_at(c, pid, entry->start, UINT64_MAX, ret_rule);
}
