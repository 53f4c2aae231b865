/* SPDX-License-Identifier: MIT */
/*
 * A program that exists only in memory: copies `chain` of its own folder into a memory file and
 * becomes it.
 *
 * EXPECT: main;steady;alpha;beta;leaf
 */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/stat.h>

#include "workload.h"

int main(int argc, char **argv)
{
	char path[PATH_MAX];
	ssize_t len = readlink("/proc/self/exe", path, sizeof(path) - sizeof("chain"));
	int from, to = memfd_create("chain", MFD_CLOEXEC);
	struct stat st;

	if (len < 0 || to < 0)
		return 1;
	path[len] = 0;
	strcpy(strrchr(path, '/') + 1, "chain");
	from = open(path, O_RDONLY | O_CLOEXEC);
	if (from < 0 || fstat(from, &st) ||
	    sendfile(to, from, NULL, (size_t)st.st_size) != st.st_size) {
		perror(path);
		return 1;
	}
	(void)argc;
	fexecve(to, argv, environ);
	perror("fexecve");
	return 1;
}
