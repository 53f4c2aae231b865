/* SPDX-License-Identifier: MIT */
/*
 * The C runtime's code that every program and library has, without call frame information: _init
 * and _fini, __do_global_dtors_aux, frame_dummy, register_tm_clones and deregister_tm_clones. It is
 * known by its bytes.
 *
 * Each question is about the instruction at code[at], of `len` bytes of which those before `at`
 * count, too: START_CODE_BEFORE of these and START_CODE_BEHIND from `at` on are enough. The answer
 * about the stack is how many bytes the function has pushed there; -1: it is no such function, or
 * call frame information knows more.
 */
#ifndef ARCH_START_CODE_H
#define ARCH_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define START_CODE_BEFORE 64
#define START_CODE_BEHIND 29
#define START_CODE_INIT	  32 /* bytes of _init: nothing but a check and a call */

/* In _init or _fini, which code[0] begins: up to the first return. */
int start_code_in_init(const uint8_t *code, size_t len, size_t at);

/* In __do_global_dtors_aux, before it has its frame pointer. */
int start_code_in_dtors(const uint8_t *code, size_t len, size_t at);

/* In frame_dummy of a static program, which makes call frame information known. */
int start_code_in_frame_dummy(const uint8_t *code, size_t len, size_t at);

/* Returns whether it is anywhere in __do_global_dtors_aux, up to its last return. */
bool start_code_is_dtors(const uint8_t *code, size_t len, size_t at);

/* Returns whether it is in register_tm_clones or deregister_tm_clones, which use no stack. */
bool start_code_is_tm_clones(const uint8_t *code, size_t len, size_t at);

/* Returns whether frame_dummy of a program that is not static may begin at code[0], and where the
 * function begins to which it jumps: from code[0], in bytes. That is register_tm_clones. */
bool start_code_jumps(const uint8_t *code, size_t len, int64_t *ret_distance);

#endif
