/* SPDX-License-Identifier: MIT */
/* Compares the bytes of the instructions; see beam_code.h. */
#include "arch/beam_code.h"

#include <string.h>

#include "arch/call_site.h"

/* limit of the bytes from its start to the instruction that loads a process's stack pointer */
#define MAIN_BYTES  2048
#define MOST_FRAME  (1u << 20)
#define MOST_OFFSET 4096

static const uint8_t make_frame[] = {0x48, 0x81, 0xec}; /* sub $frame,%rsp */
/* and $-64,%rsp; mov %rsp,(%rdi); lea registers(%rsp),%rbx, without its last two bytes */
static const uint8_t align_frame[] = {0x48, 0x83, 0xe4, 0xc0, 0x48, 0x89, 0x27, 0x48, 0x8d};
/* Those two bytes, of the form with an offset of one byte, and of the form with four. */
static const uint8_t lea_short[] = {0x5c, 0x24};
static const uint8_t lea_long[] = {0x9c, 0x24};
/* mov stop(%r13),%rsp, in both forms */
static const uint8_t take_short[] = {0x49, 0x8b, 0x65};
static const uint8_t take_long[] = {0x49, 0x8b, 0xa5};

/* mov pointer(%r13),%rbp, in both forms */
static const uint8_t pointer_short[] = {0x49, 0x8b, 0x6d};
static const uint8_t pointer_long[] = {0x49, 0x8b, 0xad};

#define FRAME_AT     sizeof(make_frame)
#define ALIGN_AT     (FRAME_AT + 4)
#define LEA_AT	     (ALIGN_AT + sizeof(align_frame))
#define REGISTERS_AT (LEA_AT + sizeof(lea_short))
#define MAIN_START   (REGISTERS_AT + 4)

static uint32_t number_at(const uint8_t *at)
{
	uint32_t number;

	memcpy(&number, at, sizeof(number));
	return number;
}

/* Gives the offset of an instruction whose first bytes are those of one of the two forms. Returns
 * false if they are neither's. */
static bool offset_behind(const uint8_t *code, const uint8_t *with_one, const uint8_t *with_four,
			  size_t len, uint32_t *ret_offset)
{
	bool has_one = !memcmp(code, with_one, len);

	if (!has_one && memcmp(code, with_four, len))
		return false;
	*ret_offset = has_one ? code[len] : number_at(code + len);
	return *ret_offset < MOST_OFFSET;
}

/* Returns whether the instruction after the load of the stack pointer loads the frame pointer,
 * which is saved in the word after it. */
static bool takes_pointer(const uint8_t *code, size_t len, uint32_t stop)
{
	size_t behind = code[2] == take_short[2] ? sizeof(take_short) + 1 : sizeof(take_long) + 4;
	uint32_t offset;

	return len >= behind + sizeof(pointer_long) + 4 &&
	       offset_behind(code + behind, pointer_short, pointer_long, sizeof(pointer_short),
			     &offset) &&
	       offset == stop + 8;
}

/* Finds the instruction that loads a process's stack pointer, and fills in beam->stop and what
 * follows from it. */
static bool find_stop(const uint8_t *code, size_t len, struct stackd_beam *beam)
{
	size_t end = len < MAIN_BYTES ? len : MAIN_BYTES;

	for (size_t i = MAIN_START; i + sizeof(take_long) + 4 <= end; i++) {
		beam->main_size = (uint32_t)i;
		if (!offset_behind(code + i, take_short, take_long, sizeof(take_short),
				   &beam->stop))
			continue;
		beam->has_pointers = takes_pointer(code + i, len - i, beam->stop);
		return true;
	}
	return false;
}

/* Returns whether process_main begins at `code`; `len` is at least MAIN_START. */
static bool is_main(const uint8_t *code, size_t len, struct stackd_beam *beam)
{
	if (memcmp(code, make_frame, sizeof(make_frame)) ||
	    memcmp(code + ALIGN_AT, align_frame, sizeof(align_frame)) ||
	    !offset_behind(code + LEA_AT, lea_short, lea_long, sizeof(lea_short), &beam->registers))
		return false;
	beam->frame = number_at(code + FRAME_AT);
	return beam->frame <= MOST_FRAME && beam->registers <= beam->frame &&
	       find_stop(code, len, beam);
}

bool beam_code_find(const uint8_t *code, size_t len, uint64_t address, struct stackd_beam *ret_beam)
{
	for (size_t i = 0; i + MAIN_START <= len; i++) {
		struct stackd_beam beam = {.main = address + i};

		if (!is_main(code + i, len - i, &beam))
			continue;
		*ret_beam = beam;
		return true;
	}
	return false;
}

bool beam_code_calls_by_register(const uint8_t *bytes)
{
	/* call *address(%rip) */
	static const uint8_t in_code[] = {0xff, 0x15};

	return call_site_kinds(bytes, CALL_SITE_BYTES) & CALL_SITE_INDIRECT &&
	       memcmp(bytes + CALL_SITE_BYTES - 6, in_code, sizeof(in_code)) != 0;
}
