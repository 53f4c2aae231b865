/* SPDX-License-Identifier: MIT */
/* A set of processes that execute a program whose allocations are not recorded yet; see
 * alloc_coverage.h.
 */
#include "daemon/capture/alloc_coverage.h"

#include <errno.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <uthash.h>

#include "base/vec.h"
#include "daemon/base/log.h"

struct source {
	char *path;
	pid_t pid; /* 0: all that map it */
};

struct program {
	pid_t pid;
	char name[16];
	UT_hash_handle hh;
};

struct alloc_coverage {
	VEC(struct source) sources;
	struct program *programs;
	bool is_all_heard;
	uint64_t count;
	char first[16]; /* that was counted */
};

int alloc_coverage_new(struct alloc_coverage **ret_coverage)
{
	*ret_coverage = calloc(1, sizeof(**ret_coverage));
	return *ret_coverage ? 0 : -ENOMEM;
}

void alloc_coverage_free(struct alloc_coverage *u)
{
	if (!u)
		return;
	alloc_coverage_forget(u);
	for (size_t i = 0; i < u->sources.count; i++)
		free(u->sources.items[i].path);
	free(u->sources.items);
	free(u);
}

int alloc_coverage_add(struct alloc_coverage *u, const char *path, pid_t pid)
{
	char *copy;

	if (!u)
		return 0;
	copy = VEC_RESERVE(&u->sources, 1) ? NULL : strdup(path);
	if (!copy)
		return -ENOMEM;
	u->sources.items[u->sources.count++] = (struct source){copy, pid};
	return 0;
}

void alloc_coverage_add_all(struct alloc_coverage *u)
{
	if (!u)
		return;
	alloc_coverage_forget(u);
	u->is_all_heard = true;
}

/* --- programs --------------------------------------------------------------------------------- */

static struct program *find(const struct alloc_coverage *u, pid_t pid)
{
	struct program *program;

	HASH_FIND_INT(u->programs, &pid, program);
	return program;
}

static void drop(struct alloc_coverage *u, struct program *program)
{
	HASH_DEL(u->programs, program);
	free(program);
}

static void count(struct alloc_coverage *u, struct program *program)
{
	if (!u->count++)
		memcpy(u->first, program->name, sizeof(u->first));
	drop(u, program);
}

int alloc_coverage_on_exec(struct alloc_coverage *u, pid_t pid, const char *name)
{
	struct program *program;

	if (!u || u->is_all_heard)
		return 0;
	alloc_coverage_on_exit(u, pid);
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->pid = pid;
	snprintf(program->name, sizeof(program->name), "%s", name);
	HASH_ADD_INT(u->programs, pid, program);
	return 0;
}

void alloc_coverage_on_mmap(struct alloc_coverage *u, pid_t pid, const char *path)
{
	struct program *program = u ? find(u, pid) : NULL;

	for (size_t i = 0; program && i < u->sources.count; i++) {
		const struct source *source = &u->sources.items[i];

		if ((!source->pid || source->pid == pid) && strcmp(source->path, path) == 0) {
			drop(u, program);
			program = NULL;
		}
	}
}

void alloc_coverage_on_exit(struct alloc_coverage *u, pid_t pid)
{
	struct program *program = u ? find(u, pid) : NULL;

	if (program)
		count(u, program);
}

void alloc_coverage_forget(struct alloc_coverage *u)
{
	struct program *program, *next;

	if (!u)
		return;
	HASH_ITER (hh, u->programs, program, next)
		drop(u, program);
}

void alloc_coverage_finish(struct alloc_coverage *u)
{
	struct program *program, *next;

	if (!u)
		return;
	HASH_ITER (hh, u->programs, program, next)
		count(u, program);
}

/* --- the sum ---------------------------------------------------------------------------------- */

uint64_t alloc_coverage_count(const struct alloc_coverage *u)
{
	return u ? u->count : 0;
}

void alloc_coverage_warn(const struct alloc_coverage *u)
{
	if (!alloc_coverage_count(u))
		return;
	log_warning("--alloc: allocations of %" PRIu64 " of the programs that the target executed "
		    "are not recorded (the first: '%s'): they ran without libstackalloc, which "
		    "LD_PRELOAD has to name in their environment, and which static and setuid "
		    "programs do not load",
		    u->count, u->first);
}
