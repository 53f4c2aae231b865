/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code objects of managed functions, by number; and remembered frames of such functions.
 *
 * A code object gets a number when it is first met, and its names are sent with it (managed.bpf.h).
 *
 * A remembered managed frame has a mark like any other (prefix.bpf.h). Its slot is an address in
 * the native frame of its activation, so marks are in the order of addresses; and its guard has the
 * words that it consists of, and the version of its code object: they are compared in place of a
 * return address.
 *
 * Equal words do not tell that the function is the same: its code object may have been freed, and
 * another one made at its address. But from 3.12 on a code object has a version, which is never
 * given to another one, and the next version is in a counter. If the counter has not moved since
 * the last walk, no code object was made, so a frame that leads to the same address has the same
 * code object (is_calm). If it has moved, the version of each frame's code object is compared.
 *
 * Interpreters of one process may count apart. A thread that has run in others than the first is
 * mixed: its walks do not use the counter. Then a code object that had not been met before makes
 * the process restless for some time, in which no remembered managed frame is believed.
 *
 * Code objects of 3.11 have no version. But its functions get one when the interpreter adapts a
 * call of them, from a counter of the process, and lose it with another code object: so a frame
 * whose function has the same version has the same code object. What has none (modules, and
 * functions that only C code calls) is known by its content each time.
 *
 * Before 3.11 nothing has a version. Each remembered frame is an object in the heap, which is read
 * again with the content of its code object. The frames are a chain: the first one that is compared
 * must be where the walk's own chain, or the thread's state, leads to, and each other one where the
 * one before it does. The last one had no frame before it when it was remembered
 * (managed_finish()).
 */
#ifndef MANAGED_CODE_BPF_H
#define MANAGED_CODE_BPF_H

#include "mapping.bpf.h"
#include "prefix.bpf.h"
#include "ring.bpf.h"
#include "scratch.bpf.h"

#define MANAGED_HASHED	    64	 /* bytes of a string */
#define MANAGED_HASHED_READ 136	 /* with its header */
#define MANAGED_PAGE	    4096 /* bytes; pages are no smaller */
#define MANAGED_RESTLESS_NS 2000000000ull
#define MANAGED_MOST_SENT   64	       /* code objects whose names a sample sends */
#define MANAGED_CHUNKS	    (1u << 20) /* more than between two frames in the same memory */
#define MANAGED_OWNED_BY_C  3	       /* the owner of a frame that is no function's */
#define MANAGED_FRAME_ROOM  128 /* STACKD_MANAGED_FRAME_BYTES, rounded up to a power of two */

/* In a managed frame's guard.reg, above the register's number, of which WALK_REGS are. */
#define MANAGED_LAST	    0x80 /* the frame is its activation's first one: no further one follows */
#define MANAGED_UNVERSIONED 0x40 /* its code object has no version */
#define MANAGED_ENDS	    (MANAGED_LAST | MANAGED_UNVERSIONED)

/* Interpreters, by file number. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, 256);
	__uint(map_flags, BPF_F_NO_PREALLOC);
	__type(key, __u32);
	__type(value, struct stackd_interpreter);
} interpreters SEC(".maps");

/* A code object: its address, and a hash by which it differs from others that have been there. */
struct managed_code_key {
	__u64 space, address, hash;
};

struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 65536);
	__type(key, struct managed_code_key);
	__type(value, __u32);
} managed_codes SEC(".maps");

__u64 managed_numbers; /* numbers that were given */

/* Time until which a process is restless, by the kernel half's key of the process. */
struct {
	__uint(type, BPF_MAP_TYPE_LRU_HASH);
	__uint(max_entries, 1024);
	__type(key, __u64);
	__type(value, __u64);
} managed_restless SEC(".maps");

/* Time until which any process is restless. Most of the time none is. */
__u64 managed_restless_until;

/* Returns one of the words that were read, by its offset. */
static __always_inline __u64 managed_word(const struct scratch *s, __u32 offset)
{
	return s->managed.words[BOUNDED(offset >> 3, MANAGED_WORDS)];
}

/* --- the counter of code objects -------------------------------------------------------------- */

/* Reads the counter at an address, once per walk, and compares it with that of the remembered
 * walk. */
static __always_inline void managed_read_counter(struct scratch *s, struct thread_state *state,
						 __u64 at)
{
	const struct managed_epoch *held = &state->managed_held;

	if (s->managed.epoch_of == s->record.header.time_ns && s->managed.epoch_at == at)
		return;
	if (state->managed_next.sequence == state->sequence) /* that walk was remembered */
		state->managed_held = state->managed_next;
	s->managed.epoch_of = s->record.header.time_ns;
	s->managed.epoch_at = at;
	if (!at || bpf_probe_read_user(&s->managed.epoch, 4, (const void *)at))
		s->managed.epoch = 0;
	s->managed.is_calm = s->managed.epoch && held->sequence == state->sequence &&
			     held->at == at && held->value == s->managed.epoch &&
			     !state->managed_mixed;
	state->managed_next = (struct managed_epoch){
		.at = at, .value = s->managed.epoch, .sequence = state->sequence + 1};
}

/* Returns whether a version is never given twice to what the thread runs. */
static __always_inline bool managed_has_versions(const struct thread_state *state)
{
	return state && !state->managed_mixed;
}

/* Returns whether code objects or functions have versions, so that walks can be remembered. */
static __always_inline bool managed_is_versioned(const struct scratch *s)
{
	return s->managed.is.code_version || s->managed.is.function_version;
}

/* --- code objects ----------------------------------------------------------------------------- */

/* Notes that the process has a new code object. */
static __always_inline void managed_disturb(struct scratch *s)
{
	__u64 space = s->space, until = bpf_ktime_get_ns() + MANAGED_RESTLESS_NS;

	s->managed.is_restless = 1;
	bpf_map_update_elem(&managed_restless, &space, &until, BPF_ANY);
	if (until > managed_restless_until)
		managed_restless_until = until;
}

/* Looks up whether the process is restless, once per walk. */
static __always_inline bool managed_is_restless(struct scratch *s)
{
	__u64 space = s->space, *until;

	if (s->managed.asked == s->record.header.time_ns)
		return s->managed.is_restless;
	s->managed.asked = s->record.header.time_ns;
	s->managed.is_restless = 0;
	if (managed_restless_until < bpf_ktime_get_ns())
		return false;
	until = CHECKED(bpf_map_lookup_elem(&managed_restless, &space));
	s->managed.is_restless = until && *until > bpf_ktime_get_ns();
	return s->managed.is_restless;
}

/* Copies the words of a code object, which is no longer than that before 3.11. */
static __always_inline bool managed_read_code(struct scratch *s, __u64 address)
{
	if (s->managed.is.form == STACKD_INTERPRETER_OBJECT)
		return !bpf_probe_read_user(s->managed.words, STACKD_MANAGED_OBJECT_CODE_BYTES,
					    (const void *)address);
	return !bpf_probe_read_user(s->managed.words, STACKD_MANAGED_CODE_BYTES,
				    (const void *)address);
}

/* Copies a string from its address, as far as there is room. */
static __always_inline void managed_text(struct scratch *s, __u64 address,
					 struct stackd_managed_text *text)
{
	const __u64 *header = s->managed.text;
	__u64 bytes;
	__u32 state, start;

	text->width = 0;
	text->bytes = 0;
	text->length = 0;
	if (bpf_probe_read_user(s->managed.text, 40, (const void *)address))
		return;
	state = header[4];
	text->length = header[2] < ~0u ? header[2] : ~0u;
	start = state & 64 ? s->managed.is.text_ascii : s->managed.is.text_other;
	if (!(state & 32)) /* it is not compact, which compilers' names always are */
		return;
	text->width = state >> 2 & 7;
	if (text->width != 1 && text->width != 2 && text->width != 4) { /* it is no string */
		text->width = 0;
		text->length = 0;
		return;
	}
	bytes = (__u64)text->length * text->width;
	if (bytes > STACKD_MANAGED_TEXT)
		bytes = STACKD_MANAGED_TEXT;
	if (bpf_probe_read_user(text->data, BOUNDED(bytes, 2 * STACKD_MANAGED_TEXT),
				(const void *)(address + start)))
		text->width = 0;
	else
		text->bytes = bytes;
}

/* Copies the table of lines of a code object. */
static __always_inline void managed_lines(struct scratch *s, __u64 address)
{
	__u64 bytes;

	s->managed_record.code.line_bytes = 0;
	if (bpf_probe_read_user(s->managed.text, 24, (const void *)address))
		return;
	bytes = s->managed.text[2];
	if (bytes > STACKD_MANAGED_LINES)
		bytes = STACKD_MANAGED_LINES;
	if (!bpf_probe_read_user(s->managed_record.lines, BOUNDED(bytes, 2 * STACKD_MANAGED_LINES),
				 (const void *)(address + 32)))
		s->managed_record.code.line_bytes = bytes;
}

/* Sends the record of the code object s->managed.new_code, of some bytes, and gives it a number.
 * Returns 0 if the ring has no room. A global function, so that the BPF verifier checks it once. */
__noinline int managed_send_record(struct scratch *given, __u32 size)
{
	struct scratch *s = CHECKED(given);
	struct managed_code_key key = {0};
	struct stackd_managed_record *record;
	__u32 number;

	if (!s)
		return 0;
	record = &s->managed_record;
	record->header = s->record.header;
	record->header.kind = STACKD_RECORD_MANAGED;
	record->header.n_kernel = 0;
	record->pid = s->record.pid;
	record->pad = 0;
	record->code.language = s->managed.is.language;
	record->code.version = s->managed.is.version;
	number = __sync_fetch_and_add(&managed_numbers, 1) + 1;
	record->code.number = number;
	if (size > sizeof(*record) || number >> (47 - STACKD_MANAGED_SHIFT) ||
	    bpf_ringbuf_output(&ring, record, size, BPF_RB_NO_WAKEUP))
		return 0;
	key.space = s->space;
	key.address = s->managed.new_code;
	key.hash = s->managed.new_hash;
	bpf_map_update_elem(&managed_codes, &key, &number, BPF_ANY);
	s->managed.new_code = 0;
	return number;
}

/* Notes that a new code object was sent, if it has a number. Its caller does so, since all stack
 * frames together have 512 bytes. */
static __always_inline __u32 managed_note_sent(struct scratch *s, __u32 number)
{
	if (number) {
		managed_disturb(s);
		count(STACKD_COUNT_MANAGED_CODES);
	}
	return number;
}

/* Sends the names of the code object at s->managed.new_code, with this hash, and gives it a number.
 * Returns 0 if the ring has no room, or the object cannot be read. A separate function, which few
 * functions call, since all stack frames together have 512 bytes. */
__noinline int managed_send_code(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct stackd_managed_record *record;
	__u32 size;

	if (!s || !managed_read_code(s, s->managed.new_code))
		return 0;
	record = &s->managed_record;
	record->code.first_line = managed_word(s, s->managed.is.code_first_line) >>
				  (s->managed.is.code_first_line & 4) * 8;
	managed_text(s, managed_word(s, s->managed.is.code_file), &record->code.file);
	managed_text(s, managed_word(s, s->managed.is.code_name), &record->code.name);
	managed_lines(s, managed_word(s, s->managed.is.code_lines));
	size = __builtin_offsetof(struct stackd_managed_record, lines) + record->code.line_bytes;
	FORGET(size);
	return managed_note_sent(s, managed_send_record(s, size));
}

/* Mixes the first bytes of what was read, which begin at the word `start`, into a hash. */
static __always_inline __u64 managed_hash_bytes(const struct scratch *s, __u64 hash, __u64 start,
						__u64 bytes)
{
	__u64 whole = bytes < MANAGED_HASHED ? bytes >> 3 : MANAGED_HASHED / 8, i = 0;

#pragma clang loop unroll(disable)
	for (; i < MANAGED_HASHED / 8 && i < whole; i++)
		hash = mix(hash ^ s->managed.text[BOUNDED(start + i, MANAGED_WORDS)]);
	if (i < MANAGED_HASHED / 8 && bytes & 7)
		hash = mix(hash ^ (s->managed.text[BOUNDED(start + i, MANAGED_WORDS)] &
				   ((1ull << (bytes & 7) * 8) - 1)));
	return hash;
}

/* Mixes the content of a string, or of a table of bytes, into a hash: its length, the hash that the
 * interpreter has for it, and if it has none yet (-1), its first MANAGED_HASHED bytes. Returns 0 if
 * it cannot be read. A global function, so that the BPF verifier checks it once. */
__noinline __u64 managed_hash(struct scratch *given, __u64 hash, __u64 address, __u32 is_text)
{
	struct scratch *s = CHECKED(given);
	__u64 bytes, start = 4, read = MANAGED_HASHED_READ;

	if (!s)
		return 0;
	if (is_text && !bpf_probe_read_user(s->managed.text, 32, (const void *)address) &&
	    s->managed.text[3] != ~0ull)
		return mix(mix(hash ^ s->managed.text[2]) ^ s->managed.text[3]) | 1;
	if (bpf_probe_read_user(s->managed.text, MANAGED_HASHED_READ, (const void *)address)) {
		/* The object is at the end of a mapping, or its next page is not in memory. */
		read = MANAGED_PAGE - (address & (MANAGED_PAGE - 1));
		FORGET(read);
		if (read > MANAGED_HASHED_READ ||
		    bpf_probe_read_user(s->managed.text, BOUNDED(read, 256), (const void *)address))
			return 0;
	}
	bytes = s->managed.text[2];
	if (is_text) {
		bytes *= s->managed.text[4] >> 2 & 7;
		start = (s->managed.text[4] & 64 ? s->managed.is.text_ascii
						 : s->managed.is.text_other) >>
			3;
	}
	if (start * 8 + (bytes < MANAGED_HASHED ? bytes : MANAGED_HASHED) > read)
		return 0;
	hash = mix(mix(hash ^ s->managed.text[2]) ^ s->managed.text[3]);
	return managed_hash_bytes(s, hash, start, bytes) | 1;
}

/* Hashes the words of the code object that was read. */
static __noinline __u64 managed_words_hash(struct scratch *s)
{
	__u64 hash;

	s->managed.version = s->managed.is.code_version
				     ? managed_word(s, s->managed.is.code_version) >>
					       (s->managed.is.code_version & 4) * 8 << 32
				     : 0;
	hash = mix(managed_word(s, s->managed.is.code_first_line) ^ s->managed.version);
	hash = mix(hash ^ managed_word(s, s->managed.is.code_file));
	hash = mix(hash ^ managed_word(s, s->managed.is.code_name));
	return mix(hash ^ managed_word(s, s->managed.is.code_lines)) & ~1ull;
}

/* Returns a hash of what the code object consists of; the hash of its words is given. 0: it cannot
 * be read. Another object may be made at the same address, with all of its parts where those of the
 * first one were. So addresses do not tell the two apart, but the content of the parts does. This
 * is not needed if each object has a version, which is among the words. Most functions of a path
 * are of few files, whose names are hashed once. */
static __always_inline __u64 managed_identity(struct scratch *s, __u64 hash)
{
	__u64 file = managed_word(s, s->managed.is.code_file);

	if (s->managed.file_of != s->record.header.time_ns || s->managed.file_text != file) {
		s->managed.file_hash = managed_hash(s, 0, file, true);
		s->managed.file_of = s->record.header.time_ns;
		s->managed.file_text = file;
	}
	if (!s->managed.file_hash)
		return 0;
	hash = managed_hash(s, hash ^ s->managed.file_hash,
			    managed_word(s, s->managed.is.code_name), true);
	return hash ? managed_hash(s, hash, managed_word(s, s->managed.is.code_lines), false) : 0;
}

/* Notes what code object was found last, since a function may call itself: while it runs, no other
 * one can be at its address. Returns its number. */
static __always_inline __u32 managed_note_code(struct scratch *s, __u64 address, __u32 number)
{
	s->managed.last_of = s->record.header.time_ns;
	s->managed.last_code = address;
	s->managed.last_number = number;
	return number;
}

/* Returns the number of the function with an address, or with what stands for one, and a hash of
 * its content; `noted` is where it was read. If it has none yet, returns 0: with
 * s->managed.new_code if its names are to be sent, else with the reason. A global function, so that
 * the BPF verifier checks it once, and since the key is on its stack. */
__noinline int managed_by_content(struct scratch *given, __u64 address, __u64 hash, __u64 noted)
{
	struct scratch *s = CHECKED(given);
	struct managed_code_key key = {0};
	__u32 *known;

	if (!s)
		return 0;
	key.space = s->space;
	key.address = address;
	key.hash = hash;
	known = CHECKED(bpf_map_lookup_elem(&managed_codes, &key));
	if (known)
		return managed_note_code(s, noted, *known);
	if (s->managed.sent++ >= MANAGED_MOST_SENT) {
		s->managed.why = STACKD_COUNT_MANAGED_NAMELESS;
		return 0;
	}
	s->managed.new_code = address;
	s->managed.new_hash = hash;
	return 0;
}

/* Returns whether the code object at an address was found last. */
static __always_inline bool managed_is_repeated(const struct scratch *s, __u64 address)
{
	return s->managed.last_of == s->record.header.time_ns && s->managed.last_code == address;
}

/* Returns where the thread notes the code object with a key. */
static __always_inline struct managed_known *managed_known_at(struct thread_state *state, __u64 key)
{
	return &state->managed_known[BOUNDED(mix(key) >> 32, MANAGED_KNOWN)];
}

/* Returns the number of a code object that is certain to be the one that the thread has noted: the
 * frame before has called itself, or no code object was made since, or its version is the same. 0:
 * it is not certain. Sets s->managed.version. */
static __always_inline __u32 managed_noted(struct scratch *s, struct thread_state *state,
					   __u64 address)
{
	struct managed_known *known;
	__u32 version;

	if (managed_is_repeated(s, address))
		return s->managed.last_number;
	if (!state || !managed_has_versions(state))
		return 0;
	known = managed_known_at(state, address ^ s->space);
	if (known->key != (address ^ s->space) || !known->version)
		return 0;
	if (known->epoch != s->managed.epoch || !s->managed.epoch) {
		if (bpf_probe_read_user(&version, 4, (const void *)s->managed.version_at) ||
		    version != known->version)
			return 0;
		known->epoch = s->managed.epoch;
	}
	s->managed.version = (__u64)known->version << 32;
	return managed_note_code(s, address, known->number);
}

/* Notes the number of a code object, whose version is s->managed.version. */
static __noinline void managed_note_known(struct scratch *s, __u64 address, __u32 number)
{
	struct thread_state *state = state_at(s);

	if (state && managed_has_versions(state))
		*managed_known_at(state, address ^ s->space) = (struct managed_known){
			.key = address ^ s->space,
			.number = number,
			.version = s->managed.version >> 32,
			.epoch = s->managed.epoch,
		};
}

#define MANAGED_BY_WHOLE                                                                           \
	1 /* no address ends so: the key of a code object that is known by its                     \
	   * content */

/* Notes the number of a code object without a version, with the hash of its content. */
static __always_inline void managed_note_content(struct scratch *s, __u64 address, __u32 number,
						 __u64 hash)
{
	struct thread_state *state = state_at(s);
	__u64 key = address ^ s->space ^ MANAGED_BY_WHOLE;

	if (state)
		*managed_known_at(state, key) = (struct managed_known){
			.key = key, .number = number, .version = hash, .epoch = hash >> 32};
}

/* Sets s->managed.content to a hash of the content of the code object at s->managed.object_code.
 * Returns 0 if that cannot be read. A global function, so that the BPF verifier checks it once. */
__noinline int managed_read_content(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	if (managed_is_repeated(s, s->managed.object_code))
		return 1;
	s->managed.content = 0;
	if (managed_read_code(s, s->managed.object_code))
		s->managed.content = managed_identity(s, managed_words_hash(s));
	return s->managed.content != 0;
}

/* Returns the number of the code object at s->managed.object_code, which has no version, if the
 * thread has noted one of the same content at its address; 0: it has not. Sets s->managed.content.
 */
static __always_inline __u32 managed_noted_content(struct scratch *s)
{
	__u64 key = s->managed.object_code ^ s->space ^ MANAGED_BY_WHOLE, hash;
	struct thread_state *state = state_at(s);
	const struct managed_known *known;

	if (managed_is_repeated(s, s->managed.object_code))
		return s->managed.last_number;
	if (!state || !managed_read_content(s))
		return 0;
	hash = s->managed.content;
	known = managed_known_at(state, key);
	if (known->key != key || known->version != (__u32)hash || known->epoch != hash >> 32)
		return 0;
	return managed_note_code(s, s->managed.object_code, known->number);
}

/* Reads the version of the function whose code object has these words. Returns the hash by which
 * the code object is known together with that. */
static __noinline __u64 managed_function_hash(struct scratch *s, __u64 words)
{
	__u32 version = 0;

	if (!s->managed.version_at ||
	    bpf_probe_read_user(&version, sizeof(version), (const void *)s->managed.version_at))
		version = 0;
	s->managed.version = (__u64)version << 32;
	return mix(words ^ version) & ~1ull;
}

/* Finds out, for managed_code(), whether an object with a version is known by its words alone,
 * which have the version. */
static __noinline int managed_trust_words(struct scratch *s)
{
	s->managed.trusts_words = managed_has_versions(state_at(s)) || !managed_is_restless(s);
	return 0;
}

/* Returns the number of the code object at an address. 0: there is no code object; or, if
 * s->managed.new_code is set, the caller has to send its names first. Code objects with the same
 * address are distinguished by their words, if a version is among these; otherwise, and if
 * interpreters may have given the same version, by their content (managed_trust_words()). Sets
 * s->managed.version to the version << 32. */
__noinline int managed_code(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	struct managed_code_key key = {.address = address};
	__u64 words, words_key;
	__u32 *known;

	if (!s || !managed_read_code(s, address))
		return 0;
	key.space = s->space;
	words = key.hash = managed_words_hash(s);
	if (s->managed.is.function_version)
		key.hash = managed_function_hash(s, words);
	if (s->managed.version && s->managed.trusts_words) {
		known = CHECKED(bpf_map_lookup_elem(&managed_codes, &key));
		if (known)
			return managed_note_code(s, address, *known);
	}
	words_key = key.hash;
	key.hash = managed_identity(s, words);
	if (!key.hash)
		return 0;
	known = CHECKED(bpf_map_lookup_elem(&managed_codes, &key));
	if (!known) {
		if (s->managed.sent++ >= MANAGED_MOST_SENT)
			return 0;
		s->managed.new_code = address;
		s->managed.new_hash = key.hash;
		return 0;
	}
	if (!s->managed.version)
		managed_note_content(s, address, *known, key.hash);
	key.hash = words_key;
	if (s->managed.version)
		bpf_map_update_elem(&managed_codes, &key, known, BPF_ANY);
	return managed_note_code(s, address, *known);
}

/* --- remembered frames ------------------------------------------------------------------------ */

/* Returns which of the usual places the words of a frame have. */
static __always_inline enum managed_layout managed_layout(const struct stackd_interpreter *is)
{
	if (is->frame_code == 0 && is->frame_previous == 8 && is->frame_instruction == 56)
		return MANAGED_AS_3_12;
	if (is->frame_code == 32 && is->frame_previous == 48 && is->frame_instruction == 56)
		return MANAGED_AS_3_11;
	return MANAGED_ELSEWHERE;
}

/* Fetches the facts by which frames of a file's interpreter are read. A number always belongs to
 * one file, in one state. */
static __always_inline bool managed_take_facts(struct scratch *s, __u32 file)
{
	const struct stackd_interpreter *is;

	if (s->managed.file == file)
		return true;
	s->managed.file = 0;
	is = CHECKED(bpf_map_lookup_elem(&interpreters, &file));
	if (!is || !is->version)
		return false;
	s->managed.is = *is;
	s->managed.file = file;
	s->managed.layout = managed_layout(is);
	return true;
}

/* Returns whether a frame is in the memory of the thread's last frames. */
static __always_inline bool managed_is_near(const struct scratch *s, __u64 frame)
{
	return frame - s->managed.chunk < MANAGED_CHUNKS;
}

/* Copies the frames below a frame, and that one itself, to the run. */
static __always_inline bool managed_copy_run(struct scratch *s, __u64 frame)
{
	__u64 end = frame + STACKD_MANAGED_FRAME_BYTES, bytes = MANAGED_RUN;

	if (end - s->managed.chunk < bytes)
		bytes = end - s->managed.chunk;
	s->managed.run_of = 0;
	FORGET(bytes);
	if (bytes > MANAGED_RUN || bytes < STACKD_MANAGED_FRAME_BYTES ||
	    bpf_probe_read_user(s->managed_run, BOUNDED(bytes, 2 * MANAGED_RUN),
				(const void *)(end - bytes)))
		return false;
	s->managed.run_of = s->record.header.time_ns;
	s->managed.run_base = end - bytes;
	s->managed.run_plain = bytes - STACKD_MANAGED_FRAME_BYTES + 1;
	return true;
}

/* Gives where in s->managed_run a frame is, if it was read. */
static __always_inline bool managed_is_read(struct scratch *s, __u64 frame)
{
	s->managed.run_at = frame - s->managed.run_base;
	if (s->managed.run_of == s->record.header.time_ns &&
	    s->managed.run_at < s->managed.run_plain)
		return true;
	s->managed.run_at = MANAGED_RUN;
	return s->managed.single_of == s->record.header.time_ns && s->managed.single == frame;
}

/* Copies the words of a frame to the run, if they are not there. Most frames are next to each
 * other, each caller's at a lower address, so what is below is read at the same time; but frames of
 * generators are elsewhere. A global function, so that the BPF verifier checks it once. */
__noinline int managed_read_frame(struct scratch *given, __u64 frame)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	if (managed_is_read(s, frame))
		return 1;
	if (managed_is_near(s, frame) && managed_copy_run(s, frame))
		return managed_is_read(s, frame);
	s->managed.single_of = 0;
	if (bpf_probe_read_user(s->managed_run + MANAGED_RUN, STACKD_MANAGED_FRAME_BYTES,
				(const void *)frame))
		return 0;
	s->managed.single_of = s->record.header.time_ns;
	s->managed.single = frame;
	s->managed.run_at = MANAGED_RUN;
	return 1;
}

/* Returns the bytes of the frame that was read last. */
static __always_inline const __u8 *managed_frame_bytes(const struct scratch *s)
{
	return s->managed_run + BOUNDED(s->managed.run_at, 2 * MANAGED_RUN);
}

/* Returns the word at an offset of a frame's bytes. */
static __always_inline __u64 managed_word_of(const __u8 *frame, __u32 offset)
{
	return *(const __u64 *)(frame + BOUNDED(offset, MANAGED_FRAME_ROOM));
}

/* Returns a word of the frame that was read last. */
static __always_inline __u64 managed_frame_word(const struct scratch *s, __u32 offset)
{
	return *(__u64 *)(s->managed_run + BOUNDED(s->managed.run_at + offset, 2 * MANAGED_RUN));
}

/* Returns the address of its code object, without tags. */
static __always_inline __u64 managed_frame_code(const struct scratch *s)
{
	return managed_frame_word(s, s->managed.is.frame_code) & ~7ull;
}

/* Returns its byte that says whether the activation's frames end with it. */
static __always_inline __u32 managed_frame_end(const struct scratch *s)
{
	return s->managed_run[BOUNDED(s->managed.run_at + s->managed.is.frame_end,
				      2 * MANAGED_RUN)];
}

/* Returns what a guard keeps of an instruction, in the code object at `code`, whose version << 32
 * is given. */
static __always_inline __u64 managed_position(__u64 version, __u64 code, __u64 instruction)
{
	return version | (__u32)(instruction - code);
}

/* Returns the address of the version of a frame, with its code object. */
static __always_inline __u64 managed_version_at(const struct scratch *s, const __u8 *frame,
						__u64 code)
{
	return s->managed.is.function_version
		       ? managed_word_of(frame, s->managed.is.frame_function) +
				 s->managed.is.function_version
		       : code + s->managed.is.code_version;
}

/* Returns whether the words of the frame that was read last are those of a remembered one. */
static __always_inline bool managed_has_words(const struct scratch *s, const struct guard *guard)
{
	__u64 code = guard->reg_word;

	return managed_frame_code(s) == code &&
	       managed_frame_word(s, s->managed.is.frame_previous) == guard->word &&
	       managed_frame_end(s) == (guard->reg >> 8 & 255) &&
	       (__u32)(managed_frame_word(s, s->managed.is.frame_instruction) - code) ==
		       (__u32)guard->word_slot;
}

/* Returns whether it also has the same code object, for the version is the same. */
static __always_inline bool managed_is_same(const struct scratch *s, const struct guard *guard)
{
	__u64 position = guard->word_slot;
	__u32 version;

	if (!managed_has_words(s, guard) || !(position >> 32))
		return false;
	if (s->managed.is_calm)
		return true;
	return !bpf_probe_read_user(&version, sizeof(version),
				    (const void *)managed_version_at(s, managed_frame_bytes(s),
								     guard->reg_word)) &&
	       version == position >> 32;
}

/* Gives a word of the stack. */
static __always_inline bool managed_stack_word(const struct scratch *s, __u64 address,
					       __u64 *ret_word)
{
	return word_at_hand(s, address, ret_word) ||
	       !bpf_probe_read_user(ret_word, sizeof(*ret_word), (const void *)address);
}

__noinline int managed_thread_fits(struct scratch *given, __u64 address); /* managed_thread.bpf.h */

/* Reads the thread's last frame, if no activation was met so far, and there is no cframe. */
static __always_inline void
managed_expect_first(struct scratch *s, const struct thread_state *state, const struct guard *guard)
{
	struct task_struct *task = bpf_get_current_task_btf();

	s->managed.chained = 0;
	s->managed.chunk = state->managed_low;
	s->managed.expects = s->walk.managed == MANAGED_GOES_ON;
	if (s->walk.managed == MANAGED_NOT_MET && managed_take_facts(s, guard->reg >> 16) &&
	    (s->managed.is.form == STACKD_INTERPRETER_OWNER ||
	     s->managed.is.form == STACKD_INTERPRETER_OBJECT) &&
	    state->managed_of == task->start_time)
		s->managed.expects = managed_thread_fits(s, state->managed_thread);
}

/* Returns whether what comes before an activation leads to its last frame, if there is no cframe:
 * the frame on the stack to which the chain of the activation before it has led; that activation,
 * if the walk has added its frames; or the thread's state. A global function, so that the BPF
 * verifier checks it once. */
__noinline int managed_leads_to(struct scratch *given, __u64 frame)
{
	struct scratch *s = CHECKED(given);
	__u64 owner, previous, at;

	if (!s)
		return 0;
	if (!s->managed.chained)
		return s->managed.expects && s->managed.frame == frame;
	at = s->managed.chained + s->managed.is.frame_end;
	return managed_stack_word(s, at & ~7ull, &owner) &&
	       (owner >> (at & 7) * 8 & 255) == MANAGED_OWNED_BY_C &&
	       managed_stack_word(s, s->managed.chained + s->managed.is.frame_previous,
				  &previous) &&
	       previous == frame;
}

/* Returns whether the frame with a mark, the last one of its activation, still is that. The walk
 * has come to the first mark itself from there. */
static __always_inline bool managed_is_last(struct scratch *s, const struct mark *mark,
					    const struct guard *guard)
{
	return s->managed.is.form == STACKD_INTERPRETER_OWNER
		       ? managed_leads_to(s, guard->reg_slot)
		       : word_holds(s, (mark->slot & ~MARK_FLAGS) + s->managed.is.cframe_frame,
				    guard->reg_slot);
}

/* Reads a frame that is an object. */
static __always_inline bool managed_read_object(struct scratch *s, __u64 frame)
{
	return !bpf_probe_read_user(s->managed.words, STACKD_MANAGED_OBJECT_BYTES,
				    (const void *)frame);
}

/* Returns the instruction of the frame that was read last, if that is an object. */
static __always_inline __s32 managed_object_index(const struct scratch *s)
{
	__s32 index = (__s32)(managed_word(s, s->managed.is.frame_instruction) >>
			      (s->managed.is.frame_instruction & 4) * 8);

	return index >> (s->managed.is.index_shift & 1);
}

/* Returns what a guard keeps of that, and of the hash of the code object's content. */
static __always_inline __u64 managed_object_position(__u64 content, __s32 index)
{
	return content >> 32 << 32 | (__u32)index;
}

/* Returns whether the frame with a mark, which is an object, is unchanged, and is the next one of
 * the chain. A global function, so that the BPF verifier checks it once. */
__noinline int managed_object_holds(struct scratch *given, __u32 index)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct mark *mark = state ? mark_at(state, index) : NULL;
	struct guard *guard = state ? guard_at(state, index) : NULL;

	if (!mark || !guard)
		return 0;
	if (s->managed.expects ? s->managed.frame != guard->reg_slot
			       : s->managed.chained != guard->reg_slot)
		return 0;
	if (!managed_read_object(s, guard->reg_slot) ||
	    managed_word(s, s->managed.is.frame_code) != guard->reg_word ||
	    managed_word(s, s->managed.is.frame_previous) != guard->word ||
	    managed_object_index(s) != (__s32)guard->word_slot)
		return 0;
	s->managed.object_code = guard->reg_word;
	if (!managed_read_content(s) || s->managed.content >> 32 != guard->word_slot >> 32)
		return 0;
	managed_note_code(s, s->managed.object_code, mark->ra >> STACKD_MANAGED_SHIFT);
	s->managed.expects = 0;
	s->managed.chained = guard->word;
	return 1;
}

/* Returns whether the managed frame with a mark is unchanged. A global function, so that the BPF
 * verifier checks it once. */
__noinline int managed_mark_holds(struct scratch *given, __u32 index)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct mark *mark = state ? mark_at(state, index) : NULL;
	struct mark *above = state ? mark_at(state, index + 1) : NULL;
	struct guard *guard = state ? guard_at(state, index) : NULL;

	if (!mark || !guard)
		return false;
	if (index < s->check_from && above &&
	    (above->slot == mark->slot ? s->managed.chained != guard->reg_slot
				       : !managed_is_last(s, mark, guard)))
		return false;
	if (!managed_read_frame(s, guard->reg_slot))
		return false;
	s->managed.by_content = !(guard->word_slot >> 32) && s->managed.is.function_version &&
				managed_has_words(s, guard);
	if (!managed_is_same(s, guard))
		return false;
	s->managed.chained = guard->word;
	return true;
}

/* Returns whether the frame with the mark s->check - 1, which has no version, and whose words are
 * the same, has a code object of the same content; if so, goes on to the next mark. A global
 * function, so that the BPF verifier checks it once. */
__noinline int managed_holds_by_content(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	struct guard *guard = state ? guard_at(state, s->check - 1) : NULL;
	struct mark *mark = state ? mark_at(state, s->check - 1) : NULL;
	__u32 number;

	if (!mark || !guard)
		return 0;
	s->managed.version_at = 0;
	s->managed.object_code = guard->reg_word;
	number = managed_noted_content(s);
	if (!number)
		number = managed_code(s, guard->reg_word);
	s->managed.new_code = 0;
	if (!number || number != mark->ra >> STACKD_MANAGED_SHIFT)
		return 0;
	s->managed.chained = guard->word;
	s->check--;
	return 1;
}

#define MANAGED_MARKS_A_TURN 32

/* Returns whether what comes before an activation leads to `frame`, its last one, by words that
 * were read before. `chained` is where the last frame of the activation before it leads. */
static __always_inline bool managed_leads_at_hand(const struct scratch *s, __u64 cframe,
						  __u64 frame, __u64 chained)
{
	__u64 at = chained + s->managed.is.frame_end, word;

	if (s->managed.is.form != STACKD_INTERPRETER_OWNER)
		return word_at_hand(s, cframe + s->managed.is.cframe_frame, &word) && word == frame;
	if (!chained || !word_at_hand(s, at & ~7ull, &word) ||
	    (word >> (at & 7) * 8 & 255) != MANAGED_OWNED_BY_C)
		return false;
	return word_at_hand(s, chained + s->managed.is.frame_previous, &word) && word == frame;
}

/* Returns whether the version of a frame, at an address of managed_run, is the remembered one. */
static __always_inline bool managed_has_version(const struct scratch *s, const __u8 *frame,
						const struct guard *guard)
{
	__u64 at = managed_version_at(s, frame, guard->reg_word);
	__u32 version;

	return !bpf_probe_read_user(&version, sizeof(version), (const void *)at) &&
	       version == guard->word_slot >> 32;
}

/* Returns an offset in frames of a layout, which a constant says. Others are read from memory each
 * time, since the program's stack has no room for them. */
#define MANAGED_AT(layout, as_3_12, as_3_11, offset)                                               \
	((layout) == MANAGED_AS_3_12   ? (as_3_12)                                                 \
	 : (layout) == MANAGED_AS_3_11 ? (as_3_11)                                                 \
				       : BOUNDED(AS_STORED(offset), MANAGED_FRAME_ROOM))

/* Returns the word of a frame that leads to the frame before. */
static __always_inline __u64 managed_previous_of(const struct scratch *s, const __u8 *frame,
						 enum managed_layout layout)
{
	return *(const __u64 *)(frame + MANAGED_AT(layout, 8, 48, s->managed.is.frame_previous));
}

/* Returns 0 if a frame, whose bytes are given, is the remembered one at `at`. All differences are
 * put together, since each branch would cost more. Which frames end an activation need not be
 * compared: if the words are the same, then these are, for code of C has no function's code object,
 * and an activation leads to the last frame of its own. */
static __always_inline __u64 managed_difference(const struct scratch *s, const __u8 *frame,
						__u64 at, const struct guard *guard,
						enum managed_layout layout)
{
	__u64 code = *(const __u64 *)(frame + MANAGED_AT(layout, 0, 32, s->managed.is.frame_code));
	__u64 instruction = *(
		const __u64 *)(frame + MANAGED_AT(layout, 56, 56, s->managed.is.frame_instruction));

	return ((code & ~7ull) ^ guard->reg_word) | (at ^ guard->reg_slot) |
	       (__u32)((instruction - guard->reg_word) ^ guard->word_slot);
}

/* Does this for the marks of an activation from mark `next` on, rootwards, as far as frames are in
 * managed_run. The frames' own links are followed from the one at s->managed.chained on. Returns
 * how many marks hold, up to one that is not of such a frame, or has changed. Most frames of a path
 * are compared here, so nothing is stored in between, and only guards are read; if frames have a
 * usual layout, and no code object was made, neither offsets nor versions are. */
static __always_inline __u32 managed_pass_marks(struct scratch *s, struct thread_state *state,
						__u32 next, enum managed_layout layout)
{
	const struct guard *guard = &state->guards[BOUNDED(next, MAX_MARKS)];
	__u64 at = s->managed.chained;
	__u32 passed;

#pragma clang loop unroll(disable)
	for (passed = 0; passed < MANAGED_MARKS_A_TURN; passed++) {
		__u64 offset = at - s->managed.run_base;
		const __u8 *frame = s->managed_run + BOUNDED(offset, MANAGED_RUN);

		if (offset >= s->managed.run_plain ||
		    managed_difference(s, frame, at, guard, layout) ||
		    (layout == MANAGED_ELSEWHERE && !s->managed.is_calm &&
		     !managed_has_version(s, frame, guard)))
			break;
		if (RARELY(guard->reg & MANAGED_ENDS)) {
			if (guard->reg & MANAGED_UNVERSIONED ||
			    managed_previous_of(s, frame, layout) != guard->word)
				break;
			s->managed.chained = guard->word;
			return passed + 1;
		}
		at = managed_previous_of(s, frame, layout);
		guard--; /* the last one ends, so the next one is there */
	}
	s->managed.chained = at;
	return passed;
}

/* Returns whether a mark is the first one that is compared, or the first one of its activation. */
static __always_inline bool managed_is_first(const struct scratch *s,
					     const struct thread_state *state, __u32 index)
{
	return index >= s->check_from || state->marks[BOUNDED(index + 1, MAX_MARKS)].slot !=
						 state->marks[BOUNDED(index, MAX_MARKS)].slot;
}

/* Returns whether what comes before an activation leads to its frame with this mark, by words that
 * were read before; or that is not asked, since the frame before is of the same activation. */
static __always_inline bool managed_begins_at_hand(const struct scratch *s,
						   const struct thread_state *state, __u32 index)
{
	return index >= s->check_from || !managed_is_first(s, state, index) ||
	       managed_leads_at_hand(s, state->marks[BOUNDED(index, MAX_MARKS)].slot & ~MARK_FLAGS,
				     state->guards[BOUNDED(index, MAX_MARKS)].reg_slot,
				     s->managed.chained);
}

/* Goes on to the first mark, from s->check - 1 on, that is not of a managed frame of the same
 * activation which is unchanged and was read before; past some of them at most. Returns whether it
 * has passed any. A global function, so that the BPF verifier checks it once. */
__noinline int managed_marks_in_run(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	__u32 next = s ? s->check - 1 : 0, passed;
	const struct guard *guard;

	if (!state || s->managed.run_of != s->record.header.time_ns)
		return 0;
	guard = &state->guards[BOUNDED(next, MAX_MARKS)];
	if (guard->reg >> 16 != s->managed.file || !managed_begins_at_hand(s, state, next))
		return 0;
	if (managed_is_first(s, state, next))
		s->managed.chained = guard->reg_slot;
	if (s->managed.layout == MANAGED_AS_3_12 && s->managed.is_calm)
		passed = managed_pass_marks(s, state, next, MANAGED_AS_3_12);
	else if (s->managed.layout == MANAGED_AS_3_11 && s->managed.is_calm)
		passed = managed_pass_marks(s, state, next, MANAGED_AS_3_11);
	else
		passed = managed_pass_marks(s, state, next, MANAGED_ELSEWHERE);
	s->check -= passed;
	return passed != 0;
}

/* Checks the marks of an activation's managed frames that were read before, from s->check - 1 on,
 * or one that was not; and behind these, or at once, those of some native frames. Returns 1 to end
 * the loop; s->check is then 0 if all marks hold. */
static long check_any_mark(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	struct thread_state *state = state_at(s);
	__u32 index = s->check - 1;

	(void)turn;
	if (!state || index >= MAX_MARKS)
		return 1;
	if (state->marks[BOUNDED(index, MAX_MARKS)].slot & MARK_MANAGED &&
	    !managed_marks_in_run(s)) {
		if (!managed_take_facts(s, state->guards[BOUNDED(index, MAX_MARKS)].reg >> 16) ||
		    s->managed.is.form == STACKD_INTERPRETER_OBJECT ||
		    !managed_mark_holds(s, index))
			return 1;
		s->check = index;
	}
	for (int i = 0; i < MARKS_A_TURN && s->check; i++) {
		index = s->check - 1;
		if (state->marks[BOUNDED(index, MAX_MARKS)].slot & MARK_MANAGED)
			return 0;
		if (!mark_holds(s, state, index))
			return 1;
		s->check = index;
	}
	return !s->check;
}

/* Checks the mark s->check - 1, of a native frame or of an object. Returns as check_any_mark(). */
static long check_object_mark(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	struct thread_state *state = state_at(s);
	__u32 index = s->check - 1;

	(void)turn;
	if (!state || index >= MAX_MARKS)
		return 1;
	if (state->marks[BOUNDED(index, MAX_MARKS)].slot & MARK_MANAGED
		    ? s->managed.file != state->guards[BOUNDED(index, MAX_MARKS)].reg >> 16 ||
			      !managed_object_holds(s, index)
		    : !mark_holds(s, state, index))
		return 1;
	s->check = index;
	return !index;
}

#define MANAGED_BY_CONTENT 16 /* frames without a version that are compared */

/* Compares marks from s->check - 1 on, which is a managed frame's. Returns false if it does not,
 * since its versions may not be trusted. A global function, since the BPF verifier checks
 * check_any_mark() in each turn of the loop. */
__noinline int managed_check(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;

	if (!state || (!managed_has_versions(state) && managed_is_restless(s)) ||
	    !managed_take_facts(s, state->guards[BOUNDED(s->check - 1, MAX_MARKS)].reg >> 16))
		return 0;
	if (s->managed.is.form == STACKD_INTERPRETER_OBJECT) {
		bpf_loop(MAX_MARKS, check_object_mark, &s, 0);
		return 1;
	}
#pragma clang loop unroll(disable)
	for (int i = 0; i < MANAGED_BY_CONTENT; i++) {
		s->managed.by_content = 0;
		bpf_loop(MAX_MARKS, check_any_mark, &s, 0);
		if (!s->check || !s->managed.by_content || !managed_holds_by_content(s))
			break;
	}
	return 1;
}

/* Continues where check_marks() has stopped: at the mark of a managed frame, or at one that does
 * not hold. A global function, so that the BPF verifier checks it once. */
__noinline int check_managed_marks(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;

	if (!state || !(state->marks[BOUNDED(s->check - 1, MAX_MARKS)].slot & MARK_MANAGED))
		return 0;
	if (s->managed.epoch_of != s->record.header.time_ns) {
		if (state->managed_next.sequence == state->sequence)
			state->managed_held = state->managed_next;
		managed_read_counter(s, state,
				     state->managed_held.sequence == state->sequence
					     ? state->managed_held.at
					     : 0);
	}
	managed_expect_first(s, state, &state->guards[BOUNDED(s->check - 1, MAX_MARKS)]);
	managed_check(s);
	if (!s->check && s->managed.is.form == STACKD_INTERPRETER_OBJECT)
		s->managed.frame = s->managed.chained; /* the chain has ended */
	return 0;
}

/* Finds out whether the mappings that contain the remembered frames are unchanged. A function of
 * its own, whose stack is not in use when marks are compared. */
__noinline int managed_compare_mappings(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;

	return state && mappings_hold(s, state);
}

/* Begins managed_matches(). Returns false if the mappings have changed. This and what completes it
 * are functions of their own, whose stack is not in use when marks are compared. */
__noinline int managed_begins(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	s->check_from = s->probe - 1;
	s->check = s->probe;
	s->n_fixes = 0;
	s->broken_register = 0;
	s->managed.chained = 0;
	return s->touched_hold;
}

/* Completes managed_matches(), after marks were `compared`. */
__noinline int managed_has_held(struct scratch *given, __u32 compared)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	__u32 probe;

	if (!state)
		return 0;
	probe = s->check_from + 1;
	if (compared && !s->check && (!state->zero || word_holds(s, state->zero, 0))) {
		s->kept = probe;
		return 1;
	}
	if (compared && s->check && !s->broken_register)
		s->probe = s->check - 1;
	s->n_fixes = 0;
	if (s->probe >= probe)
		s->managed.no_match = 1;
	return 0;
}

/* Returns whether everything is unchanged from the remembered frame on whose mark is s->probe - 1,
 * rootwards; s->kept is then the number of these frames. Otherwise the probe is rootwards of what
 * has changed, or no_match is set. This does what verify_from() does, with less of the program's
 * stack. */
static __always_inline bool managed_matches(struct scratch *s)
{
	return managed_has_held(s, managed_begins(s) && managed_check(s));
}

#endif
