/* SPDX-License-Identifier: MIT */
/*
 * The C runtime's functions that every program and library has, and that have no call frame
 * information: _init and _fini, __do_global_dtors_aux, frame_dummy, register_tm_clones and
 * deregister_tm_clones. They are recognised by their bytes.
 *
 * Each function examines the instruction at code[at], of `len` bytes, and the bytes around it:
 * START_CODE_BEFORE bytes before it and START_CODE_BEHIND from it on are enough. A result of type
 * int is the number of bytes that the C runtime's function has pushed when it is at that
 * instruction; -1: code[at] is not in such a function, or call frame information is better.
 */
#ifndef ARCH_START_CODE_H
#define ARCH_START_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define START_CODE_BEFORE 64
#define START_CODE_BEHIND 29
#define START_CODE_INIT	  32 /* bytes of _init, which has only a check and a call */

/* Returns the bytes pushed at code[at] in _init or _fini, which begins at code[0]; -1 behind its
 * first return. */
int start_code_in_init(const uint8_t *code, size_t len, size_t at);

/* Returns the bytes pushed at code[at] in __do_global_dtors_aux, before it sets its frame
 * pointer. */
int start_code_in_dtors(const uint8_t *code, size_t len, size_t at);

/* Returns the bytes pushed at code[at] in frame_dummy of a static program, which registers call
 * frame information. */
int start_code_in_frame_dummy(const uint8_t *code, size_t len, size_t at);

/* Returns whether code[at] is in __do_global_dtors_aux, up to its last return. */
bool start_code_is_dtors(const uint8_t *code, size_t len, size_t at);

/* Returns whether code[at] is in register_tm_clones or deregister_tm_clones, which use no stack. */
bool start_code_is_tm_clones(const uint8_t *code, size_t len, size_t at);

/* Returns whether frame_dummy of a dynamic program may begin at code[0]. Gives the distance from
 * code[0] to register_tm_clones, to which it jumps. */
bool start_code_jumps(const uint8_t *code, size_t len, int64_t *ret_distance);

#endif
