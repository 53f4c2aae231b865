/* SPDX-License-Identifier: MIT */
/* Stands in for cli/fold/ in a build without folding; see base/parts.h. */
#include "cli/cmd.h"
#include "cli/message.h"

int cmd_fold(int argc, char **argv)
{
	(void)argc;
	return message_left_out(argv[0], PART_FOLD);
}
