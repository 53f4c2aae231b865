/* SPDX-License-Identifier: MIT */
/*
 * Where a mapped file is looked for, in this order:
 *
 *   /proc/PID/map_files/START-END   the very file, even if it was deleted, replaced, is a memfd or
 *                                   lies in another mount namespace; needs CAP_SYS_ADMIN or
 *                                   CAP_CHECKPOINT_RESTORE, and the mapping to be there still
 *   /proc/PID/root/PATH             the file of that name as the process sees it
 *   PATH                            as we see it: all that is left once the process is gone
 *
 * A path can lead to another file than the mapped one, and since the event something else can have
 * been mapped at the same address. So a file found in one of these places is used only if it is
 *
 *   - the file with the mapping's build-id, where that is known, else
 *   - the file with the mapping's device and inode, else
 *   - on filesystems that show another device to stat() than to the memory manager (overlayfs,
 *     btrfs; one of both is then anonymous, of major number 0): the file that has the mapping's
 *     device and inode once we map it ourselves, or
 *   - for map_files alone: the file whose name is the mapping's. Some kernels give overlayfs
 *     inodes in events that nothing else gives; same process, addresses and name is then as
 *     close as one can get.
 *
 * Only regular files are opened: a name can lead to a fifo or a device. On a mount that may never
 * answer (base/mount_kind.h) nothing is opened, nor is its file system asked anything; another
 * process may give a copy (struct elf_opener).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "base/mount_kind.h"
#include "base/named_file.h"
#include "proc/object_open.h"
#include "proc/proc_fs.h"

#define DELETED " (deleted)" /* the kernel appends it to the name of an unlinked file */

bool object_open_is_deleted(const char *path)
{
	size_t len = strlen(path);

	return len > strlen(DELETED) && !strcmp(path + len - strlen(DELETED), DELETED);
}

bool object_open_is_anonymous(const char *path)
{
	static const char *const beginnings[] = {"//anon", "[stack", "[anon"};
	static const char *const deleted[] = {"/dev/zero ", "/SYSV", "/anon_hugepage "};

	if (!*path || !strcmp(path, "/dev/zero") || !strcmp(path, "[heap]"))
		return true;
	for (size_t i = 0; i < sizeof(beginnings) / sizeof(*beginnings); i++)
		if (!strncmp(path, beginnings[i], strlen(beginnings[i])))
			return true;
	/* Shared memory has a file without a folder entry. */
	for (size_t i = 0; i < sizeof(deleted) / sizeof(*deleted); i++)
		if (object_open_is_deleted(path) && !strncmp(path, deleted[i], strlen(deleted[i])))
			return true;
	return false;
}

/* Which mapping is looked for. */
struct search {
	const char *proc_root;
	pid_t pid;
	const struct object_mapping *m;
	const struct elf_opener *opener;
};

/* A file that may be the one that the process has mapped. */
struct candidate {
	int fd;		  /* an O_PATH descriptor; -errno if there is none */
	bool is_map_file; /* from /proc/PID/map_files */
};

static bool same_device_and_inode(const struct object_mapping *m, uint32_t dev_major,
				  uint32_t dev_minor, uint64_t inode)
{
	return m->inode == inode && m->dev_major == dev_major && m->dev_minor == dev_minor;
}

struct own_mapping {
	const struct object_mapping *m;
	uint64_t address;
	bool same;
};

static int compare_own_mapping(void *arg, const struct proc_fs_map *map)
{
	struct own_mapping *own = arg;

	if (own->address < map->start || own->address >= map->end)
		return 0;
	own->same = same_device_and_inode(own->m, map->dev_major, map->dev_minor, map->inode);
	return 1;
}

/* Returns whether our own mapping of the file has the device and inode of `m`, for which it maps a
 * page and finds it in our own /proc/self/maps. */
static bool is_same_when_mapped(int fd, const struct object_mapping *m)
{
	long page = sysconf(_SC_PAGESIZE);
	void *address = mmap(NULL, (size_t)page, PROT_READ, MAP_PRIVATE, fd, 0);
	if (address == MAP_FAILED)
		return false;

	struct own_mapping own = {.m = m, .address = (uint64_t)address};
	proc_fs_each_map("/proc", getpid(), compare_own_mapping, &own);
	munmap(address, (size_t)page);
	return own.same;
}

/* Returns whether map_files still shows the path of `m` for these addresses. */
static bool has_same_name(const struct search *s, const struct candidate *c)
{
	char *path = NULL;

	if (!c->is_map_file ||
	    proc_fs_map_file_path(s->proc_root, s->pid, s->m->start, s->m->end, &path))
		return false;
	bool same = !strcmp(path, s->m->path);
	free(path);
	return same;
}

static bool is_mapped_inode(const struct search *s, const struct candidate *c, int fd,
			    const struct stat *st)
{
	const struct object_mapping *m = s->m;
	uint32_t dev_major = major(st->st_dev), dev_minor = minor(st->st_dev);

	if (!m->inode)
		return has_same_name(s, c);
	if (m->dev_major == dev_major && m->dev_minor == dev_minor)
		return m->inode == st->st_ino;
	if (m->dev_major && dev_major)
		return false;
	return is_same_when_mapped(fd, m) || has_same_name(s, c);
}

static bool has_build_id(const struct elf_file *elf, const struct object_mapping *m)
{
	size_t len;
	const uint8_t *build_id = elf_file_build_id(elf, &len);

	return build_id && len == m->build_id_len && !memcmp(build_id, m->build_id, len);
}

static struct object_open_stamp stamp_of(const struct stat *st)
{
	return (struct object_open_stamp){.dev = st->st_dev,
					  .inode = st->st_ino,
					  .size = st->st_size,
					  .ctime = st->st_ctim,
					  .mtime_ns = elf_stamp_of(st).mtime_ns};
}

bool object_open_is_written_since(const struct object_open_stamp *stamp, uint64_t time_ns)
{
	const uint64_t changed_ns =
		(uint64_t)stamp->ctime.tv_sec * 1000000000 + (uint64_t)stamp->ctime.tv_nsec;

	/* Whoever copies a file can give it any time of modification, but no change time. */
	return time_ns && changed_ns > time_ns && stamp->mtime_ns > (int64_t)time_ns;
}

/* Returns whether a file was written to between its stamp and the end of its reading. Of a copy,
 * which is another file, that is not known here. */
static bool is_torn(const struct elf_file *elf, const struct object_open_stamp *stamp)
{
	const struct elf_stamp *read = elf_file_stamp(elf);

	if (elf_file_is_written(elf))
		return true;
	return read->inode == stamp->inode && read->dev == stamp->dev &&
	       (read->mtime_ns != stamp->mtime_ns || read->size != (uint64_t)stamp->size);
}

/* Returns 0 if the candidate, which is now open for reading as `fd`, is the mapped file. `st`: the
 * candidate's state, also if `fd` is of a copy. */
static int open_verified(const struct search *s, const struct candidate *c, int fd,
			 const struct stat *st, struct object_open_file *ret_file)
{
	bool by_build_id = s->m->build_id_len;

	if (!by_build_id && !is_mapped_inode(s, c, fd, st))
		return -ESTALE;
	struct object_open_file file = {.stamp = stamp_of(st)};
	int err = s->opener->open(s->opener->arg, fd, s->m->path, &file.elf);
	if (err == -ENOEXEC && by_build_id && !has_same_name(s, c))
		return -ESTALE;
	if (err)
		return err;
	if ((by_build_id && !has_build_id(file.elf, s->m)) || is_torn(file.elf, &file.stamp)) {
		elf_file_free(file.elf);
		return -ESTALE;
	}
	*ret_file = file;
	return 0;
}

#define NOBODY 65534 /* no user's files */

/* Opens a candidate for reading; from then on its state is not old. */
static int open_itself(const struct candidate *c, struct stat *ret_st)
{
	int fd = named_file_reopen(c->fd);

	if (fd >= 0 && fstat(fd, ret_st)) {
		int err = -errno;

		close(fd);
		return err;
	}
	return fd;
}

/* Opens a candidate for reading. On a mount that may not answer, the opener gives a copy; where
 * that would be too large, a file on a network mount, which has answered, is opened. Returns a
 * descriptor, with the candidate's state, or -errno. */
static int open_candidate(const struct search *s, const struct candidate *c, struct stat *ret_st)
{
	enum mount_kind kind;
	int fd;

	if (!s->opener->fetch) {
		fd = mount_check(s->opener->mounts, c->fd, s->proc_root, s->pid);
		return fd ? fd : open_itself(c, ret_st);
	}
	kind = mount_kind_of(s->opener->mounts, c->fd, s->proc_root, s->pid);
	if (kind == MOUNT_LOCAL || kind == MOUNT_LAYERED)
		return open_itself(c, ret_st);
	fd = mount_stat(c->fd, ret_st);
	if (!fd)
		fd = s->opener->fetch(s->opener->arg, c->fd, ret_st, s->pid, kind == MOUNT_NETWORK);
	ret_st->st_uid = NOBODY; /* whose file it is, its server alone says */
	return fd == -EFBIG && kind == MOUNT_NETWORK ? open_itself(c, ret_st) : fd;
}

/* Opens a candidate, and checks that it is the mapped file. Closes the candidate's descriptor. */
static int try_candidate(const struct search *s, const struct candidate *c,
			 struct object_open_file *ret_file)
{
	struct stat st;
	int fd, err;

	if (c->fd < 0)
		return c->fd;
	err = fd = open_candidate(s, c, &st);
	if (fd >= 0) {
		err = open_verified(s, c, fd, &st, ret_file);
		close(fd);
	}
	close(c->fd);
	return err;
}

/* Returns the more specific of two errors: a fault of the right file, rather than "only wrong files
 * were found" (-ESTALE), rather than "no file was found". */
static int worse(int a, int b)
{
	static const int quiet[] = {-ESRCH,  -ENOENT,  -ENOTDIR, -EACCES,
				    -ESTALE, -ENOLINK, -EREMOTE, -EINPROGRESS};
	size_t rank_a = 0, rank_b = 0;
	size_t n = sizeof(quiet) / sizeof(*quiet);

	while (rank_a < n && quiet[rank_a] != a)
		rank_a++;
	while (rank_b < n && quiet[rank_b] != b)
		rank_b++;
	return rank_b > rank_a ? b : a;
}

/* Tries a path as seen from the process's root, then from ours. `worst` is the error of the places
 * tried before. Returns 0 or the most specific error. */
static int try_name(const struct search *s, const char *path, int worst,
		    struct object_open_file *ret_file)
{
	struct candidate c = {
		.fd = proc_fs_root_file(s->proc_root, s->pid, path, true, s->opener->mounts)};
	int err = try_candidate(s, &c, ret_file);
	if (!err)
		return 0;
	worst = worse(worst, err);

	c.fd = proc_fs_root_file("/proc", getpid(), path, true, s->opener->mounts);
	err = try_candidate(s, &c, ret_file);
	return err ? worse(worst, err) : 0;
}

/* Returns whether, after this error, the file is looked for by its path: if its mount may not
 * answer, what has its path is another file. */
static bool may_be_named(int err)
{
	return err != -EREMOTE && err != -ENOLINK && err != -EINPROGRESS && err != -EFBIG &&
	       err != -EAGAIN && err != -EDQUOT;
}

static bool has_name(const struct search *s, const char *path)
{
	int fd = proc_fs_root_file(s->proc_root, s->pid, path, true, s->opener->mounts);

	if (fd >= 0)
		close(fd);
	return fd >= 0;
}

int object_open(const char *proc_root, pid_t pid, const struct object_mapping *m,
		const struct elf_opener *opener, struct object_open_file *ret_file)
{
	struct search s = {.proc_root = proc_root, .pid = pid, .m = m, .opener = opener};
	struct candidate c = {.fd = proc_fs_map_file(proc_root, pid, m->start, m->end),
			      .is_map_file = true};

	int err = try_candidate(&s, &c, ret_file);
	if (!err)
		ret_file->is_exact = true;
	if (!err)
		ret_file->is_deleted = object_open_is_deleted(m->path) && !has_name(&s, m->path);
	if (err && may_be_named(err) && m->path[0] == '/')
		err = try_name(&s, m->path, err, ret_file);
	if (err && may_be_named(err) && m->path[0] == '/' && object_open_is_deleted(m->path)) {
		/* The mapped file was deleted, but the same content may exist at that path again:
		 * the package was installed again. */
		char *path = strndup(m->path, strlen(m->path) - strlen(DELETED));
		if (!path)
			return -ENOMEM;
		err = try_name(&s, path, err, ret_file);
		if (!err)
			ret_file->is_deleted = true;
		free(path);
	}
	return err == -ESRCH || err == -ENOTDIR ? -ENOENT : err;
}

int object_open_look(const char *proc_root, pid_t pid, const struct object_mapping *m,
		     struct object_open_stamp *ret_stamp)
{
	struct stat st;

	if (proc_fs_stat_map_file(proc_root, pid, m->start, m->end, &st) || !S_ISREG(st.st_mode))
		return -ENOENT;
	*ret_stamp = stamp_of(&st);
	return 0;
}

bool object_open_is_same_stamp(const struct object_open_stamp *a, const struct object_open_stamp *b)
{
	return a->dev == b->dev && a->inode == b->inode && a->size == b->size &&
	       a->ctime.tv_sec == b->ctime.tv_sec && a->ctime.tv_nsec == b->ctime.tv_nsec;
}

/* Gives the stat() of a file whose path is in the kernel's cache of names, so that no file system
 * need be asked, of which one may not answer. */
static int stat_cached(const char *path, struct stat *ret_stat)
{
	const struct open_how how = {.flags = O_PATH | O_CLOEXEC, .resolve = RESOLVE_CACHED};
	long fd = syscall(SYS_openat2, AT_FDCWD, path, &how, sizeof(how));
	int err = fd < 0 ? -errno : mount_stat((int)fd, ret_stat);

	if (fd >= 0)
		close((int)fd);
	return err;
}

int object_open_is_unchanged(const char *proc_root, pid_t pid, const struct object_mapping *m,
			     const struct object_open_stamp *stamp)
{
	struct stat st;
	struct object_open_stamp now;

	/* First by path, because a look-up in map_files takes the lock of the process's
	 * mappings. */
	if (m->path[0] == '/' && !stat_cached(m->path, &st)) {
		now = stamp_of(&st);
		if (now.dev == stamp->dev && now.inode == stamp->inode)
			return object_open_is_same_stamp(&now, stamp);
	}
	if (proc_fs_stat_map_file(proc_root, pid, m->start, m->end, &st))
		return -ENOENT;
	now = stamp_of(&st);
	return object_open_is_same_stamp(&now, stamp);
}

/* --- the vDSO -------------------------------------------------------------------------------- */

struct vdso_range {
	uint64_t start, end;
};

static int find_vdso(void *arg, const struct proc_fs_map *map)
{
	struct vdso_range *range = arg;

	if (range->start < map->start || range->start >= map->end)
		return 0;
	range->end = map->end;
	return 1;
}

int object_open_vdso(struct elf_file **ret_elf)
{
	struct vdso_range range = {.start = getauxval(AT_SYSINFO_EHDR)};

	if (!range.start)
		return -ENOENT;
	int err = proc_fs_each_map("/proc", getpid(), find_vdso, &range);
	if (err < 0 || !range.end)
		return -ENOENT;
	return elf_file_open_memory((const void *)range.start, range.end - range.start, ret_elf);
}

int object_open_mapped_vdso(const struct object_mapping *m, bool is_foreign,
			    struct elf_file **ret_elf)
{
	struct elf_file *elf;
	int err = object_open_vdso(&elf);

	if (err)
		return err;
	if (m->build_id_len ? !has_build_id(elf, m) : is_foreign) {
		elf_file_free(elf);
		return -ESTALE;
	}
	*ret_elf = elf;
	return 0;
}
