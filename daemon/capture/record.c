/* SPDX-License-Identifier: MIT */
/* Checks and expands records; see record.h. */
#include "daemon/capture/record.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "daemon/capture/record_pool.h"
#include "base/vec.h"

/* What is kept of a CPU's last STACK record: the last `bytes` bytes of its stack. */
struct previous {
	uint32_t number; /* number of the record; 0: there was none */
	uint32_t bytes;
	uint8_t data[STACKD_SHARED_BYTES];
	struct { /* the CPU's last CODE record */
		struct stackd_code_record record;
		struct stackd_code_mark marks[STACKD_MAX_CODE];
	} code;
	struct { /* the CPU's last CHAIN record */
		struct stackd_chain_record record;
		uint64_t words[STACKD_CHAIN_WORDS];
	} chain;
};

/* A walk in several records, of which some are still to come. */
struct unfinished {
	uint64_t time_ns;
	uint32_t tid, next; /* thread; number of the next part */
	uint16_t cpu;
	bool is_used;
	struct stackd_header header; /* header of the first part */
	uint32_t joint;		     /* length in bytes of the first part; see record_part() */
	VEC(uint8_t) bytes;
};

/* The MORE_STACK parts of a stack, which lie above the part in its STACK record. That record is
 * still to come. */
struct more {
	uint64_t time_ns;
	uint32_t tid;
	uint16_t cpu;
	bool is_used, is_whole; /* is_whole: the parts reach to the stack's end */
	bool is_cut;		/* a part was not kept, so none behind it is added */
	uint64_t number;	/* a stack whose first part came later has a higher number */
	uint64_t start;		/* address of the first byte */
	VEC(uint8_t) bytes;
	VEC(uint64_t) holes; /* addresses of pages that could not be read */
};

/* A part of a stack that is kept, since the kernel half leaves it out where it is the same. */
struct kept_part {
	uint64_t start, hash; /* hash 0: none */
	uint64_t holes;
	uint64_t time_ns; /* of the record that last had it */
	uint32_t tid, bytes;
	uint8_t *data; /* owned */
};

/* Several walks can be unfinished at a time, since each CPU has its own, and a sample can interrupt
 * the walk of a probe. */
#define UNFINISHED 64
#define MOST_BYTES (1u << 20) /* most bytes of a walk */
#define MORE	   64
#define MORE_BYTES (64u << 20) /* most bytes of all stacks in parts together */
#define PAGE	   UINT64_C(4096)

struct record_reader {
	struct record_pool *pool;
	struct unfinished walks[UNFINISHED];
	size_t next_walk; /* the next entry of `walks` to be replaced */
	struct more more[MORE];
	uint64_t more_begun; /* number of stacks of which a part has arrived so far */
	size_t more_bytes;   /* bytes of all stacks in parts */
	uint64_t evicted;    /* number of stacks dropped incomplete, for lack of room */
	struct kept_part kept[STACKD_MORE_SLOTS][2]; /* two threads' parts can share a slot */
	uint64_t kept_ns;	/* time of the last record with a part; 0: none is kept */
	struct previous **cpus; /* by CPU; NULL: it has sent none */
	size_t n_cpus;		/* entries of `cpus` */
};

int record_reader_new(struct record_reader **ret_reader)
{
	struct record_reader *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	if (record_pool_new(&r->pool)) {
		free(r);
		return -ENOMEM;
	}
	*ret_reader = r;
	return 0;
}

static void drop_more(struct record_reader *r, struct more *more)
{
	r->more_bytes -= more->bytes.count;
	free(more->bytes.items);
	free(more->holes.items);
	*more = (struct more){0};
}

/* Drops all kept parts. */
static void drop_kept(struct record_reader *r)
{
	for (size_t i = 0; i < STACKD_MORE_SLOTS; i++)
		for (size_t way = 0; way < 2; way++)
			free(r->kept[i][way].data);
	memset(r->kept, 0, sizeof(r->kept));
	r->kept_ns = 0;
}

/* Drops them if no record has had a part for a while. */
static void drop_old_parts(struct record_reader *r, uint64_t now_ns)
{
	if (r->kept_ns && now_ns > r->kept_ns + STACKD_MORE_KEPT_NS)
		drop_kept(r);
}

void record_reader_free(struct record_reader *r)
{
	if (!r)
		return;
	drop_kept(r);
	for (size_t i = 0; i < r->n_cpus; i++)
		free(r->cpus[i]);
	free(r->cpus);
	for (size_t i = 0; i < UNFINISHED; i++)
		free(r->walks[i].bytes.items);
	for (size_t i = 0; i < MORE; i++)
		drop_more(r, &r->more[i]);
	record_pool_free(r->pool);
	free(r);
}

static struct previous *previous_of(struct record_reader *r, uint16_t cpu)
{
	if (VEC_GROW_ZEROED(r->cpus, r->n_cpus, (size_t)cpu + 1))
		return NULL;
	if (!r->cpus[cpu])
		r->cpus[cpu] = calloc(1, sizeof(*r->cpus[cpu]));
	return r->cpus[cpu];
}

static size_t kernel_bytes(const struct stackd_header *header)
{
	return (size_t)header->n_kernel * 8;
}

/* Returns the bytes before the frames of a WALKED record. */
static size_t front_bytes(const struct stackd_header *header)
{
	return (header->kind & STACKD_HAS_PID ? 4 : 0) +
	       (header->kind & STACKD_HAS_PERIOD ? 4 : 0) +
	       (header->kind & STACKD_HAS_CGROUP ? 8 : 0) +
	       (header->kind & STACKD_HAS_EVENT ? sizeof(union stackd_measurement) : 0);
}

/* Returns the size of a READING record (values of counters), which is shorter if its `is_end` is
 * not set; SIZE_MAX: the record is invalid. */
static size_t reading_bytes(const struct stackd_reading *reading, size_t size)
{
	const size_t front = offsetof(struct stackd_reading, values);

	if (size < front || reading->n > STACKD_MOST_COUNTERS)
		return SIZE_MAX;
	return reading->is_end ? sizeof(*reading) : front + reading->n * sizeof(__u64);
}

static bool text_is_sane(const struct stackd_managed_text *text)
{
	return text->bytes <= STACKD_MANAGED_TEXT &&
	       (text->width <= 2 || text->width == 4 || text->width == STACKD_MANAGED_UTF8);
}

static size_t managed_bytes(const struct stackd_managed_record *record, size_t size)
{
	const size_t front = offsetof(struct stackd_managed_record, lines);

	if (size < front || record->code.line_bytes > STACKD_MANAGED_LINES ||
	    !text_is_sane(&record->code.file) || !text_is_sane(&record->code.name))
		return SIZE_MAX;
	return front + record->code.line_bytes;
}

/* Returns the offset of the end of the stack in an expanded STACK record. The words of
 * record_more_holes() lie there, then the marks of record_code(), then record_chain(). */
static size_t behind_stack(const struct stackd_stack_record *stack)
{
	size_t end = sizeof(*stack) + kernel_bytes(&stack->header) + stack->stack_bytes;

	return (end + 7) & ~(size_t)7;
}

const uint64_t *record_more_holes(const struct stackd_stack_record *stack, size_t *ret_count)
{
	*ret_count = stack->more_holes;
	return (const uint64_t *)((const uint8_t *)stack + behind_stack(stack));
}

const struct stackd_code_mark *record_code(const struct stackd_stack_record *stack)
{
	size_t words;

	return (const struct stackd_code_mark *)(record_more_holes(stack, &words) +
						 stack->more_holes);
}

const uint64_t *record_chain(const struct stackd_stack_record *stack, size_t *ret_count)
{
	*ret_count = stack->chain_words;
	return (const uint64_t *)(record_code(stack) + stack->code_count);
}

/* Returns the size of a STACK record after complete_stack(). */
static size_t stack_size(const struct stackd_stack_record *stack)
{
	if (!stack->more_holes && !stack->code_count && !stack->chain_words)
		return sizeof(*stack) + kernel_bytes(&stack->header) + stack->stack_bytes;
	return behind_stack(stack) + stack->more_holes * sizeof(uint64_t) +
	       stack->code_count * sizeof(struct stackd_code_mark) +
	       stack->chain_words * sizeof(uint64_t);
}

/* Returns whether the sizes in a MORE_STACK record are valid. Only the last part may be smaller
 * than STACKD_MORE_PART. */
static bool is_part_of_stack(const struct stackd_more_stack *more, size_t size)
{
	return size >= sizeof(*more) && more->bytes && more->bytes <= STACKD_MORE_PART &&
	       (more->bytes == STACKD_MORE_PART || more->is_last) &&
	       (!more->sent || more->sent == more->bytes) &&
	       (!more->is_same || (!more->sent && more->hash));
}

/* Returns the size of a record other than WALKED, by its own fields; SIZE_MAX if these contradict
 * each other. */
static size_t size_said(const struct stackd_header *header, size_t size)
{
	const struct stackd_stack_record *stack = (const struct stackd_stack_record *)header;
	const struct stackd_branch_record *branches = (const struct stackd_branch_record *)header;
	const struct stackd_code_record *code = (const struct stackd_code_record *)header;
	const struct stackd_more_stack *more = (const struct stackd_more_stack *)header;
	const struct stackd_chain_record *chain = (const struct stackd_chain_record *)header;

	switch (header->kind & STACKD_KIND_MASK) {
	case STACKD_RECORD_STACK:
		if (size < sizeof(*stack) || stack->shared > stack->stack_bytes)
			return SIZE_MAX;
		return stack_size(stack) - stack->shared;
	case STACKD_RECORD_MORE_STACK:
		return is_part_of_stack(more, size) ? sizeof(*more) + more->sent : SIZE_MAX;
	case STACKD_RECORD_TAG:
		return sizeof(struct stackd_tag_record) + kernel_bytes(header);
	case STACKD_RECORD_BRANCHES:
		if (size < sizeof(*branches))
			return SIZE_MAX;
		return sizeof(*branches) + (size_t)branches->n * sizeof(struct stackd_branch);
	case STACKD_RECORD_CODE:
		return size < sizeof(*code) || code->n > STACKD_MAX_CODE
			       ? SIZE_MAX
			       : sizeof(*code) + code->n * sizeof(struct stackd_code_mark);
	case STACKD_RECORD_CHAIN:
		return size < sizeof(*chain) || chain->n > STACKD_CHAIN_WORDS
			       ? SIZE_MAX
			       : sizeof(*chain) + chain->n * sizeof(uint64_t);
	case STACKD_RECORD_CODE_BYTES:
		return sizeof(struct stackd_code_bytes);
	case STACKD_RECORD_READING:
		return reading_bytes((const struct stackd_reading *)header, size);
	case STACKD_RECORD_LAUNCHED:
		return sizeof(struct stackd_launched);
	case STACKD_RECORD_COMPLETED:
		return sizeof(struct stackd_completed);
	case STACKD_RECORD_MANAGED:
		return managed_bytes((const struct stackd_managed_record *)header, size);
	default:
		return SIZE_MAX;
	}
}

/* Restores the end of a stack, which the kernel half has left out because it equals the end of the
 * stack in the CPU's previous record. Keeps the end for the next record. 0; -EBADMSG: that record
 * was not read; -ENOMEM. */
static int complete_stack(struct record_reader *r, struct stackd_stack_record *stack)
{
	uint8_t *bytes = (uint8_t *)(stack + 1) + kernel_bytes(&stack->header);
	struct previous *previous;

	if (!stack->number)
		return stack->shared ? -EBADMSG : 0;
	previous = previous_of(r, stack->header.cpu);
	if (!previous)
		return -ENOMEM;
	if (stack->shared) {
		if (previous->number + 1 != stack->number || stack->shared > previous->bytes)
			return -EBADMSG;
		memcpy(bytes + stack->stack_bytes - stack->shared,
		       previous->data + previous->bytes - stack->shared, stack->shared);
		stack->shared = 0;
	}
	previous->number = stack->number;
	previous->bytes =
		stack->stack_bytes < STACKD_SHARED_BYTES ? stack->stack_bytes : STACKD_SHARED_BYTES;
	memcpy(previous->data, bytes + stack->stack_bytes - previous->bytes, previous->bytes);
	return 0;
}

/* --- larger stacks --------------------------------------------------------------------------- */

static struct more *find_more(struct record_reader *r, const struct stackd_header *header)
{
	for (size_t i = 0; i < MORE; i++) {
		struct more *m = &r->more[i];

		if (m->is_used && m->tid == header->tid && m->cpu == header->cpu &&
		    m->time_ns == header->time_ns)
			return m;
	}
	return NULL;
}

/* Returns the oldest stack in parts other than `but`; NULL: there is none. */
static struct more *oldest_more(struct record_reader *r, const struct more *but)
{
	struct more *oldest = NULL;

	for (size_t i = 0; i < MORE; i++) {
		struct more *m = &r->more[i];

		if (m->is_used && m != but && (!oldest || m->number < oldest->number))
			oldest = m;
	}
	return oldest;
}

/* Drops the parts of a stack whose STACK record has not come. If that record still comes, it is
 * returned with its own part of the stack alone. */
static void evict_more(struct record_reader *r, struct more *more)
{
	drop_more(r, more);
	r->evicted++;
}

/* Begins a stack in parts; if all entries are used, replaces the oldest one, whose record probably
 * was lost. */
static struct more *begin_more(struct record_reader *r, const struct stackd_more_stack *part)
{
	struct more *m = NULL;

	for (size_t i = 0; i < MORE && !m; i++)
		m = r->more[i].is_used ? NULL : &r->more[i];
	if (!m) {
		m = oldest_more(r, NULL);
		evict_more(r, m);
	}
	m->is_used = true;
	m->number = r->more_begun++;
	m->tid = part->header.tid;
	m->cpu = part->header.cpu;
	m->time_ns = part->header.time_ns;
	m->start = part->start;
	return m;
}

/* Returns the slot's kept part that a record is of; else the one that a new part replaces. */
static struct kept_part *kept_part_of(struct record_reader *r, const struct stackd_more_stack *part)
{
	struct kept_part *ways = r->kept[stackd_more_slot(part->header.tid, part->start)];

	for (int i = 0; i < 2; i++)
		if (ways[i].hash && ways[i].tid == part->header.tid && ways[i].start == part->start)
			return &ways[i];
	return ways[0].time_ns <= ways[1].time_ns ? &ways[0] : &ways[1];
}

/* Gives the bytes and holes of a part, which are valid until the next call. Keeps them if the
 * kernel half may leave them out later. NULL bytes: none of it was in memory. 0; -ENOENT: they were
 * left out, and are not kept. */
static int bytes_of_part(struct record_reader *r, const struct stackd_more_stack *part,
			 const uint8_t **ret_bytes)
{
	struct kept_part *kept = kept_part_of(r, part);

	*ret_bytes = part->sent ? (const uint8_t *)(part + 1) : NULL;
	r->kept_ns = part->header.time_ns;
	if (!part->hash)
		return 0;
	kept->time_ns = part->header.time_ns;
	if (part->is_same) {
		*ret_bytes = kept->data;
		return kept->hash == part->hash && kept->tid == part->header.tid &&
				       kept->start == part->start && kept->bytes == part->bytes &&
				       kept->holes == part->holes
			       ? 0
			       : -ENOENT;
	}
	kept->hash = 0;
	if (!kept->data)
		kept->data = malloc(STACKD_MORE_PART);
	if (!kept->data || !part->sent)
		return 0; /* a stack that lacks it later is cut */
	memcpy(kept->data, part + 1, part->sent);
	kept->hash = part->hash;
	kept->tid = part->header.tid;
	kept->start = part->start;
	kept->bytes = part->bytes;
	kept->holes = part->holes;
	return 0;
}

/* Adds a MORE_STACK part to its stack. Returns 1: no record is whole yet; -EBADMSG: the part does
 * not follow the previous one, or the stack would be larger than STACKD_MORE_BYTES; -ENOMEM. */
static int add_more(struct record_reader *r, const struct stackd_more_stack *part)
{
	struct more *m = find_more(r, &part->header), *oldest;
	const uint8_t *bytes;

	if (!m)
		m = begin_more(r, part);
	if (bytes_of_part(r, part, &bytes)) {
		m->is_cut = true;
		return 1;
	}
	if (m->is_cut)
		return 1;
	if (part->start != m->start + m->bytes.count ||
	    m->bytes.count + part->bytes > STACKD_MORE_BYTES) {
		drop_more(r, m);
		return -EBADMSG;
	}
	while (r->more_bytes + part->bytes > MORE_BYTES && (oldest = oldest_more(r, m)))
		evict_more(r, oldest);
	if (VEC_RESERVE(&m->bytes, part->bytes) || VEC_RESERVE(&m->holes, 64)) {
		drop_more(r, m);
		return -ENOMEM;
	}
	if (bytes)
		memcpy(m->bytes.items + m->bytes.count, bytes, part->bytes);
	else
		memset(m->bytes.items + m->bytes.count, 0, part->bytes);
	for (uint64_t i = 0; i < 64; i++)
		if (part->holes >> i & 1)
			m->holes.items[m->holes.count++] = (part->start & ~(PAGE - 1)) + i * PAGE;
	m->bytes.count += part->bytes;
	r->more_bytes += part->bytes;
	m->is_whole = part->is_last;
	return 1;
}

/* Returns the MORE_STACK parts that begin where the stack in a STACK record ends; NULL: there are
 * none. */
static const struct more *more_of(struct record_reader *r, const struct stackd_stack_record *stack)
{
	const struct more *m = find_more(r, &stack->header);

	return m && m->bytes.count && stack->header.flags & STACKD_STACK_CUT &&
			       m->start == stack->regs.r[STACKD_REG_SP] + stack->stack_bytes
		       ? m
		       : NULL;
}

/* Changes the sizes and flags in a STACK record to those of a record with the parts added. */
static void add_sizes(const struct more *m, struct stackd_stack_record *stack)
{
	uint64_t sp = stack->regs.r[STACKD_REG_SP];

	stack->stack_bytes += (uint32_t)m->bytes.count;
	stack->more_holes = (uint32_t)((sp % PAGE + stack->stack_bytes - 1) / PAGE / 64);
	if (m->is_whole)
		stack->header.flags &= (uint8_t)~STACKD_STACK_CUT;
}

/* Puts the parts' bytes behind the record's own `bytes` bytes of stack, and sets the bits of pages
 * that could not be read. */
static void put_more(const struct more *m, uint32_t bytes, struct stackd_stack_record *stack)
{
	uint8_t *copy = (uint8_t *)(stack + 1) + kernel_bytes(&stack->header);
	uint64_t *words = (uint64_t *)((uint8_t *)stack + behind_stack(stack));
	uint64_t first = stack->regs.r[STACKD_REG_SP] / PAGE;

	memcpy(copy + bytes, m->bytes.items, m->bytes.count);
	memset(words, 0, stack->more_holes * sizeof(*words));
	for (size_t i = 0; i < m->holes.count; i++) {
		uint64_t page = m->holes.items[i] / PAGE - first;

		if (page < 64)
			stack->holes |= UINT64_C(1) << page;
		else if (page / 64 <= stack->more_holes)
			words[page / 64 - 1] |= UINT64_C(1) << page % 64;
	}
}

/* Returns the time nearest to now_ns whose lowest 48 bits are those of `low`. */
static uint64_t whole_time(uint64_t low, uint64_t now_ns)
{
	return now_ns + (uint64_t)((int64_t)((low - now_ns) << 16) >> 16);
}

/* Returns the expanded header of a WALKED record, without header.bytes. */
static struct stackd_header walked_header(const struct stackd_walked *w, uint64_t now_ns)
{
	return (struct stackd_header){
		.version = STACKD_ABI_VERSION,
		.kind = (uint8_t)(STACKD_RECORD_WALKED |
				  (w->form & (STACKD_HAS_PID | STACKD_HAS_PERIOD |
					      STACKD_HAS_CGROUP | STACKD_HAS_EVENT))),
		.flags = (uint8_t)(STACKD_HAS_REGS |
				   (w->form & STACKD_FORM_IN_KERNEL ? STACKD_IN_KERNEL : 0) |
				   (w->form & STACKD_FORM_NOT_REMEMBERED ? STACKD_NOT_REMEMBERED
									 : 0)),
		.end_reason = w->end & ((1u << STACKD_ROOT_SHIFT) - 1),
		.root = (uint8_t)(w->end >> STACKD_ROOT_SHIFT),
		.is_unproven = (uint8_t)w->is_unproven,
		.tid = (uint32_t)w->tid,
		.time_ns = whole_time(w->time_ns, now_ns),
		.cpu = (uint16_t)w->cpu,
		.kept = (uint32_t)w->kept,
		.n_kernel = (uint8_t)w->n_kernel,
		.sequence = (uint8_t)w->sequence,
	};
}

/* --- parts ----------------------------------------------------------------------------------- */

/* Returns the walk that a part belongs to; the first part begins a new one. NULL: its parts before
 * have not been read. */
static struct unfinished *walk_of(struct record_reader *r, const struct stackd_header *header,
				  const struct stackd_part *part)
{
	struct unfinished *w;

	for (size_t i = 0; i < UNFINISHED; i++) {
		w = &r->walks[i];
		if (!w->is_used || w->tid != header->tid || w->cpu != header->cpu ||
		    w->time_ns != header->time_ns)
			continue;
		w->is_used = w->next == part->number && part->number;
		if (part->number)
			return w->is_used ? w : NULL;
	}
	if (part->number)
		return NULL;
	w = &r->walks[r->next_walk++ % UNFINISHED];
	w->is_used = true;
	w->tid = header->tid;
	w->cpu = header->cpu;
	w->time_ns = header->time_ns;
	w->next = 0;
	w->header = *header;
	w->bytes.count = 0;
	return w;
}

/* Adds the frames of a part to its walk. 0; -EBADMSG: the parts before it were not read, or the
 * walk is too large; -ENOMEM. */
static int add_part(struct record_reader *r, const struct stackd_header *header,
		    const struct stackd_part *part, const uint8_t *from, size_t bytes,
		    struct unfinished **ret_walk)
{
	struct unfinished *w = walk_of(r, header, part);

	if (!w)
		return -EBADMSG;
	if (w->bytes.count + bytes > MOST_BYTES || VEC_RESERVE(&w->bytes, bytes)) {
		w->is_used = false;
		return w->bytes.count + bytes > MOST_BYTES ? -EBADMSG : -ENOMEM;
	}
	memcpy(w->bytes.items + w->bytes.count, from, bytes);
	w->bytes.count += bytes;
	if (!w->next++)
		w->joint = (uint32_t)bytes;
	*ret_walk = w;
	return 0;
}

/* --- WALKED ---------------------------------------------------------------------------------- */

/* Returns the kind of event of a WALKED record. `from`: the bytes behind its packed header. */
static uint8_t walked_event(const struct stackd_header *header, const uint8_t *from)
{
	if (!(header->kind & STACKD_HAS_EVENT))
		return STACKD_EVENT_SAMPLE;
	return from[front_bytes(header) - sizeof(union stackd_measurement)];
}

/* Makes the expanded record: `header`, `bytes` bytes from `from` (optional fields and frames), the
 * kernel frames and, for a deep stack, `part`. */
static int expand_walked(struct record_reader *r, struct stackd_header header, const uint8_t *from,
			 size_t bytes, const uint8_t *kernel, const struct stackd_part *part,
			 struct stackd_header **ret_record)
{
	size_t padded = (bytes + 7) & ~(size_t)7, end = padded + kernel_bytes(&header);
	struct stackd_header *copy;

	header.event = walked_event(&header, from);
	if (header.kind & STACKD_HAS_EVENT && !STACKD_IS_MEASURED(header.event))
		return -EBADMSG;
	header.bytes = (uint32_t)bytes;
	copy = record_pool_take(r->pool, sizeof(header) + end + (header.part ? sizeof(*part) : 0));
	if (!copy)
		return -ENOMEM;
	*copy = header;
	memcpy(copy + 1, from, bytes);
	memset((uint8_t *)(copy + 1) + bytes, 0, padded - bytes);
	memcpy((uint8_t *)(copy + 1) + padded, kernel, kernel_bytes(&header));
	if (header.part)
		memcpy((uint8_t *)(copy + 1) + end, part, sizeof(*part));
	*ret_record = copy;
	return 0;
}

/* Reads one of the records with the parts of a deep stack. Errors and result as of
 * record_read(). */
static int read_part(struct record_reader *r, struct stackd_header header, const uint8_t *from,
		     size_t bytes, struct stackd_header **ret_record)
{
	struct stackd_part part;
	struct unfinished *w = NULL;
	size_t frames;
	int err;

	if (bytes < kernel_bytes(&header) + sizeof(part))
		return -EBADMSG;
	frames = bytes - kernel_bytes(&header) - sizeof(part);
	memcpy(&part, from + bytes - sizeof(part), sizeof(part));
	if (frames < front_bytes(&header))
		return -EBADMSG;
	err = add_part(r, &header, &part, from, frames, &w);
	if (err)
		return err;
	if (!(part.flags & STACKD_PART_LAST))
		return 1;
	w->is_used = false;
	header.kind = w->header.kind;
	header.kept = part.kept;
	header.part = part.flags;
	if (part.flags & STACKD_PART_JOINS && part.joined_at != 1)
		return -EBADMSG;
	part.number = w->joint;
	return expand_walked(r, header, w->bytes.items, w->bytes.count, from + frames, &part,
			     ret_record);
}

static int read_walked(struct record_reader *r, const struct stackd_walked *walked, size_t size,
		       uint64_t now_ns, struct stackd_header **ret_record)
{
	struct stackd_header header;
	const uint8_t *from = (const uint8_t *)(walked + 1);
	size_t bytes;

	if (size < sizeof(*walked))
		return -EBADMSG;
	header = walked_header(walked, now_ns);
	drop_old_parts(r, header.time_ns);
	bytes = size - sizeof(*walked);
	if (walked->form & STACKD_FORM_PART)
		return read_part(r, header, from, bytes, ret_record);
	if (bytes < front_bytes(&header) + kernel_bytes(&header))
		return -EBADMSG;
	bytes -= kernel_bytes(&header);
	if (bytes > UINT16_MAX)
		return -EBADMSG;
	return expand_walked(r, header, from, bytes, from + bytes, NULL, ret_record);
}

/* Keeps a CODE record for the STACK record that follows. */
static int keep_code(struct record_reader *r, const struct stackd_code_record *code)
{
	struct previous *previous = previous_of(r, code->header.cpu);

	if (!previous)
		return -ENOMEM;
	memcpy(&previous->code, code, sizeof(*code) + code->n * sizeof(struct stackd_code_mark));
	return 0;
}

/* Returns the entry whose CODE record belongs to a STACK record; NULL: there is none. */
static const struct previous *code_of(const struct record_reader *r,
				      const struct stackd_header *header)
{
	const struct previous *previous = header->cpu < r->n_cpus ? r->cpus[header->cpu] : NULL;
	const struct stackd_header *code = previous ? &previous->code.record.header : NULL;

	return code && code->tid == header->tid && code->time_ns == header->time_ns ? previous
										    : NULL;
}

/* Copies the marks of the CODE record behind the stack and the words of holes. */
static void put_code(struct stackd_stack_record *stack, const struct previous *previous)
{
	memcpy((void *)record_code(stack), previous->code.marks,
	       stack->code_count * sizeof(struct stackd_code_mark));
}

/* Keeps a CHAIN record for the STACK record that follows. Returns 1: no record is whole yet; or
 * -ENOMEM. */
static int keep_chain(struct record_reader *r, const struct stackd_chain_record *chain)
{
	struct previous *previous = previous_of(r, chain->header.cpu);

	if (!previous)
		return -ENOMEM;
	memcpy(&previous->chain, chain, sizeof(*chain) + chain->n * sizeof(uint64_t));
	return 1;
}

/* Returns the entry whose CHAIN record belongs to a STACK record; NULL: there is none. */
static const struct previous *chain_of(const struct record_reader *r,
				       const struct stackd_header *header)
{
	const struct previous *previous = header->cpu < r->n_cpus ? r->cpus[header->cpu] : NULL;
	const struct stackd_header *chain = previous ? &previous->chain.record.header : NULL;

	return chain && chain->tid == header->tid && chain->time_ns == header->time_ns ? previous
										       : NULL;
}

/* Copies the words of the CHAIN record behind the marks of the CODE record. */
static void put_chain(struct stackd_stack_record *stack, const struct previous *previous)
{
	size_t count;

	memcpy((void *)record_chain(stack, &count), previous->chain.words,
	       stack->chain_words * sizeof(uint64_t));
}

/* Reads a STACK record of `said` bytes, and adds the MORE_STACK parts and the CODE and CHAIN
 * records that came before it. */
static int read_stack(struct record_reader *r, const struct stackd_stack_record *stack, size_t said,
		      struct stackd_header **ret_record)
{
	const struct previous *code = code_of(r, &stack->header);
	const struct previous *chain = chain_of(r, &stack->header);
	struct more *more = find_more(r, &stack->header);
	const struct more *fits = more_of(r, stack);
	struct stackd_stack_record fields = *stack, *copy;
	int err;

	if (stack->more_holes || stack->code_count || stack->chain_words ||
	    stack->stack_bytes > STACKD_MAX_STACK_BYTES ||
	    (stack->event.kind && !STACKD_IS_MEASURED(stack->event.kind)))
		return -EBADMSG;
	if (fits)
		add_sizes(fits, &fields);
	if (code)
		fields.code_count = (uint8_t)code->code.record.n;
	if (chain)
		fields.chain_words = (uint16_t)chain->chain.record.n;
	copy = record_pool_take(r->pool, stack_size(&fields));
	if (!copy)
		return -ENOMEM;
	memcpy(copy, stack, said);
	err = complete_stack(r, copy);
	if (err) {
		record_pool_give_back(copy);
		return err;
	}
	fields.shared = 0;
	fields.header.event = fields.event.kind;
	*copy = fields;
	if (fits)
		put_more(fits, stack->stack_bytes, copy);
	if (code)
		put_code(copy, code);
	if (chain)
		put_chain(copy, chain);
	if (more)
		drop_more(r, more);
	*ret_record = &copy->header;
	return 0;
}

/* Returns the kind of event of a record by the record's kind, for kinds other than WALKED and
 * STACK. */
static uint8_t event_of_kind(uint8_t kind)
{
	switch (kind) {
	case STACKD_RECORD_READING:
		return STACKD_EVENT_READING;
	case STACKD_RECORD_LAUNCHED:
		return STACKD_EVENT_LAUNCH;
	case STACKD_RECORD_COMPLETED:
		return STACKD_EVENT_COMPLETE;
	case STACKD_RECORD_CODE:
		return STACKD_EVENT_CODE;
	case STACKD_RECORD_CODE_BYTES:
		return STACKD_EVENT_CODE_BYTES;
	case STACKD_RECORD_MANAGED:
		return STACKD_EVENT_MANAGED;
	case STACKD_RECORD_BRANCHES:
		return STACKD_EVENT_BRANCHES;
	default: /* TAG */
		return STACKD_EVENT_SAMPLE;
	}
}

int record_read(struct record_reader *r, const void *data, size_t size, uint64_t now_ns,
		struct stackd_header **ret_record)
{
	const struct stackd_header *header = data;
	struct stackd_header *copy;
	size_t said;
	int err = 0;

	if (size && header->version & STACKD_FORM_WALKED)
		return read_walked(r, data, size, now_ns, ret_record);
	if (size < sizeof(*header) || header->version != STACKD_ABI_VERSION)
		return -EBADMSG;
	said = size_said(header, size);
	if (said > size)
		return -EBADMSG;
	drop_old_parts(r, header->time_ns);
	if (header->kind == STACKD_RECORD_MORE_STACK)
		return add_more(r, data);
	if (header->kind == STACKD_RECORD_CHAIN)
		return keep_chain(r, data);
	if (header->kind == STACKD_RECORD_STACK)
		return read_stack(r, data, said, ret_record);
	if (header->kind == STACKD_RECORD_CODE)
		err = keep_code(r, data);
	if (err)
		return err;
	copy = record_pool_take(r->pool, said);
	if (!copy)
		return -ENOMEM;
	memcpy(copy, data, said);
	copy->event = event_of_kind(copy->kind);
	*ret_record = copy;
	return 0;
}

uint64_t record_reader_evicted(const struct record_reader *r)
{
	return r->evicted;
}

size_t record_size(const struct stackd_header *record)
{
	if ((record->kind & STACKD_KIND_MASK) == STACKD_RECORD_WALKED)
		return sizeof(*record) + ((record->bytes + 7u) & ~7u) + kernel_bytes(record) +
		       (record->part ? sizeof(struct stackd_part) : 0);
	return size_said(record, SIZE_MAX);
}

/* --- fields ---------------------------------------------------------------------------------- */

static const uint8_t *bytes_of(const struct stackd_header *record)
{
	return (const uint8_t *)(record + 1);
}

static uint64_t number_at(const uint8_t *at, int bytes)
{
	uint64_t number = 0;

	while (bytes--)
		number = number << 8 | at[bytes];
	return number;
}

uint32_t record_pid(const struct stackd_header *record)
{
	if (record->kind == STACKD_RECORD_STACK)
		return ((const struct stackd_stack_record *)record)->pid;
	if (record->kind == STACKD_RECORD_TAG)
		return ((const struct stackd_tag_record *)record)->pid;
	if (record->kind == STACKD_RECORD_BRANCHES)
		return ((const struct stackd_branch_record *)record)->pid;
	if (record->kind == STACKD_RECORD_READING)
		return ((const struct stackd_reading *)record)->pid;
	if (record->kind == STACKD_RECORD_CODE)
		return ((const struct stackd_code_record *)record)->pid;
	if (record->kind == STACKD_RECORD_CODE_BYTES)
		return ((const struct stackd_code_bytes *)record)->pid;
	if (record->kind == STACKD_RECORD_COMPLETED)
		return ((const struct stackd_completed *)record)->pid;
	if (record->kind == STACKD_RECORD_MANAGED)
		return ((const struct stackd_managed_record *)record)->pid;
	if (record->kind == STACKD_RECORD_LAUNCHED)
		return ((const struct stackd_launched *)record)->pid;
	if (!(record->kind & STACKD_HAS_PID))
		return record->tid;
	return (uint32_t)number_at(bytes_of(record), 4);
}

uint32_t record_period(const struct stackd_header *record, uint32_t usual)
{
	if (record->kind == STACKD_RECORD_STACK)
		return ((const struct stackd_stack_record *)record)->period;
	if (record->kind == STACKD_RECORD_TAG)
		return ((const struct stackd_tag_record *)record)->period;
	if (!(record->kind & STACKD_HAS_PERIOD))
		return usual;
	return (uint32_t)number_at(bytes_of(record) + (record->kind & STACKD_HAS_PID ? 4 : 0), 4);
}

uint64_t record_cgroup(const struct stackd_header *record)
{
	size_t before = (record->kind & STACKD_HAS_PID ? 4u : 0) +
			(record->kind & STACKD_HAS_PERIOD ? 4u : 0);

	if (record->kind == STACKD_RECORD_STACK)
		return ((const struct stackd_stack_record *)record)->cgroup;
	if (record->kind == STACKD_RECORD_TAG)
		return ((const struct stackd_tag_record *)record)->cgroup;
	if (!(record->kind & STACKD_HAS_CGROUP))
		return 0;
	return number_at(bytes_of(record) + before, 8);
}

void record_measurement(const struct stackd_header *record, union stackd_measurement *ret_measured)
{
	if (record->kind == STACKD_RECORD_STACK)
		*ret_measured = ((const struct stackd_stack_record *)record)->event;
	else if (record->kind & STACKD_HAS_EVENT)
		memcpy(ret_measured, bytes_of(record) + front_bytes(record) - sizeof(*ret_measured),
		       sizeof(*ret_measured));
	else
		*ret_measured = (union stackd_measurement){0};
}

void record_frames(const struct stackd_header *record, bool has_heights,
		   struct record_frames *ret_frames)
{
	const uint8_t *bytes = bytes_of(record);

	*ret_frames = (struct record_frames){
		.at = bytes + front_bytes(record),
		.end = bytes + record->bytes,
		.is_first = true,
		.has_heights = has_heights,
	};
}

/* Reads a number of `bytes` bytes. 0; -EBADMSG: the record is too short. */
static int take_number(struct record_frames *f, int bytes, uint64_t *ret_number)
{
	if (f->end - f->at < bytes)
		return -EBADMSG;
	*ret_number = number_at(f->at, bytes);
	f->at += bytes;
	return 0;
}

static int take_long(struct record_frames *f, struct record_frame *frame)
{
	int err = take_number(f, 8, &frame->location);

	frame->has_slice = false;
	frame->is_exact = frame->location & STACKD_LOCATION_EXACT;
	return err;
}

/* Reads a frame in near, short or long form. 0 or -EBADMSG. */
static int take_frame(struct record_frames *f, struct record_frame *frame)
{
	uint64_t slice;
	int err = take_number(f, 3, &frame->location);

	if (!err && frame->location & STACKD_FRAME_SHORT) {
		err = take_number(f, 1, &slice);
		if (!err && slice == STACKD_FRAME_LONG >> 24)
			return take_long(f, frame);
		if (!err)
			f->slice = (uint32_t)slice;
	}
	frame->location &= STACKD_SLICE_MASK;
	frame->slice = f->slice;
	return err;
}

int record_frames_next(struct record_frames *f, struct record_frame *ret_frame)
{
	struct record_frame frame = {.has_slice = true, .is_exact = f->is_first};
	uint64_t height = 0;
	int err = 0;

	if (f->at != f->end && f->has_heights)
		err = take_number(f, 4, &height);
	if (!err && f->at == f->end) {
		f->below = (uint32_t)height;
		return 0;
	}
	frame.height = (uint32_t)height;
	f->is_first = false;
	if (!err)
		err = take_frame(f, &frame);
	if (err)
		return err;
	*ret_frame = frame;
	return 1;
}

bool record_part(const struct stackd_header *record, struct stackd_part *ret_part)
{
	if ((record->kind & STACKD_KIND_MASK) != STACKD_RECORD_WALKED || !record->part)
		return false;
	memcpy(ret_part, record_kernel(record) + record->n_kernel, sizeof(*ret_part));
	return true;
}

void record_frames_until(const struct stackd_header *record, size_t bytes,
			 struct record_frames *frames)
{
	frames->end = bytes_of(record) + (bytes < record->bytes ? bytes : record->bytes);
}

const uint64_t *record_kernel(const struct stackd_header *record)
{
	if (record->kind == STACKD_RECORD_STACK)
		return (const uint64_t *)((const struct stackd_stack_record *)record + 1);
	if (record->kind == STACKD_RECORD_TAG)
		return (const uint64_t *)((const struct stackd_tag_record *)record + 1);
	return (const uint64_t *)(bytes_of(record) + ((record->bytes + 7) & ~7));
}
