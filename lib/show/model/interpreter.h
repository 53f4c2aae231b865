/* SPDX-License-Identifier: MIT */
/*
 * Frames of an interpreter that carry managed functions (stackd_managed.h): the interpreter's own
 * function, once for each activation of it. In a path, such a frame comes after the managed frames
 * of its activation (the functions that it runs), towards the leaf. A managed frame calls nothing
 * but the interpreter. Before the managed frames there can be one that has entered the activation:
 * functions of CPython that do nothing else are known by their names (_PyEval_Vector, gen_send_ex).
 * In some builds these end in a jump to the interpreter, and have no frame; then another function,
 * which has called them, is there.
 */
#ifndef MODEL_INTERPRETER_H
#define MODEL_INTERPRETER_H

#include "store/store_reader.h"

/* Removes both kinds of frames from all paths, for this reader alone, so that what they did and
 * called counts for the managed function. An activation without managed frames stays, because it
 * has just begun or ended, or its managed frames are not proven. Returns 0 or -ENOMEM. */
int interpreter_hide(struct store_reader *reader);

#endif
