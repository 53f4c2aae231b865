/* SPDX-License-Identifier: MIT */
/* Prints messages; see message.h. */
#include "message.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/text.h"
#include "cmd.h"
#include "terminal.h"

static char message_name[320] = "stackctl";

void message_set_name(const char *name)
{
	snprintf(message_name, sizeof(message_name), "%s", name);
}

static bool message_is_partial;

void message_partial(void)
{
	message_is_partial = true;
}

int message_status(int status)
{
	return status == CMD_DONE && message_is_partial ? CMD_FAILED : status;
}

static struct buf *message_collected; /* messages are appended to it instead of printed; or NULL */

void message_collect(struct buf *b)
{
	message_collected = b;
}

static void collect(const char *format, va_list args)
{
	char *text;

	if (vasprintf(&text, format, args) < 0)
		return;
	text_put_raw(message_collected, message_collected->len ? "; " : "");
	text_put_raw(message_collected, text);
	free(text);
}

void message(const char *format, ...)
{
	va_list args;

	if (message_collected) {
		va_start(args, format);
		collect(format, args);
		va_end(args);
		return;
	}

	fflush(stdout);
	terminal_progress_end();
	fprintf(stderr, "%s: ", message_name);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
}

int message_left_out(const char *name, enum part part)
{
	message_set_name(name);
	message("%s", part_missing(part));
	return CMD_USAGE;
}
