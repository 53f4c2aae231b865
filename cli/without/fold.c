/* SPDX-License-Identifier: MIT */
/* Stands in for cli/fold/ in a build without folding; see base/parts.h. */
#include <errno.h>

#include "cli/cmd.h"
#include "cli/fold_answer.h"
#include "cli/message.h"

int cmd_fold(int argc, char **argv)
{
	(void)argc;
	return message_left_out(argv[0], PART_FOLD);
}

int fold_answer(const void *arg, struct profile *profile, const struct web_fold *fold,
		struct json *j)
{
	(void)arg, (void)profile, (void)fold, (void)j;
	return -ENOENT;
}
