/* SPDX-License-Identifier: MIT */
/*
 * The default store, and whose it is.
 *
 * SUDO_UID and SUDO_GID come from the environment. Only root believes them (anybody else could
 * have set them), and root gives away only what is root's own regular file under a single name:
 * otherwise a user could point `-o` at a hard link and be given somebody else's file.
 */
#include "store/store_path.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define STORE_PATH_FOLDER "/var/lib/stackd"

/* Reads a user or group number from the environment: decimal digits only, and not (uid_t)-1. */
static bool env_id(const char *name, uint32_t *ret_id)
{
	const char *s = getenv(name);
	uint64_t id = 0;

	if (!s || !*s || strlen(s) > 10)
		return false;
	for (; *s; s++) {
		if (*s < '0' || *s > '9')
			return false;
		id = id * 10 + (uint64_t)(*s - '0');
	}
	if (id >= UINT32_MAX)
		return false;
	*ret_id = (uint32_t)id;
	return true;
}

char *store_path_default(void)
{
	const char *set = getenv("STACKD_STORE");
	uint32_t uid = getuid(), sudo_uid;
	char *path;

	if (set && *set)
		return strdup(set);
	if (geteuid() == 0 && env_id("SUDO_UID", &sudo_uid))
		uid = sudo_uid;
	if (asprintf(&path, "%s/%u/store.db", STORE_PATH_FOLDER, uid) < 0)
		return NULL;
	return path;
}

char *store_path_to_read(bool *ret_is_service)
{
	char *own = store_path_default(), *service;
	const char *set = getenv("STACKD_STORE");

	*ret_is_service = false;
	if (!own || (set && *set) || faccessat(AT_FDCWD, own, F_OK, AT_EACCESS) == 0)
		return own;
	if (asprintf(&service, "%s/0/store.db", STORE_PATH_FOLDER) < 0) {
		free(own);
		return NULL;
	}
	if (faccessat(AT_FDCWD, service, F_OK, AT_EACCESS) < 0) {
		free(service);
		return own;
	}
	free(own);
	*ret_is_service = true;
	return service;
}

/* Makes one folder with mode 0755, whatever the umask is. */
static int store_path_mkdir(const char *folder)
{
	struct stat st;

	if (mkdir(folder, 0755) == 0)
		return chmod(folder, 0755) < 0 ? -errno : 0;
	if (errno != EEXIST)
		return -errno;
	if (stat(folder, &st) < 0)
		return -errno;
	return S_ISDIR(st.st_mode) ? 0 : -ENOTDIR;
}

int store_path_prepare(const char *path)
{
	char *folder = strdup(path), *last, *at;
	int err = 0;

	if (!folder)
		return -ENOMEM;
	last = strrchr(folder, '/');
	if (last)
		*last = '\0';
	else
		*folder = '\0'; /* the file is in the current folder */
	for (at = folder; err == 0 && *at; at++) {
		if (*at != '/' || at == folder)
			continue;
		*at = '\0';
		err = store_path_mkdir(folder);
		*at = '/';
	}
	if (err == 0 && *folder)
		err = store_path_mkdir(folder);
	free(folder);
	return err;
}

/* suffixes of a store's files */
static const char *const suffixes[] = {"", "-wal", "-shm"};

/* Makes the user the owner of one file. Does nothing if the file is missing or not root's. */
static int give(const char *path, const char *suffix, uint32_t uid, uint32_t gid)
{
	char *name;
	struct stat st;
	int fd, err = 0;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return -ENOMEM;
	/* O_PATH: closing it does not drop SQLite's locks on the file. */
	fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	free(name);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (S_ISREG(st.st_mode) && st.st_nlink == 1 && st.st_uid == 0 &&
		 fchownat(fd, "", uid, gid, AT_EMPTY_PATH) < 0)
		err = -errno;
	close(fd);
	return err;
}

/* Lets the group read one file, which may be missing. */
static int share(const char *path, const char *suffix, uint32_t gid)
{
	char *name, link[32];
	struct stat st;
	int fd, err = 0;

	if (asprintf(&name, "%s%s", path, suffix) < 0)
		return -ENOMEM;
	fd = open(name, O_PATH | O_NOFOLLOW | O_CLOEXEC);
	free(name);
	if (fd < 0)
		return errno == ENOENT ? 0 : -errno;
	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	if (fstat(fd, &st) < 0)
		err = -errno;
	else if (!S_ISREG(st.st_mode) || st.st_nlink != 1)
		err = -EINVAL;
	else if (fchownat(fd, "", (uid_t)-1, gid, AT_EMPTY_PATH) < 0 || chmod(link, 0640) < 0)
		err = -errno;
	close(fd);
	return err;
}

int store_path_share(const char *path, uint32_t gid)
{
	int err = 0;

	for (unsigned i = 0; err == 0 && i < 3; i++)
		err = share(path, suffixes[i], gid);
	return err;
}

int store_path_hand_over(const char *path)
{
	uint32_t uid, gid = UINT32_MAX; /* (gid_t)-1: the group stays */
	int err = 0;

	if (geteuid() != 0 || !env_id("SUDO_UID", &uid) || uid == 0)
		return 0;
	env_id("SUDO_GID", &gid);
	for (unsigned i = 0; err == 0 && i < 3; i++)
		err = give(path, suffixes[i], uid, gid);
	return err;
}

bool store_path_is_ours(uint32_t owner)
{
	uint32_t caller;

	return owner == geteuid() ||
	       (geteuid() == 0 && env_id("SUDO_UID", &caller) && caller == owner);
}
