/* SPDX-License-Identifier: MIT */
/*
 * Keeps versions of pieces of code, of addresses in them, and of functions; see machine.h. A newer
 * version leads to the older one, which a record that is still queued may need.
 */
#include "daemon/recorder/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "daemon/recorder/process_memory.h"

#define NONE	      UINT32_MAX
#define MOST_VERSIONS (1u << 17) /* of each kind; a machine with more names no new code */
#define MOST_FRAMES   (1u << 20)
#define MOST_BYTES    (UINT64_C(32) << 20) /* of lines; as for versions */
#define AGAIN_NS      UINT64_C(50000000)
#define MOST_OLDER    8 /* versions of one thing that are looked at */

/* The time in which something was so. A new version has none (UNPROVEN) until the end of the record
 * with which it was read: then it is read again, and must be the same (prove()). */
struct span {
	uint64_t first_ns, last_ns;
};

#define UNPROVEN                                                                                   \
	(struct span)                                                                              \
	{                                                                                          \
		UINT64_MAX, 0                                                                      \
	}

struct piece {
	struct span span;
	struct runtime_code_piece is;
	uint32_t name; /* STUB: its number in managed.h; NONE: it has none */
	bool is_there; /* false: there was no code of the runtime */
};

struct address {
	uint32_t piece, older;
	uint32_t frames; /* index of the first one */
	uint32_t count;
	bool is_call;	   /* the runtime has frames for a call that returns here */
	uint32_t hash;	   /* of the block of code with it; 0: it was not read */
	uint64_t again_ns; /* if there are no frames: when they are to be looked for again */
};

struct frame {
	uint32_t function; /* number in managed.h */
	uint32_t line;
};

struct function {
	struct span span;
	uint32_t older;
	uint64_t identity; /* 0: there was no function */
	uint64_t code;
	uint32_t code_size, number;
	struct runtime_line *lines;
	size_t n_lines;
};

/* A version whose time is to begin, or to be lengthened back to the sample, at the end of a record.
 */
struct pending {
	bool is_function;
	bool is_return;
	uint32_t index; /* of the function, or else of the address */
	uint64_t address;
	uint64_t instruction; /* of an interpreter's frame; NO_INSTRUCTION: there is none */
};

#define NO_INSTRUCTION UINT64_MAX

struct machine {
	const struct runtime *runtime;
	const struct runtime_machine *is;
	struct process_memory *memory;
	struct managed *managed;
	void *at; /* the runtime's own */
	uint64_t low, high;
	VEC(struct piece) pieces;
	VEC(struct address) addresses;
	VEC(struct frame) frames;
	VEC(struct function) functions;
	VEC(struct pending) pending;
	uint64_t line_bytes;
	uint64_t now_ns, since_ns; /* all that is read is of since_ns or later */
	struct int_map by_start, by_address, by_function; /* newest versions */
};

int machine_open(const struct runtime *runtime, const struct elf_file *elf, uint64_t bias,
		 pid_t pid, struct managed *managed, struct process_reads *reads,
		 struct machine **ret_machine)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct runtime_memory memory = {.read = process_memory_read};
	int err;

	if (!m)
		return -ENOMEM;
	m->runtime = runtime;
	m->is = runtime->machine;
	m->managed = managed;
	err = process_memory_new("/proc", pid, reads, &m->memory);
	memory.arg = m->memory;
	if (!err) {
		process_memory_begin(m->memory, clock_ns(CLOCK_MONOTONIC), 0);
		err = m->is->open(elf, bias, &memory, &m->at);
	}
	if (err) {
		machine_free(m);
		return err;
	}
	m->is->range(m->at, &m->low, &m->high);
	*ret_machine = m;
	return 0;
}

void machine_free(struct machine *m)
{
	if (!m)
		return;
	for (size_t i = 0; i < m->functions.count; i++)
		free(m->functions.items[i].lines);
	free(m->pieces.items);
	free(m->addresses.items);
	free(m->frames.items);
	free(m->functions.items);
	free(m->pending.items);
	int_map_fini(&m->by_start);
	int_map_fini(&m->by_address);
	int_map_fini(&m->by_function);
	if (m->at)
		m->is->close(m->at);
	process_memory_free(m->memory);
	free(m);
}

uint64_t machine_bytes(const struct machine *m)
{
	return m->pieces.cap * sizeof(*m->pieces.items) +
	       m->addresses.cap * sizeof(*m->addresses.items) +
	       m->frames.cap * sizeof(*m->frames.items) +
	       m->functions.cap * sizeof(*m->functions.items) + m->line_bytes +
	       (m->by_start.slots + m->by_address.slots + m->by_function.slots) *
		       sizeof(struct int_map_slot);
}

bool machine_has(const struct machine *m, uint64_t address)
{
	return address - m->low < m->high - m->low;
}

static bool is_within(const struct span *span, uint64_t time_ns)
{
	return span->first_ns <= time_ns && time_ns <= span->last_ns;
}

static bool is_proven(const struct span *span)
{
	return span->first_ns != UINT64_MAX;
}

static void reach(struct span *span, uint64_t time_ns)
{
	if (span->last_ns < time_ns)
		span->last_ns = time_ns;
}

static int put_pending(struct machine *m, const struct pending *pending)
{
	if (VEC_RESERVE(&m->pending, 1))
		return -ENOMEM;
	m->pending.items[m->pending.count++] = *pending;
	return 0;
}

/* --- functions -------------------------------------------------------------------------------- */

/* Returns whether an interpreter's frame can run a function at this instruction. A native function
 * has no bytecode, and an instruction of 0 or right behind it. */
static bool is_of(const struct function *f, uint64_t instruction)
{
	if (!f->identity)
		return false;
	return f->code_size ? instruction - f->code < f->code_size
			    : !instruction || instruction == f->code;
}

/* Returns the line of an instruction: the first one that the table has for it, or else the last one
 * of those before; 0: none. */
static uint32_t line_of(const struct function *f, int64_t instruction)
{
	size_t low = 0, high = f->n_lines;

	while (low < high) {
		size_t middle = low + (high - low) / 2;

		if (f->lines[middle].instruction < instruction)
			low = middle + 1;
		else
			high = middle;
	}
	if (low < f->n_lines && f->lines[low].instruction == instruction)
		return f->lines[low].line;
	return low ? f->lines[low - 1].line : 0;
}

/* Reads a function, as a new version. Its index is that of the last function. 0; -EAGAIN: it cannot
 * be read, so there is no version; -ENOMEM. */
static int read_function(struct machine *m, uint64_t address)
{
	const uint64_t failed = process_memory_failed(m->memory);
	struct function *f;
	struct runtime_function is = {0};
	struct managed_function named = {
		.language = m->runtime->number, .name = is.name, .file = is.file};
	int err;

	if (VEC_RESERVE(&m->functions, 1))
		return -ENOMEM;
	f = &m->functions.items[m->functions.count];
	*f = (struct function){.span = UNPROVEN,
			       .older = int_map_find(&m->by_function, address),
			       .number = MANAGED_NONE};
	err = m->is->function(m->at, address, &is);
	if (process_memory_failed(m->memory) != failed) { /* it can lack lines, or its file */
		free(is.lines);
		return -EAGAIN;
	}
	if (err == -ENOMEM)
		return err;
	if (!err) {
		named.first_line = is.first_line;
		f->identity = is.identity;
		f->code = is.code;
		f->code_size = is.code_size;
		f->lines = is.lines;
		f->n_lines = is.n_lines;
		err = managed_add(m->managed, &named, &f->number);
		if (err) {
			free(is.lines);
			return err;
		}
		m->line_bytes += is.n_lines * sizeof(*is.lines);
	}
	return int_map_set(&m->by_function, address, (uint32_t)m->functions.count++);
}

/* Returns the newest version of a function, as the machine has it now, and notes that it is to be
 * proven; NULL: it cannot be read, there is no room for it, or no memory. */
static struct function *function_now(struct machine *m, uint64_t address, uint64_t instruction)
{
	uint32_t index = int_map_find(&m->by_function, address);
	struct function *f = index == INT_MAP_NONE ? NULL : &m->functions.items[index];
	const uint64_t failed = process_memory_failed(m->memory);
	bool is_same = f && (f->span.last_ns >= m->since_ns ||
			     m->is->identity(m->at, address) == f->identity);

	if (process_memory_failed(m->memory) != failed)
		return NULL;
	if (!is_same) {
		if (m->functions.count >= MOST_VERSIONS || m->line_bytes >= MOST_BYTES ||
		    read_function(m, address))
			return NULL;
		index = (uint32_t)m->functions.count - 1;
		f = &m->functions.items[index];
	}
	if (is_proven(&f->span))
		reach(&f->span, m->since_ns);
	if ((!is_proven(&f->span) || instruction != NO_INSTRUCTION) &&
	    put_pending(m, &(struct pending){.is_function = true,
					     .index = index,
					     .address = address,
					     .instruction = instruction}))
		return NULL;
	return f;
}

static void note_function(struct machine *m, const struct machine_stack *stack, uint64_t address,
			  uint64_t instruction)
{
	uint32_t index = int_map_find(&m->by_function, address);
	struct function *f = index == INT_MAP_NONE ? NULL : &m->functions.items[index];

	if (!process_memory_is_spent(m->memory) && !(f && is_within(&f->span, stack->time_ns)))
		function_now(m, address, instruction);
}

/* Proves a function that was just read: it is the same still. Then an interpreter's frame, whose
 * instruction is in the function's bytecode, had it already at the sample. */
static void prove_function(struct machine *m, const struct pending *p, uint64_t sample_ns,
			   uint64_t read_ns)
{
	struct function *f = &m->functions.items[p->index];

	if (!is_proven(&f->span) && m->is->identity(m->at, p->address) == f->identity)
		f->span = (struct span){read_ns, read_ns};
	if (is_proven(&f->span) && f->code_size && p->instruction != NO_INSTRUCTION &&
	    is_of(f, p->instruction) && sample_ns < f->span.first_ns)
		f->span.first_ns = sample_ns;
}

/* --- pieces of code --------------------------------------------------------------------------- */

/* Returns the hash of the block of code with the byte at an address, as it is now; 0: it cannot be
 * read. */
static uint32_t hash_now(const struct machine *m, uint64_t address)
{
	__u64 words[STACKD_CODE_BLOCK / 8];

	return process_memory_read(m->memory, address & ~(uint64_t)(STACKD_CODE_BLOCK - 1), words,
				   sizeof(words))
		       ? stackd_code_hash(words)
		       : 0;
}

/* Returns the hash of that block at the sample; 0: it is not known. */
static uint32_t hash_then(const struct machine_stack *stack, uint64_t address)
{
	uint64_t block = address / STACKD_CODE_BLOCK;

	for (size_t i = 0; i < stack->n_code; i++) {
		const struct stackd_code_mark *mark = &stack->code[i];
		uint64_t at = block - (mark->address / STACKD_CODE_BLOCK - STACKD_CODE_BEFORE);

		if (mark->address && at < STACKD_CODE_BLOCKS && mark->hashes[at])
			return mark->hashes[at];
	}
	return 0;
}

/* Names a stub as the runtime does. 0 or -ENOMEM. */
static int name_stub(struct machine *m, struct piece *piece)
{
	struct managed_function named = {
		.language = m->runtime->number, .name = piece->is.name, .file = MACHINE_STUBS};

	return managed_add(m->managed, &named, &piece->name);
}

/* Finds the piece of code at an address as it is now: *ret_piece is its index; NONE: it cannot be
 * read. 0 or -ENOMEM. */
static int read_piece(struct machine *m, uint64_t address, uint32_t *ret_piece)
{
	const uint64_t failed = process_memory_failed(m->memory);
	struct piece piece = {.span = UNPROVEN, .name = NONE};
	uint32_t known;
	int err = 0;

	*ret_piece = NONE;
	piece.is_there = m->is->piece(m->at, address, &piece.is);
	if (process_memory_failed(m->memory) != failed) /* some of it may be missing */
		return 0;
	if (!piece.is_there)
		piece.is.start = address;
	known = int_map_find(&m->by_start, piece.is.start);
	if (known != INT_MAP_NONE && m->pieces.items[known].is_there == piece.is_there &&
	    m->pieces.items[known].is.identity == piece.is.identity) {
		if (is_proven(&m->pieces.items[known].span))
			reach(&m->pieces.items[known].span, m->since_ns);
		*ret_piece = known;
		return 0;
	}
	if (piece.is_there && piece.is.is_permanent)
		piece.span = (struct span){0, UINT64_MAX};
	if (!piece.is_there)
		piece.span = (struct span){m->since_ns, m->since_ns};
	if (piece.is_there && piece.is.kind != RUNTIME_CODE_COMPILED)
		err = name_stub(m, &piece);
	if (err || VEC_RESERVE(&m->pieces, 1))
		return -ENOMEM;
	*ret_piece = (uint32_t)m->pieces.count;
	m->pieces.items[m->pieces.count++] = piece;
	return int_map_set(&m->by_start, piece.is.start, *ret_piece);
}

/* Adds the managed frames at an address of compiled code. If not all can be read, the address has
 * none. 0 or -ENOMEM. */
static int read_frames(struct machine *m, const struct piece *piece, uint64_t address,
		       struct address *ret_address)
{
	const uint64_t failed = process_memory_failed(m->memory);
	struct runtime_managed_frame frames[MACHINE_MOST];
	size_t count = m->is->frames(m->at, &piece->is, address, frames, MACHINE_MOST);

	ret_address->frames = (uint32_t)m->frames.count;
	if (count > MACHINE_MOST || m->frames.count > MOST_FRAMES ||
	    process_memory_failed(m->memory) != failed)
		return 0;
	if (VEC_RESERVE(&m->frames, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct function *f = function_now(m, frames[i].function, NO_INSTRUCTION);

		if (!f || !f->identity || f->number == MANAGED_NONE)
			return 0;
		m->frames.items[m->frames.count + i] =
			(struct frame){f->number, line_of(f, frames[i].instruction)};
	}
	m->frames.count += count;
	ret_address->count = (uint32_t)count;
	ret_address->is_call = count && frames[0].instruction != RUNTIME_NO_INSTRUCTION;
	return 0;
}

static uint64_t key_of(uint64_t address, bool is_return)
{
	return address << 1 | is_return;
}

/* Returns whether the version before was looked for in the same piece, and found no frames. */
static bool is_in_vain(const struct machine *m, const struct address *new)
{
	const struct address *before = new->older == NONE ? NULL : &m->addresses.items[new->older];

	return before && before->piece == new->piece && !before->count;
}

/* Enters what is at an address now; *ret_index: NONE if it cannot be read. 0 or -ENOMEM. */
static int read_address(struct machine *m, uint64_t address, bool is_return, uint32_t *ret_index)
{
	uint64_t key = key_of(address, is_return);
	struct address new = {.older = int_map_find(&m->by_address, key)};
	const struct piece *piece;
	int err = read_piece(m, address, &new.piece);

	*ret_index = NONE;
	if (err || new.piece == NONE)
		return err;
	piece = &m->pieces.items[new.piece];
	if (piece->is_there && !piece->is.is_permanent)
		new.hash = hash_now(m, address - is_return);
	if (piece->is_there && piece->is.kind == RUNTIME_CODE_COMPILED)
		err = read_frames(m, piece, address, &new);
	if (err || VEC_RESERVE(&m->addresses, 1))
		return -ENOMEM;
	new.again_ns = new.count || !piece->is_there || piece->is.kind != RUNTIME_CODE_COMPILED
			       ? UINT64_MAX
			       : m->now_ns + AGAIN_NS;
	if (is_in_vain(m, &new)) { /* nothing is lost with the version before */
		*ret_index = new.older;
		new.older = m->addresses.items[new.older].older;
		m->addresses.items[*ret_index] = new;
		return 0;
	}
	*ret_index = (uint32_t)m->addresses.count;
	m->addresses.items[m->addresses.count++] = new;
	return int_map_set(&m->by_address, key, *ret_index);
}

/* Returns whether a piece that was read before is still the same. */
static bool is_still(struct machine *m, struct piece *piece)
{
	if (!piece->is_there)
		return false;
	if (piece->span.last_ns < m->since_ns && !m->is->is_still(m->at, &piece->is))
		return false;
	if (is_proven(&piece->span))
		reach(&piece->span, m->since_ns);
	return true;
}

/* Returns whether a sample hit the code that was read at an address: its block has the same hash.
 */
static bool was_same(const struct address *a, const struct machine_stack *stack, uint64_t address)
{
	return a->hash && hash_then(stack, address) == a->hash;
}

static int note_address(struct machine *m, const struct machine_stack *stack, uint64_t address,
			bool is_return)
{
	uint32_t index = int_map_find(&m->by_address, key_of(address, is_return));
	struct piece *piece = NULL;

	if (process_memory_is_spent(m->memory))
		return 0;
	if (index != INT_MAP_NONE && m->now_ns < m->addresses.items[index].again_ns) {
		piece = &m->pieces.items[m->addresses.items[index].piece];
		if (is_within(&piece->span, stack->time_ns))
			return 0;
	}
	if (!piece || !is_still(m, piece)) {
		int err = m->addresses.count < MOST_VERSIONS && m->pieces.count < MOST_VERSIONS
				  ? read_address(m, address, is_return, &index)
				  : 0;

		if (err || index == INT_MAP_NONE)
			return err;
		piece = &m->pieces.items[m->addresses.items[index].piece];
	}
	if (!piece->is_there || is_within(&piece->span, stack->time_ns))
		return 0;
	return put_pending(
		m, &(struct pending){.index = index, .address = address, .is_return = is_return});
}

/* Proves the piece of an address that was just read: it is the same still. Then, if the code has
 * the hash that it had at the sample, it was there already. */
static void prove_address(struct machine *m, const struct pending *p,
			  const struct machine_stack *stack, uint64_t read_ns)
{
	const struct address *a = &m->addresses.items[p->index];
	struct piece *piece = &m->pieces.items[a->piece];

	if (!is_proven(&piece->span) && m->is->is_still(m->at, &piece->is))
		piece->span = (struct span){read_ns, read_ns};
	if (is_proven(&piece->span) && stack->time_ns < piece->span.first_ns &&
	    piece->span.last_ns >= m->since_ns && was_same(a, stack, p->address - p->is_return))
		piece->span.first_ns = stack->time_ns;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Reads anew what was read for the first time, and is to be the same. In between, it was so. */
static void prove(struct machine *m, const struct machine_stack *stack, uint64_t read_ns)
{
	uint64_t renewed = process_memory_renew(m->memory);

	for (size_t i = 0; i < m->pending.count; i++) {
		const struct pending *p = &m->pending.items[i];

		if (p->is_function)
			prove_function(m, p, stack->time_ns, read_ns);
		else
			prove_address(m, p, stack, read_ns);
	}
	process_memory_settle(m->memory, renewed);
}

int machine_note(struct machine *m, const struct machine_stack *stack, uint64_t now_ns)
{
	const struct walk_memory *memory = &stack->memory;
	const __u64 *r = stack->regs->r;
	uint64_t pc = r[STACKD_REG_PC], at = (memory->start + 7) & ~UINT64_C(7), word, function;
	uint64_t instruction, begun_ns = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	m->now_ns = now_ns;
	m->since_ns = process_memory_begin(m->memory, now_ns, stack->time_ns);
	m->pending.count = 0;
	if (machine_has(m, pc))
		err = note_address(m, stack, pc, false);
	if (machine_has(m, memory->below) && !err)
		err = note_address(m, stack, memory->below, true);
	for (; at + 8 - memory->start <= memory->len && !err; at += 8) {
		if (!walk_memory_read8(memory, at, &word))
			continue;
		if (machine_has(m, word))
			err = note_address(m, stack, word, true);
		if (!err && m->is->interpreted(memory, at, NULL, &function, &instruction))
			note_function(m, stack, function, instruction);
	}
	if (m->pending.count && !err)
		prove(m, stack, now_ns + clock_ns(CLOCK_MONOTONIC) - begun_ns);
	return err;
}

/* Finds what was at an address at a sample; NULL: it is not known. */
static const struct address *find_address(const struct machine *m,
					  const struct machine_stack *stack, uint64_t address,
					  bool is_return)
{
	uint32_t index = int_map_find(&m->by_address, key_of(address, is_return));

	for (int i = 0; i < MOST_OLDER && index != INT_MAP_NONE; i++) {
		const struct address *a = &m->addresses.items[index];
		const struct piece *piece = &m->pieces.items[a->piece];

		if (is_within(&piece->span, stack->time_ns) ||
		    was_same(a, stack, address - is_return))
			return piece->is_there ? a : NULL;
		index = a->older;
	}
	return NULL;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Finds the function at an address that a sample's frame runs. NULL: it is not known. */
static const struct function *find_function(const struct machine *m, uint64_t address,
					    uint64_t instruction, uint64_t time_ns)
{
	uint32_t index = int_map_find(&m->by_function, address);

	for (int i = 0; i < MOST_OLDER && index != INT_MAP_NONE; i++) {
		const struct function *f = &m->functions.items[index];

		if (is_within(&f->span, time_ns))
			return is_of(f, instruction) && f->number != MANAGED_NONE ? f : NULL;
		index = f->older;
	}
	return NULL;
}

/* Finds the frame of the interpreter. Returns 1; 0: it is not proven; -ENOMEM. */
static int find_interpreted(struct machine *m, const struct machine_stack *stack,
			    const struct machine_frame *frame, struct location *ret_location)
{
	const struct function *f;
	uint64_t address, instruction;
	int err;

	if (!frame->fp ||
	    !m->is->interpreted(&stack->memory, frame->fp, frame->is_leaf ? stack->regs : NULL,
				&address, &instruction))
		return 0;
	f = find_function(m, address, instruction, stack->time_ns);
	if (!f)
		return 0;
	err = managed_locate_line(m->managed, f->number,
				  line_of(f, (int64_t)(instruction - f->code)), ret_location);
	return err ? err : 1;
}

/* If the return address of a frame was replaced, since its code is not to be used any more, gives
 * the original one. */
static uint64_t original(const struct machine_stack *stack, const struct machine_frame *frame,
			 const struct runtime_code_piece *piece)
{
	uint64_t address;

	if (piece->kind == RUNTIME_CODE_COMPILED && frame->sp &&
	    (frame->address == piece->replaced[0] || frame->address == piece->replaced[1]) &&
	    walk_memory_read8(&stack->memory, frame->sp + piece->replaced_at, &address) &&
	    address - piece->start < piece->end - piece->start)
		return address;
	return frame->address;
}

/* --- steps ------------------------------------------------------------------------------------ */

static const struct runtime_code_piece *piece_at(const struct machine *m,
						 const struct machine_stack *stack,
						 uint64_t address, bool is_return)
{
	const struct address *a = find_address(m, stack, address, is_return);

	return a ? &m->pieces.items[a->piece].is : NULL;
}

/* Returns the size of a frame that is at an address; 0: not known. A frame has its size where the
 * runtime knows the call; around others, arguments may have been pushed. */
static uint32_t size_at(const struct machine *m, const struct machine_stack *stack,
			uint64_t address, bool is_return)
{
	const struct address *a = find_address(m, stack, address, is_return);
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;
	bool is_replaced =
		piece && (address == piece->replaced[0] || address == piece->replaced[1]);

	return piece && piece->kind == RUNTIME_CODE_COMPILED && is_return &&
			       (a->is_call || is_replaced)
		       ? piece->frame_bytes
		       : 0;
}

bool machine_is_sized(const struct machine *m, const struct machine_stack *stack, uint64_t address)
{
	return size_at(m, stack, address, true) != 0;
}

void machine_sender(const struct machine *m, const struct machine_stack *stack, uint64_t address,
		    bool is_return, uint64_t fp, uint64_t *sp)
{
	const struct runtime_code_piece *piece = piece_at(m, stack, address, is_return);

	if (piece && piece->kind == RUNTIME_CODE_INTERPRETER)
		m->is->sender(&stack->memory, fp, sp);
}

bool machine_step(const struct machine *m, const struct machine_stack *stack,
		  struct machine_frame *frame, uint64_t *ret_slot)
{
	const struct runtime_code_piece *piece =
		piece_at(m, stack, frame->address, frame->is_return);
	struct machine_frame next = {.is_return = true};
	uint64_t slot;

	if (!piece)
		return false;
	if (piece->kind == RUNTIME_CODE_INTERPRETER) {
		if (!frame->fp || !m->is->sender(&stack->memory, frame->fp, &next.sp))
			return false;
		slot = frame->fp + 8;
	} else if (frame->fp && frame->is_return && frame->address == piece->from_native) {
		slot = frame->fp + 8;
		next.sp = slot + 8;
	} else {
		uint32_t size = size_at(m, stack, frame->address, frame->is_return);

		if (!size || !frame->sp)
			return false;
		slot = frame->sp + size - 8;
		next.sp = slot + 8;
	}
	if (slot < frame->sp || !walk_memory_read8(&stack->memory, slot, &next.address) ||
	    !walk_memory_read8(&stack->memory, slot - 8, &next.fp))
		return false;
	*frame = next;
	*ret_slot = slot;
	return true;
}

/* --- managed frames --------------------------------------------------------------------------- */

int machine_find(struct machine *m, const struct machine_stack *stack,
		 const struct machine_frame *frame, struct location ret_locations[MACHINE_MOST])
{
	const struct address *a = find_address(m, stack, frame->address, frame->is_return);
	const struct piece *piece = a ? &m->pieces.items[a->piece] : NULL;
	uint64_t address = a ? original(stack, frame, &piece->is) : 0;
	int err = 0;

	if (a && address != frame->address)
		a = find_address(m, stack, address, frame->is_return);
	if (!a)
		return 0;
	piece = &m->pieces.items[a->piece];
	if (piece->is.kind == RUNTIME_CODE_INTERPRETER) {
		err = find_interpreted(m, stack, frame, ret_locations);
		if (err)
			return err;
	}
	if (piece->is.kind != RUNTIME_CODE_COMPILED) {
		if (piece->name == MANAGED_NONE)
			return 0;
		err = managed_locate_line(m->managed, piece->name, 0, ret_locations);
		return err ? err : 1;
	}
	/* Without a call that is known, methods between this one and its callee would be missing.
	 */
	if (frame->has_callee && !a->is_call)
		return 0;
	for (uint32_t i = 0; i < a->count && !err; i++) {
		const struct frame *f = &m->frames.items[a->frames + i];

		err = managed_locate_line(m->managed, f->function, f->line, &ret_locations[i]);
	}
	return err ? err : (int)a->count;
}
