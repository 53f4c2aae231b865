/* SPDX-License-Identifier: MIT */
/*
 * Reads a tag export (docs/TAGS.md), as of 'stackctl merge' or 'stackctl-mpi merge', for verbs that
 * show sums: -i FILE. Which file is one is seen by its first bytes.
 */
#ifndef CLI_INPUT_TAGS_H
#define CLI_INPUT_TAGS_H

#include "input.h"
#include "tree/partition.h"

/* Whether the input is a tag export. */
bool input_is_tags(const struct input *input);

/* Prepares an input, if it is a tag export, for being shown in parts. CMD_DONE; CMD_USAGE, with a
 * message: an export has no such parts. */
int input_tags_by(struct input *input, enum partition_by by);

/* Opens it. A cmd_status; a message has been given if it is not CMD_DONE, or if something is left
 * out. */
int input_tags_open(const struct input *input, struct store_reader **ret_reader);

#endif
