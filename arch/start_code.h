/* SPDX-License-Identifier: MIT */
/*
 * The C runtime's code that every program and library has, without call frame information: _init
 * and _fini, __do_global_dtors_aux, frame_dummy, register_tm_clones and deregister_tm_clones. It is
 * recognised by its bytes.
 *
 * Each function is asked about the instruction at code[at], of `len` bytes. It also looks at the
 * bytes before `at`: START_CODE_BEFORE of these, and START_CODE_BEHIND from `at` on, are enough. A
 * result of type int is how many bytes the function has pushed there; -1: it is no such function,
 * or call frame information is better.
 */
#ifndef ARCH_START_CODE_H
#define ARCH_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define START_CODE_BEFORE 64
#define START_CODE_BEHIND 29
#define START_CODE_INIT	  32 /* bytes of _init: nothing but a check and a call */

/* The result in _init or _fini, which code[0] begins: up to the first return. */
int start_code_in_init(const uint8_t *code, size_t len, size_t at);

/* The result in __do_global_dtors_aux, before it has its frame pointer. */
int start_code_in_dtors(const uint8_t *code, size_t len, size_t at);

/* The result in frame_dummy of a static program, which registers call frame information. */
int start_code_in_frame_dummy(const uint8_t *code, size_t len, size_t at);

/* Returns whether it is anywhere in __do_global_dtors_aux, up to its last return. */
bool start_code_is_dtors(const uint8_t *code, size_t len, size_t at);

/* Returns whether it is in register_tm_clones or deregister_tm_clones, which use no stack. */
bool start_code_is_tm_clones(const uint8_t *code, size_t len, size_t at);

/* Returns whether frame_dummy of a program that is not static may begin at code[0], and gives the
 * start of register_tm_clones, to which it jumps, in bytes from code[0]. */
bool start_code_jumps(const uint8_t *code, size_t len, int64_t *ret_distance);

#endif
