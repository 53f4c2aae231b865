/* SPDX-License-Identifier: MIT */
/* Parses addresses of servers; see endpoint.h. */
#include "http/endpoint.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int endpoint_init(struct endpoint *e, const struct login *login)
{
	return login ? login_copy(login, &e->login) : 0;
}

void endpoint_free(struct endpoint *e)
{
	free(e->host);
	free(e->port);
	login_fini(&e->login);
	*e = (struct endpoint){0};
}

bool endpoint_has_only(const char *text, const char *also)
{
	for (const char *at = text; *at; at++)
		if (!isalnum((unsigned char)*at) && !strchr(also, *at))
			return false;
	return true;
}

static bool is_port(const char *text)
{
	return *text && strspn(text, "0123456789") == strlen(text) && strlen(text) <= 5 &&
	       atoi(text) > 0 && atoi(text) <= 65535;
}

/* Splits "host:port" or "[address]:port". Returns NULL, or the reason why it is wrong. */
static const char *parse_host(struct endpoint *e, char *text, const char *port)
{
	char *colon = *text == '[' ? strchr(text, ']') : text;

	colon = colon ? strchr(colon, ':') : NULL;
	if (colon)
		*colon++ = '\0';
	if (colon && !is_port(colon))
		return "the port is not a number from 1 to 65535";
	if (!*text || !endpoint_has_only(text, "-._[]:"))
		return "it has no host";
	e->host = strdup(text);
	e->port = strdup(colon ? colon : port);
	return NULL;
}

/* Splits "user@host:port". Returns why it cannot, or NULL. */
static const char *parse_user(struct endpoint *e, char *text, const char *port,
			      const char *variable)
{
	static __thread char why[160];
	char *at = strrchr(text, '@');

	if (!at)
		return parse_host(e, text, port);
	*at = '\0';
	if (strchr(text, ':')) {
		snprintf(why, sizeof(why),
			 "a password in it could be seen by everybody on this machine: put it into "
			 "%s, or a file for --credentials",
			 variable);
		return why;
	}
	if (!e->login.user)
		e->login.user = strdup(text);
	return parse_host(e, at + 1, port);
}

const char *endpoint_parse(struct endpoint *e, const char *text, const char *port,
			   const char *variable, char **ret_rest)
{
	const char *slash = strchrnul(text, '/'), *why = NULL;
	char *copy = strndup(text, (size_t)(slash - text));

	*ret_rest = strdup(*slash ? slash + 1 : "");
	if (copy)
		why = parse_user(e, copy, port, variable);
	free(copy);
	return why;
}

void endpoint_sign(const struct endpoint *e, const char *anybody, struct http_request *r)
{
	r->login = &e->login;
	r->user = e->login.user || !e->login.password ? e->login.user : anybody;
}

const char *endpoint_who(const struct endpoint *e, const char *anybody)
{
	static __thread char who[160];

	if (e->login.token || e->login.token_file)
		return "the token";
	snprintf(who, sizeof(who), "user '%s'", e->login.user ? e->login.user : anybody);
	return who;
}
