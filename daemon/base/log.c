/* SPDX-License-Identifier: MIT */
/* Prints messages and the status line; see log.h. */
#include "daemon/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static bool to_journal;
static bool to_terminal;
static bool status_shown;

void log_setup(void)
{
	to_journal = getenv("JOURNAL_STREAM") != NULL && !isatty(STDERR_FILENO);
	to_terminal = isatty(STDERR_FILENO);
}

bool log_is_terminal(void)
{
	return to_terminal;
}

static void clear_status(void)
{
	if (status_shown)
		fputs("\r\033[K", stderr);
	status_shown = false;
}

void log_message(enum log_priority priority, const char *format, ...)
{
	va_list args;

	clear_status();
	if (to_journal)
		fprintf(stderr, "<%d>", (int)priority);
	else
		fputs(priority == LOG_PRIORITY_WARNING ? "stackd: warning: " : "stackd: ", stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

void log_status(const char *line)
{
	if (!to_terminal)
		return;
	clear_status();
	if (!line)
		return;
	fputs(line, stderr);
	fflush(stderr);
	status_shown = true;
}
