/* SPDX-License-Identifier: MIT */
/*
 * Keeps versions of pieces of code, of addresses in them, and of functions; see machine.h. A newer
 * version leads to the older one, which a record that is still queued may need.
 */
#include "daemon/recorder/machine.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "arch/code_form.h"
#include "base/clock.h"
#include "base/hash.h"
#include "base/int_map.h"
#include "base/vec.h"
#include "daemon/recorder/process_memory.h"

#define NONE	      UINT32_MAX
#define MOST_VERSIONS (1u << 17) /* of each kind; a machine with so many is full */
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

#define AROUND	   9 /* blocks around an address, */
#define AROUND_MID 4 /* with it in the middle */
#define LEAST_SAME 2 /* of them that prove that it is the same code */
#define MOST_OTHER 1 /* of them that may differ: calls are patched */

struct address {
	uint32_t piece, older;
	uint32_t frames; /* index of the first one */
	uint32_t count;
	bool is_call;	     /* the runtime has frames for a call that returns here */
	bool begins_thread;  /* of a return address: its function runs another thread */
	bool parts;	     /* of a return address: the callers are not on the stack */
	uint8_t interrupted; /* of the interpreter: enum runtime_interrupted */
	uint8_t sender;	 /* of the interpreter, interrupted: runtime_machine.sender_register() */
	bool is_passed;	 /* COMPILED, interrupted: it calls, or is called, without a frame */
	uint16_t pushed; /* COMPILED: bytes of arguments of the call that returns here */
	uint64_t calls;	 /* of a return address: what was called directly; 0: not known */
	uint32_t hashes[AROUND]; /* of the blocks of code around it; 0: not read, or other code */
	uint64_t again_ns;	 /* if there are no frames: when they are to be looked for again */
};

#define MOMENTS	     128
#define MOMENT_EVERY UINT64_C(10000000) /* ns; so they go back for more than a second */

/* What was known at a time. */
struct moment {
	uint64_t read_ns;
	uint64_t unloads;      /* runtime_machine.unloads() */
	uint64_t newest_class; /* the highest number of a class that was met */
};

struct frame {
	uint32_t function; /* number in managed.h */
	uint32_t line;
};

struct function {
	struct span span;
	uint32_t older;
	uint64_t identity; /* 0: there was no function */
	uint64_t class_number;
	uint64_t code, constants;
	uint32_t code_size, number;
	bool begins_thread;
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
	struct runtime_activation frame; /* of an interpreter; .function 0: there is none */
	bool is_new;			 /* the address was just read */
	bool is_entered; /* the frame has no words yet: frame.instruction is where it begins */
};

#define IN_VAIN 256

/* An address that was looked for, and no code was found. */
struct in_vain {
	uint64_t key;
	uint64_t record; /* the number of the record for which it was */
};

struct machine {
	const struct runtime *runtime;
	const struct runtime_machine *is;
	struct process_memory *memory;
	struct managed *managed;
	void *at; /* the runtime's own */
	uint64_t low, high;
	uint64_t biases[MACHINE_BIASES]; /* is_anywhere: of the file's mappings */
	size_t n_biases, next_bias;
	VEC(struct piece) pieces;
	VEC(struct address) addresses;
	VEC(struct frame) frames;
	VEC(struct function) functions;
	VEC(struct pending) pending;
	uint64_t line_bytes;
	uint64_t n_records;
	struct in_vain in_vain[IN_VAIN]; /* by the hash of the key */
	uint64_t partly; /* the number of the record for which a function was read in part */
	struct moment moments[MOMENTS]; /* the oldest one is at n_moments % MOMENTS */
	uint64_t n_moments, newest_class;
	uint64_t now_ns, since_ns; /* all that is read is of since_ns or later */
	struct int_map by_start, by_address, by_function; /* newest versions */
};

int machine_open(const struct runtime *runtime, const struct elf_file *elf, uint64_t bias,
		 const struct runtime_layout *layout, pid_t pid, struct managed *managed,
		 struct process_reads *reads, struct machine **ret_machine)
{
	struct machine *m = calloc(1, sizeof(*m));
	struct runtime_memory memory = {
		.read = process_memory_read, .has = process_memory_has, .layout = layout};
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
	machine_add_mapping(m, bias);
	*ret_machine = m;
	return 0;
}

void machine_add_mapping(struct machine *m, uint64_t bias)
{
	for (size_t i = 0; i < m->n_biases; i++) {
		if (m->biases[i] == bias)
			return;
	}
	m->biases[m->next_bias++ % MACHINE_BIASES] = bias;
	m->n_biases += m->n_biases < MACHINE_BIASES;
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
	return (m->is->bytes ? m->is->bytes(m->at) : 0) + m->pieces.cap * sizeof(*m->pieces.items) +
	       m->addresses.cap * sizeof(*m->addresses.items) +
	       m->frames.cap * sizeof(*m->frames.items) +
	       m->functions.cap * sizeof(*m->functions.items) + m->line_bytes +
	       (m->by_start.slots + m->by_address.slots + m->by_function.slots) *
		       sizeof(struct int_map_slot);
}

bool machine_is_full(const struct machine *m)
{
	return m->pieces.count >= MOST_VERSIONS || m->addresses.count >= MOST_VERSIONS ||
	       m->functions.count >= MOST_VERSIONS || m->frames.count > MOST_FRAMES ||
	       m->line_bytes >= MOST_BYTES;
}

bool machine_has(const struct machine *m, uint64_t address)
{
	return m->is->is_anywhere || address - m->low < m->high - m->low;
}

bool machine_is_file_code(const struct machine *m, uint64_t address)
{
	for (size_t i = 0; i < m->n_biases && m->is->is_anywhere; i++) {
		if (address - m->biases[i] - m->low < m->high - m->low)
			return true;
	}
	return false;
}

bool machine_is_handler(const struct machine *m, uint64_t address)
{
	for (size_t i = 0; i < m->n_biases && m->is->is_handler; i++) {
		if (m->is->is_handler(m->at, address - m->biases[i]))
			return true;
	}
	return false;
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

/* Returns whether an interpreter's frame can run a function. A native function has no bytecode, and
 * an instruction of 0 or right behind it. */
static bool is_of(const struct function *f, const struct runtime_activation *frame)
{
	if (!f->identity || (f->constants && f->constants != frame->constants))
		return false;
	return f->code_size ? frame->instruction - f->code < f->code_size
			    : !frame->instruction || frame->instruction == f->code;
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
 * be read, or not yet, so there is no version; -ENOMEM. One that takes several calls is read on for
 * the next record, so that none takes long. */
static int read_function(struct machine *m, uint64_t address)
{
	const uint64_t failed = process_memory_failed(m->memory);
	uint64_t renewed;
	struct function *f;
	struct runtime_function is = {0};
	struct managed_function named = {
		.language = m->runtime->number, .name = is.name, .file = is.file};
	int err;

	if (m->partly == m->n_records && m->partly)
		return -EAGAIN;
	if (VEC_RESERVE(&m->functions, 1))
		return -ENOMEM;
	f = &m->functions.items[m->functions.count];
	*f = (struct function){.span = UNPROVEN,
			       .older = int_map_find(&m->by_function, address),
			       .number = MANAGED_NONE};
	/* Names in pages from before could be those of a class that was there before. */
	renewed = process_memory_renew(m->memory);
	err = m->is->function(m->at, address, &is);
	process_memory_settle(m->memory, renewed);
	if (process_memory_failed(m->memory) != failed) { /* it can lack lines, or its file */
		free(is.lines);
		return -EAGAIN;
	}
	if (err == -EAGAIN)
		m->partly = m->n_records;
	if (err == -ENOMEM || err == -EAGAIN)
		return err;
	if (!err) {
		named.first_line = is.first_line;
		f->identity = is.identity;
		f->class_number = is.class_number;
		f->code = is.code;
		f->constants = is.constants;
		f->code_size = is.code_size;
		f->begins_thread = is.begins_thread;
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
 * proven, by an interpreter's frame of it if there is one; NULL: it cannot be read, there is no
 * room for it, or no memory. */
static struct function *function_now(struct machine *m, uint64_t address,
				     const struct runtime_activation *frame, bool is_entered)
{
	uint32_t index = int_map_find(&m->by_function, address);
	struct function *f = index == INT_MAP_NONE ? NULL : &m->functions.items[index];
	const uint64_t failed = process_memory_failed(m->memory);
	const uint64_t identity =
		f && f->span.last_ns >= m->since_ns ? f->identity : m->is->identity(m->at, address);

	/* Most words that look like a function and are none end here, by pages that are kept. */
	if (process_memory_failed(m->memory) != failed)
		return NULL;
	if (!f || identity != f->identity) {
		if (m->functions.count >= MOST_VERSIONS || m->line_bytes >= MOST_BYTES ||
		    read_function(m, address))
			return NULL;
		index = (uint32_t)m->functions.count - 1;
		f = &m->functions.items[index];
	}
	if (is_proven(&f->span))
		reach(&f->span, m->since_ns);
	if ((!is_proven(&f->span) || frame->function) &&
	    put_pending(m, &(struct pending){.is_function = true,
					     .index = index,
					     .address = address,
					     .frame = *frame,
					     .is_entered = is_entered}))
		return NULL;
	return f;
}

static const struct runtime_activation no_frame;

static void note_function(struct machine *m, const struct machine_stack *stack, uint64_t address,
			  const struct runtime_activation *frame, bool is_entered)
{
	uint32_t index = int_map_find(&m->by_function, address);
	struct function *f = index == INT_MAP_NONE ? NULL : &m->functions.items[index];

	if (!process_memory_is_spent(m->memory) && !(f && is_within(&f->span, stack->time_ns)))
		function_now(m, address, frame, is_entered);
}

/* --- moments ---------------------------------------------------------------------------------- */

/* Keeps what is known now, if the last time was some time ago. */
static void keep_moment(struct machine *m)
{
	const struct moment *last = m->n_moments ? &m->moments[(m->n_moments - 1) % MOMENTS] : NULL;
	struct moment now = {.newest_class = m->newest_class};
	uint64_t renewed;

	if (!m->is->unloads || (last && m->now_ns < last->read_ns + MOMENT_EVERY))
		return;
	renewed = process_memory_renew(m->memory);
	if (m->is->unloads(m->at, &now.unloads)) {
		now.read_ns = clock_ns(CLOCK_MONOTONIC);
		m->moments[m->n_moments++ % MOMENTS] = now;
	}
	process_memory_settle(m->memory, renewed);
}

/* Returns what was last read before a sample; NULL: nothing was. */
static const struct moment *moment_before(const struct machine *m, uint64_t sample_ns)
{
	for (uint64_t i = m->n_moments; i-- > 0 && m->n_moments - i <= MOMENTS;) {
		if (m->moments[i % MOMENTS].read_ns <= sample_ns)
			return &m->moments[i % MOMENTS];
	}
	return NULL;
}

/* Returns whether nothing that was in use at a sample can have been unloaded until `unloads` was
 * read; NULL: it could not be read. */
static bool is_calm(const struct machine *m, uint64_t sample_ns, const uint64_t *unloads)
{
	const struct moment *before = moment_before(m, sample_ns);

	return !m->is->unloads || (unloads && *unloads == (before ? before->unloads : 0));
}

/* Returns whether a class that is loaded now was loaded at a sample. */
static bool was_loaded(const struct machine *m, uint64_t sample_ns, uint64_t class_number)
{
	const struct moment *before = moment_before(m, sample_ns);

	return class_number && before && class_number <= before->newest_class;
}

/* Proves a function that was just read: it is the same still. */
static void verify_function(struct machine *m, const struct pending *p, uint64_t read_ns)
{
	struct function *f = &m->functions.items[p->index];

	if (!is_proven(&f->span) && m->is->identity(m->at, p->address) == f->identity)
		f->span = (struct span){read_ns, read_ns};
	if (is_proven(&f->span) && m->newest_class < f->class_number)
		m->newest_class = f->class_number;
}

/* An interpreter's frame whose words agree with a function had it already at the sample. Of one
 * that is being entered, the register's word is enough if it is known that nothing was unloaded. */
static void reach_function(struct machine *m, const struct pending *p, uint64_t sample_ns,
			   const uint64_t *unloads)
{
	struct function *f = &m->functions.items[p->index];

	if (!is_proven(&f->span) || !p->frame.function || sample_ns >= f->span.first_ns ||
	    (!is_calm(m, sample_ns, unloads) && !was_loaded(m, sample_ns, f->class_number)))
		return;
	if (p->is_entered ? m->is->unloads || (f->code_size && f->code == p->frame.instruction)
			  : (f->code_size || f->constants) && is_of(f, &p->frame))
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

/* Hashes the blocks of a piece's code around an address, as they are now. */
static void hash_around(const struct machine *m, const struct runtime_code_piece *piece,
			uint64_t address, uint32_t hashes[AROUND])
{
	const uint64_t first =
		(address & ~(uint64_t)(STACKD_CODE_BLOCK - 1)) - AROUND_MID * STACKD_CODE_BLOCK;

	for (size_t i = 0; i < AROUND; i++) {
		uint64_t at = first + i * STACKD_CODE_BLOCK;

		hashes[i] = at >= piece->start && at + STACKD_CODE_BLOCK <= piece->end
				    ? hash_now(m, at)
				    : 0;
	}
}

/* Names a stub as the runtime does. 0 or -ENOMEM. */
static int name_stub(struct machine *m, struct piece *piece)
{
	struct managed_function named = {
		.language = m->runtime->number, .name = piece->is.name, .file = MACHINE_STUBS};

	return managed_add(m->managed, &named, &piece->name);
}

/* Gives the code of the interpreter, which is in its file. Returns true. */
static bool give_interpreter(uint64_t address, struct runtime_code_piece *ret_piece)
{
	*ret_piece = (struct runtime_code_piece){.start = address,
						 .end = address + 1,
						 .identity = 1,
						 .kind = RUNTIME_CODE_INTERPRETER,
						 .is_permanent = true,
						 .name = "Interpreter"};
	return true;
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
	if (machine_is_file_code(m, address))
		piece.is_there = give_interpreter(address, &piece.is);
	else
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
		       bool is_return, struct address *ret_address)
{
	const uint64_t failed = process_memory_failed(m->memory);
	struct runtime_managed_frame frames[MACHINE_MOST];
	size_t count = m->is->frames(m->at, &piece->is, address, is_return, frames, MACHINE_MOST);

	ret_address->frames = (uint32_t)m->frames.count;
	if (count > MACHINE_MOST || m->frames.count > MOST_FRAMES ||
	    process_memory_failed(m->memory) != failed)
		return 0;
	if (VEC_RESERVE(&m->frames, count))
		return -ENOMEM;
	for (size_t i = 0; i < count; i++) {
		struct function *f = function_now(m, frames[i].function, &no_frame, false);

		if (!f || !f->identity || f->number == MANAGED_NONE)
			return 0;
		m->frames.items[m->frames.count + i] =
			(struct frame){f->number, line_of(f, frames[i].instruction)};
		ret_address->begins_thread |= f->begins_thread;
	}
	m->frames.count += count;
	ret_address->count = (uint32_t)count;
	ret_address->is_call = count && frames[0].instruction != RUNTIME_NO_INSTRUCTION;
	return 0;
}

/* Reads the code around an address for what it says of the frame there. */
static void read_code(const struct machine *m, const struct runtime_code_piece *piece,
		      uint64_t address, bool is_return, struct address *ret_address)
{
	uint8_t code[RUNTIME_ENTRY_BEFORE + RUNTIME_ENTRY_AFTER], call[CODE_FORM_CALL];
	uint8_t pops[RUNTIME_POP_BYTES];
	uint64_t from = address - piece->start > RUNTIME_ENTRY_BEFORE
				? address - RUNTIME_ENTRY_BEFORE
				: piece->start;
	uint64_t to = piece->end - address > RUNTIME_ENTRY_AFTER ? address + RUNTIME_ENTRY_AFTER
								 : piece->end;

	if (is_return && piece->kind == RUNTIME_CODE_COMPILED && m->is->pushed &&
	    piece->end - address > sizeof(pops) &&
	    process_memory_read(m->memory, address, pops, sizeof(pops)))
		ret_address->pushed = (uint16_t)m->is->pushed(pops);
	if (is_return && piece->kind == RUNTIME_CODE_STUB && piece->is_permanent && m->is->parts &&
	    piece->end - address > sizeof(pops) &&
	    process_memory_read(m->memory, address, pops, sizeof(pops)))
		ret_address->parts = m->is->parts(pops);
	if (!is_return && piece->kind == RUNTIME_CODE_COMPILED)
		ret_address->is_passed =
			address < piece->entry ||
			(piece->stubs && address >= piece->stubs && m->is->is_call_stub &&
			 process_memory_read(m->memory, from, code, (size_t)(to - from)) &&
			 m->is->is_call_stub(code, (size_t)(to - from), (size_t)(address - from)));
	if (is_return) {
		if (address - piece->start < sizeof(call) ||
		    !process_memory_read(m->memory, address - sizeof(call), call, sizeof(call)) ||
		    !code_form_call_target(call, address, &ret_address->calls))
			ret_address->calls = 0;
	} else if (piece->kind == RUNTIME_CODE_INTERPRETER && m->is->interrupted &&
		   process_memory_read(m->memory, from, code, (size_t)(to - from))) {
		ret_address->interrupted = (uint8_t)m->is->interrupted(code, (size_t)(to - from),
								       (size_t)(address - from));
		if (m->is->sender_register)
			ret_address->sender = m->is->sender_register(code, (size_t)(to - from),
								     (size_t)(address - from));
	}
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

/* As read_address(). */
static int read_anew(struct machine *m, uint64_t address, bool is_return, uint32_t *ret_index)
{
	uint64_t key = key_of(address, is_return);
	struct address new = {.older = int_map_find(&m->by_address, key),
			      .sender = RUNTIME_SENDER_NONE};
	const struct piece *piece;
	int err = read_piece(m, address, &new.piece);

	*ret_index = NONE;
	if (err || new.piece == NONE)
		return err;
	piece = &m->pieces.items[new.piece];
	if (piece->is_there && !piece->is.is_permanent)
		hash_around(m, &piece->is, address - is_return, new.hashes);
	if (piece->is_there)
		read_code(m, &piece->is, address, is_return, &new);
	if (piece->is_there && piece->is.kind == RUNTIME_CODE_COMPILED)
		err = read_frames(m, piece, address, is_return, &new);
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

/* Enters what is at an address now, by pages that are read now; *ret_index: NONE if it cannot be
 * read. 0 or -ENOMEM. */
static int read_address(struct machine *m, uint64_t address, bool is_return, uint32_t *ret_index)
{
	uint64_t renewed = process_memory_renew(m->memory);
	int err = read_anew(m, address, is_return, ret_index);

	process_memory_settle(m->memory, renewed);
	return err;
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

/* Returns whether a sample hit the code that was read at an address: nearly all blocks around it
 * have the same hashes. One alone could be in other code as well. */
static bool was_same(const struct address *a, const struct machine_stack *stack, uint64_t address,
		     unsigned most_other)
{
	unsigned same = 0, other = 0;

	for (size_t i = 0; i < AROUND; i++) {
		uint64_t at = address + (i - AROUND_MID) * STACKD_CODE_BLOCK;
		uint32_t then = a->hashes[i] ? hash_then(stack, at) : 0;

		same += then && then == a->hashes[i];
		other += then && then != a->hashes[i];
	}
	return same >= LEAST_SAME && other <= most_other;
}

/* As read_address(), once for a record if there is no code: a deep stack can have the same address
 * in each frame. */
static int look_for_address(struct machine *m, uint64_t address, bool is_return,
			    uint32_t *ret_index)
{
	const uint64_t key = key_of(address, is_return);
	struct in_vain *vain = &m->in_vain[hash_mix64(key) % IN_VAIN];
	int err;

	*ret_index = NONE;
	if (vain->key == key && vain->record == m->n_records)
		return 0;
	err = read_address(m, address, is_return, ret_index);
	if (*ret_index == NONE || !m->pieces.items[m->addresses.items[*ret_index].piece].is_there)
		*vain = (struct in_vain){key, m->n_records};
	return err;
}

static int note_address(struct machine *m, const struct machine_stack *stack, uint64_t address,
			bool is_return)
{
	uint32_t index = int_map_find(&m->by_address, key_of(address, is_return));
	struct piece *piece = NULL;
	bool is_new = false;

	if (process_memory_is_spent(m->memory))
		return 0;
	if (index != INT_MAP_NONE && m->now_ns < m->addresses.items[index].again_ns) {
		piece = &m->pieces.items[m->addresses.items[index].piece];
		if (is_within(&piece->span, stack->time_ns))
			return 0;
	}
	if (!piece || !is_still(m, piece)) {
		int err = m->addresses.count < MOST_VERSIONS && m->pieces.count < MOST_VERSIONS
				  ? look_for_address(m, address, is_return, &index)
				  : 0;

		if (err || index == INT_MAP_NONE)
			return err;
		piece = &m->pieces.items[m->addresses.items[index].piece];
		is_new = !piece->is.is_permanent;
	}
	if (!piece->is_there || (is_within(&piece->span, stack->time_ns) && !is_new))
		return 0;
	if (!piece->is.is_permanent) /* calls in it may have been patched */
		hash_around(m, &piece->is, address - is_return, m->addresses.items[index].hashes);
	return put_pending(m, &(struct pending){.index = index,
						.address = address,
						.is_return = is_return,
						.is_new = is_new});
}

/* Proves the piece of an address that was just read: it is the same still. If it is gone, its
 * functions may be those of others. */
static void verify_address(struct machine *m, const struct pending *p, uint64_t read_ns)
{
	struct address *a = &m->addresses.items[p->index];
	struct piece *piece = &m->pieces.items[a->piece];
	bool is_proven_now = is_proven(&piece->span);

	if ((is_proven_now && (!p->is_new || !m->is->unloads)) || !piece->is_there)
		return;
	if (m->is->is_still(m->at, &piece->is)) {
		if (!is_proven_now)
			piece->span = (struct span){read_ns, read_ns};
		return;
	}
	if (m->is->unloads) {
		a->count = 0;
		a->is_call = false;
		a->again_ns = 0;
	}
}

/* Code that has the hashes that it had at the sample was there already. Where code may have been
 * unloaded meanwhile, other code for other functions may differ in one call alone. */
static void reach_address(struct machine *m, const struct pending *p,
			  const struct machine_stack *stack, const uint64_t *unloads)
{
	const unsigned most_other = is_calm(m, stack->time_ns, unloads) ? MOST_OTHER : 0;
	const struct address *a = &m->addresses.items[p->index];
	struct piece *piece = &m->pieces.items[a->piece];

	if (is_proven(&piece->span) && stack->time_ns < piece->span.first_ns &&
	    piece->span.last_ns >= m->since_ns &&
	    was_same(a, stack, p->address - p->is_return, most_other))
		piece->span.first_ns = stack->time_ns;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Notes the address that was interrupted, and the function that is being entered there. */
static int note_leaf(struct machine *m, const struct machine_stack *stack, uint64_t pc)
{
	int err = note_address(m, stack, pc, false);
	uint32_t index = int_map_find(&m->by_address, key_of(pc, false));
	const struct runtime_activation entered = {
		.function = stack->regs->r[m->is->function_register],
		.instruction = stack->regs->r[m->is->instruction_register],
	};

	if (!err && index != INT_MAP_NONE &&
	    m->addresses.items[index].interrupted == RUNTIME_ENTERS && entered.function &&
	    !(entered.function & 7))
		note_function(m, stack, entered.function, &entered, true);
	return err;
}

/* Reads anew what was read for the first time, and is to be the same. In between, it was so. How
 * much was unloaded is read last, so that it holds for all that was read before. */
static void prove(struct machine *m, const struct machine_stack *stack, uint64_t read_ns)
{
	uint64_t renewed = process_memory_renew(m->memory);
	uint64_t value, *unloads = NULL;

	for (size_t i = 0; i < m->pending.count; i++) {
		const struct pending *p = &m->pending.items[i];

		if (p->is_function)
			verify_function(m, p, read_ns);
		else
			verify_address(m, p, read_ns);
	}
	process_memory_renew(m->memory);
	if (m->is->unloads && m->is->unloads(m->at, &value))
		unloads = &value;
	for (size_t i = 0; i < m->pending.count; i++) {
		const struct pending *p = &m->pending.items[i];

		if (p->is_function)
			reach_function(m, p, stack->time_ns, unloads);
		else
			reach_address(m, p, stack, unloads);
	}
	process_memory_settle(m->memory, renewed);
}

/* Reads which functions the frames of a stack may have, if the runtime wants that. */
static void learn(struct machine *m, const struct machine_stack *stack)
{
	const struct walk_memory *memory = &stack->memory;
	uint64_t at = (memory->start + 7) & ~UINT64_C(7);

	for (; m->is->learn && at + 8 - memory->start <= memory->len; at += 8)
		m->is->learn(m->at, memory, at);
}

/* Returns whether a word of a record is the address of code that the runtime may have made: of a
 * block that the kernel half has found to be such code, if it can be anywhere. */
static bool is_code(const struct machine *m, const struct machine_stack *stack, uint64_t word)
{
	if (!m->is->is_anywhere)
		return machine_has(m, word);
	return word > UINT16_MAX && !(word >> 47) &&
	       (machine_is_file_code(m, word) || hash_then(stack, word));
}

int machine_note(struct machine *m, const struct machine_stack *stack, uint64_t now_ns)
{
	const struct walk_memory *memory = &stack->memory;
	const __u64 *r = stack->regs->r;
	uint64_t pc = r[STACKD_REG_PC], at = (memory->start + 7) & ~UINT64_C(7), word;
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	struct runtime_activation frame;
	int err = 0;

	m->now_ns = now_ns;
	m->since_ns = process_memory_begin(m->memory, now_ns, stack->time_ns);
	m->pending.count = 0;
	m->n_records++;
	learn(m, stack);
	if (is_code(m, stack, pc))
		err = note_leaf(m, stack, pc);
	if (is_code(m, stack, memory->below) && !err)
		err = note_address(m, stack, memory->below, true);
	for (; at + 8 - memory->start <= memory->len && !err; at += 8) {
		if (!walk_memory_read8(memory, at, &word))
			continue;
		if (is_code(m, stack, word))
			err = note_address(m, stack, word, true);
		if (!err && m->is->interpreted(memory, at, &frame))
			note_function(m, stack, frame.function, &frame, false);
	}
	if (m->pending.count && !err)
		prove(m, stack, now_ns + clock_ns(CLOCK_MONOTONIC) - begun_ns);
	keep_moment(m);
	return err;
}

/* Finds what was at an address at a sample; NULL: it is not known. If nothing was read since the
 * sample, it is what was read last before, if all of its code has the same hashes. Where code is
 * never that of other functions with the same bytes, the hashes prove any version. */
static const struct address *find_address(const struct machine *m,
					  const struct machine_stack *stack, uint64_t address,
					  bool is_return)
{
	const uint32_t newest = int_map_find(&m->by_address, key_of(address, is_return));
	uint32_t index = newest;
	const struct address *same = NULL;

	for (int i = 0; i < MOST_OLDER && index != INT_MAP_NONE; i++) {
		const struct address *a = &m->addresses.items[index];
		const struct piece *piece = &m->pieces.items[a->piece];

		if (is_within(&piece->span, stack->time_ns))
			return piece->is_there ? a : NULL;
		if (!m->is->unloads && was_same(a, stack, address - is_return, MOST_OTHER))
			return piece->is_there ? a : NULL;
		if (index == newest && is_proven(&piece->span) &&
		    piece->span.last_ns < stack->time_ns)
			same = a;
		index = a->older;
	}
	return same && m->pieces.items[same->piece].is_there &&
			       was_same(same, stack, address - is_return, 0)
		       ? same
		       : NULL;
}

/* --- frames ----------------------------------------------------------------------------------- */

/* Finds the function at an address at a sample. NULL: it is not known. */
static const struct function *find_function(const struct machine *m, uint64_t address,
					    uint64_t time_ns)
{
	uint32_t index = int_map_find(&m->by_function, address);

	for (int i = 0; i < MOST_OLDER && index != INT_MAP_NONE; i++) {
		const struct function *f = &m->functions.items[index];

		if (is_within(&f->span, time_ns))
			return f->identity && f->number != MANAGED_NONE ? f : NULL;
		index = f->older;
	}
	return NULL;
}

/* Finds the function that an interpreter's frame runs, and sets frame->instruction to the one that
 * it is at. NULL: it is not known. */
static const struct function *find_run(const struct machine *m, const struct machine_stack *stack,
				       enum runtime_interrupted interrupted, bool is_leaf,
				       struct runtime_activation *frame)
{
	const struct function *f = find_function(m, frame->function, stack->time_ns);
	struct runtime_activation now = *frame;

	now.instruction = stack->regs->r[m->is->instruction_register];
	if (f && is_leaf && interrupted == RUNTIME_RUNS && !frame->waits && f->code_size &&
	    is_of(f, &now))
		*frame = now;
	return f && is_of(f, frame) ? f : NULL;
}

/* Finds the frame of the interpreter. Returns 1; 0: it is not proven; MACHINE_PART; -ENOMEM. */
static int find_interpreted(struct machine *m, const struct machine_stack *stack,
			    const struct machine_frame *frame, enum runtime_interrupted interrupted,
			    struct location *ret_location)
{
	struct runtime_activation is = {0};
	const struct function *f = NULL;
	int err;

	if (interrupted == RUNTIME_LEFT)
		return MACHINE_PART;
	if (interrupted == RUNTIME_ENTERS)
		f = find_function(m, stack->regs->r[m->is->function_register], stack->time_ns);
	else if (frame->fp && m->is->interpreted(&stack->memory, frame->fp, &is))
		f = find_run(m, stack, interrupted, frame->is_leaf, &is);
	if (!f)
		return 0;
	if (interrupted == RUNTIME_ENTERS)
		is.instruction = f->code;
	err = managed_locate_line(m->managed, f->number,
				  frame->is_stale ? 0
						  : line_of(f, (int64_t)(is.instruction - f->code)),
				  ret_location);
	return err ? err : 1;
}

/* Returns whether a frame of the interpreter has the same activation as its caller's, by which it
 * was called directly: functions enter each other by jumps. */
static bool is_part(const struct machine *m, const struct machine_stack *stack,
		    const struct machine_frame *frame, const struct piece *piece)
{
	const struct address *caller = frame->caller && machine_has(m, frame->caller)
					       ? find_address(m, stack, frame->caller, true)
					       : NULL;

	return caller && &m->pieces.items[caller->piece] == piece &&
	       caller->calls - piece->is.start < piece->is.end - piece->is.start;
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

#define MOST_PUSHED 64 /* bytes of arguments, where code was interrupted */

/* Finds what is known best of an address at a sample: what was there, or else what was read last.
 * NULL: nothing is known. */
static const struct address *find_likely(const struct machine *m, const struct machine_stack *stack,
					 uint64_t address, bool is_return)
{
	const struct address *a = find_address(m, stack, address, is_return);
	uint32_t newest = int_map_find(&m->by_address, key_of(address, is_return));

	return a || newest == INT_MAP_NONE ? a : &m->addresses.items[newest];
}

/* A step out of code that is not proven is a guess by its bytes; so it counts only if it agrees
 * with what was read of that code. Words that earlier calls have left in a frame look like return
 * addresses, and lead on to right frames. */
bool machine_may_lead(const struct machine *m, const struct machine_stack *stack,
		      const struct machine_frame *frame, uint64_t slot)
{
	const struct address *a = find_likely(m, stack, frame->address, frame->is_return);
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;
	uint64_t size = slot + 8 - frame->sp;

	if (!m->is->is_anywhere && (!piece || !m->pieces.items[a->piece].is_there))
		return false;
	if (piece && !frame->is_return && a->is_passed)
		return size == 8;
	if (!piece || piece->kind != RUNTIME_CODE_COMPILED || piece->is_native ||
	    !piece->frame_bytes)
		return true;
	if (frame->is_return)
		return size == piece->frame_bytes + a->pushed;
	return size == 8 || size == 16 || /* the frame is not made, or left */
	       (size >= piece->frame_bytes && size <= piece->frame_bytes + MOST_PUSHED);
}

bool machine_saves_fp(const struct machine *m, const struct machine_stack *stack, uint64_t address,
		      bool is_return)
{
	const struct runtime_code_piece *piece =
		is_return && machine_has(m, address) ? piece_at(m, stack, address, true) : NULL;

	return piece && (piece->kind == RUNTIME_CODE_INTERPRETER || piece->frame_bytes);
}

bool machine_is_part(const struct machine *m, const struct machine_stack *stack, uint64_t outer,
		     uint64_t inner, bool inner_is_return)
{
	const struct address *a =
		machine_has(m, outer) ? find_address(m, stack, outer, true) : NULL;
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	return piece && piece->kind == RUNTIME_CODE_INTERPRETER &&
	       a->calls - piece->start < piece->end - piece->start && machine_has(m, inner) &&
	       piece_at(m, stack, inner, inner_is_return) == piece;
}

bool machine_is_run(const struct machine *m, const struct machine_stack *stack, uint64_t fp)
{
	struct runtime_activation is;
	const struct function *f;

	if (!m->is->interpreted(&stack->memory, fp, &is))
		return false;
	f = find_function(m, is.function, stack->time_ns);
	return f && is_of(f, &is);
}

enum machine_framing machine_framing(const struct machine *m, const struct machine_stack *stack,
				     uint64_t address)
{
	const struct address *a = m->is->keeps_fp ? find_address(m, stack, address, true) : NULL;
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	if (!piece || piece->kind != RUNTIME_CODE_COMPILED)
		return MACHINE_FRAMING_UNKNOWN;
	return a->is_call || piece->is_framed ? MACHINE_FRAMED : MACHINE_UNFRAMED;
}

void machine_sender(const struct machine *m, const struct machine_stack *stack, uint64_t address,
		    bool is_return, uint64_t fp, uint64_t *sp)
{
	const struct address *a = find_address(m, stack, address, is_return);
	const uint64_t least = *sp;

	if (!a || m->pieces.items[a->piece].is.kind != RUNTIME_CODE_INTERPRETER)
		return;
	if (is_return || a->sender == RUNTIME_SENDER_NONE)
		m->is->sender(&stack->memory, fp, sp);
	else if (a->sender < STACKD_REG_COUNT)
		*sp = stack->regs->r[a->sender];
	else if (!walk_memory_read8(&stack->memory, fp - 8, sp))
		*sp = least;
	if (*sp < least || *sp & 7)
		*sp = least;
}

/* Returns whether a word can only be the return address of a call into the machine's code, or of
 * one that the machine's code has made and knows. */
static bool is_return_address(const struct machine *m, const struct machine_stack *stack,
			      uint64_t word)
{
	const struct address *a = machine_has(m, word) ? find_address(m, stack, word, true) : NULL;
	const struct runtime_code_piece *piece = a ? &m->pieces.items[a->piece].is : NULL;

	return piece && (a->is_call || piece->kind == RUNTIME_CODE_INTERPRETER ||
			 word == piece->from_native || word == piece->replaced[0] ||
			 word == piece->replaced[1]);
}

#define STUB_WORDS 48 /* most that a stub pushes: all registers */

/* Finds the slot of a return address behind a direct call of a stub. */
static bool find_call_of(const struct machine *m, const struct machine_stack *stack,
			 const struct runtime_code_piece *piece, uint64_t sp, uint64_t *ret_slot)
{
	for (uint64_t slot = sp; slot < sp + STUB_WORDS * 8; slot += 8) {
		const struct address *a;
		uint64_t word;

		if (!walk_memory_read8(&stack->memory, slot, &word) || !machine_has(m, word))
			continue;
		a = find_address(m, stack, word, true);
		if (a && a->calls - piece->start < piece->end - piece->start) {
			*ret_slot = slot;
			return true;
		}
	}
	return false;
}

/* Finds the slot of the return address of a frame of which only that word proves the size: of code
 * that has called without the runtime's knowledge, and of stubs. */
static bool find_slot(const struct machine *m, const struct machine_stack *stack,
		      const struct runtime_code_piece *piece, const struct machine_frame *frame,
		      uint64_t *ret_slot)
{
	const struct address *a = find_address(m, stack, frame->address, frame->is_return);
	const uint64_t size = piece->frame_bytes && a ? piece->frame_bytes + a->pushed : 0;
	const uint64_t slots[] = {
		size && frame->sp ? frame->sp + size - 8 : 0, frame->fp ? frame->fp + 8 : 0,
		frame->fp ? frame->fp + 16 : 0, /* a word was pushed before the frame pointer */
	};

	for (size_t i = 0; i < sizeof(slots) / sizeof(*slots); i++) {
		uint64_t word;

		if (slots[i] && slots[i] >= frame->sp &&
		    walk_memory_read8(&stack->memory, slots[i], &word) &&
		    is_return_address(m, stack, word)) {
			*ret_slot = slots[i];
			return true;
		}
	}
	return piece->kind == RUNTIME_CODE_STUB && frame->sp &&
	       find_call_of(m, stack, piece, frame->sp, ret_slot);
}

bool machine_step(const struct machine *m, const struct machine_stack *stack,
		  struct machine_frame *frame, bool is_lost, uint64_t *ret_slot)
{
	const struct runtime_code_piece *piece =
		piece_at(m, stack, frame->address, frame->is_return);
	struct machine_frame next = {.is_return = true};
	uint64_t slot, saved;
	uint32_t size;

	if (!piece || m->is->keeps_fp) /* machine_framing() says what is known */
		return false;
	size = size_at(m, stack, frame->address, frame->is_return);
	if (piece->kind == RUNTIME_CODE_INTERPRETER) {
		if (!frame->fp || !m->is->sender(&stack->memory, frame->fp, &next.sp))
			return false;
		slot = frame->fp + 8;
		saved = frame->fp;
	} else if (frame->fp && frame->is_return && frame->address == piece->from_native) {
		slot = frame->fp + 8;
		saved = frame->fp;
	} else if (size && frame->sp) {
		slot = frame->sp + size - 8;
		saved = slot - 8;
	} else if (is_lost && frame->is_return && find_slot(m, stack, piece, frame, &slot)) {
		saved = slot == frame->fp + 16 ? slot - 16 : slot - 8;
	} else {
		return false;
	}
	if (!next.sp)
		next.sp = slot + 8;
	if (slot < frame->sp || !walk_memory_read8(&stack->memory, slot, &next.address) ||
	    !walk_memory_read8(&stack->memory, saved, &next.fp))
		return false;
	*frame = next;
	*ret_slot = slot;
	return true;
}

/* --- managed frames --------------------------------------------------------------------------- */

/* Finds the locations of a frame of compiled code. As machine_find(). */
static int find_compiled(struct machine *m, const struct address *a,
			 struct location ret_locations[MACHINE_MOST])
{
	const uint32_t notes = a->begins_thread && a->count < MACHINE_MOST;
	int err = notes ? managed_locate_note(m->managed, MACHINE_THREAD, &ret_locations[0]) : 0;

	for (uint32_t i = 0; i < a->count && !err; i++) {
		const struct frame *f = &m->frames.items[a->frames + i];

		err = managed_locate_line(m->managed, f->function, f->line,
					  &ret_locations[notes + i]);
	}
	return err ? err : (int)(notes + a->count);
}

/* Finds what stands for the frames of a thread that are not on the stack. As machine_find(). */
static int find_parted(struct machine *m, struct location ret_locations[MACHINE_MOST])
{
	int err = managed_locate_note(m->managed, MANAGED_UNPROVEN, &ret_locations[0]);

	if (!err)
		err = managed_locate_note(m->managed, MACHINE_THREAD, &ret_locations[1]);
	return err ? err : 2;
}

/* Returns whether a piece is code of the machine's file (give_interpreter()). */
static bool is_file_piece(const struct piece *piece)
{
	return piece->is.kind == RUNTIME_CODE_INTERPRETER && piece->is.is_permanent;
}

bool machine_makes_frames(const struct machine *m, uint64_t address, bool is_return, bool before)
{
	uint32_t index = int_map_find(&m->by_address, key_of(address, is_return));
	const struct piece *piece;

	if (m->is->is_anywhere || !machine_has(m, address))
		return before;
	if (index == INT_MAP_NONE)
		return true;
	piece = &m->pieces.items[m->addresses.items[index].piece];
	if (!piece->is_there)
		return true;
	return piece->is.kind == RUNTIME_CODE_INTERPRETER ? before : piece->is.makes_frames;
}

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
	/* The file was mapped there before the sample, or after it. */
	if (m->is->is_anywhere && frame->is_of_file != is_file_piece(piece))
		return 0;
	if (piece->is.kind == RUNTIME_CODE_INTERPRETER) {
		if (is_part(m, stack, frame, piece))
			return MACHINE_PART;
		if (!frame->is_made)
			err = find_interpreted(m, stack, frame,
					       (enum runtime_interrupted)a->interrupted,
					       ret_locations);
		if (err)
			return err;
	}
	if (a->parts)
		return find_parted(m, ret_locations);
	if (piece->is.kind != RUNTIME_CODE_COMPILED) {
		if (piece->name == MANAGED_NONE)
			return 0;
		err = managed_locate_line(m->managed, piece->name, 0, ret_locations);
		return err ? err : 1;
	}
	/* The call is the caller's still. */
	if (!frame->is_return && a->is_passed)
		return MACHINE_PART;
	/* Without a call that is known, methods between this one and its callee would be missing.
	 */
	if (frame->has_callee && !a->is_call && !piece->is.is_native)
		return 0;
	return find_compiled(m, a, ret_locations);
}
