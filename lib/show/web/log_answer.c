/* SPDX-License-Identifier: MIT */
/* The log: what stackd counted while it recorded, and what it changed, and when. */
#include <inttypes.h>
#include <string.h>

#include "base/text.h"
#include "report/report.h"
#include "report/report_header.h"
#include "stack/end_reason.h"
#include "stackd_abi.h"
#include "web/answers.h"
#include "web/opened.h"
#include "web/words.h"

#define LOG_BYTES 250000

/* Returns the group of a counter, by its name; the page shows what is lost first. */
static const char *group_of(const char *name)
{
	static const char *const groups[][2] = {
		{"end.", "end of walks"}, {"window.", "windows"}, {"judged", "judged"},
		{"region", "regions"},	  {"wait", "waits"},	  {"alloc", "allocations"},
		{"managed", "Python"},	  {"tag", "tags"},	  {"table", "tables"},
	};

	if (strstr(name, "lost") || strstr(name, "no_memory") || strstr(name, "failed"))
		return "loss";
	for (size_t i = 0; i < sizeof(groups) / sizeof(*groups); i++)
		if (strncmp(name, groups[i][0], strlen(groups[i][0])) == 0)
			return groups[i][1];
	return "other";
}

/* Writes a string as answers show it. */
static void put_shown(struct json *j, struct words *words, const char *key, const char *text)
{
	uint32_t number;
	int err = words_string(words, text, &number);

	if (err)
		j->err = err;
	else
		json_put_string(j, key, strings_at(words->strings, number));
}

static void put_counter(struct json *j, struct words *words, const struct store_counter *counter)
{
	json_put_object(j, NULL);
	put_shown(j, words, "name", counter->name);
	json_put_uint(j, "value", counter->value);
	json_put_string(j, "group", group_of(counter->name));
	json_put_string(j, "text", report_trouble(counter->name));
	json_put_end(j);
}

/* Writes something that was lowered at a time, which is CLOCK_MONOTONIC; 0: the time is not known.
 */
static void put_event(struct json *j, struct words *words, const struct store_tables *t,
		      uint64_t time_ns, struct buf *text)
{
	const uint64_t start = t->recording.start_ns;

	buf_put_u8(text, '\0');
	json_put_object(j, NULL);
	if (time_ns)
		json_put_uint(j, "ns", time_ns > start ? time_ns - start : 0);
	put_shown(j, words, "text", text->failed ? "" : (const char *)text->data);
	json_put_string(j, "kind", "lowered");
	json_put_end(j);
	buf_free(text);
}

/* Writes that the probes of a region were taken off: its counter has the time. */
static void put_off(struct json *j, struct words *words, const struct store_tables *t,
		    const struct store_counter *counter)
{
	struct buf b = {0};

	text_put_raw(&b, "the probes of the region ");
	text_put_raw(&b, counter->name + strlen(STORE_REGION_OFF));
	text_put_raw(&b, " were taken off, since it ran too often (--region-limit)");
	put_event(j, words, t, counter->value, &b);
}

/* Writes what a counter other than those of regions says was lowered. */
static void put_lowered(struct json *j, struct words *words, const struct store_tables *t)
{
	uint64_t until_ns = 0, changes = 0, rate_hz = 0;
	struct buf b = {0};

	report_header_counter(t, "allocations_until_ns", &until_ns);
	report_header_counter(t, "rate_changes", &changes);
	report_header_counter(t, "rate_hz", &rate_hz);
	if (until_ns) {
		text_put_raw(&b, "the probes of allocations were taken off, since there were too "
				 "many (--alloc-limit)");
		put_event(j, words, t, until_ns, &b);
	}
	if (changes) {
		b = (struct buf){0};
		text_printf(&b,
			    "the rate was changed %" PRIu64 " time%s to keep within --max-cpu; "
			    "at the end it was %" PRIu64 " Hz",
			    changes, text_plural(changes, "", "s"), rate_hz);
		put_event(j, words, t, 0, &b);
	}
}

static bool is_off(const struct store_counter *counter)
{
	return strncmp(counter->name, STORE_REGION_OFF, strlen(STORE_REGION_OFF)) == 0;
}

static int log_put(struct json *j, const struct store_tables *t)
{
	struct words words;
	int err = words_begin(&words);

	if (err == 0) {
		json_put_int(j, "recording", t->recording.id);
		json_put_uint(j, "lost", t->recording.lost);
		put_shown(j, &words, "note", t->recording.note);
		json_put_array(j, "counters");
		for (uint32_t i = 0; i < t->n_counters && j->text.len < LOG_BYTES; i++)
			if (!is_off(&t->counters[i]))
				put_counter(j, &words, &t->counters[i]);
		json_put_end(j);
		json_put_array(j, "events");
		for (uint32_t i = 0; i < t->n_counters && j->text.len < LOG_BYTES; i++)
			if (is_off(&t->counters[i]))
				put_off(j, &words, t, &t->counters[i]);
		put_lowered(j, &words, t);
		json_put_end(j);
	}
	words_end(&words);
	return err;
}

int answer_log(struct ask *ask)
{
	struct store_reader *reader;
	int64_t first, last;
	int err = opened_numbers(ask, "recording", &first, &last);

	if (err == 0)
		err = opened_glance(ask, last, &reader);
	if (err)
		return err;
	err = log_put(&ask->json, store_reader_tables(reader));
	opened_release(ask, reader);
	return err;
}
