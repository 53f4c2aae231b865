/* SPDX-License-Identifier: MIT */
/*
 * The in-process decoder; see stacktag_decode.h. It does what `stackctl decode` does, but reads the
 * files that the dynamic linker has loaded. lib/record/tag makes a call graph of them and searches
 * it from both ends.
 *
 * The files are opened again by their paths, since the sections are not loaded at run time. A file
 * that is gone, or was replaced by something unreadable, is left out: its functions are not found.
 */
#include "../stacktag_decode.h"

#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "elf/elf_file.h"
#include "base/vec.h"
#include "callgraph/code_graph.h"
#include "callgraph/tagged_functions.h"
#include "callgraph/plugin_model.h"
#include "tag/tag_search.h"

struct stacktag_decoder {
	struct callgraph *graph;
	struct tag_search *search;
	const char **names; /* names of the last answer */
	size_t room;
};

/* --- the model -------------------------------------------------------------------------------- */

struct load {
	struct plugin_model *listed; /* of files with .btloc */
	struct code_model *hooked;   /* of files with -finstrument-functions */
};

/* Returns 0, -ENOMEM, or -ENODATA for any other error, which is a fault of the file. */
static int take_listed(struct load *load, const struct elf_file *file)
{
	struct plugin_sections_fault fault;
	struct plugin_sections sections;
	int err = plugin_sections_read(file, &sections, &fault);

	if (err)
		return err == -ENOMEM ? err : -ENODATA;
	err = plugin_model_take(load->listed, &sections);
	plugin_sections_release(&sections);
	return err;
}

static bool keeps_tags(const struct elf_file *file)
{
	struct tagged_functions *functions;

	if (tagged_functions_new(file, &functions))
		return false;
	tagged_functions_free(functions);
	return true;
}

static int take_file(struct load *load, const char *path)
{
	int fd = open(path, O_RDONLY | O_CLOEXEC), err;
	struct elf_file *file;

	if (fd < 0)
		return 0;
	err = elf_file_open(fd, &file);
	close(fd);
	if (err)
		return err == -ENOMEM ? err : 0;
	err = take_listed(load, file);
	if (err == -ENODATA) {
		err = keeps_tags(file) ? code_model_take(load->hooked, file, path) : -ENODATA;
		if (!err)
			return 0; /* the model owns the file now */
	}
	elf_file_free(file);
	return err == -ENOMEM ? err : 0;
}

static int on_object(struct dl_phdr_info *info, size_t size, void *arg)
{
	(void)size;
	if (!*info->dlpi_name)
		return take_file(arg, "/proc/self/exe");
	return strchr(info->dlpi_name, '/') ? take_file(arg, info->dlpi_name) : 0;
}

static int make_graph(const struct load *load, struct callgraph **ret_graph)
{
	struct callgraph *graph = NULL;
	int err = plugin_model_graph(load->listed, &graph);

	if (!err && code_model_has_hooks(load->hooked))
		err = code_graph_functions(load->hooked, graph);
	if (!err && !callgraph_count_real(graph))
		err = -ENODATA;
	if (!err)
		err = callgraph_seal(graph);
	if (!err)
		*ret_graph = graph;
	else
		callgraph_free(graph);
	return err;
}

static int read_program(struct callgraph **ret_graph)
{
	struct load load = {0};
	int err = plugin_model_new(&load.listed);

	if (!err)
		err = code_model_new(&load.hooked);
	if (!err)
		err = dl_iterate_phdr(on_object, &load);
	if (!err)
		err = make_graph(&load, ret_graph);
	plugin_model_free(load.listed);
	code_model_free(load.hooked);
	return err;
}

int stacktag_decoder_new(struct stacktag_decoder **ret_decoder)
{
	const struct tag_search_options options = {.root = CALLGRAPH_NONE};
	struct stacktag_decoder *decoder = calloc(1, sizeof(*decoder));
	int err = decoder ? read_program(&decoder->graph) : -ENOMEM;

	if (!err)
		err = tag_search_new(decoder->graph, &options, &decoder->search);
	if (!err)
		*ret_decoder = decoder;
	else
		stacktag_decoder_free(decoder);
	return err;
}

void stacktag_decoder_free(struct stacktag_decoder *decoder)
{
	if (!decoder)
		return;
	tag_search_free(decoder->search);
	callgraph_free(decoder->graph);
	free(decoder->names);
	free(decoder);
}

/* --- decoding --------------------------------------------------------------------------------- */

static int take_names(struct stacktag_decoder *decoder, const struct tag_search_path *path)
{
	if (VEC_GROW(decoder->names, decoder->room, path->n))
		return -ENOMEM;
	for (uint32_t i = 0; i < path->n; i++)
		decoder->names[i] = callgraph_at(decoder->graph, path->nodes[i])->name;
	return 0;
}

int stacktag_decode(struct stacktag_decoder *decoder, uint64_t tag, unsigned budget_ms,
		    const char *const **ret_names, size_t *ret_count)
{
	const struct tag_search_query query = {
		.tag = tag, .leaf = CALLGRAPH_NONE, .budget_ns = budget_ms * UINT64_C(1000000)};
	struct tag_search_path empty = {0}, *path = &empty;
	struct tag_search_answer answer;
	int err = 0;

	if (tag) {
		err = tag_search_run(decoder->search, &query, &answer);
		if (!err && answer.status != TAG_SEARCH_FOUND)
			err = answer.status == TAG_SEARCH_NO_PATH ? -ENOENT : -ETIMEDOUT;
		if (!err)
			path = &answer.paths[0];
	}
	if (!err)
		err = take_names(decoder, path);
	if (err)
		return err;
	*ret_names = decoder->names;
	*ret_count = path->n;
	return 0;
}
