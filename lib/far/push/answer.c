/* SPDX-License-Identifier: MIT */
/* Reads answers of servers; see answer.h. */
#include "push/answer.h"

#include <stdlib.h>
#include <string.h>

/* Returns the text after a member's name and colon; NULL: the answer is no object, or has no such
 * member. */
static const char *member(const char *answer, const char *name)
{
	const char *at = answer + strspn(answer, " \t\r\n");

	at = *at == '{' ? strstr(at, name) : NULL;
	if (!at)
		return NULL;
	at += strlen(name);
	at += strspn(at, " \t\r\n");
	if (*at++ != ':')
		return NULL;
	return at + strspn(at, " \t\r\n");
}

int answer_code(const char *answer)
{
	const char *at = member(answer, "\"code\"");
	char *end;
	long code;

	if (!at)
		return -1;
	code = strtol(at, &end, 10);
	return end != at && code >= 0 && code <= 16 ? (int)code : -1;
}

char *answer_message(const char *answer)
{
	const char *at = member(answer, "\"message\"");
	char *message, *to;

	if (!at || *at != '"')
		return strdup(answer);
	message = to = malloc(strlen(at) + 1);
	for (at++; message && *at && *at != '"'; at++) {
		if (*at == '\\' && at[1])
			at++;
		*to++ = *at;
	}
	if (message)
		*to = '\0';
	return message;
}
