/* SPDX-License-Identifier: MIT */
/*
 * Files of the page; see one_file.h. The Makefile writes one_file.html.inc.
 *
 * The data of such a file is described in docs/WEB.md, "One file": the state with which the page
 * opens, and answers by their questions. The page looks an answer up by the question that it would
 * ask the server, so a question's text is made here as web/api.js makes it: parameters sorted by
 * name, values by encodeURIComponent().
 */
#include "web/one_file.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_put.h"
#include "base/text.h"
#include "model/profile.h"

#define ONE_FILE_MARK	    "@DATA@"
#define ONE_FILE_PARAMETERS 12
#define ONE_FILE_ROUND	    1000  /* bytes of the data beside the answers */
#define ONE_FILE_WIDTH	    "600" /* columns of lanes */
/* the share of the smallest frames of what is not shown first */
#define ONE_FILE_COARSE	     0.002
#define ONE_FILE_COARSE_TEXT "0.002"

static const uint8_t one_file[] = {
#include "one_file.html.inc"
	0};

const char *one_file_page(void)
{
	return (const char *)one_file;
}

struct one_file_maker {
	const struct one_file *file;
	struct web *web;
	char recording[24], from[24], to[24], minimum[32];
	const char *metric;
	size_t room;
	struct json json;
};

/* --- questions ------------------------------------------------------------------------------- */

/* Appends a text as encodeURIComponent() writes it. */
static void put_encoded(struct buf *b, const char *text)
{
	static const char plain[] = "-_.!~*'()";

	for (const unsigned char *at = (const unsigned char *)text; *at; at++) {
		const bool is_letter = (*at | 32) >= 'a' && (*at | 32) <= 'z';

		if (is_letter || (*at >= '0' && *at <= '9') || strchr(plain, *at))
			buf_put_u8(b, *at);
		else
			text_printf(b, "%%%02X", *at);
	}
}

static void put_pair(struct buf *b, char before, const char *name, const char *value)
{
	buf_put_u8(b, (uint8_t)before);
	text_put_raw(b, name);
	buf_put_u8(b, '=');
	put_encoded(b, value);
}

static int compare_names(const void *a, const void *b)
{
	const struct web_parameter *x = a, *y = b;

	return strcmp(x->name, y->name);
}

/* Asks a question. Parameters without a value are left out. Appends the answer if there is one and
 * it fits. Returns its status. */
static int put_answer(struct one_file_maker *m, const char *name,
		      const struct web_parameter *parameters, bool is_needed)
{
	struct web_parameter given[ONE_FILE_PARAMETERS];
	struct web_question question = {.name = name, .parameters = given};
	struct buf text = {0}, answer = {0};
	int status;

	for (; parameters->name; parameters++)
		if (parameters->value && *parameters->value)
			given[question.n_parameters++] = *parameters;
	qsort(given, question.n_parameters, sizeof(*given), compare_names);
	text_put_raw(&text, name);
	for (size_t i = 0; i < question.n_parameters; i++)
		put_pair(&text, i ? '&' : '?', given[i].name, given[i].value);
	buf_put_u8(&text, '\0');
	status = web_answer(m->web, &question, &answer);
	if (text.failed || answer.failed) {
		m->json.err = -ENOMEM;
	} else if (status == 200 && (is_needed || answer.len + text.len < m->room)) {
		m->room -= answer.len + text.len < m->room ? answer.len + text.len : m->room;
		json_put_raw(&m->json, (const char *)text.data, &answer);
	}
	buf_free(&text);
	buf_free(&answer);
	return status;
}

/* Asks about the selection: with its metric, its time, and two parameters more. */
static int put_about(struct one_file_maker *m, const char *name, const char *metric,
		     struct web_parameter one, struct web_parameter two, bool is_needed)
{
	const struct web_parameter parameters[] = {{"recording", m->recording},
						   {"metric", metric},
						   {"from", m->from},
						   {"to", m->to},
						   {one.name ? one.name : "", one.value},
						   {two.name ? two.name : "", two.value},
						   {NULL, NULL}};

	return put_answer(m, name, parameters, is_needed);
}

/* Asks for the difference, by `per`. */
static int put_difference(struct one_file_maker *m, const char *per, const char *minimum,
			  bool is_needed)
{
	return put_answer(m, "difference",
			  (const struct web_parameter[]){{"recording", m->recording},
							 {"metric", m->metric},
							 {"from", m->from},
							 {"to", m->to},
							 {"base_recording", "base"},
							 {"base_from", m->from},
							 {"base_to", m->to},
							 {"per", per},
							 {"minimum", minimum},
							 {NULL, NULL}},
			  is_needed);
}

/* Asks what the tab needs that the file opens with. Returns the answer's status. */
static int put_first(struct one_file_maker *m)
{
	const struct one_file *file = m->file;
	const struct web_parameter minimum = {"minimum", m->minimum};

	if (strcmp(file->tab, "fold") == 0)
		return put_about(m, "fold", NULL, (struct web_parameter){"region", file->region},
				 (struct web_parameter){0}, true);
	if (strcmp(file->tab, "flame") == 0)
		return put_about(m, "tree", m->metric, (struct web_parameter){"by", file->by},
				 minimum, true);
	return put_difference(m, "amount", m->minimum, true);
}

/* Asks what other tabs need, the most important first. */
static void put_others(struct one_file_maker *m)
{
	static const char *const more[] = {"wakers", "heap", "regions"};
	const struct web_parameter none = {0}, minimum = {"minimum", m->minimum};
	const bool is_flame = strcmp(m->file->tab, "flame") == 0;
	const char *coarse = m->file->minimum < ONE_FILE_COARSE && !m->file->is_unlimited
				     ? ONE_FILE_COARSE_TEXT
				     : m->minimum;

	put_answer(m, "lanes",
		   (const struct web_parameter[]){{"recording", m->recording},
						  {"width", ONE_FILE_WIDTH},
						  {"sort", "time"},
						  {NULL, NULL}},
		   false);
	put_answer(m, "log",
		   (const struct web_parameter[]){{"recording", m->recording}, {NULL, NULL}},
		   false);
	if (m->file->source->base) {
		put_difference(m, "second", coarse, false);
		put_difference(m, "share", coarse, false);
	}
	put_about(m, "functions", m->metric, (struct web_parameter){"limit", "2000"}, none, false);
	for (size_t i = 0; i < sizeof(more) / sizeof(*more); i++)
		put_about(m, more[i], NULL, none, none, false);
	if (m->file->by && !is_flame) /* the state names it, so the Flame graph tab asks for it */
		put_about(m, "tree", m->metric, (struct web_parameter){"by", m->file->by}, minimum,
			  false);
	if (m->file->by || !is_flame)
		put_about(m, "tree", m->metric, minimum, none, false);
	put_about(m, "tree", m->metric, (struct web_parameter){"direction", "callers"}, minimum,
		  false);
}

/* --- the file -------------------------------------------------------------------------------- */

/* Appends the state with which the page opens (web/state.js). */
static void put_state(struct one_file_maker *m)
{
	const struct one_file *file = m->file;
	const struct {
		const char *name, *value;
	} members[] = {{"recording", m->recording},
		       {"metric", strcmp(m->metric, "cpu") ? m->metric : ""},
		       {"from", m->from},
		       {"to", m->to},
		       {"by", file->by ? file->by : ""},
		       {"before", file->source->base ? "base" : ""},
		       {"beforeFrom", file->source->base ? m->from : ""},
		       {"beforeTo", file->source->base ? m->to : ""},
		       {"region", file->region ? file->region : ""},
		       {"bottom", file->is_bottom ? "1" : ""}};
	struct buf state = {0};

	put_pair(&state, '#', "tab", file->tab);
	for (size_t i = 0; i < sizeof(members) / sizeof(*members); i++)
		if (*members[i].value)
			put_pair(&state, '&', members[i].name, members[i].value);
	json_put_text(&m->json, "state", &state);
}

static int maker_begin(struct one_file_maker *m)
{
	const struct one_file *file = m->file;
	const struct web_given *given = file->source->given;
	const int64_t id = store_reader_tables(given->reader)->recording.id;
	const size_t page = strlen(one_file_page()) + ONE_FILE_ROUND;

	m->metric = metric_info(given->filter->metric)->name;
	m->room = file->is_unlimited ? SIZE_MAX / 2 : ONE_FILE_BYTES - page;
	if (id > 0)
		snprintf(m->recording, sizeof(m->recording), "%" PRId64, id);
	if (file->to_ns) {
		snprintf(m->from, sizeof(m->from), "%" PRIu64, file->from_ns);
		snprintf(m->to, sizeof(m->to), "%" PRIu64, file->to_ns);
	}
	snprintf(m->minimum, sizeof(m->minimum), "%.9f", file->minimum);
	return web_new(file->source, &m->web);
}

/* Makes the data. Returns 0, or an error as one_file_write(). */
static int make_data(struct one_file_maker *m)
{
	int status;

	json_put_object(&m->json, NULL);
	json_put_uint(&m->json, "version", 1);
	put_state(m);
	json_put_object(&m->json, "answers");
	put_answer(m, "recordings",
		   (const struct web_parameter[]){{"recording", m->recording}, {NULL, NULL}}, true);
	status = put_first(m);
	if (status != 200)
		return status == 404 ? -ENODATA : status == 400 ? -EINVAL : -ENOMEM;
	put_others(m);
	json_put_end(&m->json);
	json_put_end(&m->json);
	return m->json.err ? m->json.err : m->json.text.failed ? -ENOMEM : 0;
}

static int put(const void *bytes, size_t len, FILE *out)
{
	return fwrite(bytes, 1, len, out) == len ? 0 : -EIO;
}

int one_file_write(const struct one_file *file, FILE *out)
{
	const char *page = one_file_page(), *mark = strstr(page, ONE_FILE_MARK);
	const char *rest = mark + strlen(ONE_FILE_MARK);
	struct one_file_maker m = {.file = file};
	int err = maker_begin(&m);

	if (err == 0)
		err = make_data(&m);
	if (err == 0)
		err = put(page, (size_t)(mark - page), out);
	if (err == 0)
		err = put(m.json.text.data, m.json.text.len, out);
	if (err == 0)
		err = put(rest, strlen(rest), out);
	if (err == 0 && fflush(out) != 0)
		err = -EIO;
	web_free(m.web);
	buf_free(&m.json.text);
	return err;
}
