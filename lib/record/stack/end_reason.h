/* SPDX-License-Identifier: MIT */
/* End reasons (stackd_abi.h): their names, and the quality of samples that have them. */
#ifndef STACK_END_REASON_H
#define STACK_END_REASON_H

#include <stdint.h>

#include "stackd_abi.h"

enum end_quality { END_COMPLETE, END_PARTIAL, END_LOST };

/* Returns "entry", "no_user", ...; "unknown" for an unknown number. */
const char *end_reason_name(uint8_t end_reason);

/* Returns the quality; END_PARTIAL for an unknown number. */
enum end_quality end_reason_quality(uint8_t end_reason);

#endif
