/* SPDX-License-Identifier: MIT */
/* Parses the options of input.h that choose recordings, by number or by time. */
#ifndef CLI_INPUT_RANGE_H
#define CLI_INPUT_RANGE_H

#include "input.h"

/* Parses the argument of --recording. */
void input_range_numbers(struct argp_state *state, const char *arg, struct input *input);

/* Cuts the number of a recording off FILE@ID, FILE@ID..ID or @ID, unless a file has the whole name.
 * Changes `name`; the number goes to `input`. Returns the file, in `name`; NULL: the default
 * store. */
const char *input_range_cut(struct argp_state *state, char *name, struct input *input);

/* Parses --since, --from and --to, after all options have been read. */
void input_range_times(struct argp_state *state, struct input *input);

#endif
