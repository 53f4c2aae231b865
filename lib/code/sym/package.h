/* SPDX-License-Identifier: MIT */
/*
 * Finds the package that a program or library of this machine is from, to say which one has its
 * debug symbols. It reads dpkg's lists of files itself, since stackctl starts no other program.
 */
#ifndef SYM_PACKAGE_H
#define SYM_PACKAGE_H

#include <stddef.h>
#include <stdint.h>

#define PACKAGE_LISTS "/var/lib/dpkg/info"

/* Returns the name of the package that has the file with an absolute path, such as "libc6"; the
 * caller frees it. `lists`: the folder with a list NAME.list or NAME:ARCH.list for each package.
 * NULL: there is no such folder or package, the file is not the one with this build-id any more (as
 * on another machine, or in a container), or memory is short. */
char *package_of(const char *lists, const char *path, const uint8_t *build_id, size_t len);

#endif
