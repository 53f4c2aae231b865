/* SPDX-License-Identifier: MIT */
/* Names of the frames that represent the middle of a stack that was too deep: how much of it is
 * left out. */
#ifndef STACK_LEFT_OUT_NAME_H
#define STACK_LEFT_OUT_NAME_H

#define LEFT_OUT_OBJECT "[stack]"	  /* the object of these frames, as views show it */
#define LEFT_OUT_END	"stack left out]" /* how all of these names end */

#endif
