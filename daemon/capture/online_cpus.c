/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of CPUs; see online_cpus.h. */
#include "daemon/capture/online_cpus.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Reads the list as text. It is looked at many times a second, so no stream is made for it. */
static bool read_text(const char *path, char *buf, size_t size)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC);
	ssize_t len;

	if (fd < 0)
		return false;
	len = read(fd, buf, size - 1);
	close(fd);
	buf[len > 0 ? len : 0] = 0;
	return len > 0;
}

/* Marks the CPUs of a list. Returns how many it has. */
static unsigned parse(const char *text, bool *ret_online)
{
	unsigned n = 0;

	while (isdigit((unsigned char)*text)) {
		char *end;
		unsigned long first = strtoul(text, &end, 10), last = first;

		if (*end == '-' && isdigit((unsigned char)end[1]))
			last = strtoul(end + 1, &end, 10);
		for (; first <= last && first < ONLINE_CPUS_MAX; first++, n++)
			ret_online[first] = true;
		if (*end != ',')
			break;
		text = end + 1;
	}
	return n;
}

bool online_cpus_look(struct online_cpus *cpus, const char *path)
{
	bool now[ONLINE_CPUS_MAX] = {false}, has_new = false;
	char text[sizeof(cpus->text)];

	memset(cpus->is_new, 0, sizeof(cpus->is_new));
	if (!read_text(path, text, sizeof(text)) || !strcmp(text, cpus->text) || !parse(text, now))
		return false;
	for (int i = 0; i < ONLINE_CPUS_MAX; i++) {
		cpus->is_new[i] = cpus->is_known && now[i] && !cpus->online[i];
		has_new |= cpus->is_new[i];
	}
	memcpy(cpus->online, now, sizeof(now));
	memcpy(cpus->text, text, sizeof(text));
	cpus->is_known = true;
	return has_new;
}
