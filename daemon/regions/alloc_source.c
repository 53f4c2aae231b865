/* SPDX-License-Identifier: MIT */
/* Chooses the source of the records of allocations, and attaches to it; see alloc_source.h. */
#include "daemon/regions/alloc_source.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "base/vec.h"
#include "daemon/base/log.h"
#include "daemon/regions/alloc_functions.h"
#include "daemon/regions/alloc_library.h"
#include "daemon/regions/ask_regions.h"
#include "daemon/regions/later_libraries.h"
#include "daemon/regions/probe.h"
#include "daemon/regions/uprobe_multi.h"
#include "proc/object_copies.h"

#define MEASURE_NS 250000000u  /* how long calls are counted before returns are probed, too */
#define RATE_NS	   1000000000u /* time between later checks of the rate of calls */
#define SECOND	   1000000000u

/* An allocator's functions in a file, probed in a process. */
struct probed {
	const struct elf_file *elf; /* borrowed */
	const char *path;	    /* borrowed */
	struct alloc_functions functions;
	pid_t pid;		  /* 0: all processes that run the file */
	VEC(int) links;		  /* uprobe_multi links */
	VEC(struct probe) probes; /* used where the kernel has no uprobe_multi links */
};

struct alloc_source {
	struct regions_options with;
	const struct sampler_regions *kernel;
	struct probe alloc, free; /* the probes of libstackalloc; -1: none */
	VEC(struct probed) probed;
	int tracepoints[3]; /* -1: none */
	uint64_t calls, since_ns;
	uint64_t until_ns; /* when the probes were removed; 0: they were not */
};

/* --- the library ------------------------------------------------------------------------------ */

static int attach_to_library(const char *library, const char *name, int program_fd,
			     struct probe *ret_probe)
{
	uint64_t offset = 0, semaphore = 0;
	int err = alloc_library_probe(library, "otel_memory", name, &offset, &semaphore);

	return err ? err : probe_attach(program_fd, library, offset, semaphore, 0, ret_probe);
}

/* Attaches to libstackalloc's probes: to the one of frees before the one of allocations, so that no
 * free of a recorded block is missed. 0 or -errno. */
static int use_library(struct alloc_source *s)
{
	const char *library = s->with.options->alloc_library;
	int err = attach_to_library(library, "free", s->kernel->free_fd, &s->free);

	if (!err)
		err = attach_to_library(library, "alloc", s->kernel->alloc_fd, &s->alloc);
	if (err)
		log_error("--alloc: cannot probe %s: %s", library,
			  err == -ENODEV ? "the kernel has no uprobes (CONFIG_UPROBE_EVENTS)"
					 : strerror(-err));
	return err ? err : alloc_coverage_add(s->with.coverage, library, 0);
}

/* --- probes on an allocator ------------------------------------------------------------------- */

static int attach_one(struct probed *p, int program, uint64_t offset, uint64_t cookie,
		      const char *path)
{
	struct probe probe;
	int err;

	if (VEC_RESERVE(&p->probes, 1))
		return -ENOMEM;
	err = p->pid ? probe_attach_to(program, path, offset, cookie, p->pid, &probe)
		     : probe_attach(program, path, offset, 0, cookie, &probe);
	if (!err)
		p->probes.items[p->probes.count++] = probe;
	return err;
}

/* Attaches a program at all offsets of a file. */
static int attach_all(const struct alloc_source *s, struct probed *p, int program,
		      const uint64_t *offsets, const uint64_t *cookies, size_t count)
{
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_descriptor(p->elf));
	if (!s->kernel->is_malloc_multi) {
		for (size_t i = 0; i < count && !err; i++)
			err = attach_one(p, program, offsets[i], cookies[i], path);
		return err;
	}
	if (VEC_RESERVE(&p->links, 1))
		return -ENOMEM;
	err = uprobe_multi_attach(program, path, offsets, cookies, count, p->pid);
	if (err >= 0)
		p->links.items[p->links.count++] = err;
	return err < 0 ? err : 0;
}

/* Attaches to the returns of those functions that have uretprobes. */
static int attach_uretprobes(const struct alloc_source *s, struct probed *p)
{
	const uint64_t *offsets = p->functions.uretprobes.items;
	const size_t count = p->functions.uretprobes.count;
	const int program = s->kernel->malloc_return_fd;
	char path[64];
	int err = 0;

	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_descriptor(p->elf));
	if (!count)
		return 0;
	if (s->kernel->is_malloc_multi) {
		if (VEC_RESERVE(&p->links, 1))
			return -ENOMEM;
		err = uprobe_multi_attach_returns(program, path, offsets, count, p->pid);
		if (err >= 0)
			p->links.items[p->links.count++] = err;
		return err < 0 ? err : 0;
	}
	if (VEC_RESERVE(&p->probes, count))
		return -ENOMEM;
	for (size_t i = 0; i < count && !err; i++) {
		err = probe_attach_return(program, path, offsets[i], p->pid,
					  &p->probes.items[p->probes.count]);
		p->probes.count += !err;
	}
	return err;
}

static void detach(struct probed *p)
{
	while (p->links.count)
		close(p->links.items[--p->links.count]);
	while (p->probes.count)
		probe_detach(&p->probes.items[--p->probes.count]);
}

static int attach_entries(const struct alloc_source *s, struct probed *p)
{
	return attach_all(s, p, s->kernel->malloc_enter_fd, p->functions.entries.items,
			  p->functions.cookies.items, p->functions.entries.count);
}

static int attach_returns(const struct alloc_source *s, struct probed *p)
{
	int err = attach_uretprobes(s, p);

	if (err || !p->functions.returns.count)
		return err;
	return attach_all(s, p, s->kernel->malloc_leave_fd, p->functions.returns.items,
			  p->functions.return_cookies.items, p->functions.returns.count);
}

/* Adds a file to s->probed, if it has functions of an allocator that can be probed. 1: the file has
 * a malloc(), even if it cannot be probed; 0: it has none; -ENOMEM. */
static int take_file(struct alloc_source *s, const struct elf_file *elf, const char *path,
		     pid_t pid)
{
	struct probed p = {.elf = elf, .path = path, .pid = pid};
	bool has_malloc;
	int err;

	if (elf_file_descriptor(elf) < 0)
		return 0;
	err = ask_regions_alloc(s->with.worker, elf, path, probe_returns_are_safe(), &p.functions);
	has_malloc = p.functions.has_malloc;
	if (!err && has_malloc && !p.functions.entries.count)
		log_warning("--alloc: %s is an allocator that cannot be probed: %s, so what it "
			    "allocates is not recorded",
			    path,
			    p.functions.n_left_out ? "its malloc() or free() cannot be decoded"
						   : "it has a malloc(), but no free()");
	if (!err && p.functions.entries.count)
		err = VEC_RESERVE(&s->probed, 1) ? -ENOMEM : 0;
	if (err || !p.functions.entries.count)
		alloc_functions_free(&p.functions);
	else
		s->probed.items[s->probed.count++] = p;
	return err ? err : has_malloc;
}

static uint64_t calls_of(const struct alloc_source *s)
{
	struct sampler_counts counts;

	sampler_counts(s->with.sampler, &counts);
	return counts.regions[STACKD_REGION_ALLOC_CALLS];
}

/* Returns the allocator's calls per second since the last call of this function. */
static uint64_t measure_rate(struct alloc_source *s)
{
	const uint64_t now = clock_ns(CLOCK_MONOTONIC), calls = calls_of(s);
	const uint64_t passed = now > s->since_ns ? now - s->since_ns : 1;
	const uint64_t rate = (uint64_t)((double)(calls - s->calls) * SECOND / (double)passed);

	s->calls = calls;
	s->since_ns = now;
	return rate;
}

static bool is_too_often(const struct alloc_source *s, uint64_t rate)
{
	const uint64_t limit = s->with.options->alloc_limit;

	return limit && rate > limit;
}

/* --- memory instead --------------------------------------------------------------------------- */

static int use_memory(struct alloc_source *s)
{
	s->tracepoints[0] = bpf_raw_tracepoint_open("page_fault_user", s->kernel->fault_fd);
	if (s->tracepoints[0] < 0)
		return s->tracepoints[0];
	s->tracepoints[1] = bpf_raw_tracepoint_open("sys_enter", s->kernel->system_call_fd);
	return s->tracepoints[1] < 0 ? s->tracepoints[1] : 0;
}

/* Removes the probes, since the allocator is called `rate` times a second, and records page faults,
 * mmap() and brk() instead. 0 or -errno. */
static int give_up(struct alloc_source *s, uint64_t rate)
{
	int err;

	for (size_t i = 0; i < s->probed.count; i++)
		detach(&s->probed.items[i]);
	s->until_ns = clock_ns(CLOCK_MONOTONIC);
	err = use_memory(s);
	alloc_coverage_add_all(s->with.coverage);
	if (err) {
		log_error("--alloc: the allocator is called %" PRIu64
			  " times a second, and page faults cannot be recorded instead: %s",
			  rate, strerror(-err));
		return err;
	}
	log_warning("--alloc: the allocator is called %" PRIu64
		    " times a second, more than --alloc-limit (%" PRIu64
		    "): it is not probed, which would slow the target down. Instead, page faults, "
		    "mmap() and brk() are recorded: where memory is touched first and where the "
		    "kernel is asked for it, not what is allocated, live or freed (stackctl report "
		    "--metric memory.touched, or memory.mapped)",
		    rate, s->with.options->alloc_limit);
	return 0;
}

/* --- processes without the library ------------------------------------------------------------ */

/* Notes that allocations are recorded in programs that map a probed file. 0 or -ENOMEM. */
static int cover_programs(const struct alloc_source *s, const struct probed *p)
{
	char *real = realpath(p->path, NULL); /* the path that mappings show */
	int err = alloc_coverage_add(s->with.coverage, real ? real : p->path, p->pid);

	free(real);
	return err;
}

/* Attaches to the entries of the allocator's functions. If the target runs already, counts their
 * calls for MEASURE_NS, and removes the probes (give_up()) if there were too many. Else attaches to
 * the returns, too. 0 or -errno. */
static int use_probes(struct alloc_source *s)
{
	const struct timespec moment = {.tv_nsec = MEASURE_NS};
	uint64_t rate = 0;
	int err = 0;

	s->tracepoints[2] =
		bpf_raw_tracepoint_open("sched_process_exit", s->kernel->malloc_exit_fd);
	if (s->tracepoints[2] < 0)
		return s->tracepoints[2];
	for (size_t i = 0; i < s->probed.count && !err; i++)
		err = attach_entries(s, &s->probed.items[i]);
	measure_rate(s);
	if (!err && s->with.options->target == TARGET_PIDS) {
		nanosleep(&moment, NULL);
		rate = measure_rate(s);
	}
	if (!err && is_too_often(s, rate))
		return give_up(s, rate);
	for (size_t i = 0; i < s->probed.count && !err; i++) {
		const struct probed *p = &s->probed.items[i];

		err = attach_returns(s, &s->probed.items[i]);
		if (!err)
			err = cover_programs(s, p);
		if (!err)
			log_info("--alloc: %zu function%s of %s probed%s%s",
				 p->functions.entries.count,
				 text_plural(p->functions.entries.count, "", "s"), p->path,
				 p->pid ? ", in the process alone, not in its children" : "",
				 p->functions.n_left_out ? "; some are left out, since their code "
							   "cannot be decoded"
							 : "");
	}
	return err;
}

/* Returns whether a process has a file mapped. (The table of objects does not say that, since it is
 * of all processes.) */
static bool has_mapped(pid_t pid, const char *path)
{
	char name[64], *line = NULL;
	size_t size = 0, len = strlen(path);
	bool has = false;
	FILE *maps;

	snprintf(name, sizeof(name), "/proc/%d/maps", pid);
	maps = fopen(name, "re");
	while (maps && !has && getline(&line, &size, maps) > 0) {
		char *slash = strchr(line, '/');

		has = slash && !strncmp(slash, path, len) &&
		      (slash[len] == '\n' || slash[len] == ' ');
	}
	free(line);
	if (maps)
		fclose(maps);
	return has;
}

/* Adds the allocators among the files that a process has mapped to s->probed. 0 or -errno. */
static int take_process(struct alloc_source *s, pid_t pid)
{
	const struct object_copies *copies = object_table_copies(s->with.objects);
	int err = 0;

	for (uint32_t i = 0; i < object_table_count(s->with.objects) && err >= 0; i++) {
		const struct object *object = object_table_at(s->with.objects, i);

		if (object->kind == OBJECT_ELF && object->elf && has_mapped(pid, object->path))
			err = take_file(s, object->elf, object->path, pid);
	}
	for (size_t i = 0; i < object_copies_count(copies) && err >= 0; i++) {
		const struct object_copy *copy = object_copies_at(copies, i);

		if (has_mapped(pid, copy->path))
			err = take_file(s, copy->elf, copy->path, pid);
	}
	return err < 0 ? err : 0;
}

/* Adds the allocator of a command to s->probed: the first of its files, in the loader's order, that
 * has a malloc(). An allocator in the program's own file is probed for all processes that run the
 * program; an allocator in a library is probed for the command's process alone. */
static int take_command(struct alloc_source *s, const struct command_files *command)
{
	size_t n_pids;
	const pid_t *pids = target_pids(s->with.target, &n_pids);
	int err = 0;

	for (size_t i = 0; i < command_files_count(command) && !err; i++)
		err = take_file(s, command_files_elf(command, i), command_files_path(command, i),
				i && n_pids ? pids[0] : 0);
	return err < 0 ? err : 0;
}

/* --- start and end ---------------------------------------------------------------------------- */

static enum exit_status status_of(int err)
{
	return err == -ENODEV ? STATUS_UNSUPPORTED : err ? STATUS_FAILED : STATUS_DONE;
}

static enum exit_status probe_taken(struct alloc_source *s, const char *what, const char *why)
{
	int err;

	if (!s->probed.count) {
		log_error("--alloc: cannot sample the allocations of %s: it %s, and none of its "
			  "files has functions malloc() and free() that could be probed",
			  what, why);
		return STATUS_FAILED;
	}
	err = use_probes(s);
	if (err)
		log_error("--alloc: cannot probe the allocator of %s: %s", what, probe_reason(err));
	return status_of(err);
}

static enum exit_status start_command(struct alloc_source *s, const struct command_files *command)
{
	const char *name = s->with.options->command[0];
	const char *obstacle = alloc_library_obstacle(command);
	int err;

	if (!obstacle)
		return status_of(use_library(s));
	log_info("--alloc: '%s' %s: its allocator is probed instead", name, obstacle);
	target_leave_out_library(s->with.target);
	err = take_command(s, command);
	return err ? STATUS_FAILED : probe_taken(s, name, obstacle);
}

static enum exit_status start_processes(struct alloc_source *s)
{
	const char *library = s->with.options->alloc_library;
	size_t n_pids, n_with = 0;
	const pid_t *pids = target_pids(s->with.target, &n_pids);
	int err = 0;

	for (size_t i = 0; i < n_pids && !err; i++) {
		if (has_mapped(pids[i], library))
			n_with++;
		else
			err = take_process(s, pids[i]);
	}
	if (!err && n_with)
		err = use_library(s);
	if (err)
		return status_of(err);
	return n_with == n_pids ? STATUS_DONE
				: probe_taken(s, "the target", "runs without libstackalloc");
}

/* Returns the way for a command, by its files; both ways if its files cannot be found. */
static struct alloc_ways ways_for_command(const struct options *options,
					  const struct target *target)
{
	size_t n_pids;
	const pid_t *pids = target_pids(target, &n_pids);
	char *folders = later_libraries_folders(options, n_pids ? pids[0] : 0);
	struct alloc_ways ways = {.library = true, .probes = true};
	struct command_files *files;

	if (!command_files_find(options->command[0], folders, &files)) {
		ways.library = !alloc_library_obstacle(files);
		ways.probes = !ways.library;
		command_files_free(files);
	}
	free(folders);
	return ways;
}

struct alloc_ways alloc_source_ways(const struct options *options, const struct target *target)
{
	if (!options->alloc_bytes)
		return (struct alloc_ways){0};
	if (options->target == TARGET_COMMAND)
		return ways_for_command(options, target);
	return (struct alloc_ways){.library = true, .probes = options->target == TARGET_PIDS};
}

enum exit_status alloc_source_start(const struct regions_options *with,
				    const struct sampler_regions *kernel,
				    const struct command_files *command,
				    struct alloc_source **ret_source)
{
	struct alloc_source *s;
	enum exit_status status;

	*ret_source = NULL;
	if (!with->options->alloc_bytes)
		return STATUS_DONE;
	s = calloc(1, sizeof(*s));
	if (!s)
		return STATUS_FAILED;
	s->with = *with;
	s->kernel = kernel;
	s->alloc.event = s->free.event = -1;
	s->tracepoints[0] = s->tracepoints[1] = s->tracepoints[2] = -1;
	if (command)
		status = start_command(s, command);
	else if (with->options->target == TARGET_PIDS)
		status = start_processes(s);
	else
		status = status_of(use_library(s));
	if (status)
		alloc_source_free(s);
	else
		*ret_source = s;
	return status;
}

void alloc_source_look(struct alloc_source *s)
{
	uint64_t rate;

	if (!s || !s->probed.count || s->tracepoints[0] >= 0 ||
	    clock_ns(CLOCK_MONOTONIC) - s->since_ns < RATE_NS)
		return;
	rate = measure_rate(s);
	if (is_too_often(s, rate))
		give_up(s, rate);
}

uint64_t alloc_source_until(const struct alloc_source *s)
{
	return s ? s->until_ns : 0;
}

bool alloc_source_was_called(const struct alloc_source *s)
{
	if (!s || !s->probed.count || s->alloc.event >= 0 || calls_of(s))
		return true;
	for (size_t i = 0; i < s->probed.count; i++)
		log_error("--alloc: none of the allocator's functions in %s was called: the target "
			  "has allocated nothing meanwhile, or has an allocator of its own, whose "
			  "functions have other names",
			  s->probed.items[i].path);
	return false;
}

void alloc_source_free(struct alloc_source *s)
{
	if (!s)
		return;
	if (s->alloc.event >= 0)
		probe_detach(&s->alloc);
	if (s->free.event >= 0)
		probe_detach(&s->free);
	for (size_t i = 0; i < s->probed.count; i++) {
		struct probed *p = &s->probed.items[i];

		detach(p);
		free(p->links.items);
		free(p->probes.items);
		alloc_functions_free(&p->functions);
	}
	free(s->probed.items);
	for (size_t i = 0; i < sizeof(s->tracepoints) / sizeof(*s->tracepoints); i++) {
		if (s->tracepoints[i] >= 0)
			close(s->tracepoints[i]);
	}
	free(s);
}
