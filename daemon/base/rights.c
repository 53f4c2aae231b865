/* SPDX-License-Identifier: MIT */
/* Words for refusals; see rights.h. */
#include "daemon/base/rights.h"

#include <stdio.h>
#include <unistd.h>

const char *rights_remedy(const char *others)
{
	static char text[256];

	if (!geteuid())
		return "root has no such right here either: a container or a security module has "
		       "taken it away; 'stackctl doctor' shows what is missing";
	snprintf(text, sizeof(text), "run as root%s", others);
	return text;
}
