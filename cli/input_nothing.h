/* SPDX-License-Identifier: MIT */
/* Says why the options leave nothing of a recording: what it lacks and how to record that, or which
 * name is near the one that was given. */
#ifndef CLI_INPUT_NOTHING_H
#define CLI_INPUT_NOTHING_H

#include "input.h"

/* Prints why nothing is left of an opened recording. `path` names its store. */
void input_nothing(const struct input *input, const char *path, const struct input_open *open);

/* Prints that no path goes through a function, and suggests a similar name. */
void input_no_function(const struct profile *profile, const char *name);

#endif
