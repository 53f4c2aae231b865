/* SPDX-License-Identifier: MIT */
/*
 * Closes the descriptor of a file that is not needed for now, while other threads may be about to
 * duplicate it.
 *
 * Those threads count themselves as users before they read the descriptor's number. The closing
 * thread first removes the number, and then waits for the users, so no thread uses a number that
 * has already become another file's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/stat.h>
#include <unistd.h>

#include <libelf.h>

#include "base/mount_kind.h"
#include "elf/elf_file_state.h"

void elf_file_close(struct elf_file *file)
{
	int fd = __atomic_exchange_n(&file->fd, -1, __ATOMIC_SEQ_CST);

	while (__atomic_load_n(&file->users, __ATOMIC_SEQ_CST))
		sched_yield();
	elf_end(file->libelf);
	elf_sections_free(&file->expanded);
	file->libelf = NULL;
	if (fd >= 0)
		close(fd);
}

bool elf_file_is_open(const struct elf_file *file)
{
	return file->image || __atomic_load_n(&file->fd, __ATOMIC_RELAXED) >= 0;
}

void elf_file_reopen(struct elf_file *file, struct elf_file *other)
{
	file->libelf = other->libelf;
	file->expanded = other->expanded;
	other->expanded = (struct elf_sections_owned){0};
	file->stamp = other->stamp;
	file->owner = other->owner;
	__atomic_store_n(&file->fd, other->fd, __ATOMIC_SEQ_CST);
	other->libelf = NULL;
	other->fd = -1;
	elf_file_free(other);
}

struct elf_stamp elf_stamp_of(const struct stat *st)
{
	const int64_t second = 1000000000;

	return (struct elf_stamp){
		.dev = st->st_dev,
		.inode = st->st_ino,
		.size = (uint64_t)st->st_size,
		.mtime_ns = st->st_mtim.tv_sec * second + st->st_mtim.tv_nsec,
		.ctime_ns = st->st_ctim.tv_sec * second + st->st_ctim.tv_nsec,
	};
}

/* Returns whether two stamps are of the same file in the same state. */
static bool is_same_stamp(const struct elf_stamp *a, const struct elf_stamp *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->mtime_ns == b->mtime_ns && a->ctime_ns == b->ctime_ns;
}

const struct elf_stamp *elf_file_stamp(const struct elf_file *file)
{
	return &file->stamp;
}

uid_t elf_file_owner(const struct elf_file *file)
{
	return file->owner;
}

/* Gives the current state of the file, as the kernel has it: the thread that takes samples asks for
 * it every few seconds, and a server of files that has gone silent would stop that thread. Returns
 * false if it is an image in memory, or closed. */
static bool look_at(const struct elf_file *file, struct stat *ret_st)
{
	unsigned *users = (unsigned *)&file->users;
	bool is_known;
	int fd;

	__atomic_add_fetch(users, 1, __ATOMIC_SEQ_CST);
	fd = __atomic_load_n(&file->fd, __ATOMIC_SEQ_CST);
	is_known = fd >= 0 && !mount_stat(fd, ret_st);
	__atomic_sub_fetch(users, 1, __ATOMIC_SEQ_CST);
	return is_known;
}

/* Gives the current stamp of the file. Result as of look_at(). */
static bool look(const struct elf_file *file, struct elf_stamp *ret_now)
{
	struct stat st;

	if (!look_at(file, &st))
		return false;
	*ret_now = elf_stamp_of(&st);
	return true;
}

bool elf_file_is_deleted(const struct elf_file *file)
{
	struct stat st;

	return look_at(file, &st) && !st.st_nlink;
}

bool elf_file_is_touched(const struct elf_file *file)
{
	struct elf_stamp now;

	return look(file, &now) && !is_same_stamp(&now, &file->stamp);
}

static bool has_content_of(const struct elf_stamp *now, const struct elf_stamp *stamp)
{
	return now->size == stamp->size && now->mtime_ns == stamp->mtime_ns;
}

bool elf_file_is_written(const struct elf_file *file)
{
	struct elf_stamp now;

	return look(file, &now) && !has_content_of(&now, &file->stamp);
}

bool elf_file_is_as_read(const struct elf_file *file)
{
	struct elf_stamp now;

	return look(file, &now) && has_content_of(&now, &file->stamp);
}

uint64_t elf_file_changed_ns(const struct elf_file *file)
{
	struct elf_stamp now;

	return look(file, &now) ? (uint64_t)now.ctime_ns : 0;
}

int elf_file_duplicate(const struct elf_file *file)
{
	unsigned *users = (unsigned *)&file->users;
	int fd, copy = -1;

	__atomic_add_fetch(users, 1, __ATOMIC_SEQ_CST);
	fd = __atomic_load_n(&file->fd, __ATOMIC_SEQ_CST);
	if (!file->image)
		copy = fd < 0 ? -EBADF : fcntl(fd, F_DUPFD_CLOEXEC, 0);
	if (fd >= 0 && copy < 0)
		copy = -errno;
	__atomic_sub_fetch(users, 1, __ATOMIC_SEQ_CST);
	return copy;
}
