/* SPDX-License-Identifier: MIT */
/*
 * Tells the kernel half of code that processes have made themselves, when it leaves a walk to the
 * daemon: that a file is such code (the two mappings of a JIT compiler that never has memory
 * both writable and executable), and whose code is that of Erlang's virtual machine, which has
 * steps of its own (bpf/beam.bpf.h).
 */
#ifndef MODEL_MADE_CODE_H
#define MODEL_MADE_CODE_H

#include <stdbool.h>
#include <sys/types.h>

#include "daemon/capture/sampler.h"
#include "daemon/model/locator.h"
#include "stackd_abi.h"

struct made_code;

/* The locator is borrowed. 0 or -ENOMEM. */
int made_code_new(struct locator *locator, struct made_code **ret_made);
void made_code_free(struct made_code *made); /* NULL is fine */

/* Tells by these maps, which are copied; without them nothing is told. */
void made_code_use_maps(struct made_code *made, const struct sampler_code *maps);

/* Has the kernel half leave a process's code to the daemon: it keeps no frame pointers. */
void made_code_leave(void *made, pid_t pid); /* a steps_bare_fn; NULL is fine */

/* Takes a record that the kernel half has left to the daemon, as soon as it is read. Each process
 * is looked at now and then until its code is known. 0 or -ENOMEM. */
int made_code_note(struct made_code *made, const struct stackd_stack_record *record);

/* To be called about once a second. */
void made_code_tick(struct made_code *made);

/* Whether the code of an object, an OBJECT_JIT, is that of Erlang's virtual machine. */
bool made_code_is_beam(const struct made_code *made, const struct object *code);

/* Whether an address is in the part of such code that all modules share: pieces that are called,
 * and then jump to each other without their return address, so that no caller's call leads there.
 */
bool made_code_is_shared(const struct made_code *made, const struct object *code, uint64_t address);

#endif
