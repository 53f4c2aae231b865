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
#define AROUND	  32   /* bytes on either side of an address that are looked at again */
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

/* Makes a piece anew if the bytes around an address are others by now. */
static void renew(struct runtime_code *c, struct piece *p, pid_t pid, uint64_t address)
{
	uint64_t start = 0;
	size_t len = c->read(c->arg, pid, address, AROUND, AROUND, c->bytes[0], &start);

	if (len && (elf_file_read(p->object.elf, start, c->bytes[1], len) != (int64_t)len ||
		    memcmp(c->bytes[0], c->bytes[1], len)))
		refresh(c, p, pid, address);
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

/* Whether a step at an address takes the return address from where it is, though rbp is not yet the
 * frame's: at a push of rbp, at a return, and at mov %rsp, %rbp. */
static bool begins_frame(const struct piece *p, uint64_t address, const struct stackd_rule *rule)
{
	uint8_t code[3];

	if (leaf_rule_is_return(p->object.elf, address))
		return true;
	if (rule->cfa_offset == 8)
		return elf_file_read(p->object.elf, address, code, 1) == 1 &&
		       (code[0] == PUSH_RBP || code[0] == REP);
	return rule->cfa_offset == 16 && rule->saved[SAVED_RBP] == -16 &&
	       elf_file_read(p->object.elf, address, code, sizeof(code)) == sizeof(code) &&
	       !memcmp(code, "\x48\x89\xe5", sizeof(code));
}

/* Where rbp is the frame's, the analysis tells the frame by it. A function that saves rbp may still
 * use it as it likes, or leave it to be that of a caller, as Java's do. */
static enum runtime_code_frame frame_of(const struct piece *p, uint64_t address, bool is_return,
					const struct stackd_rule *rule)
{
	if (rule->cfa != STACKD_CFA_REG)
		return RUNTIME_CODE_UNTOLD;
	if (rule->reg == STACKD_REG_RBP || (!is_return && begins_frame(p, address, rule)))
		return RUNTIME_CODE_FRAMED;
	return rule->reg == STACKD_REG_RSP ? RUNTIME_CODE_BARE : RUNTIME_CODE_UNTOLD;
}

enum runtime_code_frame runtime_code_frame(struct runtime_code *c, pid_t pid, uint64_t address,
					   bool is_return)
{
	struct piece *p = find(c, pid, address);
	struct stackd_rule rule;
	uint8_t byte;

	if (p)
		renew(c, p, pid, address);
	if (!p || !p->pid || elf_file_read(p->object.elf, address, &byte, 1) != 1)
		return RUNTIME_CODE_UNREAD;
	runtime_code_rule(c, pid, address, is_return, &rule);
	return frame_of(p, address, is_return, &rule);
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
