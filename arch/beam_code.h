/* SPDX-License-Identifier: MIT */
/*
 * Finds what walks of an Erlang virtual machine's (BEAM's) stacks need (beam.bpf.h) and what
 * differs between its versions. It reads the code of process_main, the scheduler's loop.
 *
 * The JIT compiler makes that code, once, near the start of its memory:
 *
 *   sub $frame,%rsp ; and $-64,%rsp ; mov %rsp,(%rdi) ; lea registers(%rsp),%rbx
 *   ...                               asks the scheduler for the process to run next
 *   mov stop(%r13),%rsp               goes to that process's stack
 *   mov stop+8(%r13),%rbp             and to its frame, with frame pointers (+JPperf true)
 */
#ifndef ARCH_BEAM_CODE_H
#define ARCH_BEAM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

/* Bytes that are searched, from the start of the JIT compiler's memory. In OTP 25 process_main is
 * at some 1,300. */
#define BEAM_CODE_SEARCHED 16384

/* Searches the `len` bytes of code at `address` for process_main. If it finds process_main, it
 * fills in *ret_beam except start, size and shared. */
bool beam_code_find(const uint8_t *code, size_t len, uint64_t address,
		    struct stackd_beam *ret_beam);

/* Returns whether a call, of which the CALL_SITE_BYTES bytes before its return address are given,
 * goes to an address in a register, or in memory to which a register points. So functions of other
 * modules, and funs, are called, and nothing else that is on an Erlang process's stack. */
bool beam_code_calls_by_register(const uint8_t *bytes);

#endif
