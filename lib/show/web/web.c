/* SPDX-License-Identifier: MIT */
/*
 * Finds and answers questions; see web.h.
 *
 * A lock lets one question after the other work on opened recordings, because a profile gets names
 * while it is read, and a reader has one cursor. Questions that need none of that do not take it,
 * so that they are answered while another viewer waits for a large tree.
 */
#include "web/web.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "web/answers.h"
#include "web/opened.h"
#include "web/selection.h"

#define WEB_IDLE_NS                                                                                \
	60000000000u /* a recording that nobody asks about is closed after this time               \
		      */
#define WEB_LESS "\\u003c"

struct web {
	struct web_store store, base;
	pthread_mutex_t lock; /* of both */
};

static const struct {
	const char *name;
	int (*answer)(struct ask *ask);
	const char *parameters;
	bool is_light; /* it opens no recording, and takes no lock */
} questions[] = {
	{"recordings", answer_recordings, "recording", true},
	{"live", answer_live, "recording", true},
	{"lanes", answer_lanes, "recording from to width lanes sort unfold threads", false},
	{"tree", answer_tree, SELECTION_PARAMETERS "direction by minimum under", false},
	{"functions", answer_functions, SELECTION_PARAMETERS "sort filter limit offset", false},
	{"around", answer_around, SELECTION_PARAMETERS "function object minimum", false},
	{"annotate", answer_annotate, SELECTION_PARAMETERS "function object", false},
	{"difference", answer_difference,
	 SELECTION_PARAMETERS "base_recording base_from base_to base_threads per minimum", false},
	{"wakers", answer_wakers, SELECTION_PARAMETERS "limit", false},
	{"regions", answer_regions, SELECTION_PARAMETERS, false},
	{"heap", answer_heap, SELECTION_PARAMETERS "older limit width", false},
	{"fold", answer_fold, SELECTION_PARAMETERS "region time", false},
	{"log", answer_log, "recording", true},
};

#define N_QUESTIONS (sizeof(questions) / sizeof(*questions))

int web_new(const struct web_source *source, struct web **ret_web)
{
	struct web *web = calloc(1, sizeof(*web));

	if (!web)
		return -ENOMEM;
	web->store.source = source;
	web->base.source = source->base;
	if (source->base)
		web->store.base = &web->base;
	pthread_mutex_init(&web->lock, NULL);
	*ret_web = web;
	return 0;
}

void web_free(struct web *web)
{
	if (!web)
		return;
	opened_tidy(&web->store, 0);
	opened_tidy(&web->base, 0);
	pthread_mutex_destroy(&web->lock);
	free(web);
}

void web_tidy(struct web *web)
{
	if (pthread_mutex_trylock(&web->lock) != 0)
		return;
	opened_tidy(&web->store, WEB_IDLE_NS);
	pthread_mutex_unlock(&web->lock);
}

/* Returns the number of a question; N_QUESTIONS: there is none of this name. */
static size_t web_find(const char *name)
{
	size_t number = 0;

	while (number < N_QUESTIONS && strcmp(questions[number].name, name) != 0)
		number++;
	return number;
}

bool web_is_light(const char *name)
{
	const size_t number = web_find(name);

	return number == N_QUESTIONS || questions[number].is_light;
}

/* Runs a question. Returns 0 or an error. */
static int web_run(struct web *web, struct ask *ask, size_t number)
{
	struct web_store light = {.source = web->store.source};
	int err;

	ask->store = questions[number].is_light ? &light : &web->store;
	if (!questions[number].is_light)
		pthread_mutex_lock(&web->lock);
	err = ask_is_stopped(ask) ? -ECANCELED : opened_check(ask);
	if (err == 0)
		err = questions[number].answer(ask);
	if (err == 0)
		err = ask->json.err;
	if (err && ask->status == 200)
		opened_fail(ask, err, NULL);
	if (!questions[number].is_light)
		pthread_mutex_unlock(&web->lock);
	opened_tidy(&light, 0);
	return err;
}

/* Appends JSON with every '<', which can be in strings alone, written so that the answer can be put
 * into a page's script element. */
static void web_put(const struct buf *json, struct buf *answer)
{
	const char *at = (const char *)json->data, *end = at + json->len;

	while (at < end) {
		const char *less = memchr(at, '<', (size_t)(end - at));
		const char *upto = less ? less : end;

		buf_put(answer, at, (size_t)(upto - at));
		if (less)
			buf_put(answer, WEB_LESS, strlen(WEB_LESS));
		at = less ? less + 1 : end;
	}
}

static void put_error(struct ask *ask)
{
	buf_clear(&ask->json.text);
	ask->json = (struct json){.text = ask->json.text};
	json_put_object(&ask->json, NULL);
	json_put_string(&ask->json, "error", ask->error);
	json_put_string(&ask->json, "remedy", ask->remedy);
	json_put_end(&ask->json);
}

int web_answer(struct web *web, const struct web_question *question, struct buf *answer)
{
	struct ask ask = {
		.question = question, .status = 200, .begin_ns = clock_ns(CLOCK_MONOTONIC)};
	const size_t number = web_find(question->name);
	int err;

	json_put_object(&ask.json, NULL);
	if (number == N_QUESTIONS)
		err = ask_fail(&ask, 404, "docs/WEB.md lists the questions",
			       "there is no question '%.60s'", question->name);
	else
		err = ask_check(&ask, questions[number].parameters);
	if (err == 0)
		err = web_run(web, &ask, number);
	json_put_end(&ask.json);
	if (err)
		put_error(&ask);
	web_put(&ask.json.text, answer);
	buf_free(&ask.json.text);
	return answer->failed ? 500 : ask.status;
}
