/* SPDX-License-Identifier: MIT */
/*
 * Pieces of code that V8 has made, and which functions are at an address in them; see v8_heap.h.
 *
 *   before the instructions: [ map ][ Code ] ...      (10: the Code itself)
 *   Code ─► baseline code: its bytecode, and the offsets of instructions by those of bytecode
 *       └─► optimised code: points to which it may fall back: return address ─► translation
 *                           (v8_translation.h), and the functions in it
 *
 * So at a return address behind a call, all inlined functions are known, each with its instruction.
 * Elsewhere in optimised code nothing says which of them an instruction is of.
 */
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "runtime/v8/v8_bytes.h"
#include "runtime/v8/v8_heap.h"
#include "runtime/v8/v8_translation.h"

#define ALIGNMENT     64	 /* of instructions' starts */
#define MOST_BACK     (1u << 19) /* bytes before an address in which the start is looked for */
#define MOST_CODE     (1u << 24) /* bytes of a piece */
#define MOST_TABLE    (1u << 20) /* bytes of a table */
#define MOST_BYTECODE (1u << 20)
#define MOST_POINTS   65536 /* to which optimised code may fall back */
#define MOST_FRAMES   64

#define ARRAY_LENGTH 8
#define ARRAY_START  16
#define WRAPPED_SFI  8 /* SharedFunctionInfoWrapper: its function */
#define KIND_BUILTIN 2 /* in all versions */
#define KIND_REGEXP  3

/* What was found of a piece. */
struct code {
	uint64_t object; /* Code, less its tag */
	uint64_t start;	 /* of the instructions */
	uint32_t size;
	int32_t kind;
};

/* --- pieces ----------------------------------------------------------------------------------- */

/* Reads the Code whose instructions would begin at `start`. Returns false if it is none. */
static bool read_code(struct v8 *v8, uint64_t start, struct code *code)
{
	const struct v8_version *version = v8->is.version;
	uint64_t object = start - version->code_header, map, there = start;
	uint32_t flags;

	if (!v8_object(v8, object, 0, &map))
		return false;
	if (map != v8->stream_map) {
		if (!v8_has_type(v8, object, version->stream_code ? V8_TYPE_STREAM : V8_TYPE_CODE))
			return false;
		v8->stream_map = map;
	}
	if (version->stream_code && (!v8_object(v8, object, version->stream_code, &object) ||
				     !v8_has_type(v8, object, V8_TYPE_CODE) ||
				     !v8_word(v8, object + version->code_start, &there)))
		return false;
	if (there != start ||
	    !v8_read(v8, object + version->code_size, &code->size, sizeof(code->size)) ||
	    !v8_read(v8, object + version->code_flags, &flags, sizeof(flags)) ||
	    code->size > MOST_CODE)
		return false;
	code->object = object;
	code->start = start;
	code->kind = (int32_t)flags & v8->is.is[V8_KIND_MASK];
	return true;
}

/* Returns whether a word can be that of a map, before an instruction's start. */
static bool may_begin(const struct v8 *v8, uint64_t start)
{
	uint64_t word;

	return v8_word(v8, start - v8->is.version->code_header, &word) && v8_is_object(word) &&
	       (!v8->stream_map || word - 1 == v8->stream_map);
}

/* Finds the Code with an address. Without its map, each word that can be one is tried. */
static bool find_code(struct v8 *v8, uint64_t address, struct code *code)
{
	uint64_t first = address & ~(uint64_t)(ALIGNMENT - 1);

	for (uint64_t back = 0; back <= MOST_BACK && back < first; back += ALIGNMENT) {
		uint64_t start = first - back;

		/* The page before may be in no mapping. */
		if (!(start & 4095) && !v8_has(v8, start - ALIGNMENT))
			return false;
		if (may_begin(v8, start) && read_code(v8, start, code))
			return address - code->start <= code->size;
	}
	return false;
}

/* Reads the array of what is needed to fall back from optimised code. Gives its length. */
static bool read_points(const struct v8 *v8, const struct code *code, uint64_t *ret_array,
			uint32_t *ret_count)
{
	int32_t type;

	if (!v8_object(v8, code->object, v8->is.version->code_data, ret_array))
		return false;
	type = v8_type(v8, *ret_array);
	return (type == v8->is.is[V8_TYPE_FIXED_ARRAY] ||
		type == v8->is.is[V8_TYPE_TRUSTED_ARRAY] ||
		type == v8->is.is[V8_TYPE_PROTECTED_ARRAY]) &&
	       v8_smi(v8, *ret_array, ARRAY_LENGTH, ret_count);
}

/* Indexes in that array, counted from the one that the file tells. */
#define POINTS_LITERALS 5 /* before it */
#define POINTS_ID	2 /* before it: a number that no other code of the heap has got */
#define POINTS_FUNCTION 1 /* before it */
#define POINTS_FIRST	4 /* behind it: the first of three words a point */

static bool is_optimised(const struct v8 *v8, const struct code *code)
{
	return code->kind > v8->is.is[V8_KIND_BASELINE];
}

/* Reads a word of the array. */
static bool point_word(const struct v8 *v8, uint64_t array, uint32_t index, uint64_t *ret_word)
{
	return v8_word(v8, array + ARRAY_START + (uint64_t)index * 8, ret_word);
}

/* Returns the function that was optimised, less its tag; 0: it is not known. */
static uint64_t function_of(const struct v8 *v8, uint64_t array)
{
	uint32_t index = (uint32_t)v8->is.is[V8_DEOPT_POSITIONS] - POINTS_FUNCTION;
	uint64_t function;

	if (!v8_object(v8, array, ARRAY_START + index * 8, &function))
		return 0;
	if (v8_has_type(v8, function, V8_TYPE_SFI_WRAPPER) &&
	    !v8_object(v8, function, WRAPPED_SFI, &function))
		return 0;
	return v8_has_type(v8, function, V8_TYPE_SFI) ? function : 0;
}

/* Gives what makes a piece differ from those that were at its place before. */
static bool identify(const struct v8 *v8, const struct code *code, uint64_t *ret_identity,
		     uint64_t *ret_function)
{
	uint64_t word = 0, array;
	uint32_t count;

	*ret_function = 0;
	if (code->kind == v8->is.is[V8_KIND_BASELINE]) {
		if (!v8_object(v8, code->object, v8->is.version->code_data, &word))
			return false;
		word = *ret_function = v8_bytecode_in(v8, word);
		if (!word)
			return false;
	} else if (is_optimised(v8, code)) {
		if (!read_points(v8, code, &array, &count) ||
		    !point_word(v8, array, (uint32_t)v8->is.is[V8_DEOPT_POSITIONS] - POINTS_ID,
				&word))
			return false;
		*ret_function = function_of(v8, array);
		if (!*ret_function)
			return false;
	}
	*ret_identity = hash_mix64(hash_mix64(word + (uint32_t)code->kind) ^ code->size ^
				   code->start << 24) |
			1;
	return true;
}

/* Returns the slot for an address that is in no code. */
static uint64_t *vain_slot(struct v8 *v8, uint64_t address, uint64_t *ret_hash)
{
	*ret_hash = hash_mix64(address);
	return &v8->in_vain[*ret_hash % V8_IN_VAIN];
}

/* Returns whether a piece is a copy of the code that runs bytecode, which a function may have of
 * its own (--interpreted-frames-native-stack). Other builtins are not copied. */
static bool is_trampoline(const struct v8 *v8, const struct code *code)
{
	uint64_t size = v8->is.interpreter_end - v8->is.interpreter;

	return code->kind == v8->is.is[V8_KIND_INTERPRETED] ||
	       (code->kind == KIND_BUILTIN && size && code->size / ALIGNMENT == size / ALIGNMENT);
}

bool v8_piece(void *machine, uint64_t address, struct runtime_code_piece *ret_piece)
{
	struct v8 *v8 = machine;
	uint64_t hash, *vain = vain_slot(v8, address, &hash);
	const uint64_t failed = v8->failures;
	struct code code;
	struct runtime_code_piece piece = {0};

	v8_forget(v8);
	if (*vain == hash)
		return false;
	if (!find_code(v8, address, &code) ||
	    !identify(v8, &code, &piece.identity, &piece.function)) {
		if (v8->failures == failed)
			*vain = hash;
		return false;
	}
	piece.start = code.start;
	piece.end = code.start + code.size;
	piece.kind = piece.function		? RUNTIME_CODE_COMPILED
		     : is_trampoline(v8, &code) ? RUNTIME_CODE_INTERPRETER
						: RUNTIME_CODE_STUB;
	piece.is_framed = is_optimised(v8, &code);
	if (piece.kind == RUNTIME_CODE_INTERPRETER)
		strcpy(piece.name, "Interpreter");
	else if (piece.kind == RUNTIME_CODE_STUB)
		strcpy(piece.name, code.kind == KIND_REGEXP ? "RegExp" : "Stub");
	*ret_piece = piece;
	return true;
}

bool v8_is_still(void *machine, const struct runtime_code_piece *piece)
{
	struct v8 *v8 = machine;
	struct code code;
	uint64_t identity, function;

	return read_code(v8, piece->start, &code) && identify(v8, &code, &identity, &function) &&
	       identity == piece->identity && function == piece->function;
}

/* --- baseline code ---------------------------------------------------------------------------- */

/* Finds the offset of the instruction that has the code up to `end`, counted from the code's
 * start; -1: none has. The table has the size of each instruction's code, after that of the code
 * which makes the frame. */
static int32_t offset_at(const struct v8 *v8, const uint8_t *table, size_t table_len,
			 const uint8_t *bytecode, size_t len, uint64_t end)
{
	uint64_t reached = 0, size;
	size_t at = 0, offset = 0;
	int32_t found = -1;

	while (v8_number(table, table_len, &at, &size)) {
		unsigned scale = 0, bytes = 0;

		reached += size;
		if (end <= reached)
			return found;
		if (offset >= len)
			return -1;
		found = (int32_t)offset;
		if (bytecode[offset] < 4) { /* the next one's operands are larger */
			scale = bytecode[offset] % 2 + 1;
			bytes = 1;
		}
		if (offset + bytes >= len)
			return -1;
		bytes += v8->is.bytecode_sizes[scale][bytecode[offset + bytes]];
		if (!bytes || (scale && bytes == 1))
			return -1;
		offset += bytes;
	}
	return -1;
}

/* Returns the offset of the instruction at an address; -1: it is not known. */
static int32_t baseline_offset(const struct v8 *v8, const struct code *code, uint64_t bytecode,
			       uint64_t end)
{
	uint8_t *table, *bytes = NULL;
	size_t table_len;
	uint32_t len;
	int32_t offset = -1;
	bool is_read = true;

	if (v8_bytes_of(v8, code->object, v8->is.version->code_table, MOST_TABLE, &table,
			&table_len))
		return -1;
	if (v8_smi(v8, bytecode, ARRAY_LENGTH, &len) && len && len <= MOST_BYTECODE)
		bytes = malloc(len);
	for (size_t at = 0, n; bytes && is_read && at < len; at += n) {
		n = len - at < 4096 ? len - at : 4096;
		is_read = v8_read(v8, bytecode + (uint32_t)v8->is.is[V8_BYTECODE_START] + at,
				  bytes + at, n);
	}
	if (bytes && is_read)
		offset = offset_at(v8, table, table_len, bytes, len, end);
	free(table);
	free(bytes);
	return offset;
}

/* --- optimised code --------------------------------------------------------------------------- */

#define POINT_WORDS 3	/* of a point: an offset of bytecode, its translation, its address */
#define AT_ONCE	    128 /* points that are read */

/* The points of optimised code. */
struct points {
	const struct v8 *v8;
	uint64_t array;
	uint32_t first, count;
};

/* Reads `n` points from the one with this number on. */
static bool read_some(const struct points *p, uint32_t from, uint32_t n,
		      uint64_t words[AT_ONCE][POINT_WORDS])
{
	return v8_read(p->v8,
		       p->array + ARRAY_START + ((uint64_t)p->first + from * POINT_WORDS) * 8,
		       words, n * sizeof(*words));
}

/* Finds the point with an address, counted from the code's start, that is a return address in code
 * of the best compiler. Returns false if there is none: no call returns there that may be fallen
 * back from. */
static bool find_point(const struct points *p, uint64_t at, uint32_t *ret_translation)
{
	uint64_t words[AT_ONCE][POINT_WORDS];

	for (uint32_t i = 0, n; i < p->count; i += n) {
		n = p->count - i < AT_ONCE ? p->count - i : AT_ONCE;
		if (!read_some(p, i, n, words))
			return false;
		for (uint32_t k = 0; k < n; k++) {
			if (words[k][2] != at << 32 || !v8_is_smi(words[k][1]))
				continue;
			*ret_translation = (uint32_t)(words[k][1] >> 32);
			return true;
		}
	}
	return false;
}

/*
 * Code of the middle compiler has the address of a point's code for falling back there, not the
 * return address. A table behind the instructions has both. Its head of four words has the number
 * of entries, and the sizes of an entry's numbers:
 *
 *   return address, number of the point plus 1, address of its code plus 1, a byte, registers
 *
 * It is believed only if all entries with a point have the address that the point has.
 */

/* Words of 4 bytes in the head: a size, the number of entries, sizes, number of slots. */
#define SAFEPOINT_HEAD	4
#define HAS_POINTS	1u /* a bit of the third word; the others are sizes */
#define REGISTER_BYTES	1  /* where the sizes begin */
#define ADDRESS_BYTES	4
#define POINT_BYTES	7
#define SIZE_MASK	7
#define MOST_SAFEPOINTS 4096

struct safepoints {
	const uint8_t *bytes;
	uint32_t count;
	size_t at_bytes, point_bytes, entry_bytes;
};

static uint64_t little(const uint8_t *bytes, size_t n)
{
	uint64_t value = 0;

	while (n--)
		value = value << 8 | bytes[n];
	return value;
}

/* Returns the number of the point of an entry, plus 1; 0: it has none. */
static uint64_t point_of(const struct safepoints *s, uint32_t index, uint64_t *ret_at,
			 uint64_t *ret_code)
{
	const uint8_t *entry = s->bytes + index * s->entry_bytes;

	*ret_at = little(entry, s->at_bytes);
	*ret_code = little(entry + s->at_bytes + s->point_bytes, s->at_bytes);
	return little(entry + s->at_bytes, s->point_bytes);
}

/* Returns whether all entries have what their points have, and return addresses rise. */
static bool are_right(const struct safepoints *s, const struct points *p)
{
	uint64_t at, code, number, before = 0, words[AT_ONCE][POINT_WORDS];
	bool has_any = false;

	for (uint32_t i = 0; i < s->count; i++, before = at) {
		number = point_of(s, i, &at, &code);
		if (at <= before)
			return false;
		if (!number)
			continue;
		if (number > p->count || !read_some(p, (uint32_t)number - 1, 1, words) ||
		    words[0][2] != (code - 1) << 32)
			return false;
		has_any = true;
	}
	return has_any;
}

/* Reads the sizes of the table's head. Returns false if it is none. */
static bool read_sizes(const uint32_t head[SAFEPOINT_HEAD], struct safepoints *s)
{
	s->count = head[1];
	s->at_bytes = head[2] >> ADDRESS_BYTES & SIZE_MASK;
	s->point_bytes = head[2] >> POINT_BYTES & SIZE_MASK;
	s->entry_bytes =
		2 * s->at_bytes + s->point_bytes + 1 + (head[2] >> REGISTER_BYTES & SIZE_MASK);
	return head[2] & HAS_POINTS && s->count && s->count <= MOST_SAFEPOINTS && s->at_bytes &&
	       s->point_bytes;
}

/* Copies the table's entries. Returns NULL if they cannot be read. The caller frees them. */
static uint8_t *read_entries(const struct v8 *v8, uint64_t address, size_t len)
{
	uint8_t *bytes = malloc(len);

	for (size_t done = 0, n; bytes && done < len; done += n) {
		n = len - done < 4096 ? len - done : 4096;
		if (v8_read(v8, address + done, bytes + done, n))
			continue;
		free(bytes);
		return NULL;
	}
	return bytes;
}

/* Finds the point of a return address in code of the middle compiler. */
static bool find_safepoint(const struct points *p, const struct code *code, uint64_t at,
			   uint32_t *ret_translation)
{
	uint64_t table = code->start + code->size, there, unused;
	uint64_t words[AT_ONCE][POINT_WORDS];
	uint32_t head[SAFEPOINT_HEAD];
	struct safepoints s = {0};
	uint8_t *bytes;
	bool is_found = false, is_right;

	if (!p->v8->is.version->has_safepoints || !v8_read(p->v8, table, head, sizeof(head)) ||
	    !read_sizes(head, &s))
		return false;
	bytes = read_entries(p->v8, table + sizeof(head), s.count * s.entry_bytes);
	if (!bytes)
		return false;
	s.bytes = bytes;
	is_right = are_right(&s, p);
	for (uint32_t i = 0; i < s.count && is_right && !is_found; i++) {
		uint64_t number = point_of(&s, i, &there, &unused);

		if (there != at || !number || !read_some(p, (uint32_t)number - 1, 1, words) ||
		    !v8_is_smi(words[0][1]))
			continue;
		*ret_translation = (uint32_t)(words[0][1] >> 32);
		is_found = true;
	}
	free(bytes);
	return is_found;
}

/* Returns a function among the literals, less its tag; 0: it is none. */
static uint64_t literal_function(const struct v8 *v8, uint64_t literals, uint32_t number)
{
	uint64_t word;

	if (!point_word(v8, literals, number, &word))
		return 0;
	word &= ~UINT64_C(2); /* it may be weak */
	return v8_is_object(word) && v8_has_type(v8, word - 1, V8_TYPE_SFI) ? word - 1 : 0;
}

/* Finds the array of literals. Gives its length. */
static bool find_literals(const struct v8 *v8, uint64_t array, uint64_t *ret_literals,
			  uint32_t *ret_count)
{
	uint32_t index = (uint32_t)v8->is.is[V8_DEOPT_POSITIONS] - POINTS_LITERALS;
	int32_t type;

	if (!v8_object(v8, array, ARRAY_START + index * 8, ret_literals))
		return false;
	type = v8_type(v8, *ret_literals);
	return (type == v8->is.is[V8_TYPE_FIXED_ARRAY] || type == v8->is.is[V8_TYPE_WEAK_ARRAY] ||
		type == v8->is.is[V8_TYPE_TRUSTED_WEAK_ARRAY]) &&
	       v8_smi(v8, *ret_literals, ARRAY_LENGTH, ret_count);
}

/* Decodes the translation of a point. Returns the number of frames, innermost first; 0: they are
 * not known. */
static size_t translate(const struct v8 *v8, uint64_t array, uint32_t translation,
			struct runtime_managed_frame *ret_frames, size_t max)
{
	struct v8_translation_frame frames[MOST_FRAMES];
	uint64_t literals;
	uint32_t n_literals;
	uint8_t *bytes;
	size_t len, n;

	if (!find_literals(v8, array, &literals, &n_literals) ||
	    v8_bytes_of(v8, array, ARRAY_START, MOST_TABLE, &bytes, &len))
		return 0;
	n = v8_translation_frames(v8->is.version->translations, bytes, len, translation, frames,
				  max < MOST_FRAMES ? max : MOST_FRAMES);
	free(bytes);
	for (size_t i = 0; i < n; i++) {
		struct runtime_managed_frame *to = &ret_frames[n - 1 - i];

		if (frames[i].literal >= n_literals)
			return 0;
		to->function = literal_function(v8, literals, frames[i].literal);
		to->instruction = frames[i].offset < 0 ? 0 : frames[i].offset;
		if (!to->function)
			return 0;
	}
	return n && ret_frames[n - 1].function == function_of(v8, array) ? n : 0;
}

static bool points_of(const struct v8 *v8, uint64_t array, uint32_t count, struct points *points)
{
	uint32_t first = (uint32_t)v8->is.is[V8_DEOPT_POSITIONS] + POINTS_FIRST;

	*points = (struct points){v8, array, first,
				  count < first ? 0 : (count - first) / POINT_WORDS};
	return points->count <= MOST_POINTS;
}

size_t v8_frames(void *machine, const struct runtime_code_piece *piece, uint64_t address,
		 bool is_return, struct runtime_managed_frame *ret_frames, size_t max)
{
	struct v8 *v8 = machine;
	uint64_t at = address - piece->start, array;
	uint32_t count, translation;
	struct points points;
	struct code code;
	int32_t offset;

	if (!max || !read_code(v8, piece->start, &code))
		return 0;
	ret_frames[0] = (struct runtime_managed_frame){piece->function, RUNTIME_NO_INSTRUCTION};
	if (code.kind == v8->is.is[V8_KIND_BASELINE]) {
		offset = baseline_offset(v8, &code, piece->function, at + !is_return);
		if (offset >= 0)
			ret_frames[0].instruction = offset;
		return 1;
	}
	if (!is_optimised(v8, &code) || !read_points(v8, &code, &array, &count))
		return 0;
	if (!is_return || !points_of(v8, array, count, &points) ||
	    (code.kind == v8->is.is[V8_KIND_BASELINE] + 1
		     ? !find_safepoint(&points, &code, at, &translation)
		     : !find_point(&points, at, &translation)))
		return 1;
	return translate(v8, array, translation, ret_frames, max);
}
