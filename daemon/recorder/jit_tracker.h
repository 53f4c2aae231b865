/* SPDX-License-Identifier: MIT */
/*
 * Finds the JIT code of processes, and enters what it finds into maps of the kernel half. It looks
 * at a process after the kernel half has left a walk in it to the daemon. The maps have:
 *
 *   - where a process has JIT code, so that the kernel half sends its bytes with each such walk
 *     (stackd_code.h);
 *   - files that hold JIT code: a compiler whose memory is never both writable and executable maps
 *     such a file twice; and files that are no ELF files (the memory that SBCL has dumped), so that
 *     the kernel half does not ask for their tables at each sample;
 *   - facts about a runtime in a process: the kernel half walks the runtime's code by rules of its
 *     own, which need them (runtime/runtime.h).
 */
#ifndef RECORDER_JIT_TRACKER_H
#define RECORDER_JIT_TRACKER_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/capture/sampler.h"
#include "daemon/recorder/locator.h"
#include "stackd_abi.h"

struct jit_tracker;

/* The locator is borrowed. `maps` are the kernel half's, and copied; NULL: there are none. 0 or
 * -ENOMEM. */
int jit_tracker_new(struct locator *locator, const struct sampler_code *maps,
		    struct jit_tracker **ret_tracker);
void jit_tracker_free(struct jit_tracker *tracker); /* NULL is fine */

/* To be called for each STACK record as soon as it is read, in which the kernel half leaves a walk
 * to the daemon. Searches the record's process for JIT code of a runtime, now and then, until it
 * has found some. 0 or -ENOMEM. */
int jit_tracker_note(struct jit_tracker *tracker, const struct stackd_stack_record *record);

/* To be called for each record of addresses in JIT code as soon as it is read. Reads and keeps the
 * pages around them (code_pages.h). */
void jit_tracker_keep(struct jit_tracker *tracker, const struct stackd_code_record *record);

/* To be called for each record of bytes of JIT code as soon as it is read. Keeps them
 * (code_windows.h). */
void jit_tracker_keep_bytes(struct jit_tracker *tracker, const struct stackd_code_bytes *record);

/* Gives bytes of JIT code as they were at a sample, by code_windows_find(): a
 * runtime_code_window_fn. */
bool jit_tracker_window(void *tracker, pid_t pid, const struct stackd_code_mark *mark,
			uint8_t *ret_bytes);

/* Reads executable memory of a process as it is now or, if it cannot be read, as it was kept, by
 * code_pages_read(): a runtime_code_read_fn. */
size_t jit_tracker_read(void *tracker, pid_t pid, uint64_t address, uint64_t before, uint64_t after,
			uint8_t *bytes, uint64_t *ret_start);

/* Gives the start of the executable mapping at an address; a runtime_code_start_fn. */
uint64_t jit_tracker_start(void *tracker, pid_t pid, uint64_t address);

/* From now on, processes may be searched again, and their ranges of JIT code are entered into the
 * map again. To be called about once a second. */
void jit_tracker_tick(struct jit_tracker *tracker);

/* Returns whether the kernel half walks the code of an object, an OBJECT_JIT, by a runtime's own
 * rules. */
bool jit_tracker_is_stepped(const struct jit_tracker *tracker, const struct object *code);

/* Returns whether code of a runtime at an address can be reached by jumps from other functions.
 * Such pieces of code jump to each other, and the return address on the stack is that of the call
 * of the first piece. So the call before that return address need not lead to this address
 * (runtime_processes.is_shared). */
bool jit_tracker_is_shared(const struct jit_tracker *tracker, const struct object *code,
			   uint64_t address);

#endif
