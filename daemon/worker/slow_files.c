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
};

struct slow_file {
	enum state state;
	struct slow_key key;
	uid_t user;
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

static uint64_t device_key(uint64_t dev)
{
	return hash_mix64(dev) | 1;
}

/* Leaves a child behind, and refuses its file system. */
static void leave(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	close_one(&f->memory);
	files->counts.hung++;
	enter(f, HUNG, now_ns);
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
	if (!hold(files, f) || fcntl(f->memory, F_ADD_SEALS,
				     F_SEAL_WRITE | F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL)) {
		fail(files, f, now_ns);
		return;
	}
	files->counts.copied++;
	enter(f, DONE, now_ns);
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

/* Returns whether a copy may begin: see SLOW_FILES_OF_USER. */
static bool may_begin(const struct slow_files *files, const struct slow_file *wanted)
{
	unsigned all = 0, of_user = 0;

	for (size_t i = 0; i < files->all.count; i++) {
		const struct slow_file *f = &files->all.items[i];

		if (!is_child(f))
			continue;
		if (f->key.dev == wanted->key.dev)
			return false;
		all++;
		of_user += f->user == wanted->user;
	}
	return all < SLOW_FILES_AT_ONCE && of_user < SLOW_FILES_OF_USER;
}

static void begin(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	f->memory = memfd_create("stackd-copy", MFD_CLOEXEC | MFD_ALLOW_SEALING);
	if (f->memory < 0 || copier_begin(files->copier, f->path, f->memory, &f->marks)) {
		fail(files, f, now_ns);
		return;
	}
	close_one(&f->path);
	enter(f, COPYING, now_ns);
}

static bool is_refused(const struct slow_files *files, uint64_t dev, uint64_t now_ns)
{
	return refusals_has(&files->refused, device_key(dev), now_ns);
}

/* Lets a file take its next step. Returns whether it is complete now, or has failed. */
static bool look_at(struct slow_files *files, struct slow_file *f, uint64_t now_ns)
{
	switch (f->state) {
	case WAITING:
		if (is_refused(files, f->key.dev, now_ns) ||
		    now_ns - f->since_ns > SLOW_FILES_COPY_NS)
			fail(files, f, now_ns);
		else if (may_begin(files, f))
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
		return false;
	}
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
		is_over = (f->state == DONE || f->state == FAILED) &&
			  now_ns - f->since_ns > SLOW_FILES_KEPT_NS;
		if (is_over)
			close_all(f);
		else
			files->all.items[kept++] = *f;
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

/* Returns whether another copy for a user would take more memory than copies may. */
static bool is_much(const struct slow_files *files, uid_t user)
{
	uint64_t all = 0, of_user = 0;

	for (size_t i = 0; i < files->held.count; i++) {
		all += files->held.items[i].bytes;
		of_user += files->held.items[i].user == user ? files->held.items[i].bytes : 0;
	}
	return all >= SLOW_FILES_MOST_BYTES || of_user >= SLOW_FILES_MOST_BYTES / 2;
}

/* Returns whether one more file of a user would be too many. */
static bool are_many(const struct slow_files *files, uid_t user)
{
	size_t of_user = 0;

	for (size_t i = 0; i < files->all.count; i++)
		of_user += files->all.items[i].user == user;
	return files->all.count >= SLOW_FILES_WAITING || of_user >= SLOW_FILES_WAITING / 4;
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

static int request(struct slow_files *files, int path_fd, const struct slow_key *key, uid_t user,
		   uint64_t now_ns)
{
	struct slow_file f = {.state = WAITING,
			      .key = *key,
			      .user = user,
			      .memory = -1,
			      .marks = -1,
			      .since_ns = now_ns};

	if (are_many(files, user))
		return -EAGAIN;
	if (is_much(files, user))
		return -EDQUOT;
	if (VEC_RESERVE(&files->all, 1))
		return -ENOMEM;
	f.path = fcntl(path_fd, F_DUPFD_CLOEXEC, 0);
	if (f.path < 0)
		return -errno;
	files->all.items[files->all.count++] = f;
	look_at(files, &files->all.items[files->all.count - 1], now_ns);
	return -EINPROGRESS;
}

int slow_files_fetch(struct slow_files *files, int path_fd, const struct stat *st, uid_t user,
		     uint64_t now_ns)
{
	const struct slow_key key = key_of(st);
	struct slow_file *f = find(files, &key);
	int copy;

	if (!files->copier || !S_ISREG(st->st_mode))
		return -EREMOTE;
	if (!f)
		return is_refused(files, key.dev, now_ns)
			       ? -EREMOTE
			       : request(files, path_fd, &key, user, now_ns);
	if (f->state == HUNG || f->state == FAILED)
		return -EREMOTE;
	if (f->state != DONE)
		return -EINPROGRESS;
	copy = fcntl(f->memory, F_DUPFD_CLOEXEC, 0);
	return copy < 0 ? -errno : copy;
}
