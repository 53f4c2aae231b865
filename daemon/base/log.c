/* SPDX-License-Identifier: MIT */
/* Prints messages and the status line; see log.h. */
#define SD_JOURNAL_SUPPRESS_LOCATION
#include "daemon/base/log.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <systemd/sd-journal.h>
#include <unistd.h>

static bool to_journal;
static bool to_terminal;
static bool status_shown;

void log_setup(void)
{
	to_journal = getenv("JOURNAL_STREAM") != NULL && !isatty(STDERR_FILENO);
	to_terminal = isatty(STDERR_FILENO);
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

/* Sends a message with its id to the journal. false: the journal cannot be reached. */
static bool send_event(enum log_event event, const char *text)
{
	static const char *const ids[] = {
#define LOG_X(e, id, meaning) [LOG_EVENT_##e] = id,
		LOG_EVENTS(LOG_X)
#undef LOG_X
	};

	return sd_journal_send("MESSAGE=%s", text, "PRIORITY=%d", (int)LOG_PRIORITY_WARNING,
			       "MESSAGE_ID=%s", ids[event], NULL) == 0;
}

void log_event(enum log_event event, const char *format, ...)
{
	char text[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (!to_journal || !send_event(event, text))
		log_message(LOG_PRIORITY_WARNING, "%s", text);
}

void log_failure(char *sentence, const char *what, int err)
{
	char *remainder = sentence, *line;

	while ((line = strsep(&remainder, "\n")))
		log_error("%s", line);
	if (!sentence)
		log_error("%s: %s", what, strerror(-err));
	free(sentence);
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
