/* SPDX-License-Identifier: MIT */
/* A server that keeps each request's session, and forgets to drop those of one kind. */
#include <stdlib.h>
#include <string.h>

struct session {
	struct session *next;
	char data[4000];
};
static struct session *guests;

static struct session *new_session(int id)
{
	struct session *session = malloc(sizeof(*session));
	memset(session->data, id, sizeof(session->data));
	return session;
}

static void serve_member(int id)
{
	struct session *session = new_session(id);
	free(session);
}

static void serve_guest(int id)
{
	struct session *session = new_session(id);
	session->next = guests;
	guests = session; /* nobody ever takes it off this list */
}

static void serve(int id)
{
	char *page = malloc(20000);
	memset(page, id, 20000);
	if (id % 3)
		serve_member(id);
	else
		serve_guest(id);
	free(page);
}

int main(void)
{
	for (int id = 0; id < 30000; id++)
		serve(id);
	return 0;
}
