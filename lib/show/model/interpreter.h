/* SPDX-License-Identifier: MIT */
/*
 * Frames of an interpreter that carry managed functions (stackd_managed.h): the interpreter's own
 * function, once for each activation of it. In a path, such a frame comes after the managed frames
 * of its activation (the functions that it runs), towards the leaf. A managed frame calls nothing
 * but the interpreter. Before the managed frames comes the function that has entered the
 * activation, by a call of the interpreter's own function (_PyEval_Vector, gen_send_ex2): it does
 * nothing else.
 */
#ifndef MODEL_INTERPRETER_H
#define MODEL_INTERPRETER_H

#include "store/store_reader.h"

/* Removes both kinds of frames from all paths, for this reader alone, so that what they did and
 * called counts for the managed function. An activation without managed frames stays, because it
 * has just begun or ended, or its managed frames are not proven. A function that enters an
 * activation stays if it is in another object than the interpreter, such as a library of a
 * program's own. Returns 0 or -ENOMEM. */
int interpreter_hide(struct store_reader *reader);

#endif
