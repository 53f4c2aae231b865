/* SPDX-License-Identifier: MIT */
/* Whether a call can lead to an instruction before it returns. */
#ifndef CALLFLOW_CALLFLOW_FIT_H
#define CALLFLOW_CALLFLOW_FIT_H

/* How a call's target and a program counter are connected in the code. */
enum callflow_fit {
	CALLFLOW_FIT_NO,      /* the call did not lead there, unless by indirect jumps, which
			       * cannot be followed */
	CALLFLOW_FIT_MAYBE,   /* the target's function has an indirect jump */
	CALLFLOW_FIT_UNKNOWN, /* the code is not known */
	CALLFLOW_FIT_JUMP,    /* the target leads there through a stub, a thunk or direct jumps */
	CALLFLOW_FIT_SAME,    /* the same function */
};

#endif
