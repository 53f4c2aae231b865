/* SPDX-License-Identifier: MIT */
/* Reads answers of servers; see answer.h. */
#include "push/answer.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_find.h"

/* Appends the character of an escape to `*to`, which needs less room than the escape. `at` is
 * behind the backslash. Returns the place behind the escape. */
static const char *put_escape(const char *at, char **to)
{
	static const char names[] = "nrtbf", characters[] = "\n\r\t\b\f";
	const char *name = strchr(names, *at);
	unsigned code;
	int used = 0;

	if (*at != 'u') {
		*(*to)++ = name ? characters[name - names] : *at;
		return at + 1;
	}
	if (sscanf(at + 1, "%4x%n", &code, &used) != 1 || used != 4 || !code || code > 0xffff) {
		*(*to)++ = '?';
		return at + 1;
	}
	if (code < 0x80) {
		*(*to)++ = (char)code;
	} else if (code < 0x800) {
		*(*to)++ = (char)(0xc0 | code >> 6);
		*(*to)++ = (char)(0x80 | (code & 0x3f));
	} else if (code >= 0xd800 && code < 0xe000) { /* half of a character */
		*(*to)++ = '?';
	} else {
		*(*to)++ = (char)(0xe0 | code >> 12);
		*(*to)++ = (char)(0x80 | (code >> 6 & 0x3f));
		*(*to)++ = (char)(0x80 | (code & 0x3f));
	}
	return at + 5;
}

int answer_code(const char *answer)
{
	const char *at = json_find_member(answer, "code");
	char *end;
	long code;

	if (!at)
		return -1;
	code = strtol(at, &end, 10);
	return end != at && code >= 0 && code <= 16 ? (int)code : -1;
}

char *answer_message(const char *answer)
{
	const char *at = json_find_member(answer, "message");
	char *message, *to;

	if (!at || *at != '"')
		return strdup(answer);
	message = to = malloc(strlen(at) + 1);
	for (at++; message && *at && *at != '"';) {
		if (*at == '\\' && at[1])
			at = put_escape(at + 1, &to);
		else
			*to++ = *at++;
	}
	if (message)
		*to = '\0';
	return message;
}
