/* SPDX-License-Identifier: MIT */
/* Messages; see message.h. */
#include "message.h"

#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>

static char message_name[320] = "stackctl";

void message_set_name(const char *name)
{
	snprintf(message_name, sizeof(message_name), "%s", name);
}

void message(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	terminal_progress_end();
	fprintf(stderr, "%s: ", message_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
