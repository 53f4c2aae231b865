/* SPDX-License-Identifier: MIT */
/* Recognises instructions on which the kernel must not put a probe; see probe_place.h. */
#include "arch/probe_place.h"

#include <errno.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Legacy prefixes, which may precede VEX and EVEX (some make the instruction invalid). */
static bool is_prefix(uint8_t byte)
{
	static const uint8_t prefixes[] = {0x26, 0x2e, 0x36, 0x3e, 0x64, 0x65,
					   0x66, 0x67, 0xf0, 0xf2, 0xf3};

	return memchr(prefixes, byte, sizeof(prefixes)) != NULL;
}

/* Returns the distance of the opcode from the start of code, if that is a VEX, EVEX or XOP prefix;
 * else 0. */
static size_t opcode_distance(const uint8_t *code, size_t len)
{
	if (len < 2)
		return 0;
	switch (code[0]) {
	case 0xc5:
		return 2;
	case 0xc4:
		return 3;
	case 0x62:
		return 4;
	case 0x8f: /* it is a pop if the register field is 0 */
		return (code[1] & 0x1f) >= 8 ? 3 : 0;
	default:
		return 0;
	}
}

/* Returns whether the kernel treats this opcode specially: push, jumps, calls, returns, nop and
 * popf. */
static bool is_special(uint8_t opcode)
{
	switch (opcode) {
	case 0x50 ... 0x57:
	case 0x70 ... 0x7f:
	case 0x90:
	case 0x9a:
	case 0x9d:
	case 0xc2:
	case 0xc3:
	case 0xca:
	case 0xcb:
	case 0xe8 ... 0xeb:
	case 0xff:
		return true;
	default:
		return false;
	}
}

bool probe_place_is_misread(const uint8_t *code, size_t len)
{
	size_t distance;

	while (len && is_prefix(*code)) {
		code++;
		len--;
	}
	distance = opcode_distance(code, len);
	return distance && (distance >= len || is_special(code[distance]));
}

bool probe_place_is_long_nop(const uint8_t *code, size_t len)
{
	static const uint8_t nop[] = {0x0f, 0x1f, 0x44, 0x00, 0x00};

	return len >= sizeof(nop) && memcmp(code, nop, sizeof(nop)) == 0;
}

/* True for pushes without a prefix or with REX.B alone, and for jumps and calls without any
 * prefix. */
bool probe_place_is_emulated(const uint8_t *code, const struct insn *i)
{
	if (i->op == INSN_PUSH && i->src != INSN_NO_REG)
		return i->length == 1 || (i->length == 2 && code[0] == 0x41);
	if (i->flow == INSN_CALL)
		return code[0] == 0xe8;
	if (i->flow == INSN_JUMP)
		return code[0] == 0xe9 || code[0] == 0xeb;
	if (i->flow == INSN_BRANCH)
		return (code[0] & 0xf0) == 0x70 || (code[0] == 0x0f && (code[1] & 0xf0) == 0x80);
	return false;
}

/* The condition of jcc, behind any prefix. jrcxz and loop, whose condition is in a register, have
 * no number. */
int probe_place_condition(const uint8_t *code, const struct insn *i)
{
	unsigned at = 0;

	while (at + 1 < i->length && (is_prefix(code[at]) || (code[at] & 0xf0) == 0x40))
		at++;
	if ((code[at] & 0xf0) == 0x70)
		return code[at] & 15;
	if (code[at] == 0x0f && at + 1 < i->length && (code[at + 1] & 0xf0) == 0x80)
		return code[at + 1] & 15;
	return -1;
}

/* True for moves from a register or a number to a register, and for xor of registers. */
bool probe_place_sets_registers(const uint8_t *code, const struct insn *i)
{
	const uint8_t *at = code + ((code[0] & 0xf0) == 0x40); /* REX */

	if (i->op == INSN_COPY || i->op == INSN_LOAD || i->op == INSN_ZERO)
		return true;
	switch (*at) {
	case 0xb8 ... 0xbf:
		return true;
	case 0x31:
	case 0x33:
	case 0x63:
	case 0x89:
	case 0x8b:
		return at[1] >= 0xc0;
	default:
		return false;
	}
}

int probe_places_check(int fd, const uint64_t *offsets, size_t count)
{
	uint8_t code[PROBE_PLACE_BYTES];
	int err = 0;

	for (size_t i = 0; i < count && !err; i++) {
		ssize_t got = pread(fd, code, sizeof(code), (off_t)offsets[i]);

		if (got < 0)
			err = -errno;
		else if (probe_place_is_misread(code, (size_t)got) ||
			 probe_place_is_long_nop(code, (size_t)got))
			err = -EOPNOTSUPP;
	}
	return err;
}
