/* SPDX-License-Identifier: MIT */
/*
 * Places of probes on arm64; see ../probe_place.h. The kernel decodes an instruction before it
 * replaces it, and refuses what it can neither emulate nor step; it confuses none with another one,
 * and no probe is optimised.
 */
#include "arch/probe_place.h"

bool probe_place_is_misread(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return false;
}

bool probe_place_is_long_nop(const uint8_t *code, size_t len)
{
	(void)code, (void)len;
	return false;
}

bool probe_place_is_emulated(const uint8_t *code, const struct insn *insn)
{
	(void)code, (void)insn;
	return false;
}

int probe_place_condition(const uint8_t *code, const struct insn *insn)
{
	(void)code, (void)insn;
	return -1;
}

bool probe_place_sets_registers(const uint8_t *code, const struct insn *insn)
{
	(void)code, (void)insn;
	return false;
}

int probe_places_check(int fd, const uint64_t *offsets, size_t count)
{
	(void)fd, (void)offsets, (void)count;
	return 0;
}
