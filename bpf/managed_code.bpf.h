/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Code objects of managed functions, by number; and remembered frames of such functions.
 *
 * A code object gets a number when it is first met, and its names are sent with it (managed.bpf.h).
 *
 * A remembered managed frame has a mark like any other (prefix.bpf.h). Its slot is the cframe of
 * its activation, so marks are in the order of addresses; and its guard has the words that it
 * consists of, and the version of its code object: they are compared in place of a return address.
 * An interpreter without versions (3.11) may make another object at the same address, so walks with
 * frames of it are not remembered, and an object is known by its content each time. A code object
 * that had not been met before makes the process restless for some time, in which no remembered
 * managed frame is believed.
 */
#ifndef MANAGED_CODE_BPF_H
#define MANAGED_CODE_BPF_H

#include "mapping.bpf.h"
#include "prefix.bpf.h"
#include "ring.bpf.h"
#include "scratch.bpf.h"

#define MANAGED_HASHED	    64 /* bytes of a string */
#define MANAGED_RESTLESS_NS 2000000000ull
#define MANAGED_MOST_SENT   64	 /* code objects whose names a sample sends */
#define MANAGED_RUN	    2048 /* bytes of remembered frames that are read at once */

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

	s->managed.record.code.line_bytes = 0;
	if (bpf_probe_read_user(s->managed.text, 24, (const void *)address))
		return;
	bytes = s->managed.text[2];
	if (bytes > STACKD_MANAGED_LINES)
		bytes = STACKD_MANAGED_LINES;
	if (!bpf_probe_read_user(s->managed.record.lines, BOUNDED(bytes, 2 * STACKD_MANAGED_LINES),
				 (const void *)(address + 32)))
		s->managed.record.code.line_bytes = bytes;
}

/* Sends the names of the code object at s->managed.new_code, with this hash, and gives it a number.
 * Returns 0 if the ring has no room, or the object cannot be read. A separate function, which few
 * functions call, since all stack frames together have 512 bytes. */
__noinline int managed_send_code(struct scratch *given)
{
	struct scratch *s = CHECKED(given);
	struct managed_code_key key = {0};
	struct stackd_managed_record *record;
	__u32 number, size;

	if (!s || bpf_probe_read_user(s->managed.words, STACKD_MANAGED_CODE_BYTES,
				      (const void *)s->managed.new_code))
		return 0;
	record = &s->managed.record;
	record->header = s->record.header;
	record->header.kind = STACKD_RECORD_MANAGED;
	record->header.n_kernel = 0;
	record->pid = s->record.pid;
	record->pad = 0;
	record->code.language = s->managed.is.language;
	record->code.version = s->managed.is.version;
	record->code.first_line = managed_word(s, s->managed.is.code_first_line) >>
				  (s->managed.is.code_first_line & 4) * 8;
	managed_text(s, managed_word(s, s->managed.is.code_file), &record->code.file);
	managed_text(s, managed_word(s, s->managed.is.code_name), &record->code.name);
	managed_lines(s, managed_word(s, s->managed.is.code_lines));
	size = __builtin_offsetof(struct stackd_managed_record, lines) + record->code.line_bytes;
	FORGET(size);
	number = __sync_fetch_and_add(&managed_numbers, 1) + 1;
	record->code.number = number;
	if (size > sizeof(*record) || number >> (47 - STACKD_MANAGED_SHIFT) ||
	    bpf_ringbuf_output(&ring, record, size, BPF_RB_NO_WAKEUP))
		return 0;
	key.space = s->space;
	key.address = s->managed.new_code;
	key.hash = s->managed.new_hash;
	bpf_map_update_elem(&managed_codes, &key, &number, BPF_ANY);
	managed_disturb(s);
	count(STACKD_COUNT_MANAGED_CODES);
	s->managed.new_code = 0;
	return number;
}

/* Mixes the content of a string, or of a table of bytes, into a hash: its length, the hash that the
 * interpreter has for it, and if it has none yet (-1), its first MANAGED_HASHED bytes. Returns 0 if
 * it cannot be read. A global function, so that the BPF verifier checks it once. */
__noinline __u64 managed_hash(struct scratch *given, __u64 hash, __u64 address, __u32 is_text)
{
	struct scratch *s = CHECKED(given);
	__u64 bytes, start = 4;

	if (!s)
		return 0;
	if (is_text && !bpf_probe_read_user(s->managed.text, 32, (const void *)address) &&
	    s->managed.text[3] != ~0ull)
		return mix(mix(hash ^ s->managed.text[2]) ^ s->managed.text[3]) | 1;
	/* If the object is at the end of a mapping, what is behind it cannot be read. */
	if (bpf_probe_read_user(s->managed.text, 136, (const void *)address) &&
	    bpf_probe_read_user(s->managed.text, 72, (const void *)address))
		return 0;
	bytes = s->managed.text[2];
	if (is_text) {
		bytes *= s->managed.text[4] >> 2 & 7;
		start = (s->managed.text[4] & 64 ? s->managed.is.text_ascii
						 : s->managed.is.text_other) >>
			3;
	}
	hash = mix(mix(hash ^ s->managed.text[2]) ^ s->managed.text[3]);
	for (__u32 i = 0; i < MANAGED_HASHED / 8 && i * 8 < bytes; i++) {
		__u64 word = s->managed.text[BOUNDED(start + i, MANAGED_WORDS)];

		FORGET(i);
		if (bytes - i * 8 < 8)
			word &= (1ull << (bytes - i * 8) * 8) - 1;
		hash = mix(hash ^ word);
	}
	return hash | 1;
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
	__u64 name = managed_word(s, s->managed.is.code_name);
	__u64 lines = managed_word(s, s->managed.is.code_lines);

	if (s->managed.file_of != s->record.header.time_ns || s->managed.file_text != file) {
		s->managed.file_hash = managed_hash(s, 0, file, true);
		s->managed.file_of = s->record.header.time_ns;
		s->managed.file_text = file;
	}
	hash = s->managed.file_hash ? managed_hash(s, hash ^ s->managed.file_hash, name, true) : 0;
	return hash ? managed_hash(s, hash, lines, false) : 0;
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

/* Returns the number of the code object at an address. 0: there is no code object; or, if
 * s->managed.new_code is set, the caller has to send its names first. Code objects with the same
 * address are distinguished by their words, if a version is among these and the process is not
 * restless; otherwise by their content. Sets s->managed.version to the version << 32. */
__noinline int managed_code(struct scratch *given, __u64 address)
{
	struct scratch *s = CHECKED(given);
	struct managed_code_key key = {.address = address};
	__u32 *known;
	__u64 words;

	if (!s)
		return 0;
	if (s->managed.last_of == s->record.header.time_ns && s->managed.last_code == address)
		return s->managed.last_number; /* the frame before has called itself */
	if (bpf_probe_read_user(s->managed.words, STACKD_MANAGED_CODE_BYTES, (const void *)address))
		return 0;
	key.space = s->space;
	words = key.hash = managed_words_hash(s);
	if (s->managed.version && !managed_is_restless(s)) {
		known = CHECKED(bpf_map_lookup_elem(&managed_codes, &key));
		if (known)
			return managed_note_code(s, address, *known);
	}
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
	key.hash = words;
	if (s->managed.version)
		bpf_map_update_elem(&managed_codes, &key, known, BPF_ANY);
	return managed_note_code(s, address, *known);
}

/* --- remembered frames ------------------------------------------------------------------------ */

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
	return true;
}

/* Returns the start of a run whose last frame is given: the lowest remembered frame, if that is
 * near. */
static __always_inline __u64 managed_run_start(struct scratch *s, __u64 frame)
{
	const struct thread_state *state = state_at(s);
	__u64 start = frame + STACKD_MANAGED_FRAME_BYTES - MANAGED_RUN;
	__u64 low = state && state->count ? state->managed_low : 0;

	return low > start && low <= frame ? low : start;
}

/* Copies a run that ends with a frame. false: the memory is unreadable. */
static __always_inline bool managed_copy_run(struct scratch *s, __u64 start, __u64 frame)
{
	__u64 bytes = frame + STACKD_MANAGED_FRAME_BYTES - start;

	s->managed.run_of = 0;
	FORGET(bytes);
	if (bytes > MANAGED_RUN ||
	    bpf_probe_read_user(s->managed.run, BOUNDED(bytes, 2 * MANAGED_RUN),
				(const void *)start))
		return false;
	s->managed.run_of = s->record.header.time_ns;
	s->managed.run_base = start;
	s->managed.run_plain = bytes - STACKD_MANAGED_FRAME_BYTES + 1;
	return true;
}

/* Copies the words of a frame to the run, if they are not there. Most frames are next to each
 * other, each caller's at a lower address, so what is below is read at the same time. A global
 * function, so that the BPF verifier checks it once. */
__noinline int managed_read_frame(struct scratch *given, __u64 frame)
{
	struct scratch *s = CHECKED(given);

	if (!s)
		return 0;
	if (s->managed.run_of == s->record.header.time_ns &&
	    frame - s->managed.run_base < s->managed.run_plain)
		return 1;
	return managed_copy_run(s, managed_run_start(s, frame), frame) ||
	       managed_copy_run(s, frame, frame);
}

/* Returns a word of a frame that was read. */
static __always_inline __u64 managed_frame_word(const struct scratch *s, __u64 frame, __u32 offset)
{
	__u64 at = frame - s->managed.run_base + offset;

	return *(__u64 *)(s->managed.run + BOUNDED(at, MANAGED_RUN));
}

/* Returns the byte that says whether the activation's frames end with this one. */
static __always_inline __u32 managed_frame_end(const struct scratch *s, __u64 frame)
{
	__u64 at = frame - s->managed.run_base + s->managed.is.frame_end;

	return s->managed.run[BOUNDED(at, MANAGED_RUN)];
}

/* Returns what a guard keeps of an instruction, in the code object at `code`, whose version << 32
 * is given. */
static __always_inline __u64 managed_position(__u64 version, __u64 code, __u64 instruction)
{
	return version | (__u32)(instruction - code);
}

/* Returns whether the words of a frame that was read are those of a remembered one, and its code
 * object still has the same version. */
static __always_inline bool managed_is_same(const struct scratch *s, const struct guard *guard)
{
	__u64 frame = guard->reg_slot, code = guard->reg_word, position = guard->word_slot;
	__u64 instruction = managed_frame_word(s, frame, s->managed.is.frame_instruction);
	__u32 version;

	return managed_frame_word(s, frame, s->managed.is.frame_code) == code &&
	       managed_frame_word(s, frame, s->managed.is.frame_previous) == guard->word &&
	       managed_frame_end(s, frame) == (guard->reg >> 8 & 255) &&
	       (__u32)(instruction - code) == (__u32)position && position >> 32 &&
	       !bpf_probe_read_user(&version, sizeof(version),
				    (const void *)(code + s->managed.is.code_version)) &&
	       version == position >> 32;
}

/* Returns whether a remembered managed frame, whose guard is given, is unchanged. */
static __always_inline bool managed_frame_holds(struct scratch *s, const struct guard *guard)
{
	return managed_take_facts(s, guard->reg >> 16) && managed_read_frame(s, guard->reg_slot) &&
	       managed_is_same(s, guard);
}

/* Returns whether the managed frame with a mark is unchanged. */
static __always_inline bool managed_mark_holds(struct scratch *s, struct thread_state *state,
					       __u32 index)
{
	struct mark *mark = mark_at(state, index), *above = mark_at(state, index + 1);
	struct guard *guard = guard_at(state, index);

	if (!mark || !guard || !managed_frame_holds(s, guard))
		return false;
	/* The activation's last frame must be the same; the walk has come to the first mark itself
	 * from there. */
	return index >= s->check_from || !above || above->slot == mark->slot ||
	       holds(s, (mark->slot & ~MARK_FLAGS) + s->managed.is.cframe_frame, guard->reg_slot);
}

/* Returns whether the managed frame with a mark is unchanged, if its words are in the run. 0:
 * managed_mark_holds() has to find out. A global function, so that the BPF verifier checks it
 * once. */
__noinline int managed_mark_in_run(struct scratch *given, __u32 index)
{
	struct scratch *s = CHECKED(given);
	struct thread_state *state = s ? state_at(s) : NULL;
	const struct guard *guard;
	__u64 slot;

	if (!state || index >= MAX_MARKS - 1 || s->managed.run_of != s->record.header.time_ns)
		return 0;
	slot = state->marks[BOUNDED(index, MAX_MARKS)].slot;
	if (!(slot & MARK_MANAGED) ||
	    (index < s->check_from && state->marks[BOUNDED(index + 1, MAX_MARKS)].slot != slot))
		return 0; /* the activation's last frame: more is compared */
	guard = &state->guards[BOUNDED(index, MAX_MARKS)];
	return guard->reg_slot - s->managed.run_base < s->managed.run_plain &&
	       guard->reg >> 16 == s->managed.file && managed_is_same(s, guard);
}

/* Checks the mark s->check - 1, of either kind, and managed ones that follow. Returns 1 to end the
 * loop; s->check is then 0 if all marks hold. */
static long check_any_mark(__u32 turn, struct scratch **at)
{
	struct scratch *s = *at;
	struct thread_state *state;
	__u32 index;

	(void)turn;
	for (int i = 0; i < MARKS_A_TURN && s->check; i++) {
		if (!managed_mark_in_run(s, s->check - 1))
			break;
		s->check--;
	}
	state = state_at(s);
	index = s->check - 1;
	if (!state || index >= MAX_MARKS)
		return 1;
	if (state->marks[BOUNDED(index, MAX_MARKS)].slot & MARK_MANAGED
		    ? !managed_mark_holds(s, state, index)
		    : !mark_holds(s, state, index))
		return 1;
	s->check = index;
	return !index;
}

/* Continues where check_marks() has stopped: at the mark of a managed frame, or at one that does
 * not hold. A global function, so that the BPF verifier checks it once. */
__noinline int check_managed_marks(struct scratch *given)
{
	struct scratch *s = CHECKED(given);

	if (s && !managed_is_restless(s))
		bpf_loop(MAX_MARKS, check_any_mark, &s, 0);
	return 0;
}

#endif
