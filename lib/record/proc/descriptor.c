/* SPDX-License-Identifier: MIT */
/* Names files and sockets of other processes; see descriptor.h. */
#include "proc/descriptor.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* Returns the inode number that the kernel itself uses, which on some file systems is not the one
 * that stat() returns; 0: unknown. */
static uint64_t inode_of(int held)
{
	char path[64], line[128];
	uint64_t inode = 0;
	FILE *file;

	snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", held);
	file = fopen(path, "re");
	while (file && fgets(line, sizeof(line), file)) {
		if (sscanf(line, "ino: %" SCNu64, &inode) == 1)
			break;
	}
	if (file)
		fclose(file);
	return inode;
}

/* Returns whether a file was created after `time_ns`. */
static bool is_made_after(int held, uint64_t time_ns)
{
	struct statx made;

	if (statx(held, "", AT_EMPTY_PATH | AT_STATX_DONT_SYNC, STATX_BTIME, &made) ||
	    !(made.stx_mask & STATX_BTIME) || made.stx_btime.tv_sec < 0)
		return false;
	return (uint64_t)made.stx_btime.tv_sec * 1000000000 + made.stx_btime.tv_nsec > time_ns;
}

static int read_name(int held, char **ret_path)
{
	char path[64], name[PATH_MAX];
	ssize_t n;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", held);
	n = readlink(path, name, sizeof(name) - 1);
	if (n < 0)
		return -errno;
	*ret_path = strndup(name, (size_t)n);
	return *ret_path ? 0 : -ENOMEM;
}

int descriptor_path(const char *root, pid_t pid, int descriptor, uint64_t inode, uint64_t time_ns,
		    char **ret_path)
{
	char path[PATH_MAX];
	int held, err;

	snprintf(path, sizeof(path), "%s/%d/fd/%d", root, (int)pid, descriptor);
	held = open(path, O_PATH | O_CLOEXEC);
	if (held < 0)
		return -errno;
	if (!inode || inode_of(held) != inode || is_made_after(held, time_ns))
		err = -ENOENT;
	else
		err = read_name(held, ret_path);
	close(held);
	return err;
}

/* Returns the address in a line of /proc/net/unix if the line is about the socket with this inode
 * number. NULL: it is another socket (or the line of column names), or has no address. */
static const char *address_in(char *line, uint64_t inode)
{
	uint64_t number;
	int at = 0;

	if (sscanf(line, "%*s %*x %*x %*x %*x %*x %" SCNu64 " %n", &number, &at) != 1 ||
	    number != inode || !at)
		return NULL;
	line[strcspn(line, "\n")] = '\0';
	return line[at] ? line + at : NULL;
}

int descriptor_unix_address(const char *root, pid_t pid, uint64_t inode, char **ret_address)
{
	const char *address = NULL;
	char path[PATH_MAX], *line = NULL;
	size_t size = 0;
	FILE *file;
	int err = -ENOENT;

	snprintf(path, sizeof(path), "%s/%d/net/unix", root, (int)pid);
	file = fopen(path, "re");
	if (!file)
		return -errno;
	while (!address && getline(&line, &size, file) > 0)
		address = address_in(line, inode);
	if (address) {
		*ret_address = strdup(address);
		err = *ret_address ? 0 : -ENOMEM;
	}
	free(line);
	fclose(file);
	return err;
}
