/* SPDX-License-Identifier: MIT */
/*
 * What differs between versions of Erlang's virtual machine (the BEAM), for walks of its stacks
 * (beam.bpf.h), read from the code of process_main, its scheduler's loop.
 *
 * The JIT compiler makes it, once, near the start of its memory:
 *
 *   sub $frame,%rsp ; and $-64,%rsp ; mov %rsp,(%rdi) ; lea registers(%rsp),%rbx
 *   ...                               asks the scheduler for the process to run next
 *   mov stop(%r13),%rsp               goes to that process's stack
 *   mov stop+8(%r13),%rbp             and frame, where frame pointers are on (+JPperf true)
 */
#ifndef ARCH_BEAM_CODE_H
#define ARCH_BEAM_CODE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "stackd_abi.h"

/* Bytes from the start of the memory. In OTP 25 process_main is some 1,300 from there. */
#define BEAM_CODE_SEARCHED 16384

/* Looks for process_main in the `len` bytes of code at `address`. If it is there, fills in
 * *ret_beam but for start, size and shared. */
bool beam_code_find(const uint8_t *code, size_t len, uint64_t address,
		    struct stackd_beam *ret_beam);

#endif
