/* SPDX-License-Identifier: MIT */
/* The places, in each version of CPython, of the fields by which its frames are read. */
#ifndef PYTHON_PYTHON_LAYOUT_H
#define PYTHON_PYTHON_LAYOUT_H

#include <stdbool.h>
#include <stdint.h>

#include "stackd_abi.h"

#define PYTHON_MINOR(version)	       ((version) >> 8) /* 0x030b of 0x030b02 */
#define PYTHON_STATES_OFFSETS(version) (PYTHON_MINOR(version) >= 0x030d)

/* Gives the layout of a version of CPython (0x030b02: 3.11.2), with runtime = 0; from 3.13 on
 * without what the file itself states (PYTHON_STATES_OFFSETS, python_offsets.h). Returns false if
 * its frames are not read. */
bool python_layout(uint32_t version, struct stackd_interpreter *ret_layout);

#endif
