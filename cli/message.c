/* SPDX-License-Identifier: MIT */
/* Messages; see message.h. */
#include "message.h"

#include "terminal.h"

#include <stdarg.h>
#include <stdio.h>

void message(const char *format, ...)
{
	va_list args;

	fflush(stdout);
	terminal_progress_end();
	fputs("stackctl: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}
