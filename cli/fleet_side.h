/* SPDX-License-Identifier: MIT */
/*
 * One of two parts of a server's database that are compared: [HOST][@FROM[..TO]].
 *
 *   web*                               a host, or hosts of a pattern (* and ? stand for letters)
 *   @yesterday 9:00..yesterday 10:00   a time, its ends as for --from and --to
 *   web1@2h..1h                        both; from two hours ago until one hour ago
 *
 * What a part does not name is as the options say for both: --host, --since, --from and --to.
 */
#ifndef CLI_FLEET_SIDE_H
#define CLI_FLEET_SIDE_H

#include "input.h"

struct fleet_side {
	struct input input; /* its filter points to what that of the options has */
	char *host;	    /* or NULL */
};

/* Reads a part; the options' input must outlive it, and it must be freed in any case. A cmd_status;
 * a message has been given if it is not CMD_DONE. */
int fleet_side_parse(const char *text, const struct input *options, struct fleet_side *ret_side);
void fleet_side_free(struct fleet_side *side);

#endif
