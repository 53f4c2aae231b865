/* SPDX-License-Identifier: MIT */
/* Stands in for cli/tags/ in a build without the tags that programs keep; see base/parts.h. */
#include "cli/cmd.h"
#include "cli/message.h"

int cmd_decode(int argc, char **argv)
{
	(void)argc;
	return message_left_out(argv[0], PART_TAGS);
}
