/* SPDX-License-Identifier: MIT */
/* Reads the kernel's list of CPUs; see online_cpus.h. */
#include "daemon/capture/online_cpus.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/netlink.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/types.h>
#include <unistd.h>

/* Reads the list as text. The list is read many times a second, so its file is opened once and
 * stays open. */
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

void online_cpus_listen(struct online_cpus *cpus)
{
	const struct sockaddr_nl kernel = {.nl_family = AF_NETLINK, .nl_groups = 1};
	int fd = socket(AF_NETLINK, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK,
			NETLINK_KOBJECT_UEVENT);

	cpus->has_messages = fd >= 0 && !bind(fd, (const struct sockaddr *)&kernel, sizeof(kernel));
	if (cpus->has_messages)
		cpus->messages = fd;
	else if (fd >= 0)
		close(fd);
}

void online_cpus_close(struct online_cpus *cpus)
{
	if (cpus->is_open)
		close(cpus->fd);
	if (cpus->has_messages)
		close(cpus->messages);
	cpus->is_open = cpus->has_messages = false;
}

/* Returns the number of the CPU in a message that begins with `begin`; ONLINE_CPUS_MAX: the message
 * begins otherwise. */
static unsigned long cpu_of(const char *message, const char *begin)
{
	const size_t len = strlen(begin);
	unsigned long cpu;

	if (strncmp(message, begin, len) != 0 || !isdigit((unsigned char)message[len]))
		return ONLINE_CPUS_MAX;
	cpu = strtoul(message + len, NULL, 10);
	return cpu < ONLINE_CPUS_MAX ? cpu : ONLINE_CPUS_MAX;
}

/* Takes a message, which begins with "ACTION@DEVICE". If a CPU has come on line, marks it and
 * returns true, unless the list has shown that already. */
static bool take_message(struct online_cpus *cpus, const char *message, bool *ret_came)
{
	unsigned long on = cpu_of(message, "online@/devices/system/cpu/cpu");
	unsigned long off = cpu_of(message, "offline@/devices/system/cpu/cpu");
	bool is_listed = on < ONLINE_CPUS_MAX && cpus->is_ahead[on];

	if (off < ONLINE_CPUS_MAX)
		cpus->is_ahead[off] = false;
	if (on == ONLINE_CPUS_MAX)
		return false;
	cpus->is_ahead[on] = false;
	ret_came[on] |= !is_listed;
	return !is_listed;
}

/* Reads the messages that there are, and marks the CPUs that have come on line. Returns whether
 * there are such CPUs. */
static bool read_messages(struct online_cpus *cpus, bool *ret_came)
{
	char text[1024];
	bool has_new = false;
	ssize_t len;

	if (!cpus->has_messages)
		return false;
	for (;;) {
		len = recv(cpus->messages, text, sizeof(text) - 1, MSG_DONTWAIT);
		if (len < 0 && errno == ENOBUFS) { /* messages were lost */
			memset(cpus->is_ahead, 0, sizeof(cpus->is_ahead));
			continue;
		}
		if (len < 0 && errno == EINTR)
			continue;
		if (len <= 0)
			return has_new;
		text[len] = 0;
		has_new |= take_message(cpus, text, ret_came);
	}
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
	bool now[ONLINE_CPUS_MAX], came[ONLINE_CPUS_MAX] = {false}, has_new = false;
	bool has_come = read_messages(cpus, came);
	char text[sizeof(cpus->text)];

	if (!read_text(cpus, path, text, sizeof(text)) || (!has_come && !strcmp(text, cpus->text)))
		return false;
	memset(now, 0, sizeof(now));
	if (!parse(text, now))
		return false;
	for (int i = 0; i < ONLINE_CPUS_MAX; i++) {
		cpus->is_new[i] = cpus->is_known && now[i] && (came[i] || !cpus->online[i]);
		cpus->is_ahead[i] |= cpus->is_new[i] && !came[i] && cpus->has_messages;
		has_new |= cpus->is_new[i];
	}
	memcpy(cpus->online, now, sizeof(now));
	memcpy(cpus->text, text, sizeof(text));
	cpus->is_known = true;
	return has_new;
}
