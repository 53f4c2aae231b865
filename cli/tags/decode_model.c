/* SPDX-License-Identifier: MIT */
/*
 * Makes models of tags; see decode_model.h.
 *
 * The files that the user named are read first, because their kinds decide whether libraries are
 * needed. Libraries wait in a list, each once, identified by inode; a library that is read can add
 * more.
 */
#include "cli/tags/decode_model.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/named_file.h"
#include "cli/cmd.h"
#include "elf/elf_libraries.h"
#include "cli/message.h"
#include "callgraph/code_graph.h"
#include "callgraph/plugin_model.h"
#include "callgraph/observed_model.h"
#include "cli/tagset_input.h"

/* A file that has been read, or that waits to be read. */
struct decode_file {
	char *path;
	dev_t device;
	ino_t inode;
};

struct decode_load {
	const struct decode_model *from;
	struct plugin_model *model;
	struct code_model *code;
	struct tagset *observed;
	bool has_observed, has_code;
	bool has_locations; /* the graph is for paths of call sites, not of functions */
	struct decode_file files[DECODE_MODEL_FILES];
	unsigned n_files;
};

/* --- libraries ------------------------------------------------------------------------------- */

/* Appends a file to the list, unless it is there already. */
static int decode_model_note(struct decode_load *load, const char *path)
{
	struct stat is = {0};
	char *copy;

	/* If this fails, so does reading the file, which prints the message. */
	(void)stat(path, &is);
	for (unsigned i = 0; i < load->n_files; i++) {
		if (is.st_ino && load->files[i].inode == is.st_ino &&
		    load->files[i].device == is.st_dev)
			return 0;
	}
	if (load->n_files == DECODE_MODEL_FILES) {
		message("%s is left out: a model has at most %d files", path, DECODE_MODEL_FILES);
		return 0;
	}
	copy = strdup(path);
	if (!copy)
		return -ENOMEM;
	load->files[load->n_files++] = (struct decode_file){copy, is.st_dev, is.st_ino};
	return 0;
}

struct decode_namer {
	struct decode_load *load;
	const char *path;
};

static int library(void *arg, const char *name, const char *found)
{
	const struct decode_namer *namer = arg;

	if (found)
		return decode_model_note(namer->load, found);
	if (!namer->load->from->is_again)
		message("%s names %s, which is not here: paths through it are not found",
			namer->path, name);
	return 0;
}

/* --- files ----------------------------------------------------------------------------------- */

/* Adds a file that the plugin instrumented to the model. Returns 0; -ENODATA: the plugin did not
 * instrument it; or another error. */
static int decode_model_sections(struct decode_load *load, const char *path,
				 const struct elf_file *file)
{
	struct plugin_sections sections;
	struct plugin_sections_fault fault;
	int err = plugin_sections_read(file, &sections, &fault);

	if (err == 0) {
		err = plugin_model_take(load->model, &sections);
		plugin_sections_release(&sections);
	}
	if (err == -EBADMSG)
		message("%s: its section %s is damaged at offset 0x%" PRIx64 ": %s", path,
			fault.section, fault.offset, fault.what);
	return err;
}

/* Adds the calls in a file's code to the model, which then owns the file; frees the file on
 * failure. Returns 0, or an error of code_model_take(). */
static int decode_model_code(struct decode_load *load, const char *path, struct elf_file *file)
{
	int err = code_model_take(load->code, file, path);

	load->has_code |= err == 0;
	if (err)
		elf_file_free(file);
	return err;
}

static int decode_model_status(const char *path, int err, bool is_reported)
{
	if (err == -ENODATA)
		message("%s has no functions that are known: no section .btloc, no unwind "
			"information, no symbols",
			path);
	else if (err == -EBADMSG && !is_reported)
		message("%s is cut short: its section headers are missing", path);
	else if (err < 0 && !is_reported)
		message("cannot read %s: %s", path, strerror(-err));
	if (err == 0)
		return CMD_DONE;
	return err == -ENODATA || err == -EBADMSG || err == -E2BIG ? CMD_USAGE : CMD_FAILED;
}

/* Adds a file to the model, which then owns the file, or frees it. `given`: the user named the
 * file; else it is a library that another file needs. Returns the exit status. */
static int decode_model_file(struct decode_load *load, const char *path, struct elf_file *file,
			     bool given)
{
	struct decode_namer namer = {load, path};
	bool with_sections = given ? !load->from->locations : !load->has_locations;
	bool is_reported = false;
	int err = 0;

	if (!load->from->is_alone)
		err = elf_libraries_each(file, path, ELF_LIBRARIES_CACHE, NULL, library, &namer);
	if (err == 0) {
		err = with_sections ? decode_model_sections(load, path, file) : -ENODATA;
		is_reported = err == -EBADMSG;
	}
	if (err == -ENODATA && (given || load->has_locations))
		return decode_model_status(path, decode_model_code(load, path, file), false);
	elf_file_free(file);
	/* If a program keeps tags, a library that does not is not part of these tags. */
	return err == -ENODATA ? CMD_DONE : decode_model_status(path, err, is_reported);
}

static int decode_model_read(struct decode_load *load, const char *path, bool given)
{
	int fd = named_file_open(path), err;
	struct elf_file *file;

	err = fd < 0 ? -ENOEXEC : elf_file_open(fd, &file);
	if (fd >= 0)
		close(fd);
	if (err == 0)
		return decode_model_file(load, path, file, given);
	if (err != -ENOEXEC || !given) {
		message("cannot read %s: %s", path, strerror(-err));
		return given ? CMD_FAILED : CMD_USAGE;
	}
	load->has_observed = true;
	return tagset_input_add(load->observed, path, 0, TAGSET_INPUT_ALL, METRIC_CPU);
}

static int read_all(struct decode_load *load)
{
	int status = CMD_DONE;
	unsigned i, given;

	for (i = 0; i < load->from->n_files; i++) {
		if (decode_model_note(load, load->from->files[i]))
			return CMD_FAILED;
	}
	given = load->n_files;
	for (i = 0; status == CMD_DONE && i < given; i++)
		status = decode_model_read(load, load->files[i].path, true);
	if (status != CMD_DONE)
		return status;
	load->has_locations =
		load->has_code && (load->from->locations || (!plugin_model_functions(load->model) &&
							     !code_model_has_hooks(load->code)));
	/* If a library cannot be read, reading goes on after a message: some paths will not be
	 * found. */
	for (; status != CMD_FAILED && i < load->n_files; i++)
		status = decode_model_read(load, load->files[i].path, false);
	return status == CMD_FAILED ? CMD_FAILED : CMD_DONE;
}

/* --- the graph ------------------------------------------------------------------------------- */

static enum decode_kind decode_model_kind(const struct decode_load *load)
{
	bool has_functions =
		plugin_model_functions(load->model) || code_model_has_hooks(load->code);

	return has_functions && !load->has_locations && !load->from->locations ? DECODE_FUNCTIONS
									       : DECODE_LOCATIONS;
}

/* Adds the calls in the files' code. If some files keep tags, files that do not are left out,
 * because they are not part of these tags. Returns 0 or an error. */
static int decode_model_calls(const struct decode_load *load, struct callgraph *graph)
{
	if (!load->has_code)
		return 0;
	if (load->has_locations)
		return code_graph_locations(load->code, graph);
	return code_model_has_hooks(load->code) ? code_graph_functions(load->code, graph) : 0;
}

static int seal(const struct decode_load *load, struct callgraph **ret_graph)
{
	struct callgraph *graph = NULL;
	int err = plugin_model_graph(load->model, &graph);

	if (err == 0 && load->has_observed && decode_model_kind(load) == DECODE_LOCATIONS)
		err = observed_model_add(load->observed, graph);
	if (err == 0)
		err = decode_model_calls(load, graph);
	if (err == 0)
		err = callgraph_seal(graph);
	if (err == 0) {
		*ret_graph = graph;
		return CMD_DONE;
	}
	callgraph_free(graph);
	message("cannot make a call graph of the model: %s", strerror(-err));
	return err == -E2BIG ? CMD_USAGE : CMD_FAILED;
}

int decode_model_graph(const struct decode_model *model, struct callgraph **ret_graph,
		       enum decode_kind *ret_kind)
{
	struct decode_load load = {.from = model};
	int status = plugin_model_new(&load.model) == 0 && code_model_new(&load.code) == 0 &&
				     tagset_new(&load.observed) == 0
			     ? CMD_DONE
			     : CMD_FAILED;

	if (status != CMD_DONE)
		message("out of memory");
	else
		status = read_all(&load);
	if (status == CMD_DONE)
		status = seal(&load, ret_graph);
	*ret_kind = decode_model_kind(&load);
	for (unsigned i = 0; i < load.n_files; i++)
		free(load.files[i].path);
	tagset_free(load.observed);
	code_model_free(load.code);
	plugin_model_free(load.model);
	return status;
}
