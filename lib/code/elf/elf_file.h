/* SPDX-License-Identifier: MIT */
/*
 * One ELF file, opened from a descriptor: its identity and conversions between its addresses.
 *
 * A profiled process controls these files, so nothing here trusts them. Every table is read with
 * bounds, never memory-mapped (if a mapped file is truncated, SIGBUS kills the reader). A file with
 * false contents makes calls fail, but never crash.
 *
 * Three kinds of number refer to a byte of a file. Their names tell them apart:
 *   offset   bytes from the start of the file, as in locations
 *   vaddr    the address the file was linked for, as in symbol tables and CFI
 *   address  where it is in a running process (lib/record/proc computes it from the mappings)
 */
#ifndef ELF_ELF_FILE_H
#define ELF_ELF_FILE_H

#include <elf.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "base/buf.h"

struct elf_file;
struct mount_lists;
struct stat;
typedef struct Elf Elf;

#define ELF_BUILD_ID_MAX 20

/* Opens the file behind `fd`. The descriptor is duplicated: the caller keeps its own. Returns 0,
 * -ENOEXEC (not an ELF file for this processor, or inconsistent headers), -ENOMEM, -EIO, or the
 * -errno of dup() or read(). The caller frees `*ret_file`, which is unchanged on failure. */
int elf_file_open(int fd, struct elf_file **ret_file);

/* Like elf_file_open(), but opens files of 32-bit programs (i386) as well, with their headers
 * converted to 64 bits. Their functions can be named, but their stacks cannot be walked. */
int elf_file_open_any(int fd, struct elf_file **ret_file);
bool elf_file_is_32bit(const struct elf_file *file);

/* Opens files as elf_file_open_any() does, in this process or in another. `path` is only for
 * messages. open() returns 0, an error of elf_file_open(), or another -errno. */
struct elf_opener {
	int (*open)(void *arg, int fd, const char *path, struct elf_file **ret_file);
	void *arg;
	/* Gives a copy of a file on a mount that may not answer (base/mount_kind.h), which process
	 * `pid` has mapped: a descriptor, which the caller closes; -EINPROGRESS: the copy is being
	 * made, so the file is to be asked for again; -EFBIG: the file system answers, but no copy
	 * is made, and if `may_open` the caller opens the file itself; or another -errno.
	 * `path_fd`: an O_PATH descriptor of it; `st`: from mount_stat(). NULL: such files are
	 * read as others, but for those that mount_check() refuses. */
	int (*fetch)(void *arg, int path_fd, const struct stat *st, pid_t pid, bool may_open);
	/* Returns whether one more file of process `pid` may be read now: to read files costs time,
	 * of which each user has a share. NULL: all may be read. */
	bool (*may_read)(void *arg, pid_t pid);
	struct mount_lists *mounts; /* borrowed lists of mounts that are kept; NULL: they are read
				     * for each file (base/mount_list.h) */
};

/* Like elf_file_open(), for an image in memory (the vDSO); the bytes are copied. */
int elf_file_open_memory(const void *image, size_t size, struct elf_file **ret_file);

/* Makes an elf_file of code that is in no file, copied from a process's memory at `address`. Its
 * offsets and vaddrs are the addresses in the process, and it has no headers or sections. Returns 0
 * or -ENOMEM. */
int elf_file_of_code(const void *code, size_t size, uint64_t address, struct elf_file **ret_file);

/* Appends to `identity` what elf_file_of_identity() needs: headers, build-id and file id. Reads
 * nothing from the file. */
void elf_file_put_identity(const struct elf_file *file, struct buf *identity);

/* Makes a file from a descriptor, as elf_file_open() does, but takes the headers and ids from
 * `identity`, which elf_file_put_identity() has written, perhaps in another process. It reads
 * nothing from the file, and there is no libelf handle. The identity is not trusted. Returns 0,
 * -EBADMSG (it is inconsistent), -ENOMEM, or the -errno of dup(). */
int elf_file_of_identity(int fd, struct buf_reader *identity, struct elf_file **ret_file);

/* Opens the same file once more, for another thread, since a libelf handle must be used by one
 * thread only. Errors as elf_file_open(). */
int elf_file_clone(const struct elf_file *file, struct elf_file **ret_file);

void elf_file_free(struct elf_file *file); /* NULL is fine */

/* Closes the descriptor of a file, and keeps its identity and program headers. Until
 * elf_file_reopen(), functions that read the file fail with -EBADF. An image in memory is not
 * changed. Meanwhile, other threads may call elf_file_duplicate() and functions that do not read
 * the file. */
void elf_file_close(struct elf_file *file);

/* Returns whether the file can be read: it is an image in memory, or was not closed. Any thread may
 * call it. */
bool elf_file_is_open(const struct elf_file *file);

/* Gives a closed file the descriptor of `other`, which must have the same file id, and frees
 * `other`. */
void elf_file_reopen(struct elf_file *file, struct elf_file *other);

/* Returns a duplicate of the descriptor, which the caller closes; -1 for an image in memory; -EBADF
 * if the file is closed; or the -errno of dup(). Any thread may call it. */
int elf_file_duplicate(const struct elf_file *file);

/* Returns the GNU build-id and its length; NULL and 0 if there is none. It lives as long as the
 * file. */
const uint8_t *elf_file_build_id(const struct elf_file *file, size_t *ret_len);

/* Returns the 64-bit file id: that of the build-id (elf_file_id_from_build_id()) or, without a
 * build-id, a hash of the file's size and content (first and last 64 KiB and all program headers).
 * Never 0. */
uint64_t elf_file_id(const struct elf_file *file);

/* Returns the file id of a build-id: the first eight bytes, big-endian, so that it reads like the
 * start of the build-id in hexadecimal. 0 is mapped to 1. */
uint64_t elf_file_id_from_build_id(const uint8_t *build_id, size_t len);

/* Returns a hash of the layout: the PT_LOAD program headers. It is the same on every machine, and
 * for a stripped copy. It differs for files of the same build-id that were laid out differently (by
 * patchelf, BOLT, another link). Never 0, except for code that is in no file. */
uint64_t elf_file_layout(const struct elf_file *file);

/* Returns a hash of the file's id and layout, which differs between files with different code. */
uint64_t elf_file_identity(const struct elf_file *file);

/* Returns whether a process may have mapped these bytes as code of the file. It may if they are in
 * the pages of its executable segments; if they are the whole image, which loaders reserve with the
 * access rights of the first segment; or if the file has no executable segment. */
bool elf_file_may_map(const struct elf_file *file, uint64_t offset, uint64_t size);

/* Returns whether a separate debug file has the file's layout: each executable segment of `debug`
 * has the address and size of one of `file`. (objcopy keeps addresses and sizes, but not
 * offsets.) */
bool elf_file_has_layout_of(const struct elf_file *file, const struct elf_file *debug);

/* Which file it is, and its state. The state changes when the file is written to, and ctime_ns also
 * when its name or mode changes. */
struct elf_stamp {
	uint64_t dev, inode, size;
	int64_t mtime_ns, ctime_ns;
};

/* Returns the stamp from a result of stat(). */
struct elf_stamp elf_stamp_of(const struct stat *st);
/* Returns the stamp from before anything of the file was read; all zero for an image in memory. */
const struct elf_stamp *elf_file_stamp(const struct elf_file *file);
/* Returns the user to whom the file belonged when it was opened; 0 for an image in memory. */
uid_t elf_file_owner(const struct elf_file *file);

/* Returns whether the file's stamp has changed since then, so that the file may have other code.
 * false for an image in memory, and while the file is closed. Any thread may call it. */
bool elf_file_is_touched(const struct elf_file *file);

/* Returns whether no folder has the file any more, so that its blocks are free once nobody has it
 * open or mapped. false for an image in memory, and while the file is closed. Any thread. */
bool elf_file_is_deleted(const struct elf_file *file);

/* Returns whether the file was written to since then: its size or its modification time has
 * changed. false for an image in memory, and while the file is closed. Any thread may call it. */
bool elf_file_is_written(const struct elf_file *file);

/* Returns whether the file is open, and was certainly not written to since then. false for an image
 * in memory, and if its file system does not answer. Any thread may call it. */
bool elf_file_is_as_read(const struct elf_file *file);

/* Returns the present change time (ctime) of the file behind the descriptor, in nanoseconds of
 * CLOCK_REALTIME; 0 for an image in memory, and while the file is closed. Any thread may call
 * it. */
uint64_t elf_file_changed_ns(const struct elf_file *file);

/* Returns the inode number of the file behind the descriptor, on its own filesystem; 0 for an image
 * in memory. */
uint64_t elf_file_inode(const struct elf_file *file);

/* Returns the file's descriptor, which the file still owns; -1 for an image in memory. */
int elf_file_descriptor(const struct elf_file *file);

/* Convert between offset and vaddr by the PT_LOAD program headers. Return false if none of them
 * covers it. */
bool elf_file_offset_to_vaddr(const struct elf_file *file, uint64_t offset, uint64_t *ret_vaddr);
bool elf_file_vaddr_to_offset(const struct elf_file *file, uint64_t vaddr, uint64_t *ret_offset);

/* Gives the vaddr in the first program header of a type (PT_...). Returns false if there is
 * none. */
bool elf_file_header_vaddr(const struct elf_file *file, uint32_t type, uint64_t *ret_vaddr);

/* Returns all program headers, which live as long as the file. Those of type PT_LOAD were checked:
 * their ranges of the file and of vaddr do not wrap around. */
const Elf64_Phdr *elf_file_program_headers(const struct elf_file *file, size_t *ret_count);

/* Returns whether a file offset is in a PT_LOAD program header that the program may write to, and
 * in none that it may only read. */
bool elf_file_is_data(const struct elf_file *file, uint64_t offset);

uint64_t elf_file_entry_vaddr(const struct elf_file *file);	    /* e_entry; 0 for none */
bool elf_file_is_position_independent(const struct elf_file *file); /* ET_DYN */

/* Copies up to `len` bytes at a file offset. Returns the number copied (0 past the end), or
 * -errno. */
int64_t elf_file_read(const struct elf_file *file, uint64_t offset, void *buf, size_t len);

/* Copies exactly `len` bytes at a file offset. Returns false if the file ends before that, or
 * cannot be read. */
bool elf_file_read_whole(const struct elf_file *file, uint64_t offset, void *buf, size_t len);

/* Like elf_file_read_whole(), but never waits for a disk or a server: false also if some of the
 * bytes are not in the page cache, or the file system cannot tell without waiting (FUSE, NFS). */
bool elf_file_read_now(const struct elf_file *file, uint64_t offset, void *buf, size_t len);

/* Returns libelf's handle, for lib/code/sym. It is borrowed, and must be used by one thread
 * only. */
Elf *elf_file_libelf(const struct elf_file *file);

#endif
