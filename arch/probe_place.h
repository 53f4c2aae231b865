/* SPDX-License-Identifier: MIT */
/*
 * Instructions on which a probe must not be placed.
 *
 * To execute the instruction that a probe replaces, the kernel (up to 6.18 at least) emulates some
 * instructions, and steps others in a copy. It chooses by the byte of the opcode, and ignores a VEX
 * or EVEX prefix, which gives the byte another meaning. So it takes `vpbroadcastb %esi,%ymm17`
 * (opcode 7a) for a conditional jump, and `vxorps` (57) for a push: every process that runs the
 * code behaves wrongly.
 *
 * From 6.18 on, the kernel replaces a probed nop of five bytes by a call to a page that it maps.
 * The child of a fork has the call but not the page, and is killed. The call also writes below the
 * stack pointer, into the red zone of a leaf function.
 */
#ifndef ARCH_PROBE_PLACE_H
#define ARCH_PROBE_PLACE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arch/insn.h"

#define PROBE_PLACE_BYTES 16 /* bytes of code, enough for the longest instruction */

/* Returns whether the kernel takes the instruction at `code` for another instruction (see above),
 * so that a probe must not be placed there. */
bool probe_place_is_misread(const uint8_t *code, size_t len);

/* Returns whether the instruction at `code` is a nop of five bytes. */
bool probe_place_is_long_nop(const uint8_t *code, size_t len);

/* Returns whether the kernel emulates the instruction at `code` if a probe replaces it: a push of a
 * register, a call or a jump, nearly all without a prefix. */
bool probe_place_is_emulated(const uint8_t *code, const struct insn *insn);

/* Returns the number of a branch's condition as STACKD_EXIT_BRANCH has it: the opposite condition
 * differs in the lowest bit. -1: the branch tests a register, and its condition has no number. */
int probe_place_condition(const uint8_t *code, const struct insn *insn);

/* Returns whether the instruction at `code` only sets registers, from registers, numbers or memory,
 * and changes nothing else. */
bool probe_place_sets_registers(const uint8_t *code, const struct insn *insn);

/* Checks the instructions at offsets of the file `fd`. Returns 0; -EOPNOTSUPP: a probe must not be
 * placed on one of them; or the -errno of reading the file. */
int probe_places_check(int fd, const uint64_t *offsets, size_t count);

#endif
