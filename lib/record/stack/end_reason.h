/* SPDX-License-Identifier: MIT */
/* End reasons (stackd_abi.h): their names, and how good a sample is that has one. */
#ifndef STACK_END_REASON_H
#define STACK_END_REASON_H

#include <stdint.h>

#include "stackd_abi.h"

enum end_quality { END_COMPLETE, END_PARTIAL, END_LOST };

/* "entry", "no_user", ...; "unknown" for a number that is none. */
const char *end_reason_name(uint8_t end_reason);

/* A number that is none: END_PARTIAL. */
enum end_quality end_reason_quality(uint8_t end_reason);

#endif
