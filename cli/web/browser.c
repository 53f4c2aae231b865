/* SPDX-License-Identifier: MIT */
/* Opens the page; see browser.h. */
#include "browser.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define BROWSER_FILE "stackctl-web.html"

bool browser_is_possible(void)
{
	const char *x = getenv("DISPLAY"), *wayland = getenv("WAYLAND_DISPLAY");

	return (x && *x) || (wayland && *wayland);
}

static void name_file(const struct browser *browser, char ret_path[static 96])
{
	snprintf(ret_path, 96, "%s/" BROWSER_FILE, browser->folder);
}

/* Makes a folder that only the user can enter, with the file in it. */
static bool make_file(const char *link, struct browser *browser)
{
	char path[96];
	FILE *out;
	int fd;

	strcpy(browser->folder, "/tmp/stackctl-web-XXXXXX");
	if (!mkdtemp(browser->folder)) {
		*browser->folder = '\0';
		return false;
	}
	name_file(browser, path);
	fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC | O_NOFOLLOW, 0600);
	out = fd < 0 ? NULL : fdopen(fd, "w");
	if (!out) {
		if (fd >= 0)
			close(fd);
		return false;
	}
	fprintf(out,
		"<!doctype html><meta charset=utf-8><meta name=referrer content=no-referrer>"
		"<meta http-equiv=refresh content=\"0; url=%s\"><title>stackctl web</title>\n",
		link);
	return fclose(out) == 0;
}

/* Runs in the child: the grandchild becomes the browser's, and is adopted by init. */
static void run(const char *path)
{
	const int null = open("/dev/null", O_RDWR);
	sigset_t none;

	if (fork() != 0)
		_exit(0);
	sigemptyset(&none);
	sigprocmask(SIG_SETMASK, &none, NULL);
	signal(SIGPIPE, SIG_DFL);
	setsid();
	dup2(null, STDIN_FILENO);
	dup2(null, STDOUT_FILENO);
	dup2(null, STDERR_FILENO);
	execlp("xdg-open", "xdg-open", path, NULL);
	_exit(1);
}

bool browser_open(const char *link, struct browser *ret_browser)
{
	char path[96];
	pid_t child;

	*ret_browser = (struct browser){{0}};
	if (!browser_is_possible() || !make_file(link, ret_browser))
		return false;
	name_file(ret_browser, path);
	child = fork();
	if (child == 0)
		run(path);
	return child > 0 && waitpid(child, NULL, 0) == child;
}

void browser_end(const struct browser *browser)
{
	char path[96];

	if (!*browser->folder)
		return;
	name_file(browser, path);
	unlink(path);
	rmdir(browser->folder);
}
