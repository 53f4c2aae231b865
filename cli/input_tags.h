/* SPDX-License-Identifier: MIT */
/*
 * Reads a tag export (docs/TAGS.md), such as 'stackctl merge' or 'stackctl-mpi merge' write, as the
 * input of verbs that show sums: -i FILE. A file's first bytes tell whether it is one.
 */
#ifndef CLI_INPUT_TAGS_H
#define CLI_INPUT_TAGS_H

#include "input.h"
#include "tree/partition.h"

/* Returns whether the input is a tag export. */
bool input_is_tags(const struct input *input);

/* Prepares an input that is a tag export for being shown in parts; does nothing for other inputs.
 * Returns CMD_DONE; CMD_USAGE, after a message: an export has no such parts. */
int input_tags_by(struct input *input, enum partition_by by);

/* Opens the export. Returns a cmd_status; a message has been printed if it is not CMD_DONE, or if
 * something is left out. */
int input_tags_open(const struct input *input, struct store_reader **ret_reader);

#endif
