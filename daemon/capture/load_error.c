/* SPDX-License-Identifier: MIT */
/* Reads the reason out of errno, capabilities and the verifier's log; see load_error.h. */
#include "daemon/base/rights.h"
#include "daemon/capture/load_error.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LOG_START "-- BEGIN PROG LOAD LOG --\n" /* libbpf's, around the verifier's log */
#define LOG_END	  "-- END PROG LOAD LOG --"

/* --- the log -----------------------------------------------------------------------------------
 */

static void keep_end(struct load_log *log, const char *text, size_t length)
{
	size_t most = sizeof(log->text) - 1, old = log->length;

	if (length > most) {
		text += length - most;
		length = most;
	}
	if (old > most - length) {
		old = most - length;
		memmove(log->text, log->text + log->length - old, old);
	}
	memcpy(log->text + old, text, length);
	log->length = old + length;
	log->text[log->length] = '\0';
}

void load_log_add(struct load_log *log, const char *format, va_list args)
{
	char *text;
	int length = vasprintf(&text, format, args);

	if (length < 0)
		return;
	keep_end(log, text, (size_t)length);
	free(text);
}

/* Returns the end of the verifier's output; NULL: there is none. */
static const char *verifier_end(const struct load_log *log)
{
	const char *end = NULL;

	for (const char *at = log->text; (at = strstr(at, LOG_END)); at++)
		end = at;
	return end;
}

/* Returns the start of the last lines before `end`. */
static const char *last_lines(const char *text, const char *end)
{
	const char *at = end;
	int lines = 0;

	while (at > text && (at[-1] != '\n' || at == end || ++lines < LOAD_ERROR_LINES))
		at--;
	return at;
}

static void put_lines(FILE *to, const struct load_log *log)
{
	const char *end = verifier_end(log), *start = log->text, *at, *newline;

	if (!end)
		end = log->text + log->length;
	for (at = start; (at = strstr(at, LOG_START)) && at < end; start = at)
		at += strlen(LOG_START);
	for (at = last_lines(start, end); at < end; at = newline + 1) {
		newline = memchr(at, '\n', (size_t)(end - at));
		if (!newline)
			newline = end;
		if (newline - at > LOAD_ERROR_LINE_BYTES)
			fprintf(to, "\n  | %.*s...", LOAD_ERROR_LINE_BYTES, at);
		else if (newline > at)
			fprintf(to, "\n  | %.*s", (int)(newline - at), at);
	}
}

/* --- the reason --------------------------------------------------------------------------------
 */

static bool is_old(const char *release)
{
	unsigned major, minor;

	return sscanf(release, "%u.%u", &major, &minor) == 2 &&
	       (major < 6 || (major == 6 && minor < 1));
}

enum load_reason load_error_reason(const struct load_failure *failure)
{
	if (failure->btf_path)
		return LOAD_NO_TYPES;
	if (failure->err == -EPERM || (failure->err == -EACCES && !failure->may_load))
		return LOAD_NO_RIGHT;
	if (is_old(failure->release))
		return LOAD_OLD_KERNEL;
	if (failure->err == -EAGAIN)
		return LOAD_INTERRUPTED;
	if (verifier_end(failure->log))
		return LOAD_REFUSED;
	return failure->err == -ENOMEM ? LOAD_NO_MEMORY : LOAD_OTHER;
}

static void put_refusal(FILE *to, const struct load_failure *failure)
{
	fprintf(to,
		"the verifier of this kernel, Linux %s, refused the BPF program (%s), compiled by "
		"%s. That is a fault of the program, not of this machine or of its settings: build "
		"with another clang (such as make CLANG=clang-19), and report these, the "
		"verifier's last lines; STACKD_DEBUG=1 shows them all",
		failure->release, strerror(-failure->err),
		failure->compiler ? failure->compiler : "an unknown clang");
	put_lines(to, failure->log);
}

static int put_reason(FILE *to, const struct load_failure *failure)
{
	const char *why = strerror(-failure->err);

	switch (load_error_reason(failure)) {
	case LOAD_NO_TYPES:
		fprintf(to,
			"the kernel has no type information (%s): stackd needs a kernel built with "
			"CONFIG_DEBUG_INFO_BTF=y, such as Debian's",
			failure->btf_path);
		return -EOPNOTSUPP;
	case LOAD_NO_RIGHT:
		fprintf(to, "no right to load BPF programs (%s): %s", why,
			rights_remedy(", or with CAP_BPF, CAP_PERFMON and CAP_SYS_PTRACE"));
		return -EPERM;
	case LOAD_OLD_KERNEL:
		fprintf(to,
			"the kernel rejected the BPF program (%s): Linux 6.1 or later is "
			"needed, and this is %s; see also: stackctl doctor",
			why, failure->release);
		return -EOPNOTSUPP;
	case LOAD_INTERRUPTED:
		fputs("signals interrupted the kernel each time it checked the BPF program: start "
		      "again",
		      to);
		return -EAGAIN;
	case LOAD_REFUSED:
		put_refusal(to, failure);
		return -EOPNOTSUPP;
	case LOAD_NO_MEMORY:
		fprintf(to,
			"the kernel has no memory for the tables of the BPF program (%s): less is "
			"needed with --table-memory 8M and --ring-bytes 1M",
			why);
		return -ENOMEM;
	case LOAD_OTHER:
		break;
	}
	fprintf(to,
		"the kernel rejected the BPF program (%s), Linux %s; see: stackctl doctor. The "
		"last words of libbpf are",
		why, failure->release);
	put_lines(to, failure->log);
	return -EOPNOTSUPP;
}

int load_error_explain(const struct load_failure *failure, char **ret_error)
{
	size_t size;
	FILE *to;
	int err;

	*ret_error = NULL;
	to = open_memstream(ret_error, &size);
	if (!to)
		return failure->err;
	err = put_reason(to, failure);
	if (fclose(to)) {
		free(*ret_error);
		*ret_error = NULL;
	}
	return err;
}
