/* SPDX-License-Identifier: MIT */
/* Writes the file of a job; see job_file.h. */
#include "mpi/job_file.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/vec.h"

struct job_file {
	struct comm *comm;
	const char *path;
	char *temp;    /* a temporary name in the same folder */
	bool is_named; /* the file has that name */
	int fd;
};

/* --- what process 0 writes -------------------------------------------------------------------- */

/* The name of an incomplete file, which signals remove; in a variable, since handlers have no
 * argument. */
static char *job_file_doomed;

static void on_signal(int number)
{
	if (job_file_doomed)
		unlink(job_file_doomed);
	raise(number); /* the handler has been reset, so the signal ends the process as usual */
}

static void watch_signals(struct job_file *f)
{
	static const int signals[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
	struct sigaction action = {.sa_handler = on_signal,
				   .sa_flags = (int)SA_RESETHAND | SA_NODEFER};

	job_file_doomed = f->temp;
	for (size_t i = 0; i < sizeof(signals) / sizeof(*signals); i++)
		sigaction(signals[i], &action, NULL);
}

static int open_file(struct job_file *f)
{
	const char *name = strrchr(f->path, '/');
	char *folder = name ? strndup(f->path, (size_t)(name - f->path) + 1) : strdup(".");

	if (!folder || asprintf(&f->temp, "%s.%ld", f->path, (long)getpid()) < 0) {
		free(folder);
		f->temp = NULL;
		return -ENOMEM;
	}
	f->fd = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, 0666);
	free(folder);
	if (f->fd >= 0)
		return 0;
	f->fd = open(f->temp, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0666);
	if (f->fd < 0)
		return -errno;
	f->is_named = true;
	watch_signals(f);
	return 0;
}

int job_file_new(struct comm *comm, const char *path, struct job_file **ret_file)
{
	struct job_file *f = calloc(1, sizeof(*f));
	int err = 0;

	if (!f)
		return -ENOMEM;
	*f = (struct job_file){.comm = comm, .path = path, .fd = -1};
	if (comm->router.rank == 0)
		err = open_file(f);
	if (err < 0)
		job_file_free(f);
	else
		*ret_file = f;
	return err;
}

static int write_at(int fd, const uint8_t *bytes, size_t len, uint64_t offset)
{
	while (len) {
		ssize_t n = pwrite(fd, bytes, len, (off_t)offset);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return n < 0 ? -errno : -EIO;
		bytes += n;
		len -= (size_t)n;
		offset += (uint64_t)n;
	}
	return 0;
}

/* --- parts ------------------------------------------------------------------------------------ */

/* The parts of a process, while their bytes arrive. */
struct writing {
	int fd;
	const struct tagset_part *parts;
	size_t n, at;  /* number of parts, and the index of the current one */
	uint64_t done; /* bytes of the current part */
};

static int take_text(void *arg, const uint8_t *bytes, size_t len)
{
	struct writing *w = arg;
	int err = 0;

	while (err == 0 && len) {
		const struct tagset_part *part = &w->parts[w->at];
		uint64_t left, now;

		if (w->at == w->n)
			return -EBADMSG;
		left = part->len - w->done;
		now = len < left ? len : left;
		err = write_at(w->fd, bytes, now, part->offset + w->done);
		w->done += now;
		bytes += now;
		len -= now;
		if (w->done == part->len) {
			w->at++;
			w->done = 0;
		}
	}
	return err;
}

static int take_parts(void *arg, const uint8_t *bytes, size_t len)
{
	struct buf *b = arg;

	buf_put(b, bytes, len);
	return b->failed ? -ENOMEM : 0;
}

/* What a process has to send. */
struct announcement {
	uint64_t parts, bytes;
};

static int take_announcement(void *arg, const uint8_t *bytes, size_t len)
{
	memcpy(arg, bytes, len);
	return 0;
}

/* Asks a process for its parts, so that only one process sends at a time. */
static int ask(struct job_file *f, uint32_t process)
{
	struct announcement a = {0};
	struct buf parts = {0};
	struct writing w = {.fd = f->fd};
	uint8_t go = 1;
	int err;

	comm_send(f->comm, process, &go, 1);
	err = comm_receive(f->comm, process, sizeof(a), take_announcement, &a);
	if (err == 0)
		err = comm_receive(f->comm, process, a.parts * sizeof(*w.parts), take_parts,
				   &parts);
	w.parts = (const struct tagset_part *)parts.data;
	w.n = a.parts;
	if (err == 0)
		err = comm_receive(f->comm, process, a.bytes, take_text, &w);
	buf_free(&parts);
	return err;
}

static int answer(struct job_file *f, const struct tagset_part *parts, size_t n,
		  const struct buf *text)
{
	const struct announcement a = {n, text->len};
	uint8_t go;
	int err = comm_receive(f->comm, 0, 1, take_announcement, &go);

	if (err < 0)
		return err;
	comm_send(f->comm, 0, &a, sizeof(a));
	comm_send(f->comm, 0, parts, n * sizeof(*parts));
	comm_send(f->comm, 0, text->data, text->len);
	return 0;
}

/* Copies the parts that are not empty; returns their number. */
static size_t pack(const struct tagset_part *parts, size_t n, struct tagset_part *ret_parts)
{
	size_t count = 0;

	for (size_t i = 0; i < n; i++)
		if (parts[i].len)
			ret_parts[count++] = parts[i];
	return count;
}

static int put(void *arg, const struct tagset_part *parts, size_t n, const struct buf *text)
{
	struct job_file *f = arg;
	struct tagset_part *packed = vec_alloc(n + 1, sizeof(*packed));
	int err = 0;

	if (!packed)
		return -ENOMEM;
	n = pack(parts, n, packed);
	if (f->comm->router.rank) {
		err = answer(f, packed, n, text);
	} else {
		struct writing w = {.fd = f->fd, .parts = packed, .n = n};

		err = take_text(&w, text->data, text->len);
		for (uint32_t i = 1; err == 0 && i < f->comm->router.size; i++)
			err = ask(f, i);
	}
	free(packed);
	return err;
}

struct tagset_sink job_file_sink(struct job_file *f)
{
	return (struct tagset_sink){put, f};
}

int job_file_end(struct job_file *f)
{
	char name[64];

	if (f->comm->router.rank)
		return 0;
	snprintf(name, sizeof(name), "/proc/self/fd/%d", f->fd);
	if (!f->is_named && linkat(AT_FDCWD, name, AT_FDCWD, f->temp, AT_SYMLINK_FOLLOW) < 0)
		return -errno;
	f->is_named = true;
	if (close(f->fd) < 0) {
		f->fd = -1;
		return -errno;
	}
	f->fd = -1;
	if (rename(f->temp, f->path) < 0)
		return -errno;
	f->is_named = false;
	return 0;
}

void job_file_free(struct job_file *f)
{
	if (!f)
		return;
	if (f->fd >= 0)
		close(f->fd);
	if (f->is_named)
		unlink(f->temp);
	job_file_doomed = NULL;
	free(f->temp);
	free(f);
}
