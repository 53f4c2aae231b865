/* SPDX-License-Identifier: MIT */
/*
 * Closes the descriptor of a file that is not needed for now, while other threads may be about to
 * hand it on.
 *
 * They duplicate it, and count themselves as users before they read its number. Who closes it takes
 * the number away first and then waits for users, so a number is never used that has become another
 * file's.
 */
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <unistd.h>

#include <libelf.h>

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
	file->inode = other->inode;
	__atomic_store_n(&file->fd, other->fd, __ATOMIC_SEQ_CST);
	other->libelf = NULL;
	other->fd = -1;
	elf_file_free(other);
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
