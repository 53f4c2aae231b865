/* SPDX-License-Identifier: MIT */
/*
 * Keeps a few lists, each under its namespace and the root folder of who sees it, since a list
 * names folders as seen from that root, and leaves out what is not below it. A change between
 * opening a list and reading it is seen at the next poll(), so a list can be read once too often,
 * but never be kept once it is old.
 */
#include "base/mount_list.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/mount_kind.h"
#include "base/vec.h"

#define KEPT	   8			/* lists */
#define MOST_BYTES (UINT64_C(16) << 20) /* of a list's text */
#define IDLE_NS	   UINT64_C(2000000000) /* a list is kept for so long after its last use */
#define LONG_NS	   UINT64_C(3000000)	/* reading a long list takes this CPU time */
#define SHARE	   20 /* long ones, in one place, are read for this part of the time: 1/20 */

struct list_key {
	uint64_t space[2], root[2]; /* device and inode of the namespace, and of the root folder */
};

struct kept_list {
	struct list_key key;
	struct mount_list list;
	char *text;
	int fd;		  /* -1: not used */
	uint64_t used_ns; /* when it was asked for last */
	/* when it, or another one in its place, may be read again */
	uint64_t may_read_ns;
};

struct mount_lists {
	struct kept_list kept[KEPT];
	uint64_t versions;
};

int mount_lists_new(struct mount_lists **ret_lists)
{
	struct mount_lists *lists = calloc(1, sizeof(*lists));

	if (!lists)
		return -ENOMEM;
	for (size_t i = 0; i < KEPT; i++)
		lists->kept[i].fd = -1;
	*ret_lists = lists;
	return 0;
}

static void forget_rows(struct kept_list *kept)
{
	free(kept->list.rows);
	free(kept->text);
	kept->text = NULL;
	kept->list = (struct mount_list){0};
}

static void give_up(struct kept_list *kept)
{
	forget_rows(kept);
	if (kept->fd >= 0)
		close(kept->fd);
	*kept = (struct kept_list){.fd = -1, .may_read_ns = kept->may_read_ns};
}

void mount_lists_free(struct mount_lists *lists)
{
	for (size_t i = 0; lists && i < KEPT; i++)
		give_up(&lists->kept[i]);
	free(lists);
}

void mount_lists_rest(struct mount_lists *lists, uint64_t now_ns)
{
	for (size_t i = 0; i < KEPT; i++)
		if (lists->kept[i].fd >= 0 && now_ns - lists->kept[i].used_ns > IDLE_NS)
			give_up(&lists->kept[i]);
}

uint64_t mount_lists_read(const struct mount_lists *lists)
{
	return lists->versions;
}

/* --- the text -------------------------------------------------------------------------------- */

/* Reads all of a list, behind which it puts a 0. */
static int read_text(int fd, char **ret_text)
{
	size_t size = 0, cap = 0;
	char *text = NULL;
	ssize_t n = 1;
	int err = lseek(fd, 0, SEEK_SET) ? -errno : 0;

	while (!err && n > 0) {
		err = size > MOST_BYTES ? -E2BIG : VEC_GROW(text, cap, size + 65536);
		n = err ? 0 : read(fd, text + size, cap - size - 1);
		if (n < 0)
			err = -errno;
		size += n > 0 ? (size_t)n : 0;
	}
	if (err) {
		free(text);
		return err;
	}
	text[size] = '\0';
	*ret_text = text;
	return 0;
}

/* Replaces escapes of mountinfo, such as "\\040" for a space, in place. */
static void unescape(char *text)
{
	char *to = text;

	for (const char *from = text; *from; to++) {
		if (*from == '\\' && strspn(from + 1, "01234567") >= 3) {
			*to = (char)((from[1] - '0') * 64 + (from[2] - '0') * 8 + (from[3] - '0'));
			from += 4;
		} else {
			*to = *from++;
		}
	}
	*to = '\0';
}

/* Cuts the next field off a line. NULL: there is none. */
static char *field(char **line)
{
	return strsep(line, " ");
}

/* Takes a line, such as "36 35 8:1 / /mnt rw shared:1 - ext4 /dev/sda1 rw", and cuts it into its
 * fields. false: it is no line of a list of mounts. */
static bool take_line(char *line, struct mount_row *ret_row)
{
	char *rest = strstr(line, " - "), *number, *device, *folder;
	unsigned major, minor;

	if (!rest)
		return false;
	*rest = '\0';
	rest += 3;
	number = field(&line);
	field(&line);
	device = field(&line);
	field(&line);
	folder = field(&line);
	if (!folder || sscanf(device, "%u:%u", &major, &minor) != 2)
		return false;
	unescape(folder);
	*ret_row = (struct mount_row){
		.number = atoi(number), .device = makedev(major, minor), .folder = folder};
	ret_row->type = field(&rest);
	field(&rest);
	ret_row->options = rest ? rest : "";
	return true;
}

/* Makes the rows of a text, which they point into. */
static int take_rows(char *text, struct mount_list *list)
{
	size_t cap = 0;
	char *line;

	while ((line = strsep(&text, "\n"))) {
		if (VEC_GROW(list->rows, cap, list->n + 1))
			return -ENOMEM;
		list->n += take_line(line, &list->rows[list->n]);
	}
	return 0;
}

static int read_list(struct mount_lists *lists, struct kept_list *kept)
{
	const uint64_t begin_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID);
	uint64_t spent_ns;
	int err;

	if (clock_ns(CLOCK_MONOTONIC) < kept->may_read_ns)
		return -EAGAIN;
	forget_rows(kept);
	err = read_text(kept->fd, &kept->text);
	if (!err)
		err = take_rows(kept->text, &kept->list);
	spent_ns = clock_ns(CLOCK_THREAD_CPUTIME_ID) - begin_ns;
	if (spent_ns > LONG_NS)
		kept->may_read_ns = clock_ns(CLOCK_MONOTONIC) + SHARE * spent_ns;
	if (!err)
		kept->list.version = ++lists->versions;
	return err;
}

/* --- the kept ones --------------------------------------------------------------------------- */

static int look(const char *process, const char *name, uint64_t ret_id[2])
{
	char path[PATH_MAX];
	struct stat st;
	int err;

	snprintf(path, sizeof(path), "%s/%s", process, name);
	err = mount_stat_path(path, &st);
	if (err)
		return err;
	ret_id[0] = st.st_dev;
	ret_id[1] = st.st_ino;
	return 0;
}

/* Returns the list that has a key; else one that is not used, or was not for longest. */
static struct kept_list *find(struct mount_lists *lists, const struct list_key *key)
{
	struct kept_list *oldest = &lists->kept[0];

	for (size_t i = 0; i < KEPT; i++) {
		struct kept_list *kept = &lists->kept[i];

		if (kept->fd >= 0 && !memcmp(&kept->key, key, sizeof(*key)))
			return kept;
		if (kept->used_ns < oldest->used_ns)
			oldest = kept;
	}
	return oldest;
}

static int open_list(struct kept_list *kept, const struct list_key *key, const char *process)
{
	char path[PATH_MAX];

	give_up(kept);
	snprintf(path, sizeof(path), "%s/mountinfo", process);
	kept->fd = open(path, O_RDONLY | O_CLOEXEC);
	if (kept->fd < 0)
		return -errno;
	kept->key = *key;
	return 0;
}

/* Returns whether the mounts have changed since the last call, or since the list was opened. */
static bool has_changed(const struct kept_list *kept)
{
	struct pollfd one = {.fd = kept->fd, .events = POLLPRI};

	return poll(&one, 1, 0) && one.revents & (POLLPRI | POLLERR);
}

int mount_lists_get(struct mount_lists *lists, const char *process, struct mount_list **ret_list)
{
	struct list_key key;
	struct kept_list *kept;
	int err = look(process, "ns/mnt", key.space);

	if (!err)
		err = look(process, "root", key.root);
	if (err)
		return err;
	kept = find(lists, &key);
	if (kept->fd < 0 || memcmp(&kept->key, &key, sizeof(key)) != 0)
		err = open_list(kept, &key, process);
	if (err)
		return err;
	kept->used_ns = clock_ns(CLOCK_MONOTONIC);
	if (has_changed(kept))
		forget_rows(kept);
	if (!kept->list.version)
		err = read_list(lists, kept);
	if (!err)
		*ret_list = &kept->list;
	return err;
}
