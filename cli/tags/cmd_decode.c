/* SPDX-License-Identifier: MIT */
/*
 * stackctl decode: finds the call paths of tags, given only a model of which function calls which.
 *
 * decode_model.h explains models, lib/record/tag/tag_batch.h the search. A tag does not show
 * whether it was made from functions or from code locations. So tags that are not found in the
 * graph of functions of instrumented files are searched again in a graph of the locations in the
 * files' code.
 */
#include <argp.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/argp_help.h"
#include "base/clock.h"
#include "base/vec.h"
#include "cli/cmd.h"
#include "cli/tags/decode_model.h"
#include "cli/message.h"
#include "cli/options.h"
#include "cli/output.h"
#include "base/json_put.h"
#include "base/text.h"
#include "sym/demangle.h"
#include "tag/tag_batch.h"

#define CMD_DECODE_BUDGET 10 /* default time for the search of a tag, in ms */

enum {
	CMD_DECODE_ROOT = 0x200,
	CMD_DECODE_BUDGET_MS,
	CMD_DECODE_ALL,
	CMD_DECODE_STRICT,
	CMD_DECODE_LOCATIONS,
	CMD_DECODE_ALONE
};

struct cmd_decode {
	struct decode_model model;
	char **tags;
	unsigned n_tags;
	const char *root;
	struct output_options output;
	double budget_ms;
	bool all, strict;
};

static const struct argp_option cmd_decode_options[] = {
	{NULL, 0, NULL, 0, "How to search:", 3},
	{"model", 'm', "FILE", 0,
	 "Read from this file which function calls which: an instrumented file, any program or "
	 "library (with the libraries that it needs), a store, or a tag export; may be repeated",
	 3},
	{"locations", CMD_DECODE_LOCATIONS, 0, 0,
	 "Only tags of stackd's own walks, which are made of code locations (default: also those "
	 "that instrumented programs keep)",
	 3},
	{"places", CMD_DECODE_LOCATIONS, 0, OPTION_HIDDEN, "The former name of --locations", 3},
	{"no-libraries", CMD_DECODE_ALONE, 0, 0,
	 "Only the given files, not the libraries that they need", 3},
	{"root", CMD_DECODE_ROOT, "FUNCTION", 0, "All paths begin here (default: where they can)",
	 3},
	{"budget", CMD_DECODE_BUDGET_MS, "MS", 0,
	 "Milliseconds of processor time per tag (default 10); time that easy tags leave over "
	 "goes to harder ones",
	 3},
	{"all", CMD_DECODE_ALL, 0, 0,
	 "After the first path, look for more until the budget is used up", 3},
	{"strict", CMD_DECODE_STRICT, 0, 0, "No paths with a call that is not in the model", 3},
	{0},
};

static void parse_budget(struct argp_state *state, const char *arg, struct cmd_decode *args)
{
	char *end;

	args->budget_ms = strtod(arg, &end);
	if (end == arg || *end || !(args->budget_ms >= 0 && args->budget_ms <= 1e9))
		argp_help_error(state, "--budget: '%s' is not a number of milliseconds", arg);
}

static error_t parse(int key, char *arg, struct argp_state *state)
{
	struct cmd_decode *args = state->input;

	switch (key) {
	case ARGP_KEY_INIT:
		state->child_inputs[0] = &args->output;
		return 0;
	case 'm':
		if (args->model.n_files == DECODE_MODEL_FILES)
			argp_help_error(state, "--model: more than %d are given",
					DECODE_MODEL_FILES);
		args->model.files[args->model.n_files++] = arg;
		return 0;
	case CMD_DECODE_ROOT:
		args->root = arg;
		return 0;
	case CMD_DECODE_BUDGET_MS:
		parse_budget(state, arg, args);
		return 0;
	case CMD_DECODE_ALL:
		args->all = true;
		return 0;
	case CMD_DECODE_STRICT:
		args->strict = true;
		return 0;
	case CMD_DECODE_LOCATIONS:
		args->model.locations = true;
		return 0;
	case CMD_DECODE_ALONE:
		args->model.is_alone = true;
		return 0;
	case ARGP_KEY_ARGS:
		args->tags = state->argv + state->next;
		args->n_tags = (unsigned)(state->argc - state->next);
		return 0;
	case ARGP_KEY_END:
		if (!args->model.n_files)
			argp_help_error(state,
					"a model is needed: -m FILE, a program, a store or a tag "
					"export");
		return 0;
	default:
		return ARGP_ERR_UNKNOWN;
	}
}

/* --- tags ---------------------------------------------------------------------------------- */

struct cmd_decode_run {
	const struct cmd_decode *args;
	struct callgraph *graph;
	struct tag_search *search;
	VEC(struct tag_batch_item) items;
	struct cmd_decode_name *names;
	bool has_names;
	bool of_locations; /* tags of this graph are made from code locations, not from functions */
	int status;
};

/* The search for tags made from functions, and the search for the remaining tags as tags made from
 * locations. */
struct cmd_decode_both {
	struct cmd_decode_run runs[2]; /* a run that has no graph is not needed */
	uint64_t asked, found[2]; /* number of tags searched; number of tags found, [0] as paths of
				   * functions, [1] as paths of locations */
	struct json json;
};

/* A node's readable name, in an array that is sorted by name. */
struct cmd_decode_name {
	char *name;
	uint32_t node;
};

static int compare(const void *a, const void *b)
{
	const struct cmd_decode_name *x = a, *y = b;
	int r = strcmp(x->name, y->name);

	return r ? r : (x->node > y->node) - (x->node < y->node);
}

static void forget(struct cmd_decode_run *run)
{
	for (uint32_t i = 0; run->names && i < callgraph_count(run->graph); i++)
		free(run->names[i].name);
	free(run->names);
	run->names = NULL;
}

static void cmd_decode_index(struct cmd_decode_run *run)
{
	uint32_t n = callgraph_count(run->graph);
	bool failed;

	run->has_names = true;
	run->names = calloc((size_t)n + 1, sizeof(*run->names));
	failed = !run->names;
	for (uint32_t i = 0; !failed && i < n; i++) {
		const struct callgraph_node *node = callgraph_at(run->graph, i);

		run->names[i].node = i;
		run->names[i].name = node->is_transparent ? NULL : demangle(node->name);
		if (!run->names[i].name)
			run->names[i].name = strdup(node->is_transparent ? "" : node->name);
		failed = !run->names[i].name;
	}
	if (failed)
		forget(run);
	else
		qsort(run->names, n, sizeof(*run->names), compare);
}

/* Returns the node with a demangled name or a linkage name; CALLGRAPH_NONE: there is none. */
static uint32_t cmd_decode_function(struct cmd_decode_run *run, const char *name)
{
	uint32_t low = 0, high = callgraph_count(run->graph), n = high;

	if (!run->has_names)
		cmd_decode_index(run);
	while (run->names && low < high) {
		uint32_t middle = low + (high - low) / 2;

		if (strcmp(run->names[middle].name, name) < 0)
			low = middle + 1;
		else
			high = middle;
	}
	if (run->names && *name && low < n && strcmp(run->names[low].name, name) == 0)
		return run->names[low].node;
	return callgraph_find_name(run->graph, name);
}

/* Returns the function's name in the source, which the caller frees; NULL: it is the same as in the
 * program. */
static char *source_name(const struct cmd_decode_run *run, uint32_t node)
{
	return demangle(callgraph_at(run->graph, node)->name);
}

static const char *cmd_decode_status(const struct tag_batch_item *answer)
{
	switch (answer->status) {
	case TAG_SEARCH_FOUND:
		return "found";
	case TAG_SEARCH_NO_PATH:
		return "no path";
	case TAG_SEARCH_NOT_IN_BUDGET:
		break;
	}
	return "not in budget";
}

static void text_path(const struct cmd_decode_run *run, const struct tag_search_path *path,
		      struct buf *b)
{
	for (uint32_t i = 0; i < path->n; i++) {
		bool known =
			!i || callgraph_can_call(run->graph, path->nodes[i - 1], path->nodes[i]);
		char *name = source_name(run, path->nodes[i]);

		text_put_raw(b, !i ? "" : known ? " > " : " >? ");
		text_put(b, name ? name : callgraph_at(run->graph, path->nodes[i])->name, NULL);
		free(name);
	}
}

static int text(const struct cmd_decode_run *run, const struct tag_batch_item *answer, FILE *out)
{
	struct buf b = {0};
	int err;

	for (size_t i = 0; i < answer->n; i++) {
		const struct tag_search_path *path = &answer->paths[i];

		text_printf(&b, "%016" PRIx64 "\t%s", answer->tag,
			    path->n ? "" : "[nothing called yet]");
		text_path(run, path, &b);
		text_put_raw(&b, "\n");
	}
	if (answer->status == TAG_SEARCH_NO_PATH)
		text_printf(&b, "%016" PRIx64 "\t[no path of the model has this tag]\n",
			    answer->tag);
	else if (!answer->n)
		text_printf(&b,
			    "%016" PRIx64 "\t[not found in the budget of %g ms: try --budget]\n",
			    answer->tag, run->args->budget_ms);
	err = text_flush(&b, out);
	buf_free(&b);
	return err;
}

static void json_path(const struct cmd_decode_run *run, const struct tag_search_path *path,
		      struct json *j)
{
	json_put_object(j, NULL);
	json_put_uint(j, "unmodelled", path->unmodelled);
	json_put_array(j, "functions");
	for (uint32_t i = 0; i < path->n; i++) {
		char *name = source_name(run, path->nodes[i]);

		json_put_string(j, NULL,
				name ? name : callgraph_at(run->graph, path->nodes[i])->name);
		free(name);
	}
	json_put_end(j);
	json_put_end(j);
}

static int json(const struct cmd_decode_run *run, const struct tag_batch_item *answer,
		struct json *j)
{
	json_put_line(j);
	json_put_object(j, NULL);
	json_put_hex(j, "tag", answer->tag);
	json_put_string(j, "status", cmd_decode_status(answer));
	json_put_uint(j, "spent_ns", answer->spent_ns);
	if (answer->status == TAG_SEARCH_FOUND)
		json_put_string(j, "of", run->of_locations ? "places" : "functions");
	json_put_array(j, "paths");
	for (size_t i = 0; i < answer->n; i++)
		json_path(run, &answer->paths[i], j);
	json_put_end(j);
	json_put_end(j);
	return j->err;
}

/* Parses "TAG", "TAG:LEAF" or "TAG~LEAF", with TAG in hexadecimal, into `item`. Returns the exit
 * status. */
static int cmd_decode_word(struct cmd_decode_run *run, const char *word,
			   struct tag_batch_item *item)
{
	char *end;

	errno = 0;
	item->tag = strtoull(word, &end, 16);
	item->leaf = CALLGRAPH_NONE;
	if (errno || end == word || *word == '-' || (*end && *end != ':' && *end != '~')) {
		message("'%s' is not a tag: 16 hexadecimal digits, then perhaps :FUNCTION", word);
		return CMD_USAGE;
	}
	item->leaf_is_hint = *end == '~';
	if (*end)
		item->leaf = cmd_decode_function(run, end + 1);
	if (!*end || item->leaf_is_hint || item->leaf != CALLGRAPH_NONE)
		return CMD_DONE;
	message("the model has no function '%s', the leaf of tag %016" PRIx64, end + 1, item->tag);
	return CMD_USAGE;
}

static int cmd_decode_ask(struct cmd_decode_run *run, const char *word)
{
	struct tag_batch_item item = {0};
	int status = cmd_decode_word(run, word, &item);

	if (status != CMD_DONE) {
		run->status = status;
		return 0;
	}
	if (VEC_RESERVE(&run->items, 1) < 0)
		return -ENOMEM;
	run->items.items[run->items.count++] = item;
	return 0;
}

/* Reads tags from standard input, a word each. */
static int cmd_decode_stdin(struct cmd_decode_run *run)
{
	char *line = NULL;
	size_t cap = 0;
	int err = 0;

	while (err == 0 && getline(&line, &cap, stdin) > 0) {
		line[strcspn(line, "\n")] = '\0';
		if (*line)
			err = cmd_decode_ask(run, line);
	}
	if (err == 0 && ferror(stdin))
		err = -EIO;
	free(line);
	return err;
}

static int cmd_decode_answer(struct cmd_decode_both *both, struct cmd_decode_run *run,
			     const struct tag_batch_item *item)
{
	both->asked++;
	both->found[run->of_locations] += item->status == TAG_SEARCH_FOUND;
	return run->args->output.is_json ? json(run, item, &both->json)
					 : text(run, item, both->json.out);
}

static int write_answers(struct cmd_decode_both *both)
{
	struct cmd_decode_run *run = &both->runs[0], *again = &both->runs[1];
	size_t k = 0;
	int err = 0;

	for (size_t i = 0; err == 0 && i < run->items.count; i++) {
		const struct tag_batch_item *item = &run->items.items[i], *other = NULL;

		if (item->status != TAG_SEARCH_FOUND && k < again->items.count)
			other = &again->items.items[k++];
		if (other && other->status != TAG_SEARCH_NO_PATH)
			err = cmd_decode_answer(both, again, other);
		else
			err = cmd_decode_answer(both, run, item);
	}
	return err;
}

static int answers(struct cmd_decode_both *both)
{
	struct json *j = &both->json;
	int err;

	if (!both->runs[0].args->output.is_json)
		return write_answers(both);
	json_put_object(j, NULL);
	json_put_uint(j, "schema", 1);
	json_put_array(j, "tags");
	err = write_answers(both);
	json_put_line(j);
	json_put_end(j);
	json_put_uint(j, "asked", both->asked);
	json_put_uint(j, "found", both->found[0] + both->found[1]);
	return json_put_finish(j, err);
}

static int batch(struct cmd_decode_run *run)
{
	return tag_batch_run(run->search, run->items.items, run->items.count,
			     (uint64_t)(run->args->budget_ms * 1e6), run->args->all);
}

/* Returns CPU time, so that a search can do the same amount of work on a busy machine. */
static uint64_t cmd_decode_clock(void *arg)
{
	(void)arg;
	return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

/* Makes the search in a graph. Returns 0; -ENOENT: the graph lacks the root that the user named;
 * -ENOMEM. */
static int begin(struct cmd_decode_run *run)
{
	struct tag_search_options options = {
		.root = CALLGRAPH_NONE, .strict = run->args->strict, .now_ns = cmd_decode_clock};

	if (run->args->root) {
		options.root = cmd_decode_function(run, run->args->root);
		if (options.root == CALLGRAPH_NONE)
			return -ENOENT;
	}
	return tag_search_new(run->graph, &options, &run->search);
}

/* Queues a tag for the second search. Nodes of locations have other names, so that graph may lack
 * the leaf that the user gave; the 64 bits of a tag are enough without it. Returns 0 or -ENOMEM. */
static int cmd_decode_again(const struct cmd_decode_run *from, const struct tag_batch_item *item,
			    struct cmd_decode_run *to)
{
	struct tag_batch_item again = {
		.tag = item->tag, .leaf = CALLGRAPH_NONE, .leaf_is_hint = item->leaf_is_hint};

	if (item->leaf != CALLGRAPH_NONE)
		again.leaf =
			callgraph_find_name(to->graph, callgraph_at(from->graph, item->leaf)->name);
	if (VEC_RESERVE(&to->items, 1) < 0)
		return -ENOMEM;
	to->items.items[to->items.count++] = again;
	return 0;
}

/* Searches the graph of locations for the tags that were not found in the graph of functions.
 * Returns 0 or an error. */
static int cmd_decode_locations(struct cmd_decode_both *both)
{
	struct cmd_decode_run *run = &both->runs[0], *again = &both->runs[1];
	struct decode_model model = run->args->model;
	enum decode_kind kind;
	bool is_needed = false;
	int err = 0;

	for (size_t i = 0; i < run->items.count; i++)
		is_needed |= run->items.items[i].status != TAG_SEARCH_FOUND;
	model.locations = model.is_again = true;
	if (run->of_locations || !is_needed ||
	    decode_model_graph(&model, &again->graph, &kind) != CMD_DONE)
		return 0;
	err = begin(again);
	if (err)
		return err == -ENOENT ? 0 : err;
	for (size_t i = 0; err == 0 && i < run->items.count; i++)
		if (run->items.items[i].status != TAG_SEARCH_FOUND)
			err = cmd_decode_again(run, &run->items.items[i], again);
	return err ? err : batch(again);
}

static int cmd_decode_tags(struct cmd_decode_both *both)
{
	struct cmd_decode_run *run = &both->runs[0];
	int err = 0;

	for (unsigned i = 0; err == 0 && i < run->args->n_tags; i++)
		err = cmd_decode_ask(run, run->args->tags[i]);
	if (err == 0 && !run->args->n_tags)
		err = cmd_decode_stdin(run);
	if (err == 0)
		err = batch(run);
	if (err == 0)
		err = cmd_decode_locations(both);
	return err < 0 ? err : answers(both);
}

static void release(struct cmd_decode_run *run)
{
	for (size_t i = 0; i < run->items.count; i++)
		tag_batch_item_release(&run->items.items[i]);
	free(run->items.items);
	forget(run);
	tag_search_free(run->search);
	callgraph_free(run->graph);
}

/* Writes "5 of 6 tags decoded: 2 of functions, as instrumented programs keep them, ..." */
static void summary(const struct cmd_decode_both *both)
{
	uint64_t functions = both->found[0], locations = both->found[1];
	const char *kinds =
		both->runs[0].of_locations ? "code locations" : "functions or code locations";

	if (both->runs[0].of_locations && both->asked == 1 && locations)
		return;
	if (!functions && !locations)
		message("0 of %" PRIu64 " tag%s decoded, as paths of %s", both->asked,
			text_plural(both->asked, "", "s"), kinds);
	else if (both->runs[0].of_locations)
		message("%" PRIu64 " of %" PRIu64 " tag%s decoded", locations, both->asked,
			text_plural(both->asked, "", "s"));
	else
		message("%" PRIu64 " of %" PRIu64 " tag%s decoded: %" PRIu64
			" of functions (an instrumented program's), %" PRIu64
			" of code locations (stackd's own)",
			functions + locations, both->asked, text_plural(both->asked, "", "s"),
			functions, locations);
}

static int cmd_decode_search(struct cmd_decode_both *both)
{
	struct cmd_decode_run *run = &both->runs[0];
	struct output output;
	int err = begin(run), status;

	if (err == -ENOENT) {
		message("the model has no function '%s' for a root", run->args->root);
		return CMD_USAGE;
	}
	if (err < 0) {
		message("%s", strerror(-err));
		return CMD_FAILED;
	}
	status = output_begin(run->args->output.path, &output);
	if (status != CMD_DONE)
		return status;
	both->json.out = output.file;
	status = output_end(&output, cmd_decode_tags(both));
	summary(both);
	if (status == CMD_DONE)
		status = run->status;
	if (status == CMD_DONE && !both->found[0] && !both->found[1])
		status = CMD_NO_SAMPLES;
	return status;
}

int cmd_decode(int argc, char **argv)
{
	static const struct argp_child children[] = {{&output_argp, 0, NULL, 0}, {0}};
	static const struct argp argp = {
		.options = cmd_decode_options,
		.parser = parse,
		.args_doc = "[TAG[:LEAF|~LEAF]...]",
		.doc = "Finds the call paths of tags, with a model of which function calls "
		       "which.\vTAG is in hexadecimal; LEAF is the innermost function, if it is "
		       "known; TAG~LEAF: it is probably this one or its caller. Without tags they "
		       "are read from standard input, one a line. All paths that fit are shown; "
		       "'>?' marks a call that is not in the model, usually one through a "
		       "pointer. The status is 3 if no tag was decoded.",
		.children = children,
	};
	struct cmd_decode args = {.budget_ms = CMD_DECODE_BUDGET};
	struct cmd_decode_both both = {0};
	enum decode_kind kind;
	int status;

	for (int i = 0; i < 2; i++)
		both.runs[i] = (struct cmd_decode_run){
			.args = &args, .of_locations = i, .status = CMD_DONE};
	options_parse(&argp, argc, argv, &args);
	status = decode_model_graph(&args.model, &both.runs[0].graph, &kind);
	if (status != CMD_DONE)
		return status;
	both.runs[0].of_locations = kind == DECODE_LOCATIONS;
	status = cmd_decode_search(&both);
	release(&both.runs[0]);
	release(&both.runs[1]);
	return status;
}
