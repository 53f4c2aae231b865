/* SPDX-License-Identifier: MIT */
/*
 * Reads the recordings of many hosts from a server's database (docs/FLEETS.md), for verbs whose
 * input is its URL: -i clickhouse://HOST/DATABASE.
 */
#ifndef CLI_INPUT_FLEET_H
#define CLI_INPUT_FLEET_H

#include "input.h"
#include "tree/partition.h"

/* Whether the input is a server's. */
bool input_is_fleet(const struct input *input);

/* Prepares an input, if it is a server's, for being shown in parts: the server keeps what the parts
 * are made of apart, and adds up the rest. CMD_DONE; CMD_USAGE, with a message: a server's sums
 * have no such parts. */
int input_fleet_by(struct input *input, enum partition_by by);

/* Opens it. A cmd_status; a message has been given if it is not CMD_DONE, or if something is
 * missing in what is shown. */
int input_fleet_open(const struct input *input, struct store_reader **ret_reader);

#endif
