/* SPDX-License-Identifier: MIT */
/* Stands in for cli/servers/ in a build without servers and their databases; see base/parts.h. */
#include <string.h>

#include "cli/cmd.h"
#include "cli/fleet_side.h"
#include "cli/input_fleet.h"
#include "cli/message.h"

int cmd_push(int argc, char **argv)
{
	(void)argc;
	return message_left_out(argv[0], PART_SERVERS);
}

int cmd_names(int argc, char **argv)
{
	(void)argc;
	return message_left_out(argv[0], PART_SERVERS);
}

static int is_left_out(const struct input *input)
{
	message("%s: %s", input->path, part_missing(PART_SERVERS));
	return CMD_USAGE;
}

bool input_is_fleet(const struct input *input)
{
	return input->path && strstr(input->path, "://");
}

int input_fleet_by(struct input *input, enum partition_by by)
{
	(void)input, (void)by;
	return CMD_DONE;
}

int input_fleet_open(const struct input *input, struct store_reader **ret_reader)
{
	(void)ret_reader;
	return is_left_out(input);
}

int fleet_side_parse(const char *text, const struct input *options, struct fleet_side *ret_side)
{
	(void)text;
	*ret_side = (struct fleet_side){.input = *options};
	return is_left_out(options);
}

void fleet_side_free(struct fleet_side *side)
{
	(void)side;
}
