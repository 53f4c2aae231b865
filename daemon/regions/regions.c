/* SPDX-License-Identifier: MIT */
/* Finds regions in files and attaches to them; see regions.h. */
#include "daemon/regions/regions.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/text.h"
#include "daemon/base/log.h"
#include "daemon/regions/alloc_source.h"
#include "daemon/regions/ask_regions.h"
#include "daemon/regions/command_files.h"
#include "daemon/regions/command_words.h"
#include "daemon/regions/file_traits.h"
#include "daemon/regions/later_libraries.h"
#include "daemon/regions/mark_spec.h"
#include "daemon/regions/marks.h"
#include "daemon/regions/mpi_source.h"
#include "daemon/regions/probe.h"
#include "daemon/regions/region_check.h"
#include "daemon/regions/region_find.h"
#include "daemon/regions/region_probes.h"
#include "daemon/regions/region_spec.h"
#include "daemon/regions/region_trial.h"
#include "daemon/regions/shell_words.h"
#include "daemon/regions/counter_variables.h"
#include "daemon/regions/region_options.h"
#include "proc/object_copies.h"

/* A region that is not measured any more, since it was entered too often. */
struct off_region {
	size_t index;
	uint64_t since_ns;
};

struct regions {
	struct regions_options with;
	struct sampler_regions kernel;
	struct region_spec *specs;
	size_t n_specs;
	struct marks *marks;		     /* NULL: none */
	struct counter_variables *variables; /* NULL: none */
	struct command_files *command; /* the command's files; NULL: the target is no command */
	VEC(struct command_files *)
	words;	       /* files of programs that it may start, and of libraries
			* given by path */
	char *folders; /* LD_LIBRARY_PATH; NULL: none */
	VEC(struct known_file) files;
	struct found_regions found;
	size_t n_attached; /* for so many functions, from the start of `found` on, attaching was
			    * done */
	size_t n_left_out; /* functions that could not be probed, since the last message */
	VEC(struct off_region)
	off;			      /* regions that were entered too often; marks keep their own
				       * list */
	struct region_probes *probes; /* NULL: regions_stop() has removed them */
	struct mpi_source mpi;	      /* calls that libstackmpi counts */
	struct alloc_source *alloc;   /* NULL: none */
	uint64_t alloc_until_ns;      /* alloc_source_until() of a source that was freed */
	int tracepoint;		      /* sched_process_exit; -1: none */
	int exec_tracepoint;	      /* sched_process_exec, with --mpi; -1: none */
	int replacing_tracepoint;     /* sched_prepare_exec; -1: none */
	struct probe replacing;	      /* kprobe at begin_new_exec(), where the kernel lacks that
				       * tracepoint */
	uint32_t n_objects;	      /* number of objects whose files were searched */
	VEC(uint64_t)
	own;		 /* by object: object.n_met before the exec, for files that
			  * stackd has mapped itself */
	bool is_missing; /* the command's file does not exist */
	size_t n_copies; /* number of copies of files that were searched */
};

/* --- looking at files ------------------------------------------------------------------------ */

/* Returns whether a file was searched already. Compares with the files as they were when they were
 * searched, because `elf` is reopened if the object's file is replaced by another one with the same
 * content. */
static bool is_known(const struct regions *r, const struct elf_file *elf)
{
	const struct elf_stamp *stamp = elf_file_stamp(elf);

	for (size_t i = 0; i < r->files.count; i++) {
		const struct known_file *known = &r->files.items[i];

		if (known->inode == stamp->inode && known->dev == stamp->dev &&
		    known->identity == elf_file_identity(elf))
			return true;
	}
	return false;
}

/* Returns the kind of a file; `program` is the kind if the file is a program. */
static enum region_file kind_of(const struct file_traits *traits, enum region_file program)
{
	if (traits->is_program)
		return program;
	return traits->is_linker ? REGION_FILE_LINKER : REGION_FILE_LIBRARY;
}

/* Searches a file for regions and marks, unless that was done before. `kind`: the file's kind, if
 * it is a program. 0; -E2BIG: there are too many functions; -ENOMEM. */
static int look_at(struct regions *r, const struct elf_file *elf, const char *path,
		   enum region_file kind)
{
	size_t before = r->found.found.count;
	int err = 0;

	if (elf_file_descriptor(elf) < 0 || is_known(r, elf))
		return 0;
	if (VEC_RESERVE(&r->files, 1))
		return -ENOMEM;
	r->found.runtime = NULL;
	r->found.has_symbols = false;
	r->found.traits = (struct file_traits){0};
	if (region_find_wants(r->specs, r->n_specs, path))
		err = ask_regions_find(r->with.worker, r->specs, r->n_specs, elf, path, &r->found);
	if (!err && r->marks)
		err = marks_look_at(r->marks, r->with.worker, elf, path, r->variables,
				    r->kernel.places_fd);
	for (size_t i = before; i < r->found.found.count && !err; i++) {
		struct found_region *f = &r->found.found.items[i];

		f->file = r->files.count;
		err = counter_variables_place(r->variables, r->kernel.places_fd, elf, path,
					      f->offset, &f->place);
	}
	r->files.items[r->files.count++] =
		(struct known_file){.elf = elf,
				    .path = path,
				    .dev = elf_file_stamp(elf)->dev,
				    .inode = elf_file_stamp(elf)->inode,
				    .identity = elf_file_identity(elf),
				    .kind = kind_of(&r->found.traits, kind),
				    .runtime = r->found.runtime,
				    .has_symbols = r->found.has_symbols,
				    .starts_others = r->found.traits.starts_others};
	return err;
}

static int look_at_object(struct regions *r, uint32_t number)
{
	const struct object *object = object_table_at(r->with.objects, number);

	if (object->kind != OBJECT_ELF || !object->elf)
		return 0;
	return look_at(r, object->elf, object->path, REGION_FILE_STARTED);
}

/* Before its exec, a command has stackd's own files mapped. Notes the files that are mapped so far,
 * which belong to the target only if it maps them again. 0 or -ENOMEM. */
static int leave_out_own(struct regions *r)
{
	uint32_t count = object_table_count(r->with.objects);

	if (VEC_RESERVE(&r->own, count))
		return -ENOMEM;
	for (; r->own.count < count; r->own.count++)
		r->own.items[r->own.count] =
			object_table_at(r->with.objects, (uint32_t)r->own.count)->n_met;
	r->n_objects = count;
	return 0;
}

/* Searches those of stackd's own files that the command has mapped, too. Errors as of look_at(). */
static int look_at_own(struct regions *r)
{
	int err = 0;

	for (uint32_t i = 0; i < r->own.count && !err; i++) {
		uint64_t n_met = object_table_at(r->with.objects, i)->n_met;

		if (n_met == r->own.items[i])
			continue;
		r->own.items[i] = n_met;
		err = look_at_object(r, i);
	}
	return err;
}

static int look_at_objects(struct regions *r)
{
	uint32_t count = object_table_count(r->with.objects);
	int err = 0;

	for (; r->n_objects < count && !err; r->n_objects++)
		err = look_at_object(r, r->n_objects);
	return err;
}

/* Searches files that have the same content as an object's file, since each file needs its own
 * probes. Errors as of look_at(). */
static int look_at_copies(struct regions *r)
{
	const struct object_copies *copies = object_table_copies(r->with.objects);
	int err = 0;

	for (; r->n_copies < object_copies_count(copies) && !err; r->n_copies++) {
		const struct object_copy *copy = object_copies_at(copies, r->n_copies);

		err = look_at(r, copy->elf, copy->path, REGION_FILE_STARTED);
	}
	return err;
}

/* Searches the files that processes have mapped since the last call. Errors as of look_at(). */
static int look_at_mapped(struct regions *r)
{
	int err = look_at_own(r);

	err = err ? err : look_at_objects(r);
	return err ? err : look_at_copies(r);
}

static int look_at_files(struct regions *r, const struct command_files *files,
			 enum region_file kind)
{
	int err = 0;

	for (size_t i = 0; !err && i < command_files_count(files); i++)
		err = look_at(r, command_files_elf(files, i), command_files_path(files, i), kind);
	return err;
}

/* Searches a file by its path, and the libraries that it names. Errors as of look_at(). */
static int look_at_path(void *arg, const char *path)
{
	struct regions *r = arg;
	struct command_files *files;
	int err;

	if (VEC_RESERVE(&r->words, 1))
		return -ENOMEM;
	err = command_files_find(path, r->folders, &files);
	if (err)
		return err;
	r->words.items[r->words.count++] = files;
	return look_at_files(r, files, REGION_FILE_STARTED);
}

static int look_at_command(struct regions *r)
{
	const char *name;
	int err;

	if (r->with.options->target != TARGET_COMMAND)
		return 0;
	name = r->with.options->command[0];
	r->is_missing = !command_words_is_there(name);
	err = command_files_find(name, r->folders, &r->command);
	if (!err)
		err = look_at_files(r, r->command,
				    shell_words_is_launcher(name) ? REGION_FILE_LAUNCHER
								  : REGION_FILE_PROGRAM);
	return err ? err : command_words_each(r->with.options->command, look_at_path, r);
}

/* Searches libraries whose paths were given in the options, before they are mapped. Errors as of
 * look_at(). */
static int look_at_given(struct regions *r)
{
	int err = 0;

	for (size_t i = 0; i < r->n_specs && !err; i++) {
		const struct region_spec *spec = &r->specs[i];

		if (spec->object && spec->object[0] == '/' && !strpbrk(spec->object, "*?"))
			err = look_at_path(r, spec->object);
	}
	return err;
}

/* Searches libraries that the target's programs will load by name (later_libraries.h), before they
 * are mapped. Does nothing for --all and --cgroup, where there would be too many programs. Errors
 * as of look_at(). */
static int look_at_later(struct regions *r)
{
	const size_t count = r->files.count;
	int err = 0;

	if (r->with.options->target != TARGET_COMMAND && r->with.options->target != TARGET_PIDS)
		return 0;
	for (size_t i = 0; i < count && !err; i++) {
		const struct known_file file = r->files.items[i];

		if (file_traits_of(file.elf).is_program)
			err = later_libraries_each(r->specs, r->n_specs, file.elf, file.path,
						   r->folders, look_at_path, r);
	}
	return err;
}

static void find_folders(struct regions *r)
{
	size_t n;
	const pid_t *pids = target_pids(r->with.target, &n);

	r->folders = later_libraries_folders(r->with.options, n ? pids[0] : 0);
}

/* Returns whether the kernel half has seen a thread enter the function at an index of `found`;
 * true, if the map cannot be read. */
static bool was_entered(void *arg, size_t index)
{
	const struct regions *r = arg;
	const uint32_t number = (uint32_t)index + 1;
	uint32_t state;

	return bpf_map_lookup_elem(r->kernel.off_fd, &number, &state) ||
	       state != STACKD_REGION_IS_MEASURED;
}

static struct region_check check_of(struct regions *r)
{
	return (struct region_check){.specs = r->specs,
				     .n_specs = r->n_specs,
				     .found = &r->found,
				     .files = r->files.items,
				     .n_files = r->files.count,
				     .worker = r->with.worker,
				     .is_command = r->with.options->target == TARGET_COMMAND,
				     .was_entered = was_entered,
				     .arg = r};
}

/* If the command's file does not exist, target_start() reports that, so nothing is checked here. */
static enum exit_status check_specs(struct regions *r)
{
	const struct region_check check = check_of(r);
	enum exit_status status;

	if (r->is_missing)
		return STATUS_DONE;
	status = region_check_first(&check);
	if (!status && r->marks)
		status = marks_check(r->marks);
	return status ? status : counter_variables_check(r->variables);
}

/* --- attaching ------------------------------------------------------------------------------- */

/* Returns whether libstackmpi counts the calls of a function, so that it has no probe. A program
 * that has MPI in its own file calls that, and not the library's. */
static bool is_counted(const struct regions *r, const struct found_region *f)
{
	const struct known_file *file = &r->files.items[f->file];
	const char *library = r->with.options->calls_library;

	return r->with.options->mpi_by_library && f->is_once && file->kind == REGION_FILE_LIBRARY &&
	       (mpi_source_has(f->linked) || !strcmp(file->path, library));
}

/* Attaches to `count` functions of one file, from index `first` on, without those that have
 * is_left_out. 0; or -errno, and it has attached to none of them. */
static int attach_functions(struct regions *r, size_t first, size_t count)
{
	const struct known_file *file = &r->files.items[r->found.found.items[first].file];
	const struct found_region **functions = calloc(count, sizeof(*functions));
	uint32_t *numbers = calloc(count, sizeof(*numbers));
	size_t n = 0;
	char path[64];
	int err = functions && numbers ? 0 : -ENOMEM;

	/* Makes room for all of them in `off`: take_off() must not fail. */
	if (VEC_GROW(r->off.items, r->off.cap, first + count))
		err = -ENOMEM;
	snprintf(path, sizeof(path), "/proc/self/fd/%d", elf_file_descriptor(file->elf));
	for (size_t i = 0; i < count && !err; i++) {
		functions[n] = &r->found.found.items[first + i];
		numbers[n] = (uint32_t)(first + i + 1);
		n += !functions[n]->is_left_out && !is_counted(r, functions[n]);
	}
	if (!err && n)
		err = region_probes_attach(r->probes, functions, numbers, n, path);
	free(functions);
	free(numbers);
	return err;
}

/* Attaches to the function that was found under an index. Logs what fails. */
static int attach_to(struct regions *r, size_t index)
{
	const struct found_region *f = &r->found.found.items[index];
	const struct known_file *file = &r->files.items[f->file];
	int err = attach_functions(r, index, 1);

	if (err && r->specs[f->spec].is_glob && (err == -ENOEXEC || probe_is_no_place(err))) {
		r->n_left_out++;
		return 0;
	}
	if (err)
		log_error("%s: cannot measure %s of %s: %s", r->specs[f->spec].title, f->name,
			  file->path,
			  err == -ENOEXEC ? "its code cannot be decoded from its start to its end"
					  : probe_reason(err));
	return err;
}

static bool are_left_out(const struct regions *r, size_t first, size_t count)
{
	size_t n = 0;

	for (size_t i = 0; i < count; i++)
		n += r->found.found.items[first + i].is_left_out;
	return n == count;
}

/* Attaches to `count` functions of one file, from index `first` on: to all at once; or, if that
 * fails because one of them can have no probe, to one after the other. 0, or the first error, which
 * is logged. */
static int attach_file(struct regions *r, size_t first, size_t count)
{
	const struct found_region *f = &r->found.found.items[first];
	const struct known_file *file = &r->files.items[f->file];
	int err = 0;

	if (are_left_out(r, first, count))
		return 0;
	if (file->runtime && file->runtime->unfit_regions) {
		log_error("%s: %s is a %s program, %s: they cannot be measured",
			  r->specs[f->spec].title, file->path, file->runtime->name,
			  file->runtime->unfit_regions);
		return -EOPNOTSUPP;
	}
	if (count > 1 && !attach_functions(r, first, count))
		return 0;
	for (size_t i = 0; i < count; i++) {
		int one = attach_to(r, first + i);

		err = err ? err : one;
	}
	return err;
}

/* Attaches to the functions and marks that were found since the last call. 0, or the first error,
 * which is logged. */
static int attach_new(struct regions *r)
{
	const struct found_region *found = r->found.found.items;
	size_t count = r->found.found.count, end;
	int first = 0;

	for (; r->n_attached < count; r->n_attached = end) {
		int err;

		for (end = r->n_attached + 1; end < count; end++) {
			if (found[end].file != found[r->n_attached].file)
				break;
		}
		err = attach_file(r, r->n_attached, end - r->n_attached);
		first = first ? first : err;
	}
	if (r->n_left_out)
		log_warning(
			"--region: %zu matching function%s left out: the code cannot be decoded, or cannot take a probe",
			r->n_left_out, text_plural(r->n_left_out, "", "s"));
	r->n_left_out = 0;
	if (r->marks) {
		int err = marks_attach(r->marks, &r->kernel);

		first = first ? first : err;
	}
	return first;
}

/* Enters the target, processes or a cgroup, into the kernel half's maps, so that only its regions
 * are measured. 0 or -errno. */
static int set_scope(struct regions *r)
{
	const uint32_t only = 0;
	const int cgroup = target_cgroup_fd(r->with.target);
	size_t n_pids;
	const pid_t *pids = target_pids(r->with.target, &n_pids);
	int err = 0;

	if (r->kernel.scope == STACKD_SCOPE_CGROUP)
		return bpf_map_update_elem(r->kernel.cgroup_fd, &only, &cgroup, BPF_ANY);
	if (r->kernel.scope != STACKD_SCOPE_PROCESSES)
		return 0;
	for (size_t i = 0; i < n_pids && !err; i++)
		err = sampler_follow(r->with.sampler, pids[i]);
	return err;
}

/* --- regions that are passed through too often ----------------------------------------------- */

/* Detaches from a region that is entered too often. `when`: " at all" or " any more", for the
 * message. */
static void take_off(struct regions *r, uint32_t number, const char *when)
{
	const struct found_region *f = &r->found.found.items[number - 1];

	if (f->error)
		return;
	log_warning("%s: %s is passed through more than %" PRIu64
		    " times a second in a thread: it is not measured%s (--region-limit), "
		    "but sampled",
		    r->specs[f->spec].title, f->name, r->with.options->region_limit, when);
	/* attach_functions() has made room. */
	r->off.items[r->off.count++] = (struct off_region){number - 1, clock_ns(CLOCK_MONOTONIC)};
	r->found.found.items[number - 1].error = -EBUSY;
	region_probes_detach(r->probes, number);
}

/* Detaches from the regions and marks that the kernel half reports as entered too often. */
static void look_at_rates(struct regions *r, const char *when)
{
	for (uint32_t number = 1; number <= r->n_attached; number++) {
		uint32_t state = STACKD_REGION_IS_MEASURED;

		if (!bpf_map_lookup_elem(r->kernel.off_fd, &number, &state) &&
		    state == STACKD_REGION_IS_OFF)
			take_off(r, number, when);
	}
	if (r->marks)
		marks_look_at_rates(r->marks, &r->kernel);
}

/* --- start and end --------------------------------------------------------------------------- */

static enum exit_status parse_specs(struct regions *r)
{
	const struct options *o = r->with.options;

	r->specs = calloc(o->n_regions + 1, sizeof(*r->specs));
	for (size_t i = 0; r->specs && i < o->n_regions; i++) {
		if (mark_spec_is_span(o->regions[i]))
			continue; /* a mark */
		if (region_spec_parse(o->regions[i], &r->specs[r->n_specs])) {
			log_error("--region '%s': expected FUNC or FUNC@OBJECT", o->regions[i]);
			return STATUS_USAGE;
		}
		r->n_specs++;
	}
	if (!r->specs || (o->mpi && region_spec_mpi(&r->specs[r->n_specs])))
		return STATUS_FAILED;
	r->n_specs += o->mpi;
	return STATUS_DONE;
}

static enum exit_status look_first(struct regions *r)
{
	enum exit_status status;
	int err = r->with.options->target == TARGET_COMMAND ? leave_out_own(r) : look_at_objects(r);

	find_folders(r);
	if (!err)
		err = look_at_command(r);
	if (!err)
		err = look_at_given(r);
	if (!err)
		err = look_at_later(r);
	status = err ? STATUS_FAILED : check_specs(r);
	if (status == STATUS_DONE) /* after the check, since copies make no name ambiguous */
		err = look_at_copies(r);
	if (err == -E2BIG)
		log_error("--region: more than %u functions match: give narrower patterns",
			  STACKD_MOST_REGIONS);
	else if (err)
		log_error("--region: cannot read the files of the target: %s", strerror(-err));
	return err ? STATUS_FAILED : status;
}

/* Attaches to functions and marks for the first time. If processes run already, their regions are
 * on trial first (region_trial.h). 0, or the first error, which is logged. */
static int attach_after_trial(struct regions *r)
{
	const uint64_t limit = r->with.options->region_limit;
	const uint32_t count = (uint32_t)r->found.found.count;
	int err = 0;

	if (!limit || !count || r->with.options->target == TARGET_COMMAND)
		return attach_new(r);
	err = region_trial_begin(r->kernel.off_fd, count, limit);
	if (!err) {
		int attached = attach_new(r);

		if (attached)
			return attached;
		err = region_trial_end(r->kernel.off_fd, count);
	}
	if (err < 0)
		log_error("--region: cannot measure how often regions are passed through: %s",
			  strerror(-err));
	else
		look_at_rates(r, " at all");
	return err < 0 ? err : 0;
}

/* Attaches the program by which the kernel half ends the open passes of a process that calls
 * exec. */
static void follow_replacing(struct regions *r)
{
	int err = 0;

	r->replacing_tracepoint = bpf_raw_tracepoint_open("sched_prepare_exec", r->kernel.exit_fd);
	if (r->replacing_tracepoint < 0)
		err = probe_attach_kernel(r->kernel.replaced_fd, "begin_new_exec", &r->replacing);
	if (err)
		log_warning("--region: passes that are left by an exec end later: %s",
			    strerror(-err));
}

static enum exit_status attach_first(struct regions *r)
{
	int err = set_scope(r);

	r->tracepoint = err ? -1 : bpf_raw_tracepoint_open("sched_process_exit", r->kernel.exit_fd);
	if (!err && r->tracepoint < 0)
		err = r->tracepoint;
	if (!err && r->with.options->mpi)
		r->exec_tracepoint =
			bpf_raw_tracepoint_open("sched_process_exec", r->kernel.rank_fd);
	if (!err && r->with.options->mpi && r->exec_tracepoint < 0)
		err = r->exec_tracepoint;
	if (err) {
		log_error("--region: cannot follow the target's processes: %s", strerror(-err));
		return exit_status_of(err);
	}
	follow_replacing(r);
	if (r->with.options->calls_library &&
	    mpi_source_start(r->with.options, &r->kernel, &r->mpi))
		return STATUS_FAILED;
	err = attach_after_trial(r);
	if (err)
		return err == -ENODEV ? STATUS_UNSUPPORTED : STATUS_FAILED;
	return alloc_source_start(&r->with, &r->kernel, r->command, &r->alloc);
}

enum exit_status regions_start(const struct regions_options *with, struct regions **ret_regions)
{
	struct regions *r;
	enum exit_status status;

	*ret_regions = NULL;
	if (!regions_are_wanted(with->options))
		return STATUS_DONE;
	r = calloc(1, sizeof(*r));
	if (!r)
		return STATUS_FAILED;
	r->with = *with;
	r->tracepoint = r->exec_tracepoint = -1;
	r->replacing_tracepoint = -1;
	r->replacing = (struct probe){-1, -1};
	r->mpi = (struct mpi_source)MPI_SOURCE_NONE;
	sampler_regions_parts(with->sampler, &r->kernel);
	r->probes = region_probes_new(&r->kernel);
	status = r->probes ? parse_specs(r) : STATUS_FAILED;
	if (!status)
		status = marks_new(with->options, &r->marks);
	if (!status)
		status = counter_variables_new(with->options, with->worker, &r->variables);
	if (!status)
		status = look_first(r);
	if (!status)
		status = attach_first(r);
	if (status) {
		regions_free(r);
		return status;
	}
	*ret_regions = r;
	return STATUS_DONE;
}

/* Decides anew which functions are meant, after more files were searched, and detaches from those
 * that no longer are. A function in a better file replaces the one that is measured, because a
 * program that a script starts may have the function, too. 0 or -ENOMEM. */
static int choose_again(struct regions *r, size_t before)
{
	const struct region_check check = check_of(r);
	int err = region_check_again(&check, before);

	for (size_t i = 0; r->probes && i < r->n_attached && !err; i++) {
		struct found_region *f = &r->found.found.items[i];

		if (!f->is_left_out || f->error)
			continue;
		f->error = -ECANCELED;
		region_probes_detach(r->probes, (uint32_t)i + 1);
	}
	return err;
}

void regions_look(struct regions *r)
{
	size_t n_files, before;
	int err;

	if (!r)
		return;
	look_at_rates(r, " any more");
	alloc_source_look(r->alloc);
	n_files = r->files.count;
	before = r->found.found.count;
	err = look_at_mapped(r);
	if (!err && r->files.count == n_files)
		return;
	if (!err && r->found.found.count > before)
		err = choose_again(r, before);
	if (err)
		log_warning("--region: functions of new files are left out: %s",
			    err == -E2BIG ? "too many match" : strerror(-err));
	if (r->probes)
		attach_new(r);
}

enum exit_status regions_check(struct regions *r)
{
	struct region_check check;

	if (!r || r->is_missing)
		return STATUS_DONE;
	check = check_of(r);
	return region_check_last(&check);
}

uint64_t regions_taken_off(const struct regions *r)
{
	return r ? r->off.count + marks_taken_off(r->marks) : 0;
}

bool regions_off(const struct regions *r, size_t index, char *name, size_t size, uint64_t *ret_ns)
{
	const char *mark;

	if (r && index < r->off.count) {
		const struct found_region *f = &r->found.found.items[r->off.items[index].index];

		snprintf(name, size, "%s@%s", f->name, text_basename(r->files.items[f->file].path));
		*ret_ns = r->off.items[index].since_ns;
		return true;
	}
	mark = r ? marks_off(r->marks, index - r->off.count, ret_ns) : NULL;
	if (mark) /* with the prefix "mark ", so that it is not taken for a region of that name */
		snprintf(name, size, "%s%s", mark_spec_is_span(mark) ? "" : "mark ", mark);
	return mark != NULL;
}

const char *regions_mark_name(const struct regions *r, size_t index)
{
	return r ? marks_name(r->marks, index) : NULL;
}

uint64_t regions_alloc_until(const struct regions *r)
{
	if (!r)
		return 0;
	return r->alloc ? alloc_source_until(r->alloc) : r->alloc_until_ns;
}

bool regions_allocator_was_called(const struct regions *r)
{
	return !r || alloc_source_was_called(r->alloc);
}

void regions_stop(struct regions *r)
{
	if (!r)
		return;
	if (r->marks)
		marks_stop(r->marks);
	region_probes_free(r->probes);
	r->probes = NULL;
	r->alloc_until_ns = regions_alloc_until(r);
	alloc_source_free(r->alloc);
	r->alloc = NULL;
	mpi_source_stop(&r->mpi);
	if (r->tracepoint >= 0)
		close(r->tracepoint);
	if (r->exec_tracepoint >= 0)
		close(r->exec_tracepoint);
	if (r->replacing_tracepoint >= 0)
		close(r->replacing_tracepoint);
	r->replacing_tracepoint = -1;
	probe_detach(&r->replacing);
	r->tracepoint = r->exec_tracepoint = -1;
}

void regions_free(struct regions *r)
{
	if (!r)
		return;
	regions_stop(r);
	marks_free(r->marks);
	counter_variables_free(r->variables);
	found_regions_free(&r->found);
	free(r->files.items);
	command_files_free(r->command);
	free(r->folders);
	free(r->off.items);
	for (size_t i = 0; i < r->words.count; i++)
		command_files_free(r->words.items[i]);
	free(r->words.items);
	free(r->own.items);
	for (size_t i = 0; i < r->n_specs; i++)
		region_spec_free(&r->specs[i]);
	free(r->specs);
	free(r);
}
