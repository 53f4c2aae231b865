/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of CPUs; see online_cpus.h. */
#include "daemon/capture/online_cpus.h"

#include <ctype.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/types.h>
#include <unistd.h>

/* Reads the list as text. It is looked at many times a second, so it is opened once. */
static bool read_text(struct online_cpus *cpus, const char *path, char *buf, size_t size)
{
	ssize_t len;

	if (!cpus->is_open) {
		cpus->fd = open(path, O_RDONLY | O_CLOEXEC);
		cpus->is_open = cpus->fd >= 0;
	}
	len = cpus->is_open ? pread(cpus->fd, buf, size - 1, 0) : 0;
	buf[len > 0 ? len : 0] = 0;
	return len > 0;
}

void online_cpus_close(struct online_cpus *cpus)
{
	if (cpus->is_open)
		close(cpus->fd);
	cpus->is_open = false;
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
	bool now[ONLINE_CPUS_MAX], has_new = false;
	char text[sizeof(cpus->text)];

	if (!read_text(cpus, path, text, sizeof(text)) || !strcmp(text, cpus->text))
		return false;
	memset(now, 0, sizeof(now));
	if (!parse(text, now))
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
