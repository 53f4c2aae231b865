/* SPDX-License-Identifier: MIT */
/*
 * Finds the targets in the tables of indirect jumps; see solve.h. A table of unknown bound ends
 * where the next object begins to which code refers. But code may refer to a table by an address
 * before it (if the first numbers are not used), and to the next table in the same way. So some
 * entries after that end can still belong to the table.
 */
#include "analysis/solve_internal.h"

/* Chosen by hand; bench/analysis.py, over the files of a Debian 12 machine, shows the effect of
 * changes. LATE_PART and LATE_LEAST only limit memory. */
#define MAX_ZEROES  16 /* limit of the entries in a row that lead to the table's base */
#define MAX_PADDING 64 /* limit of the bytes of padding between functions */
/* limit of the bytes from a jump to the target of an entry that may not be the table's */
#define MAX_REACH  4096
#define REACH_COST 16	/* the search through so many bytes counts as one entry */
#define LATE_PART  32	/* bytes of code for each target that may be postponed */
#define LATE_LEAST 1024 /* and so many targets may be postponed in any case */

static uint32_t skip_padding(const struct solver *s, const struct code_area *area, uint32_t at)
{
	uint32_t from = at, bytes;

	while (at < code_end(area) && at - from < MAX_PADDING &&
	       (bytes = code_padding_bytes(s->code, area, at)))
		at += bytes;
	return at;
}

/* A single byte of padding can also be an empty statement in unoptimised code. */
bool solve_leads_behind(const struct solver *s, uint32_t at)
{
	const struct code_area *area = code_area_of(s->code, at);
	uint32_t behind = skip_padding(s, area, at);

	if (behind == at || behind >= code_end(area))
		return false;
	if (s->code->marks[behind] & (CODE_PINNED | CODE_ENDBR))
		return true;
	return behind > at + 1 && !(code_vaddr(area, behind) % CODE_FUNCTION_ALIGN) &&
	       s->code->marks[behind] & (CODE_PADDED | CODE_BEHIND_CALL);
}

/* Returns whether an entry leads to padding after the function's end. clang emits such entries for
 * numbers that never occur. A target that is also called is not a part of the function. */
static bool leads_behind(const struct solver *s, uint32_t at)
{
	const struct code_area *area = code_area_of(s->code, at);
	uint32_t behind = skip_padding(s, area, at);

	if (s->code->marks[at] & CODE_CALLED)
		return true;
	return behind > at && (behind >= code_end(area) || s->code->marks[behind] & CODE_PADDED ||
			       solve_leads_behind(s, at));
}

static bool saves_register(const struct code *code, const struct code_area *area, uint32_t at)
{
	struct insn i;

	return code_decode(code, area, at, &i) && insn_saves_register(&i);
}

/* Returns whether no other function seems to begin between a jump and a byte after it. */
static bool is_same_function(struct solver *s, const struct path *p, uint32_t at)
{
	uint32_t jump = p->w.at;

	if (at <= jump || at - jump > MAX_REACH || at >= code_end(p->area))
		return false;
	s->entries += (at - jump) / REACH_COST;
	for (uint32_t b = jump + 1; b <= at; b++) {
		uint8_t marks = s->code->marks[b];

		if (marks & (CODE_PINNED | CODE_ENDBR | CODE_CALLED) ||
		    (marks & CODE_PADDED && saves_register(s->code, p->area, b)))
			return false;
	}
	return true;
}

/* Returns the first byte of the path's function, if the path has a frame, so that its jumps stay in
 * the function; 0: it is not known, or the path is in the function's cold part. */
static uint32_t start_of(const struct solver *s, const struct path *p)
{
	uint32_t start = s->begins.items[solve_function_of(s, p->w.owner)];
	bool is_made = frame_state_is_made(states_get(&s->states, p->w.state));

	return is_made && start <= p->w.at ? start : 0;
}

/* Postpones a path that begins at a byte. Beyond the limit the path is dropped, and its code has no
 * rules; ordinary code postpones one path for each few thousand of its bytes. */
static int put_off(struct solver *s, const struct path *p, uint32_t at)
{
	if (s->late.count >= s->code->size / LATE_PART + LATE_LEAST)
		return 0;
	return solve_push_path(s, &s->late, p, at, p->w.owner);
}

int solve_put_off(struct solver *s, const struct path *p, uint32_t at)
{
	if (p->insn.flow != INSN_BRANCH || p->insn.idiom != INSN_BOUND_TEST || at >= start_of(s, p))
		return 0;
	return put_off(s, p, at) ? -ENOMEM : 1;
}

/* Follows an entry of a table. Returns 1: the next entry is to be followed; 0: the table ends here;
 * -ENOMEM. If !is_certain, the entry is beyond the end to which code refers, and may be the next
 * table's. */
static int follow_entry(struct solver *s, const struct path *p, uint32_t at, bool is_certain)
{
	int err;

	if (s->entries++ >= s->code->size || at == CODE_NONE || !(s->code->marks[at] & CODE_SWEPT))
		return 0;
	if (leads_behind(s, at))
		return 1;
	if (!is_certain && !is_same_function(s, p, at))
		return 0;
	err = at < start_of(s, p) ? put_off(s, p, at)
				  : solve_push_path(s, &s->strong, p, at, p->w.owner);
	return err ? -ENOMEM : 1;
}

/* Zeroes lead to the table's base. If there are few in a row, they are entries for unused numbers;
 * else they follow the table. */
int solve_follow_table(struct solver *s, const struct path *p, const struct jump_table *table)
{
	uint64_t targets[JUMP_TABLE_MAX_ENTRIES], end = code_data_end(s->code, table->address);
	size_t count = jump_table_read(table, s->code->elf, end, targets);
	size_t certain = jump_table_end(table, end, count, 0);
	size_t unused = 0, followed = 0, zeroes = 0;

	s->entries += count / REACH_COST; /* since hostile code may have many jumps through one
					   * large table */
	if (s->entries >= s->code->size)
		return 0;
	for (size_t k = 0; k < jump_table_end(table, end, count, unused); k++) {
		uint32_t at = code_find(s->code, targets[k]);
		bool leads = at != CODE_NONE && targets[k] != table->base &&
			     s->code->marks[at] & CODE_SWEPT;
		int go_on;

		if (!followed &&
		    jump_table_is_unused(table, k, targets[k], leads && at > p->w.at)) {
			unused = k + 1;
			continue;
		}
		if (table->bound >= 0 && targets[k] == table->base && zeroes++ < MAX_ZEROES)
			continue;
		go_on = follow_entry(s, p, leads ? at : CODE_NONE, k < certain);
		if (go_on < 0)
			return go_on;
		if (!go_on)
			break;
		followed++;
		zeroes = 0;
	}
	return followed != 0;
}
