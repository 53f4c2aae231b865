/* SPDX-License-Identifier: MIT */
/* Keeps the set of processes whose program has not mapped a file with probes yet; see
 * alloc_coverage.h. */
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
	pid_t pid; /* 0: all processes that map the file */
};

struct program {
	pid_t pid;
	char name[16];
	UT_hash_handle hh;
};

struct alloc_coverage {
	VEC(struct source) sources;
	struct program *programs;
	bool covers_all;
	uint64_t count;
	char first[16]; /* name of the first program that was counted */
};

int alloc_coverage_new(struct alloc_coverage **ret_coverage)
{
	*ret_coverage = calloc(1, sizeof(**ret_coverage));
	return *ret_coverage ? 0 : -ENOMEM;
}

void alloc_coverage_free(struct alloc_coverage *c)
{
	if (!c)
		return;
	alloc_coverage_forget(c);
	for (size_t i = 0; i < c->sources.count; i++)
		free(c->sources.items[i].path);
	free(c->sources.items);
	free(c);
}

int alloc_coverage_add(struct alloc_coverage *c, const char *path, pid_t pid)
{
	char *copy;

	if (!c)
		return 0;
	copy = VEC_RESERVE(&c->sources, 1) ? NULL : strdup(path);
	if (!copy)
		return -ENOMEM;
	c->sources.items[c->sources.count++] = (struct source){copy, pid};
	return 0;
}

void alloc_coverage_add_all(struct alloc_coverage *c)
{
	if (!c)
		return;
	alloc_coverage_forget(c);
	c->covers_all = true;
}

/* --- programs --------------------------------------------------------------------------------- */

static struct program *find(const struct alloc_coverage *c, pid_t pid)
{
	struct program *program;

	HASH_FIND_INT(c->programs, &pid, program);
	return program;
}

static void drop(struct alloc_coverage *c, struct program *program)
{
	HASH_DEL(c->programs, program);
	free(program);
}

static void count(struct alloc_coverage *c, struct program *program)
{
	if (!c->count++)
		memcpy(c->first, program->name, sizeof(c->first));
	drop(c, program);
}

int alloc_coverage_on_exec(struct alloc_coverage *c, pid_t pid, const char *name)
{
	struct program *program;

	if (!c || c->covers_all)
		return 0;
	alloc_coverage_on_exit(c, pid);
	program = calloc(1, sizeof(*program));
	if (!program)
		return -ENOMEM;
	program->pid = pid;
	snprintf(program->name, sizeof(program->name), "%s", name);
	HASH_ADD_INT(c->programs, pid, program);
	return 0;
}

void alloc_coverage_on_mmap(struct alloc_coverage *c, pid_t pid, const char *path)
{
	struct program *program = c ? find(c, pid) : NULL;

	for (size_t i = 0; program && i < c->sources.count; i++) {
		const struct source *source = &c->sources.items[i];

		if ((!source->pid || source->pid == pid) && strcmp(source->path, path) == 0) {
			drop(c, program);
			program = NULL;
		}
	}
}

void alloc_coverage_on_exit(struct alloc_coverage *c, pid_t pid)
{
	struct program *program = c ? find(c, pid) : NULL;

	if (program)
		count(c, program);
}

void alloc_coverage_forget(struct alloc_coverage *c)
{
	struct program *program, *next;

	if (!c)
		return;
	HASH_ITER (hh, c->programs, program, next)
		drop(c, program);
}

void alloc_coverage_finish(struct alloc_coverage *c)
{
	struct program *program, *next;

	if (!c)
		return;
	HASH_ITER (hh, c->programs, program, next)
		count(c, program);
}

/* --- the sum ---------------------------------------------------------------------------------- */

uint64_t alloc_coverage_count(const struct alloc_coverage *c)
{
	return c ? c->count : 0;
}

void alloc_coverage_warn(const struct alloc_coverage *c)
{
	if (!alloc_coverage_count(c))
		return;
	log_warning("--alloc: allocations of %" PRIu64 " of the programs that the target executed "
		    "are not recorded (the first: '%s'): they ran without libstackalloc, which "
		    "LD_PRELOAD has to name in their environment, and which static and setuid "
		    "programs do not load",
		    c->count, c->first);
}
