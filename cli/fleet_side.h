/* SPDX-License-Identifier: MIT */
/*
 * Parses one side of a comparison of two parts of a server's database: [HOST][@FROM[..TO]].
 *
 *   web*                               a host, or the hosts that match a pattern (* and ?)
 *   @yesterday 9:00..yesterday 10:00   a range of time, with ends as for --from and --to
 *   web1@2h..1h                        both; from two hours ago until one hour ago
 *
 * What a side does not name is taken from the options, which apply to both sides: --host, --since,
 * --from and --to.
 */
#ifndef CLI_FLEET_SIDE_H
#define CLI_FLEET_SIDE_H

#include "input.h"

struct fleet_side {
	struct input input; /* its filter borrows from the options' filter */
	char *host;	    /* the host that the side names, or NULL */
};

/* Parses a side. `options` must outlive it, and the caller frees it in any case. Returns a
 * cmd_status; a message has been printed if it is not CMD_DONE. */
int fleet_side_parse(const char *text, const struct input *options, struct fleet_side *ret_side);
void fleet_side_free(struct fleet_side *side);

#endif
