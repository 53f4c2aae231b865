/* SPDX-License-Identifier: MIT */
/*
 * Reads what the managed frames of a record will be found by, and proves from when on it was so;
 * see machine.h.
 */
#include <errno.h>
#include <stdlib.h>

#include "arch/code_form.h"
#include "base/clock.h"
#include "base/hash.h"
#include "daemon/recorder/machine_internal.h"
#include "proc/object_id.h"

#define AGAIN_NS     UINT64_C(50000000)
#define MOMENT_EVERY UINT64_C(10000000) /* so moments go back for more than a second */

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

/* Hashes all that is said of a function. */
static uint64_t hash_of(const struct runtime_function *is)
{
	uint64_t hash = hash_mix64(is->identity ^ hash_mix64(is->class_number));

	hash = hash_mix64(hash ^ is->code);
	hash = hash_mix64(hash ^ is->constants);
	hash = hash_mix64(hash ^ ((uint64_t)is->code_size << 32 | is->first_line));
	hash = hash_mix64(hash ^ object_hash_text(is->name));
	hash = hash_mix64(hash ^ object_hash_text(is->file));
	for (size_t i = 0; i < is->n_lines; i++)
		hash = hash_mix64(hash ^
				  ((uint64_t)is->lines[i].instruction << 32 | is->lines[i].line));
	return hash_mix64(hash ^ is->begins_thread);
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
		f->said = hash_of(&is);
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
	if (machine_is_proven(&f->span))
		reach(&f->span, m->since_ns);
	if ((!machine_is_proven(&f->span) || frame->function) &&
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

	if (!process_memory_is_spent(m->memory) &&
	    !(f && machine_span_has(&f->span, stack->time_ns)))
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

/* Reads a function again that had an identity, and has it still: all that is said of it must be the
 * same. If its texts were moved while they were read, other words were in their place: then it is
 * to be read as a new version, and this one was never a function's. */
static bool is_said_again(struct machine *m, uint64_t address, struct function *f)
{
	const uint64_t failed = process_memory_failed(m->memory);
	struct runtime_function is = {0};
	bool is_same = false;
	int err;

	if (m->partly == m->n_records && m->partly)
		return false;
	err = m->is->function(m->at, address, &is);
	if (err == -EAGAIN)
		m->partly = m->n_records;
	if (!err && process_memory_failed(m->memory) == failed) {
		is_same = hash_of(&is) == f->said;
		if (!is_same) {
			f->identity = 0;
			f->number = MANAGED_NONE;
		}
	}
	free(is.lines);
	return is_same;
}

/* Proves a function that was just read: it is the same still. */
static void verify_function(struct machine *m, const struct pending *p, uint64_t read_ns)
{
	struct function *f = &m->functions.items[p->index];

	if (!machine_is_proven(&f->span) && m->is->identity(m->at, p->address) == f->identity &&
	    (!m->is->moves || !f->identity || is_said_again(m, p->address, f)))
		f->span = (struct span){read_ns, read_ns};
	if (machine_is_proven(&f->span) && m->newest_class < f->class_number)
		m->newest_class = f->class_number;
}

/* An interpreter's frame whose words agree with a function had it already at the sample. Of one
 * that is being entered, the register's word is enough if it is known that nothing was unloaded. */
static void reach_function(struct machine *m, const struct pending *p, uint64_t sample_ns,
			   const uint64_t *unloads)
{
	struct function *f = &m->functions.items[p->index];

	if (!machine_is_proven(&f->span) || !p->frame.function || sample_ns >= f->span.first_ns ||
	    (!is_calm(m, sample_ns, unloads) && !was_loaded(m, sample_ns, f->class_number)))
		return;
	if (p->is_entered ? m->is->unloads || (f->code_size && f->code == p->frame.instruction)
			  : (f->code_size || f->constants) && machine_can_run(f, &p->frame))
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
		if (machine_is_proven(&m->pieces.items[known].span))
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
			(struct frame){f->number, machine_line_of(f, frames[i].instruction)};
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

/* Returns whether the version before was looked for in the same piece, and found no frames. */
static bool is_in_vain(const struct machine *m, const struct address *new)
{
	const struct address *before = new->older == NONE ? NULL : &m->addresses.items[new->older];

	return before && before->piece == new->piece && !before->count;
}

/* As read_address(). */
static int read_anew(struct machine *m, uint64_t address, bool is_return, uint32_t *ret_index)
{
	uint64_t key = machine_key(address, is_return);
	struct address new = {.older = int_map_find(&m->by_address, key),
			      .sender = RUNTIME_SENDER_NONE};
	const struct piece *piece;
	int err = read_piece(m, address, &new.piece);

	*ret_index = NONE;
	if (err || new.piece == NONE)
		return err;
	piece = &m->pieces.items[new.piece];
	if (piece->is_there && !piece->is.is_permanent && !m->is->stays)
		hash_around(m, &piece->is, address - is_return, new.hashes);
	if (piece->is_there && !m->is->stays)
		read_code(m, &piece->is, address, is_return, &new);
	if (piece->is_there && piece->is.kind == RUNTIME_CODE_COMPILED)
		err = read_frames(m, piece, address, is_return, &new);
	if (piece->is_there && is_return && new.is_call && m->is->calls_function)
		new.calls_function = m->is->calls_function(m->at, &piece->is, address);
	if (piece->is_there && m->is->depth && !(is_return && new.is_call))
		new.depth = m->is->depth(m->at, &piece->is, address);
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
	if (machine_is_proven(&piece->span))
		reach(&piece->span, m->since_ns);
	return true;
}

/* As read_address(), once for a record if there is no code: a deep stack can have the same address
 * in each frame. */
static int look_for_address(struct machine *m, uint64_t address, bool is_return,
			    uint32_t *ret_index)
{
	const uint64_t key = machine_key(address, is_return);
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
	uint32_t index = int_map_find(&m->by_address, machine_key(address, is_return));
	struct piece *piece = NULL;
	bool is_new = false;

	if (process_memory_is_spent(m->memory))
		return 0;
	if (index != INT_MAP_NONE && m->now_ns < m->addresses.items[index].again_ns) {
		piece = &m->pieces.items[m->addresses.items[index].piece];
		if (machine_span_has(&piece->span, stack->time_ns))
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
	if (!piece->is_there || (machine_span_has(&piece->span, stack->time_ns) && !is_new))
		return 0;
	if (!piece->is.is_permanent && !m->is->stays) /* calls in it may have been patched */
		hash_around(m, &piece->is, address - is_return, m->addresses.items[index].hashes);
	return put_pending(m, &(struct pending){.index = index,
						.address = address,
						.is_return = is_return,
						.is_new = is_new});
}

/* Returns whether the frames at an address that was just read are the same still, of functions that
 * are proven. */
static bool are_frames_same(struct machine *m, const struct pending *p, const struct address *a)
{
	const uint64_t failed = process_memory_failed(m->memory);
	struct runtime_managed_frame now[MACHINE_MOST];
	size_t count = m->is->frames(m->at, &m->pieces.items[a->piece].is, p->address, p->is_return,
				     now, MACHINE_MOST);

	if (count != a->count || process_memory_failed(m->memory) != failed ||
	    a->is_call != (now[0].instruction != RUNTIME_NO_INSTRUCTION))
		return false;
	for (size_t i = 0; i < count; i++) {
		const struct frame *frame = &m->frames.items[a->frames + i];
		uint32_t index = int_map_find(&m->by_function, now[i].function);
		const struct function *f =
			index == INT_MAP_NONE ? NULL : &m->functions.items[index];

		if (!f || !machine_is_proven(&f->span) || f->number != frame->function ||
		    machine_line_of(f, now[i].instruction) != frame->line)
			return false;
	}
	return true;
}

/* The address is to be read again, and has no frames until then. */
static void forget_frames(struct address *a)
{
	a->count = 0;
	a->is_call = false;
	a->depth = (struct runtime_depth){0};
	a->again_ns = 0;
}

/* Proves the piece of an address that was just read: it is the same still. If it is gone, its
 * functions may be those of others. */
static void verify_address(struct machine *m, const struct pending *p, uint64_t read_ns)
{
	struct address *a = &m->addresses.items[p->index];
	struct piece *piece = &m->pieces.items[a->piece];
	bool is_proven_now = machine_is_proven(&piece->span);

	if (m->is->moves && p->is_new && a->count && !are_frames_same(m, p, a))
		forget_frames(a);
	if ((is_proven_now && (!p->is_new || !m->is->unloads)) || !piece->is_there)
		return;
	if (m->is->is_still(m->at, &piece->is)) {
		if (!is_proven_now)
			piece->span = (struct span){read_ns, read_ns};
		return;
	}
	if (m->is->unloads)
		forget_frames(a);
}

/* Code that stays while nothing is unloaded was there already, and so was code that has the hashes
 * that it had at the sample. Where code may have been
 * unloaded meanwhile, other code for other functions may differ in one call alone. Where none was,
 * it is the same code, whose calls are patched when they are made for the first time. */
static void reach_address(struct machine *m, const struct pending *p,
			  const struct machine_stack *stack, const uint64_t *unloads)
{
	const unsigned most_other = !is_calm(m, stack->time_ns, unloads) ? 0
				    : m->is->unloads			 ? MOST_PATCHED
									 : MOST_OTHER;
	const struct address *a = &m->addresses.items[p->index];
	struct piece *piece = &m->pieces.items[a->piece];

	if (machine_is_proven(&piece->span) && stack->time_ns < piece->span.first_ns &&
	    piece->span.last_ns >= m->since_ns &&
	    (m->is->stays ? is_calm(m, stack->time_ns, unloads)
			  : machine_was_same(a, stack, p->address - p->is_return, most_other)))
		piece->span.first_ns = stack->time_ns;
}

/* --- records ---------------------------------------------------------------------------------- */

/* Notes the address that was interrupted, and the function that is being entered there. */
static int note_leaf(struct machine *m, const struct machine_stack *stack, uint64_t pc)
{
	int err = note_address(m, stack, pc, false);
	uint32_t index = int_map_find(&m->by_address, machine_key(pc, false));
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

/* Reads how much was unloaded until now. Where that alone proves code, it must be the same twice,
 * so that no unloading ends while it is read. */
static bool read_unloads(struct machine *m, uint64_t *ret_unloads)
{
	uint64_t again;

	process_memory_renew(m->memory);
	if (!m->is->unloads || !m->is->unloads(m->at, ret_unloads))
		return false;
	if (!m->is->stays)
		return true;
	process_memory_renew(m->memory);
	return m->is->unloads(m->at, &again) && again == *ret_unloads;
}

/* Reads anew what was read for the first time, and is to be the same. In between, it was so. How
 * much was unloaded is read last, so that it holds for all that was read before. */
static void prove(struct machine *m, const struct machine_stack *stack, uint64_t read_ns)
{
	uint64_t renewed = process_memory_renew(m->memory);
	uint64_t value, *unloads = NULL;

	for (size_t i = 0; i < m->pending.count; i++) {
		if (m->pending.items[i].is_function)
			verify_function(m, &m->pending.items[i], read_ns);
	}
	for (size_t i = 0; i < m->pending.count; i++) {
		if (!m->pending.items[i].is_function)
			verify_address(m, &m->pending.items[i], read_ns);
	}
	if (read_unloads(m, &value))
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
	       (machine_is_file_code(m, word) || machine_hash_then(stack, word));
}

static void begin_note(struct machine *m, uint64_t time_ns, uint64_t now_ns)
{
	m->now_ns = now_ns;
	m->since_ns = process_memory_begin(m->memory, now_ns, time_ns);
	m->pending.count = 0;
	m->n_records++;
}

/* Proves what was read since begin_note(), at `begun_ns` of the clock. */
static void end_note(struct machine *m, const struct machine_stack *stack, uint64_t begun_ns,
		     int err)
{
	if (m->pending.count && !err)
		prove(m, stack, m->now_ns + clock_ns(CLOCK_MONOTONIC) - begun_ns);
	keep_moment(m);
}

int machine_note_walked(struct machine *m, const struct machine_address *addresses, size_t count,
			uint64_t time_ns, uint64_t now_ns)
{
	const struct machine_stack stack = {.time_ns = time_ns};
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	int err = 0;

	begin_note(m, time_ns, now_ns);
	for (size_t i = 0; i < count && !err; i++)
		err = note_address(m, &stack, addresses[i].address, addresses[i].is_return);
	end_note(m, &stack, begun_ns, err);
	return err;
}

int machine_note(struct machine *m, const struct machine_stack *stack, uint64_t now_ns)
{
	const struct walk_memory *memory = &stack->memory;
	const __u64 *r = stack->regs->r;
	uint64_t pc = r[STACKD_REG_PC], at = (memory->start + 7) & ~UINT64_C(7), word;
	uint64_t begun_ns = clock_ns(CLOCK_MONOTONIC);
	struct runtime_activation frame;
	int err = 0;

	begin_note(m, stack->time_ns, now_ns);
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
		if (!err && m->is->interpreted && m->is->interpreted(memory, at, &frame))
			note_function(m, stack, frame.function, &frame, false);
	}
	end_note(m, stack, begun_ns, err);
	return err;
}
