/* SPDX-License-Identifier: MIT */
/*
 * Parsing /proc.
 *
 * Names in these files belong to the process and can hold anything but NUL: a comm can hold
 * ") R 1" or a line end, a path can hold blanks. So stat is parsed from its last ')', comm as
 * the whole file but the final line end, and a path of maps runs to the end of its line, with
 * line ends in it written by the kernel as \012 (it escapes nothing else, so a name that really
 * holds these four characters is read wrong; it is then found through map_files).
 *
 * maps is read through stdio line by line: the kernel hands out about a page at a time and
 * continues by address, so a process that changes its mappings meanwhile yields a mix of before
 * and after, but never an endless file.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/mount_kind.h"
#include "base/path_walk.h"
#include "proc/proc_fs.h"

/* Converts the errno of open() or read() of a process's file: -ESRCH if the process is gone,
 * -EACCES if it is not ours to read, else -err. */
static int access_error(int err)
{
	if (err == ENOENT || err == ESRCH)
		return -ESRCH;
	return err == EPERM ? -EACCES : -err;
}

/* Opens ROOT/PID/NAME. Returns a descriptor or -errno. */
static int open_at(const char *root, pid_t pid, const char *name, int flags)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/%s", root, pid, name) >= sizeof(path))
		return -ENAMETOOLONG;
	int fd = open(path, flags | O_CLOEXEC);
	return fd < 0 ? access_error(errno) : fd;
}

/* Reads a small file into `buf`, NUL-terminated and cut to its size. Returns the number of bytes,
 * or -errno. */
static ssize_t read_small(const char *root, pid_t pid, const char *name, char *buf, size_t size)
{
	int fd = open_at(root, pid, name, O_RDONLY);
	if (fd < 0)
		return fd;

	size_t len = 0;
	ssize_t n = 1;
	while (len < size - 1 && n > 0) {
		n = read(fd, buf + len, size - 1 - len);
		if (n < 0 && errno == EINTR)
			n = 1;
		else if (n > 0)
			len += (size_t)n;
	}
	int err = n < 0 ? access_error(errno) : 0;
	close(fd);
	buf[len] = '\0';
	return err ? err : (ssize_t)len;
}

/* --- maps ------------------------------------------------------------------------------------ */

/* Reads a number at *at, which the character `end` must follow, and moves *at behind that. Returns
 * false if there is no such number. */
static bool take_number(char **at, int base, char end, uint64_t *ret)
{
	char *next;

	if (!isxdigit((unsigned char)**at))
		return false;
	errno = 0;
	*ret = strtoull(*at, &next, base);
	if (errno || *next != end)
		return false;
	*at = next + 1;
	return true;
}

/* Replaces \012 by a line end, in place. */
static void unescape(char *path)
{
	char *to = strstr(path, "\\012");
	if (!to)
		return;
	for (char *from = to; *from;) {
		if (!strncmp(from, "\\012", 4)) {
			*to++ = '\n';
			from += 4;
		} else {
			*to++ = *from++;
		}
	}
	*to = '\0';
}

/* Parses "START-END PERM OFFSET MAJOR:MINOR INODE     PATH"; changes `line`. */
static bool parse_map(char *line, struct proc_fs_map *ret_map)
{
	struct proc_fs_map map = {0};
	uint64_t major, minor;
	char *at = line;

	if (!take_number(&at, 16, '-', &map.start) || !take_number(&at, 16, ' ', &map.end))
		return false;
	if (strnlen(at, 5) < 5 || at[4] != ' ')
		return false;
	map.writable = at[1] == 'w';
	map.executable = at[2] == 'x';
	map.shared = at[3] == 's';
	at += 5;
	if (!take_number(&at, 16, ' ', &map.offset) || !take_number(&at, 16, ':', &major) ||
	    !take_number(&at, 16, ' ', &minor))
		return false;
	at[strcspn(at, "\n")] = '\0';

	char *digits = at;
	map.inode = strtoull(digits, &at, 10);
	if (at == digits)
		return false;
	at += strspn(at, " ");
	unescape(at);
	map.dev_major = (uint32_t)major;
	map.dev_minor = (uint32_t)minor;
	map.path = at;
	*ret_map = map;
	return true;
}

int proc_fs_each_map(const char *root, pid_t pid,
		     int (*each)(void *arg, const struct proc_fs_map *map), void *arg)
{
	int fd = open_at(root, pid, "maps", O_RDONLY);
	if (fd < 0)
		return fd;
	FILE *file = fdopen(fd, "r");
	if (!file) {
		close(fd);
		return -ENOMEM;
	}

	char *line = NULL;
	size_t size = 0, lines = 0;
	int err = 0;
	errno = 0;
	while (!err && getline(&line, &size, file) >= 0) {
		struct proc_fs_map map;
		lines++;
		err = parse_map(line, &map) ? each(arg, &map) : -EBADMSG;
		errno = 0;
	}
	if (!err && (ferror(file) || errno == ENOMEM))
		err = access_error(errno ? errno : EIO);
	/* If an exec or exit removes the memory meanwhile, the list ends early, without an error.
	 * From then on the file is empty. */
	if (!err && lines && pread(fd, line, 1, 0) == 0)
		err = -ESRCH;
	free(line);
	fclose(file);
	return err;
}

/* --- folders --------------------------------------------------------------------------------- */

/* Calls `each` for every entry of a folder that is a number. */
static int each_number(const char *path, int (*each)(void *arg, pid_t id), void *arg)
{
	DIR *dir = opendir(path);
	if (!dir)
		return access_error(errno);

	int err = 0;
	errno = 0;
	for (struct dirent *entry; !err && (entry = readdir(dir)); errno = 0) {
		char *end;
		long id = strtol(entry->d_name, &end, 10);
		if (isdigit((unsigned char)entry->d_name[0]) && !*end && id > 0 && id <= INT_MAX)
			err = each(arg, (pid_t)id);
	}
	if (!err && errno)
		err = access_error(errno);
	closedir(dir);
	return err;
}

int proc_fs_each_process(const char *root, int (*each)(void *arg, pid_t pid), void *arg)
{
	return each_number(root, each, arg);
}

int proc_fs_each_task(const char *root, pid_t pid, int (*each)(void *arg, pid_t tid), void *arg)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/task", root, pid) >= sizeof(path))
		return -ENAMETOOLONG;
	return each_number(path, each, arg);
}

/* --- small files ----------------------------------------------------------------------------- */

/* of the kernel's task flags */
#define PF_EXITING 0x4
#define PF_KTHREAD 0x200000

int proc_fs_stat(const char *root, pid_t pid, struct proc_fs_stat *ret_stat)
{
	char buf[1024];
	struct proc_fs_stat stat;
	uint64_t environment_end = 1;
	unsigned flags;

	ssize_t n = read_small(root, pid, "stat", buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	/* at + 1 is where the third field begins, the state; the 4th is ppid, the 9th flags, the
	 * 22nd starttime, the 51st env_end. */
	const char *at = strrchr(buf, ')');
	if (!at ||
	    sscanf(at + 1,
		   " %c %d %*s %*s %*s %*s %u %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %lu %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s "
		   "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %lu",
		   &stat.state, &stat.parent, &flags, &stat.start_ticks, &environment_end) < 4)
		return -EBADMSG;
	stat.is_exiting = flags & PF_EXITING;
	stat.is_in_exec = !environment_end && !(flags & (PF_EXITING | PF_KTHREAD));
	*ret_stat = stat;
	return 0;
}

/* Returns what follows `key` (with its colon) in the text of /proc/PID/status; NULL: there is no
 * such line. The kernel escapes a line end in the process's name, so the name cannot fake a
 * line. */
static const char *status_line(const char *text, const char *key)
{
	size_t len = strlen(key);

	for (const char *at = text; at; at = strchr(at, '\n')) {
		at += *at == '\n';
		if (!strncmp(at, key, len))
			return at + len;
	}
	return NULL;
}

int proc_fs_status(const char *root, pid_t pid, struct proc_fs_status *ret_status)
{
	char buf[8192];
	struct proc_fs_status status = {.ns_pid = pid};

	ssize_t n = read_small(root, pid, "status", buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	const char *uids = status_line(buf, "Uid:");
	if (!uids || sscanf(uids, "%u %u", &status.uid, &status.euid) != 2)
		return -EBADMSG;
	/* "NStgid: 4711 12 1": one pid per namespace, the process's own last. */
	const char *pids = status_line(buf, "NStgid:");
	while (pids && (*pids == '\t' || *pids == ' ')) {
		char *end;
		long ns_pid = strtol(pids, &end, 10);
		if (end == pids)
			break;
		status.ns_pid = (pid_t)ns_pid;
		pids = end;
	}
	*ret_status = status;
	return 0;
}

int proc_fs_comm(const char *root, pid_t pid, pid_t tid, char ret_comm[PROC_FS_COMM_SIZE])
{
	char name[64], buf[128];

	snprintf(name, sizeof(name), "task/%d/comm", tid);
	ssize_t n = read_small(root, pid, name, buf, sizeof(buf));
	if (n < 0)
		return (int)n;
	if (n > 0 && buf[n - 1] == '\n')
		buf[n - 1] = '\0';
	memset(ret_comm, 0, PROC_FS_COMM_SIZE);
	memcpy(ret_comm, buf, strnlen(buf, PROC_FS_COMM_SIZE - 1));
	return 0;
}

static int read_link(const char *link, char **ret_path)
{
	char target[PATH_MAX];

	ssize_t n = readlink(link, target, sizeof(target) - 1);
	if (n < 0)
		return access_error(errno);
	char *path = strndup(target, (size_t)n);
	if (!path)
		return -ENOMEM;
	*ret_path = path;
	return 0;
}

int proc_fs_exe(const char *root, pid_t pid, char **ret_path)
{
	char link[PATH_MAX];

	if ((size_t)snprintf(link, sizeof(link), "%s/%d/exe", root, pid) >= sizeof(link))
		return -ENAMETOOLONG;
	return read_link(link, ret_path);
}

/* --- files of a process ---------------------------------------------------------------------- */

int proc_fs_map_file(const char *root, pid_t pid, uint64_t start, uint64_t end)
{
	char name[64];

	snprintf(name, sizeof(name), "map_files/%lx-%lx", start, end);
	return open_at(root, pid, name, O_PATH);
}

int proc_fs_stat_map_file(const char *root, pid_t pid, uint64_t start, uint64_t end,
			  struct stat *ret_stat)
{
	char path[PATH_MAX];

	if ((size_t)snprintf(path, sizeof(path), "%s/%d/map_files/%lx-%lx", root, pid, start,
			     end) >= sizeof(path))
		return -ENAMETOOLONG;
	return mount_stat_path(path, ret_stat);
}

int proc_fs_map_file_path(const char *root, pid_t pid, uint64_t start, uint64_t end,
			  char **ret_path)
{
	char link[PATH_MAX];

	if ((size_t)snprintf(link, sizeof(link), "%s/%d/map_files/%lx-%lx", root, pid, start,
			     end) >= sizeof(link))
		return -ENAMETOOLONG;
	return read_link(link, ret_path);
}

int proc_fs_root_file(const char *root, pid_t pid, const char *path, bool follow,
		      struct mount_lists *mounts)
{
	struct path_walk how = {
		.proc_root = root, .pid = pid, .follows_last = follow, .mounts = mounts};
	int fd;

	how.root = open_at(root, pid, "root", O_PATH | O_DIRECTORY);
	if (how.root < 0)
		return how.root;
	fd = path_walk(&how, path);
	close(how.root);
	return fd;
}

bool proc_fs_is_same_file(const char *root, pid_t one, pid_t other, const char *link)
{
	char path[2][PATH_MAX];
	struct stat st[2];

	snprintf(path[0], sizeof(path[0]), "%s/%d/%s", root, one, link);
	snprintf(path[1], sizeof(path[1]), "%s/%d/%s", root, other, link);
	return !mount_stat_path(path[0], &st[0]) && !mount_stat_path(path[1], &st[1]) &&
	       st[0].st_dev == st[1].st_dev && st[0].st_ino == st[1].st_ino;
}
