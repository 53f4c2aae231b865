/* SPDX-License-Identifier: MIT */
/* Reads environments; see process_environment.h. */
#include "proc/process_environment.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "proc/proc_fs.h"

#define FEW_BYTES  (1u << 14)
#define MOST_BYTES (1u << 20) /* at most so much of an environment is read */

/* Reads a file to its end, but at most MOST_BYTES of it, and adds a NUL. Returns 0 or -errno. */
static int read_all(int fd, char **ret_bytes, size_t *ret_size)
{
	size_t size = 0, room = FEW_BYTES;
	char *bytes = malloc(room + 1), *more;
	ssize_t got = 1;

	while (bytes && got > 0 && size < MOST_BYTES) {
		if (size == room) {
			room *= 2;
			more = realloc(bytes, room + 1);
			if (!more)
				free(bytes);
			bytes = more;
			continue;
		}
		got = read(fd, bytes + size, room - size);
		size += got > 0 ? (size_t)got : 0;
	}
	if (!bytes)
		return -ENOMEM;
	bytes[size] = '\0';
	*ret_bytes = bytes;
	*ret_size = size;
	return got < 0 ? -errno : 0;
}

/* Returns what the empty environment of a process means: -EAGAIN: the kernel will still set it;
 * -ENOENT: it is empty; or another -errno. */
static int why_empty(const char *root, pid_t pid)
{
	struct proc_fs_stat stat;
	int err = proc_fs_stat(root, pid, &stat);

	return err ? err : stat.is_in_exec ? -EAGAIN : -ENOENT;
}

int process_environment_read(const char *root, pid_t pid, char **ret_bytes, size_t *ret_size)
{
	char path[256];
	int fd, err;

	snprintf(path, sizeof(path), "%s/%d/environ", root, (int)pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		return errno == ENOENT ? -ESRCH : -errno;
	*ret_bytes = NULL;
	err = read_all(fd, ret_bytes, ret_size);
	close(fd);
	if (!err && !*ret_size)
		err = why_empty(root, pid);
	if (err) {
		free(*ret_bytes);
		*ret_bytes = NULL;
	}
	return err;
}
