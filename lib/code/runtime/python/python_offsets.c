/* SPDX-License-Identifier: MIT */
/*
 * The table is a cookie, the version, whether the build is without the global interpreter lock, and
 * then 8 bytes for each field of some structures. A minor version may add fields, so what is where
 * in the table is known by minor version, while the offsets themselves are the build's own.
 */
#include "runtime/python/python_offsets.h"

#include <string.h>

#define COOKIE			   "xdebugpy"
#define HEXADECIMAL_MINOR(version) ((version) >> 16)		 /* 0x030e of 0x030e0af0 */
#define IS_RELEASED(version)	   (((version) >> 4 & 15) >= 12) /* a candidate at least */

enum { /* words of each table */
       WORD_COOKIE,
       WORD_VERSION,
       WORD_FREE_THREADED,
       WORD_RUNTIME_SIZE,
       WORD_FINALIZING,
       WORD_INTERPRETERS,
       WORD_INTERPRETER_SIZE,
       WORD_INTERPRETER_ID,
       WORD_INTERPRETER_NEXT,
       WORD_THREADS,
};

/* The words that are elsewhere in each minor version: those of structures' sizes, with the fields
 * that follow each in the same order; and in the thread's state, the thread's number, which other
 * fields precede. */
static const struct {
	uint32_t minor;
	uint8_t thread, thread_id, frame, code, object;
} orders[] = {
	{0x030d, 19, 24, 28, 34, 44},
	{0x030e, 22, 27, 31, 39, 50},
	{0x030f, 22, 30, 39, 47, 58},
};

#define OBJECT_BYTES 16 /* of the header that each object has, but for builds that list them */

enum { THREAD_PREVIOUS = 1, THREAD_NEXT, THREAD_INTERPRETER, THREAD_FRAME };
enum { ID_NATIVE = 1, ID_STACK };
enum { FRAME_PREVIOUS = 1, FRAME_CODE, FRAME_INSTRUCTION, FRAME_LOCALS, FRAME_OWNER };
enum { CODE_FILE = 1, CODE_NAME, CODE_QUALIFIED, CODE_LINES, CODE_FIRST_LINE, CODE_START = 9 };

/* Returns whether a field of some bytes is in the first `most` bytes of a structure, and in the
 * structure. */
static bool fits(uint64_t offset, uint64_t bytes, uint64_t size, uint64_t most)
{
	return size <= UINT32_MAX && offset <= UINT16_MAX && offset + bytes <= size &&
	       offset + bytes <= most && offset % bytes == 0;
}

static bool has_thread(const uint64_t *thread, const uint64_t *id)
{
	const uint64_t most = id[ID_STACK];

	return fits(thread[THREAD_NEXT], 8, thread[0], most) &&
	       fits(thread[THREAD_INTERPRETER], 8, thread[0], most) &&
	       fits(thread[THREAD_FRAME], 8, thread[0], most) && fits(id[0], 8, thread[0], most) &&
	       fits(most, 8, thread[0], STACKD_MANAGED_THREAD_BYTES);
}

static bool has_frame(const uint64_t *frame)
{
	const uint64_t most = STACKD_MANAGED_FRAME_BYTES;

	return fits(frame[FRAME_PREVIOUS], 8, frame[0], most) &&
	       fits(frame[FRAME_CODE], 8, frame[0], most) &&
	       fits(frame[FRAME_INSTRUCTION], 8, frame[0], most) &&
	       fits(frame[FRAME_OWNER], 1, frame[0], most);
}

static bool has_code(const uint64_t *code)
{
	const uint64_t most = STACKD_MANAGED_CODE_BYTES;

	return fits(code[CODE_FILE], 8, code[0], most) &&
	       fits(code[CODE_QUALIFIED], 8, code[0], most) &&
	       fits(code[CODE_LINES], 8, code[0], most) &&
	       fits(code[CODE_FIRST_LINE], 4, code[0], most) &&
	       fits(code[CODE_START], 8, code[0] + 8, UINT16_MAX);
}

static bool has_lists(const uint64_t *table)
{
	return fits(table[WORD_INTERPRETERS], 8, table[WORD_RUNTIME_SIZE], UINT16_MAX) &&
	       fits(table[WORD_INTERPRETER_NEXT], 8, table[WORD_INTERPRETER_SIZE], UINT16_MAX) &&
	       fits(table[WORD_THREADS], 8, table[WORD_INTERPRETER_SIZE], UINT16_MAX);
}

static void take(struct stackd_interpreter *to, const uint64_t *table, const uint64_t *thread,
		 const uint64_t *id, const uint64_t *frame, const uint64_t *code)
{
	to->interpreters = (uint16_t)table[WORD_INTERPRETERS];
	to->interpreter_next = (uint16_t)table[WORD_INTERPRETER_NEXT];
	to->threads = (uint16_t)table[WORD_THREADS];
	to->thread_next = (uint16_t)thread[THREAD_NEXT];
	to->thread_interpreter = (uint16_t)thread[THREAD_INTERPRETER];
	to->thread_frame = (uint16_t)thread[THREAD_FRAME];
	to->thread_id = (uint16_t)id[0];
	to->thread_stack = (uint16_t)id[ID_STACK];
	to->frame_previous = (uint16_t)frame[FRAME_PREVIOUS];
	to->frame_code = (uint16_t)frame[FRAME_CODE];
	to->frame_instruction = (uint16_t)frame[FRAME_INSTRUCTION];
	to->frame_end = (uint16_t)frame[FRAME_OWNER];
	to->code_file = (uint16_t)code[CODE_FILE];
	to->code_name = (uint16_t)code[CODE_QUALIFIED];
	to->code_lines = (uint16_t)code[CODE_LINES];
	to->code_first_line = (uint16_t)code[CODE_FIRST_LINE];
	to->code_start = (uint16_t)code[CODE_START];
}

bool python_offsets(const uint64_t table[PYTHON_OFFSETS_WORDS], uint32_t version,
		    struct stackd_interpreter *layout)
{
	if (memcmp(&table[WORD_COOKIE], COOKIE, 8) != 0 || table[WORD_VERSION] != version ||
	    table[WORD_FREE_THREADED] || !IS_RELEASED(version) || !has_lists(table))
		return false;
	for (size_t i = 0; i < sizeof(orders) / sizeof(orders[0]); i++) {
		const uint64_t *thread = table + orders[i].thread;
		const uint64_t *id = table + orders[i].thread_id;
		const uint64_t *frame = table + orders[i].frame;
		const uint64_t *code = table + orders[i].code;

		if (orders[i].minor != HEXADECIMAL_MINOR(version))
			continue;
		if (table[orders[i].object] != OBJECT_BYTES || !has_thread(thread, id) ||
		    !has_frame(frame) || !has_code(code))
			return false;
		take(layout, table, thread, id, frame, code);
		return true;
	}
	return false;
}
