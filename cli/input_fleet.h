/* SPDX-License-Identifier: MIT */
/*
 * Reads the recordings of many hosts from a server's database (docs/FLEETS.md), as the input of
 * verbs: -i clickhouse://HOST/DATABASE.
 */
#ifndef CLI_INPUT_FLEET_H
#define CLI_INPUT_FLEET_H

#include "input.h"
#include "tree/partition.h"

/* Returns whether the input is a server's database. */
bool input_is_fleet(const struct input *input);

/* Prepares an input that is a server's database for being shown in parts: the server keeps the sums
 * apart by the labels that the parts need, and adds up the others. Does nothing for other inputs.
 * Returns CMD_DONE; CMD_USAGE, after a message: a server's sums have no such parts. */
int input_fleet_by(struct input *input, enum partition_by by);

/* Opens the database. Returns a cmd_status; a message has been printed if it is not CMD_DONE, or if
 * data is missing. */
int input_fleet_open(const struct input *input, struct store_reader **ret_reader);

#endif
