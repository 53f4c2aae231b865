/* SPDX-License-Identifier: MIT */
/* Stands in for cli/web/ in a build without the page's server; see base/parts.h. */
#include "cli/cmd.h"
#include "cli/message.h"

int cmd_web(int argc, char **argv)
{
	(void)argc;
	return message_left_out(argv[0], PART_WEB);
}
