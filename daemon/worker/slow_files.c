/* SPDX-License-Identifier: MIT */
/* Keeps the copies in one array, each in one of the states below; see slow_files.h. */
#include "daemon/worker/slow_files.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/hash.h"
#include "base/vec.h"
#include "daemon/base/log.h"
#include "daemon/worker/refusals.h"

struct slow_key {
	uint64_t dev, inode, size;
	int64_t changed_ns;
};

enum state {
	WAITING, /* has `path` */
	COPYING, /* has `memory` and `marks` */
	HUNG,	 /* has `marks`, whose end shows that the child has ended */
	DONE,	 /* has `memory` */
	FAILED,	 /* the file could not be read */
	LARGE,	 /* it could, but the copy would have been too large */
};

struct slow_file {
	enum state state;
	struct slow_key key;
	uid_t user;
	bool may_open;		 /* see slow_files_fetch() */
	uint64_t most;		 /* of COPYING: bytes that its copy may have */
	int path, memory, marks; /* descriptors; -1: none */
	uint64_t since_ns;	 /* when this state began */
	uint64_t heard_ns;	 /* of COPYING: the last sign of life */
};

/* A copy that somebody may still read. */
struct held {
	uint64_t inode, bytes; /* of the memfd */
	uid_t user;
};

struct slow_files {
	struct copier *copier;
	VEC(struct slow_file) all; /* the oldest first */
	VEC(struct held) held;
	struct refusals refused; /* devices */
	struct slow_files_counts counts;
	bool has_ended; /* the copier */
};

int slow_files_new(struct copier *copier, struct slow_files **ret_files)
{
	struct slow_files *files = calloc(1, sizeof(*files));

	if (!files)
		return -ENOMEM;
	files->copier = copier;
	*ret_files = files;
	return 0;
}

static void close_one(int *fd)
{
	if (*fd >= 0)
		close(*fd);
	*fd = -1;
}

static void close_all(struct slow_file *f)
{
	close_one(&f->path);
	close_one(&f->memory);
	close_one(&f->marks);
}

void slow_files_free(struct slow_files *files)
{
	if (!files)
		return;
	for (size_t i = 0; i < files->all.count; i++)
		close_all(&files->all.items[i]);
	free(files->all.items);
	free(files->held.items);
	refusals_fini(&files->refused);
	free(files);
}

struct slow_files_counts slow_files_counts(const struct slow_files *files)
{
	return files->counts;
}

/* --- states ---------------------------------------------------------------------------------- */

static void enter(struct slow_file *f, enum state state, uint64_t now_ns)
{
	f->state = state;
	f->since_ns = f->heard_ns = now_ns;
}

static void fail(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	close_all(f);
	files->counts.failed++;
	enter(f, FAILED, now_ns);
}

/* The file system has answered: who waits for it may wait on. */
static void finish(struct slow_files *files, struct slow_file *f, enum state state, uint64_t now_ns)
{
	for (size_t i = 0; i < files->all.count; i++)
		if (files->all.items[i].state == WAITING &&
		    files->all.items[i].key.dev == f->key.dev)
			files->all.items[i].since_ns = now_ns;
	enter(f, state, now_ns);
}

static uint64_t device_key(uint64_t dev)
{
	return hash_mix64(dev) | 1;
}

static bool is_refused(const struct slow_files *files, uint64_t dev, uint64_t now_ns)
{
	return refusals_has(&files->refused, device_key(dev), now_ns);
}

#define SEALS (F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)

/* Leaves a child behind, with a memfd that cannot take memory any more, and refuses its file
 * system. */
static void leave(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	if (!ftruncate(f->memory, 0))
		fcntl(f->memory, F_ADD_SEALS, SEALS);
	close_one(&f->memory);
	files->counts.hung++;
	enter(f, HUNG, now_ns);
	if (is_refused(files, f->key.dev, now_ns)) /* on account of another child */
		return;
	refusals_add(&files->refused, device_key(f->key.dev), REFUSALS_STUCK_NS, now_ns);
	log_event(LOG_EVENT_FILE_REFUSED,
		  "a file system does not answer: its files are not read for a while");
}

/* Counts a copy's memory. false: memory is short. */
static bool hold(struct slow_files *files, const struct slow_file *f)
{
	struct stat st;

	if (fstat(f->memory, &st) || VEC_RESERVE(&files->held, 1))
		return false;
	files->held.items[files->held.count++] = (struct held){
		.inode = st.st_ino, .bytes = (uint64_t)st.st_blocks * 512, .user = f->user};
	return true;
}

/* Seals a copy, so that the child cannot change it any more. */
static void complete(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	close_one(&f->marks);
	if (!hold(files, f) || fcntl(f->memory, F_ADD_SEALS, SEALS)) {
		fail(files, f, now_ns);
		return;
	}
	files->counts.copied++;
	finish(files, f, DONE, now_ns);
}

static void refuse_large(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	close_all(f);
	files->counts.failed += !f->may_open;
	finish(files, f, LARGE, now_ns);
}

/* Reads the marks of a child. Returns whether its copy is complete now, or has failed. */
static bool listen_to(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	char marks[64];
	ssize_t n = read(f->marks, marks, sizeof(marks));

	if (n > 0)
		f->heard_ns = now_ns;
	if (n > 0 && marks[n - 1] == COPIER_DONE)
		complete(files, f, now_ns);
	else if (n > 0 && marks[n - 1] == COPIER_LARGE)
		refuse_large(files, f, now_ns);
	else if (n == 0 || (n > 0 && marks[n - 1] == COPIER_FAILED))
		fail(files, f, now_ns);
	else if (now_ns - f->heard_ns > SLOW_FILES_SILENT_NS ||
		 now_ns - f->since_ns > SLOW_FILES_COPY_NS)
		leave(files, f, now_ns);
	return f->state != COPYING;
}

/* Returns whether the child has ended after all. */
static bool has_ended(struct slow_file *f)
{
	char marks[64];
	ssize_t n;

	while ((n = read(f->marks, marks, sizeof(marks))) > 0)
		;
	return n == 0;
}

static bool is_child(const struct slow_file *f)
{
	return f->state == COPYING || f->state == HUNG;
}

/* Returns whether a child was heard of just now. */
static bool is_heard(const struct slow_file *f, uint64_t now_ns)
{
	return f->state == COPYING && now_ns - f->heard_ns < SLOW_FILES_HEARD_NS;
}

/* Returns whether there is a place for a child: see SLOW_FILES_OF_USER. */
static bool has_place(const struct slow_files *files, const struct slow_file *wanted,
		      uint64_t now_ns)
{
	unsigned all = 0, of_user = 0, of_mount = 0;

	for (size_t i = 0; i < files->all.count; i++) {
		const struct slow_file *f = &files->all.items[i];

		if (!is_child(f))
			continue;
		if (f->key.dev == wanted->key.dev && !is_heard(f, now_ns))
			return false;
		of_mount += f->key.dev == wanted->key.dev;
		of_user += f->user == wanted->user;
		all++;
	}
	return all < SLOW_FILES_AT_ONCE - (wanted->user ? SLOW_FILES_OF_ROOT : 0) &&
	       of_user < SLOW_FILES_OF_USER && of_mount < SLOW_FILES_OF_MOUNT;
}

/* Returns how many bytes further copies for a user may have, beside those that are open and, if
 * wanted, those that are being made. */
static uint64_t room_of(const struct slow_files *files, uid_t user, bool counts_begun)
{
	uint64_t all = 0, of_user = 0, most = SLOW_FILES_MOST_BYTES;

	for (size_t i = 0; i < files->held.count; i++) {
		all += files->held.items[i].bytes;
		of_user += files->held.items[i].user == user ? files->held.items[i].bytes : 0;
	}
	for (size_t i = 0; counts_begun && i < files->all.count; i++) {
		const struct slow_file *f = &files->all.items[i];

		all += f->state == COPYING ? f->most : 0;
		of_user += f->state == COPYING && f->user == user ? f->most : 0;
	}
	if (all >= most || of_user >= most / 2)
		return 0;
	return most - all < most / 2 - of_user ? most - all : most / 2 - of_user;
}

#define LEAST_BYTES (UINT64_C(4) << 20) /* the size that a file system gives unasked may be old */

/* Says how many bytes a copy may have: 0 if the file is only to be looked at. false: other copies
 * must end first. */
static bool allot(const struct slow_files *files, struct slow_file *f)
{
	uint64_t room = room_of(files, f->user, true), wanted = f->key.size;

	wanted = wanted < LEAST_BYTES	      ? LEAST_BYTES
		 : wanted > COPIER_MOST_BYTES ? COPIER_MOST_BYTES
					      : wanted;
	f->most = 0;
	if (f->may_open && f->key.size > COPIER_WHOLE_BYTES)
		return true;
	if (wanted <= room)
		f->most = wanted;
	else if (wanted <= room_of(files, f->user, false))
		return false;
	return true;
}

/* Begins a copy, unless something is short that may not be for long. */
static void begin(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	int err;

	f->memory = memfd_create("stackd-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (f->memory < 0)
		return;
	err = copier_begin(files->copier, f->path, f->memory, f->most, &f->marks);
	if (!err) {
		close_one(&f->path);
		enter(f, COPYING, now_ns);
		return;
	}
	close_one(&f->memory);
	if (err != -EPIPE && err != -ECONNRESET)
		return;
	if (!files->has_ended)
		log_warning("the process that copies files has ended: until stackd is started "
			    "again, files on FUSE mounts are not read, and those on network "
			    "mounts are read directly");
	files->has_ended = true;
	fail(files, f, now_ns);
}

/* Lets a file take its next step. Returns whether it is complete now, or has failed. */
static bool look_at(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	switch (f->state) {
	case WAITING:
		if (is_refused(files, f->key.dev, now_ns) ||
		    now_ns - f->since_ns > SLOW_FILES_COPY_NS)
			fail(files, f, now_ns);
		else if (has_place(files, f, now_ns) && allot(files, f))
			begin(files, f, now_ns);
		return f->state == FAILED;
	case COPYING:
		return listen_to(files, f, now_ns);
	case HUNG:
		if (has_ended(f))
			fail(files, f, now_ns);
		return false;
	case DONE:
	case FAILED:
	case LARGE:
		return false;
	}
	return false;
}

static bool is_finished(const struct slow_file *f)
{
	return f->state == DONE || f->state == FAILED || f->state == LARGE;
}

bool slow_files_is_busy(const struct slow_files *files)
{
	for (size_t i = 0; i < files->all.count; i++)
		if (files->all.items[i].state == WAITING || files->all.items[i].state == COPYING)
			return true;
	return false;
}

bool slow_files_look(struct slow_files *files, uint64_t now_ns)
{
	bool is_news = false;
	size_t kept = 0;

	for (size_t i = 0; i < files->all.count; i++) {
		struct slow_file *f = &files->all.items[i];
		bool is_over;

		is_news |= look_at(files, f, now_ns);
		is_over = is_finished(f) && now_ns - f->since_ns > SLOW_FILES_KEPT_NS;
		if (is_over) {
			close_all(f);
			is_news = true; /* there is room for another one */
		} else {
			files->all.items[kept++] = *f;
		}
	}
	files->all.count = kept;
	return is_news;
}

/* --- memory ---------------------------------------------------------------------------------- */

bool slow_files_has_copies(const struct slow_files *files)
{
	return files->held.count > 0;
}

static bool is_kept(const struct slow_files *files, uint64_t inode)
{
	struct stat st;

	for (size_t i = 0; i < files->all.count; i++)
		if (files->all.items[i].state == DONE && !fstat(files->all.items[i].memory, &st) &&
		    st.st_ino == inode)
			return true;
	return false;
}

void slow_files_recount(struct slow_files *files, bool (*is_open)(void *arg, uint64_t inode),
			void *arg)
{
	size_t kept = 0;

	for (size_t i = 0; i < files->held.count; i++) {
		const struct held *h = &files->held.items[i];

		if (is_kept(files, h->inode) || is_open(arg, h->inode))
			files->held.items[kept++] = *h;
	}
	files->held.count = kept;
}

/* Returns whether one more file of a user would be too many. One that is finished counts half. */
static bool are_many(const struct slow_files *files, uid_t user)
{
	size_t of_user = 0;

	for (size_t i = 0; i < files->all.count; i++)
		if (files->all.items[i].user == user)
			of_user += is_finished(&files->all.items[i]) ? 1 : 2;
	return files->all.count >= SLOW_FILES_WAITING || of_user >= SLOW_FILES_WAITING / 2;
}

/* --- requests -------------------------------------------------------------------------------- */

static struct slow_key key_of(const struct stat *st)
{
	return (struct slow_key){.dev = st->st_dev,
				 .inode = st->st_ino,
				 .size = (uint64_t)st->st_size,
				 .changed_ns = st->st_ctim.tv_sec * INT64_C(1000000000) +
					       st->st_ctim.tv_nsec};
}

static struct slow_file *find(struct slow_files *files, const struct slow_key *key)
{
	for (size_t i = 0; i < files->all.count; i++) {
		const struct slow_key *k = &files->all.items[i].key;

		if (k->dev == key->dev && k->inode == key->inode && k->size == key->size &&
		    k->changed_ns == key->changed_ns)
			return &files->all.items[i];
	}
	return NULL;
}

/* Returns what slow_files_fetch() does for a file that is known. */
static int answer(const struct slow_file *f)
{
	int copy;

	switch (f->state) {
	case WAITING:
	case COPYING:
		return -EINPROGRESS;
	case HUNG:
	case FAILED:
		return -EREMOTE;
	case LARGE:
		return -EFBIG;
	case DONE:
		copy = fcntl(f->memory, F_DUPFD_CLOEXEC, 0);
		return copy < 0 ? -errno : copy;
	}
	return -EREMOTE;
}

static int request(struct slow_files *files, int path_fd, const struct slow_file *wanted,
		   uint64_t now_ns)
{
	struct slow_file *f;
	int path;

	if (are_many(files, wanted->user))
		return -EAGAIN;
	if (VEC_RESERVE(&files->all, 1))
		return -ENOMEM;
	path = fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
	if (path < 0)
		return -errno;
	f = &files->all.items[files->all.count++];
	*f = *wanted;
	f->path = path;
	look_at(files, f, now_ns);
	return answer(f);
}

int slow_files_fetch(struct slow_files *files, int path_fd, const struct stat *st, uid_t user,
		     bool may_open, uint64_t now_ns)
{
	const struct slow_file wanted = {.state = WAITING,
					 .key = key_of(st),
					 .user = user,
					 .may_open = may_open,
					 .path = -1,
					 .memory = -1,
					 .marks = -1,
					 .since_ns = now_ns};
	const struct slow_file *known = find(files, &wanted.key);

	if (!S_ISREG(st->st_mode))
		return -EREMOTE;
	if (!files->copier || files->has_ended)
		return may_open ? -EFBIG : -EREMOTE;
	if (known)
		return answer(known);
	return is_refused(files, wanted.key.dev, now_ns) ? -EREMOTE
							 : request(files, path_fd, &wanted, now_ns);
}
