/* SPDX-License-Identifier: MIT */
/*
 * A debuginfod server for tests, of which libdebuginfod gets its address and its own cache folder
 * from the environment. It brings a file, sends without end, or never answers.
 */
#ifndef FAKE_DEBUGINFOD_H
#define FAKE_DEBUGINFOD_H

#include <netinet/in.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#define BROUGHT	  "brought"	      /* the file */
#define SENT_MOST (UINT64_C(4) << 30) /* a client that takes so much has no limit */

enum serves { BRINGS, SENDS_WITHOUT_END, IS_SILENT };

static struct {
	char folder[32];
	int listening;
	enum serves how;   /* accessed atomically, as the others below */
	unsigned requests; /* that have come */
	uint64_t sent;	   /* to the last client */
} server = {.folder = "/tmp/test-debuginfod-XXXXXX"};

static inline void serve(enum serves how)
{
	__atomic_store_n(&server.how, how, __ATOMIC_SEQ_CST);
}

static inline unsigned served(void)
{
	return __atomic_load_n(&server.requests, __ATOMIC_SEQ_CST);
}

static inline void serve_client(int fd)
{
	static const char head[] =
		"HTTP/1.1 200 OK\r\nContent-Type: application/octet-stream\r\n\r\n";
	static char bytes[1 << 16];
	const enum serves how = __atomic_load_n(&server.how, __ATOMIC_SEQ_CST);
	ssize_t n = read(fd, bytes, sizeof(bytes));

	if (n > 0)
		__atomic_add_fetch(&server.requests, 1, __ATOMIC_SEQ_CST);
	__atomic_store_n(&server.sent, 0, __ATOMIC_SEQ_CST);
	if (how != IS_SILENT && n > 0)
		n = send(fd, head, strlen(head), MSG_NOSIGNAL);
	if (how == BRINGS && n > 0)
		send(fd, BROUGHT, strlen(BROUGHT), MSG_NOSIGNAL);
	while (how == SENDS_WITHOUT_END && n > 0 && server.sent < SENT_MOST) {
		n = send(fd, bytes, sizeof(bytes), MSG_NOSIGNAL);
		__atomic_add_fetch(&server.sent, n > 0 ? (uint64_t)n : 0, __ATOMIC_SEQ_CST);
	}
	while (how == IS_SILENT && read(fd, bytes, sizeof(bytes)) > 0)
		;
}

static inline void *serve_clients(void *arg)
{
	int fd;

	while ((fd = accept(server.listening, NULL, NULL)) >= 0) {
		serve_client(fd);
		close(fd);
	}
	return arg;
}

/* Clients can connect from now on, and have answers once serve_from_now_on() was called. A group's
 * set-up. */
static int fake_debuginfod_begin(void **state)
{
	struct sockaddr_in address = {.sin_family = AF_INET,
				      .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
	socklen_t len = sizeof(address);
	char url[64];

	(void)state;
	server.listening = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (server.listening < 0 || bind(server.listening, (struct sockaddr *)&address, len) ||
	    listen(server.listening, 8) ||
	    getsockname(server.listening, (struct sockaddr *)&address, &len) ||
	    !mkdtemp(server.folder))
		return -1;
	snprintf(url, sizeof(url), "http://127.0.0.1:%d", ntohs(address.sin_port));
	setenv("DEBUGINFOD_URLS", url, 1);
	setenv("DEBUGINFOD_CACHE_PATH", server.folder, 1);
	setenv("no_proxy", "127.0.0.1", 1);
	return 0;
}

/* Answers clients, in a thread, to the program's end. Returns 0 or -1. */
static inline int serve_from_now_on(void)
{
	static pthread_t thread;

	if (thread)
		return 0;
	return pthread_create(&thread, NULL, serve_clients, NULL) || pthread_detach(thread) ? -1
											    : 0;
}

/* A group's tear-down. */
static int fake_debuginfod_end(void **state)
{
	char command[96];

	(void)state;
	snprintf(command, sizeof(command), "rm -rf %s", server.folder);
	return system(command);
}

#endif
