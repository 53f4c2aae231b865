/* SPDX-License-Identifier: MIT */
/*
 * Frames of an interpreter that carry managed functions (stackd_managed.h): the interpreter's own
 * function, once for each of its activations. In a path, such a frame follows the managed frames of
 * its activation, leafward: they are the functions that it runs. Nothing else is called by a
 * managed frame but the interpreter.
 */
#ifndef MODEL_INTERPRETER_H
#define MODEL_INTERPRETER_H

#include "store/store_reader.h"

/* Leaves these frames out of all paths, for this reader alone: what they did and called counts for
 * the managed function. An activation stays that carries none, since it has just begun or ended, or
 * whose managed frames are not proven. 0 or -ENOMEM. */
int interpreter_hide(struct store_reader *reader);

#endif
